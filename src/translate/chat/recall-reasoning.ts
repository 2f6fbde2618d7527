import type { CallerRequest } from '../dialect.ts'
import { spliceMembers } from '../parts/json-members.ts'
import { isFilled } from '../parts/wire-json.ts'
import { decodeChatRequest } from './decode-request.ts'
import { chatBodyOf, type ChatMessage } from './wire-request.ts'

/**
 * The request with the opaque reasoning of earlier replies where the caller has left it out: many chat clients know
 * nothing of `reasoning_opaque`, and the model wants it back with its calls (docs/copilot-wire.md, quirk 12). What the
 * caller sends itself stays. The very request where nothing is recalled.
 * @param recall the opaque value of the reply that made the call
 */
export function recallChatReasoning(
  request: CallerRequest,
  recall: (callId: string) => string | undefined,
): CallerRequest {
  const body = chatBodyOf(request)
  let recalled = false
  const messages = body.value.messages.map((message) => {
    const opaque = recalledFor(message, recall)
    if (opaque === undefined) return message
    recalled = true
    return { ...message, reasoning_opaque: opaque }
  })
  if (!recalled) return request
  // Spliced, not serialised whole: a seed of 64 bits would not survive that.
  const bytes = spliceMembers(body, new Map([['messages', messages]]))
  return { ...decodeChatRequest(bytes.toString(), bytes), sessionId: request.sessionId }
}

function recalledFor(message: ChatMessage, recall: (callId: string) => string | undefined): string | undefined {
  if (message.role !== 'assistant' || isFilled(message['reasoning_opaque'])) return undefined
  for (const { id } of message.tool_calls ?? []) {
    const opaque = recall(id)
    if (opaque !== undefined) return opaque
  }
  return undefined
}
