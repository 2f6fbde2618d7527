import type { Answer } from '../../answer/answer.ts'
import { fragments, namedFrame } from '../../answer/frames.ts'
import type { Frames } from '../../answer/frames.ts'
import type { InferenceSubject } from '../../inference.ts'
import { numberOf } from '../../answer/markers.ts'
import { blocksOf } from './request.ts'
import type { Block, MessagesRequest } from './request.ts'
import { encodeMessages } from './stream.ts'
import { issueOpaque } from '../../answer/sealed-text.ts'
import { openOpaque } from '../../answer/sealed-text.ts'

type Subject = InferenceSubject<MessagesRequest>

const SEARCH_RESULT = 'web_search_tool_result'
const SEARCH_ID = 'srvtoolu_demo_'

/** Whether this answer to `[demo:pause TIMES?]` ends in a pause. */
function isPaused({ markers, request }: Pick<Subject, 'markers' | 'request'>): boolean {
  if (!markers.others.has('pause')) return false
  const searches = lastAssistantBlocks(request).filter(({ type }) => type === 'server_tool_use')
  return searches.length < numberOf(markers.others.get('pause')?.[0], 1)
}

/** The part of the answer before the pause. */
function untilPause(answer: Answer): Answer {
  return { ...answer, text: ['Let me ', 'look ', 'that up.'], refusal: [], calls: [], finish: 'stop', stopText: '' }
}

/** A web search that upstream ran, and its result. */
function searchOf({ call: { number } }: Pick<Subject, 'call'>) {
  const id = `${SEARCH_ID}${number}`
  const page = {
    type: 'web_search_result',
    url: 'https://example.com/simulated',
    title: 'A simulated page',
    encrypted_content: issueOpaque('search', number, id),
    page_age: null,
  }
  return {
    use: { type: 'server_tool_use', id, name: 'web_search', arguments: '{"query":"simulated"}' },
    result: { type: SEARCH_RESULT, tool_use_id: id, content: [page] },
  } as const
}

/** Blocks of the assistant messages at the end of the request. */
function lastAssistantBlocks({ messages }: MessagesRequest): readonly Block[] {
  const from = messages.findLastIndex(({ role }) => role !== 'assistant') + 1
  return messages.slice(from).flatMap(blocksOf)
}

function block(index: number, started: object, deltas: readonly string[]): readonly string[] {
  return [
    namedFrame({ type: 'content_block_start', index, content_block: started }),
    ...deltas.map((json) =>
      namedFrame({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: json } }),
    ),
    namedFrame({ type: 'content_block_stop', index }),
  ]
}

/** Encodes an answer. If `[demo:pause]` pauses it, the stream has the part before the pause, and a search. */
export function encodeWithPause(answer: Answer, subject: Subject): Frames {
  if (!isPaused(subject)) return encodeMessages(answer, subject)
  const frames = encodeMessages(untilPause(answer), subject)
  const { use, result } = searchOf(subject)
  const { arguments: text, ...start } = use
  const from = frames.content.filter((each) => each.includes('"type":"content_block_start"')).length
  return {
    ...frames,
    content: [
      ...frames.content,
      ...block(from, { ...start, input: {} }, ['', ...fragments(text)]),
      ...block(from + 1, result, []),
    ],
    closing: frames.closing.map((each) => each.replace('"stop_reason":"end_turn"', '"stop_reason":"pause_turn"')),
  }
}

/** Types of the last block of a paused answer: a search that has not run yet, or a search result. */
const PAUSED_IN: ReadonlySet<string> = new Set(['server_tool_use', SEARCH_RESULT])

/** Whether the request ends with a paused answer, which upstream has to continue. */
export function endsInPause({ markers, request }: Subject): boolean {
  return markers.others.has('pause') && PAUSED_IN.has(lastAssistantBlocks(request).at(-1)?.type ?? '')
}

/** Whether a block is an unchanged search of `[demo:pause]`. */
export function isOwnSearch({ type, id = '', name, input, tool_use_id: searched = '', content }: Block): boolean {
  if (type === 'server_tool_use') return name === 'web_search' && id.startsWith(SEARCH_ID) && input !== undefined
  if (type !== SEARCH_RESULT || !Array.isArray(content)) return false
  return content.every(({ encrypted_content: text }) => {
    return typeof text === 'string' && openOpaque('search', text)?.isOf(searched) === true
  })
}
