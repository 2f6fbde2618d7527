import type { Answer } from '../answer.ts'
import type { InferenceSubject } from '../inference.ts'
import { markerNumber } from '../markers.ts'
import { issueOpaque } from '../opaque-text.ts'
import { blocksOf } from './request.ts'
import type { Block, MessagesRequest } from './request.ts'

type Subject = InferenceSubject<MessagesRequest>

export const SEARCH_RESULT = 'web_search_tool_result'
export const SEARCH_ID = 'srvtoolu_demo_'

/** Whether this answer to `[demo:pause TIMES?]` ends in a pause. */
export function isPaused({ markers, request }: Pick<Subject, 'markers' | 'request'>): boolean {
  if (!markers.asked.has('pause')) return false
  const searches = lastAssistantBlocks(request).filter(({ type }) => type === 'server_tool_use')
  return searches.length < markerNumber(markers, 'pause', 1)
}

/** The part of the answer before the pause. */
export function untilPause(answer: Answer): Answer {
  return { ...answer, text: ['Let me ', 'look ', 'that up.'], refusal: [], calls: [], finish: 'stop', stopText: '' }
}

/** A web search that upstream ran by itself, and its result. */
export function searchOf({ call: { number } }: Pick<Subject, 'call'>) {
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

/** Blocks of the assistant messages that end the request. */
export function lastAssistantBlocks({ messages }: MessagesRequest): readonly Block[] {
  const from = messages.findLastIndex(({ role }) => role !== 'assistant') + 1
  return messages.slice(from).flatMap(blocksOf)
}
