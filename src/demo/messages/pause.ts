import type { Answer } from '../answer.ts'
import type { InferenceSubject } from '../inference.ts'
import { markerNumber } from '../markers.ts'
import { issueOpaque, openOpaque } from '../opaque-text.ts'
import { blocksOf } from './request.ts'
import type { Block, MessagesRequest } from './request.ts'

type Subject = Pick<InferenceSubject<MessagesRequest>, 'call' | 'markers' | 'request'>

const RESULT = 'web_search_tool_result'
/** What an answer is paused behind: a search that is still to be run, or one that was. */
const SEARCH: ReadonlySet<string> = new Set(['server_tool_use', RESULT])
const ID = 'srvtoolu_demo_'

/** Whether this answer to `[demo:pause TIMES?]` is one that ends before it is whole. */
export function isPaused({ markers, request }: Pick<Subject, 'markers' | 'request'>): boolean {
  if (!markers.asked.has('pause')) return false
  const sofar = lastWords(request).filter(({ type }) => type === 'server_tool_use')
  return sofar.length < markerNumber(markers, 'pause', 1)
}

/** What the answer says before the pause. */
export function untilPause(answer: Answer): Answer {
  return { ...answer, text: ['Let me ', 'look ', 'that up.'], refusal: [], calls: [], finish: 'stop', stopText: '' }
}

/** A search that upstream ran, and what it found. */
export function searchOf({ call: { number } }: Pick<Subject, 'call'>) {
  const id = `${ID}${number}`
  const found = {
    type: 'web_search_result',
    url: 'https://example.com/simulated',
    title: 'A simulated page',
    encrypted_content: issueOpaque('search', number, id),
    page_age: null,
  }
  return {
    use: { type: 'server_tool_use', id, name: 'web_search', arguments: '{"query":"simulated"}' },
    result: { type: RESULT, tool_use_id: id, content: [found] },
  } as const
}

/** Whether the last words of a request are those of a paused answer, to be gone on from. */
export function endsInPause({ markers, request }: Subject): boolean {
  return markers.asked.has('pause') && SEARCH.has(lastWords(request).at(-1)?.type ?? '')
}

/** What the assistant has said last, in one message or in several that follow each other. */
function lastWords({ messages }: MessagesRequest): readonly Block[] {
  const from = messages.findLastIndex(({ role }) => role !== 'assistant') + 1
  return messages.slice(from).flatMap(blocksOf)
}

/** Whether a block is a search of `[demo:pause]` as it was told. */
export function isOwnSearch({ type, id = '', name, input, tool_use_id: searched = '', content }: Block): boolean {
  if (type === 'server_tool_use') return name === 'web_search' && id.startsWith(ID) && input !== undefined
  if (type !== RESULT || !Array.isArray(content)) return false
  return content.every(({ encrypted_content: text }) => {
    return typeof text === 'string' && openOpaque('search', text)?.isOf(searched) === true
  })
}
