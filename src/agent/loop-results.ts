import type { Media } from '../tools/result-content.ts'
import type { TurnItem, TurnPart } from '../translate/turn.ts'
import type { AgentEvent } from './agent-event.ts'
import { imagePart, isOld, leaveOutImages, maxImages } from './images.ts'
import type { Call, LoopState, ToolEnd } from './loop-state.ts'

/** A result that no earlier call gave is something new, and so is an effect for all other calls. */
export function countResult(counts: LoopState['counts'], call: string, end: ToolEnd): LoopState['counts'] {
  // The text of each edit has another id.
  const key = `${call} ${end.tool.startsWith('mcp.edit.') ? end.message : end.content}`
  const known = counts.get(key)
  const isNews = known === undefined || end.isEffect
  const others = isNews ? Array.from(counts.keys(), (other) => [other, 0] as const) : counts
  return new Map(others).set(key, (known ?? 0) + 1)
}

/** Adds the result of the first call of the queue. Without native tool calls, it waits for those of the other calls. */
export function addResult(
  state: LoopState,
  { content, images = [] }: { readonly content: string; readonly images?: readonly Media[] },
  isError: boolean,
): LoopState {
  const [call] = state.queue
  if (call === undefined) return state
  const parts: readonly TurnPart[] = [{ type: 'text', text: content }, ...images.map(imagePart)]
  if (!isNativeCall(state, call)) return { ...state, results: [...state.results, ...parts] }
  const result = { type: 'tool_result', callId: call.id, isError, path: '' } as const
  return withItem(state, { ...result, content: images.length === 0 ? content : parts })
}

function withItem(state: LoopState, item: TurnItem): LoopState {
  return { ...state, items: leaveOutImages([...state.items, item], maxImages, isOld) }
}

function isNativeCall({ items }: LoopState, { id }: Call): boolean {
  return items.some((item) => item.type === 'tool_call' && item.id === id)
}

/** JSON protocol: sends the results as the next message. */
export function withResults(state: LoopState): LoopState {
  const { results } = state
  if (results.length === 0) return state
  const text = results.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n\n')
  const parts: readonly TurnPart[] = [{ type: 'text', text }, ...results.filter(({ type }) => type !== 'text')]
  return withItem({ ...state, results: [] }, { type: 'message', role: 'user', parts, path: '' })
}

/** What people see of the end of a call. */
type ShownEnd = Pick<ToolEnd, 'callId' | 'tool' | 'outcome' | 'message' | 'result' | 'truncated' | 'durationMs'>

/** Returns the event that a call has ended. */
export function endOfCall(end: ShownEnd, step: number): Extract<AgentEvent, { readonly type: 'tool' }> {
  const { tool, callId, outcome, message, result, truncated, durationMs } = end
  const event = { type: 'tool', state: 'ended', step, callId, tool, outcome, message, durationMs } as const
  return { ...event, ...(result !== '' && { result }), ...(truncated && { truncated }) }
}
