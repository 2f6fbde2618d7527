import type { InferenceSubject } from '../../../../src/demo/inference.ts'
import { lastAssistantBlocks, SEARCH_ID, SEARCH_RESULT } from '../../../../src/demo/messages/pause.ts'
import type { Block, MessagesRequest } from '../../../../src/demo/messages/request.ts'
import { openOpaque } from '../../opaque-text.ts'

/** The last block of a paused answer: a search that is still to be run, or the result of one. */
const PAUSED_IN: ReadonlySet<string> = new Set(['server_tool_use', SEARCH_RESULT])

/** Whether a request ends with a paused answer that is to be continued. */
export function endsInPause({ markers, request }: InferenceSubject<MessagesRequest>): boolean {
  return markers.asked.has('pause') && PAUSED_IN.has(lastAssistantBlocks(request).at(-1)?.type ?? '')
}

/** Whether a block is a search of `[demo:pause]`, unchanged. */
export function isOwnSearch({ type, id = '', name, input, tool_use_id: searched = '', content }: Block): boolean {
  if (type === 'server_tool_use') return name === 'web_search' && id.startsWith(SEARCH_ID) && input !== undefined
  if (type !== SEARCH_RESULT || !Array.isArray(content)) return false
  return content.every(({ encrypted_content: text }) => {
    return typeof text === 'string' && openOpaque('search', text)?.isOf(searched) === true
  })
}
