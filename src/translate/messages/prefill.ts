import { refuseAsPrefill } from '../parts/refuse-as-prefill.ts'
import { contentBlocks } from './reminder.ts'
import type { MessagesMessage } from './wire-request.ts'

/**
 * A conversation that ends with the assistant asks the model to go on in the middle of its answer.
 * @throws Fault `invalid_request`
 */
export function refusePrefill(messages: readonly MessagesMessage[]): void {
  if (lastSpoken(messages)?.role === 'assistant') refuseAsPrefill()
}

/**
 * The index of the message where an answer begins that upstream has paused and is to continue; the number of messages
 * where there is none. An answer pauses behind what a tool on the server did. Source: Anthropic API reference, "Handling
 * stop reasons", `pause_turn`, 2026-11.
 */
export function pausedFrom(messages: readonly MessagesMessage[]): number {
  const last = lastSpoken(messages)
  const ending = last?.role === 'assistant' ? contentBlocks(last.content).at(-1)?.type : undefined
  if (ending === undefined || !/^(server|mcp)_tool_use$|^.+_tool_result$/.test(ending)) return messages.length
  return messages.findLastIndex(({ role }) => role === 'user') + 1
}

/** System messages stand between turns. */
function lastSpoken(messages: readonly MessagesMessage[]): MessagesMessage | undefined {
  return messages.findLast(({ role }) => role !== 'system')
}
