import type { Warning } from '../warning.ts'
import type { ChatBody, ChatMessage } from './wire.ts'

/** The messages of a request that `chat.history-window` keeps. The same array if it leaves nothing out. */
export function cutHistory({ value, options: { historyWindow } }: ChatBody): {
  readonly messages: readonly ChatMessage[]
  readonly warnings: readonly Warning[]
} {
  const messages = windowMessages(value.messages, historyWindow)
  const leftOut = value.messages.length - messages.length
  if (leftOut === 0) return { messages, warnings: [] }
  const detail = `${leftOut} dropped by chat.history-window ${historyWindow}`
  return { messages, warnings: [{ code: 'history_cut', field: 'messages', detail }] }
}

/**
 * The last `turns` turns and all system and developer messages, in order. A turn starts at the first of consecutive user
 * messages. The cut moves back if it would separate a tool result from its call. 0 keeps everything. Returns the same
 * array if nothing is left out.
 */
function windowMessages(messages: readonly ChatMessage[], turns: number): readonly ChatMessage[] {
  if (turns === 0) return messages
  const callOf = callPositions(messages)
  let earliestCall = Infinity
  let kept = 0
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    earliestCall = Math.min(earliestCall, callOf.get(at) ?? Infinity)
    if (!startsTurn(messages, at)) continue
    kept += 1
    if (kept >= turns && earliestCall >= at) return withInstructions(messages, at)
  }
  return messages
}

/** For each tool result the position of its call: the last one before it with that id, because ids may be reused. */
function callPositions(messages: readonly ChatMessage[]): ReadonlyMap<number, number> {
  const callOf = new Map<number, number>()
  const lastCall = new Map<string, number>()
  messages.forEach((message, at) => {
    // Calls of other roles were not checked.
    if (message.role === 'assistant') for (const call of message.tool_calls ?? []) lastCall.set(call.id, at)
    const call = lastCall.get(message.tool_call_id ?? '')
    if (message.role === 'tool' && call !== undefined) callOf.set(at, call)
  })
  return callOf
}

function startsTurn(messages: readonly ChatMessage[], at: number): boolean {
  return messages[at]?.role === 'user' && messages[at - 1]?.role !== 'user'
}

function withInstructions(messages: readonly ChatMessage[], cut: number): readonly ChatMessage[] {
  const kept = messages.filter(({ role }, at) => at >= cut || role === 'system' || role === 'developer')
  return kept.length === messages.length ? messages : kept
}
