import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { adaptRequest } from './adapt/adapt.ts'
import { windowMessages } from './history-window.ts'
import { spliceMembers } from '../parts/json-members.ts'
import { chatBodyOf, type ChatRequest } from './wire-request.ts'

/**
 * The body for Copilot's chat completions: the caller's own text, in which only the members that must change are
 * written anew. It always streams and always asks for usage, because the reply is made from the events.
 *
 * @throws Fault `invalid_request`
 */
export function passChatRequest(request: CallerRequest, context: EncodeContext): EncodedRequest {
  const body = chatBodyOf(request)
  const messages = windowMessages(body.value.messages, context.historyWindow)
  const leftOut = body.value.messages.length - messages.length
  const windowed = leftOut === 0 ? body.value : { ...body.value, messages }
  const adapted = adaptRequest(windowed, context.model, context.strict)
  const upstream: ChatRequest = {
    ...adapted.request,
    model: context.model.id,
    stream: true,
    stream_options: withUsage(adapted.request.stream_options),
  }
  const windowWarnings =
    leftOut === 0 ? [] : [`messages: ${leftOut} left out by history-window ${context.historyWindow}`]
  return {
    body: spliceMembers(body, changes(body.value, upstream)),
    warnings: [...windowWarnings, ...adapted.warnings],
  }
}

function withUsage(options: ChatRequest['stream_options']): ChatRequest['stream_options'] {
  return options?.include_usage === true ? options : { ...options, include_usage: true }
}

/** Members that differ, by identity: whatever is changed is a new value. */
function changes(before: ChatRequest, after: ChatRequest): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(after).filter(([key, value]) => before[key] !== value))
}
