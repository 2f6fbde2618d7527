import type { MessagesMessage } from './wire-request.ts'

/**
 * Whether the request ends with tool results and the turn that made the calls begins without a thought: models that
 * think by budget refuse to think then. Source: Anthropic API reference, extended thinking with tool use, 2026-11.
 */
export function toolLoopLacksThought(messages: readonly MessagesMessage[]): boolean {
  let at = messages.length - 1
  let hasResult = false
  while (at >= 0 && messages[at]?.role !== 'assistant') {
    hasResult ||= contains(messages[at], 'tool_result')
    at -= 1
  }
  if (!hasResult) return false
  // Assistant messages in a row are one turn.
  while (messages[at - 1]?.role === 'assistant') at -= 1
  const first = messages[at]?.content?.[0]
  const type = typeof first === 'object' ? first.type : undefined
  return type !== 'thinking' && type !== 'redacted_thinking'
}

function contains(message: MessagesMessage | undefined, type: string): boolean {
  return typeof message?.content === 'object' && message.content?.some((block) => block.type === type) === true
}
