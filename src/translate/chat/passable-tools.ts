import { takesToolNames } from './tool-names.ts'
import type { ChatMessage, ChatRequest } from './wire-request.ts'

/**
 * Whether the tools and calls of a chat request reach upstream as they are. If not, only a translation can give the reply
 * its names and kinds back.
 */
export function arePassableTools(request: ChatRequest): boolean {
  return takesToolNames(request) && !hasCustomTools(request) && !request.messages.some(repeatsCallId)
}

/** Upstream's own schema knows functions only (docs/copilot-wire.md, "Parameters by model"). */
function hasCustomTools({ tools, messages }: ChatRequest): boolean {
  return (
    tools?.some(({ type }) => type === 'custom') === true ||
    messages.some(
      ({ role, tool_calls: calls }) =>
        role === 'assistant' && calls?.some((call) => call['type'] === 'custom') === true,
    )
  )
}

/** Upstream could not tell which result is which. In a later message an id may name another call. */
function repeatsCallId({ role, tool_calls: calls }: ChatMessage): boolean {
  if (role !== 'assistant' || !calls || calls.length < 2) return false
  return new Set(calls.map(({ id }) => id)).size < calls.length
}
