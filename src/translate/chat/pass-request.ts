import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { isObject } from '../parts/is-object.ts'
import { spliceMembers } from '../parts/json-members.ts'
import { adaptRequest } from './adapt/adapt.ts'
import { windowMessages, windowWarnings } from './history-window.ts'
import { arePassableTools } from './passable-tools.ts'
import { toUpstream } from './upstream-request.ts'
import { chatBodyOf, type ChatRequest } from './wire-request.ts'

/**
 * The body for Copilot's chat completions: the caller's own text, in which only the members that must change are
 * written anew. Undefined where a tool has a name or a kind that upstream refuses, or a web search is to be run here: the
 * reply has to be changed too then.
 *
 * @throws Fault `invalid_request`
 */
export function passChatRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const body = chatBodyOf(request)
  const messages = windowMessages(body.value.messages, context.historyWindow)
  const windowed = messages === body.value.messages ? body.value : { ...body.value, messages }
  if (!arePassableTools(windowed) || (isObject(windowed['web_search_options']) && context.canSearch?.() === true)) {
    return undefined
  }
  const adapted = adaptRequest(windowed, context.model, context.lessons)
  return {
    body: spliceMembers(body, changes(body.value, toUpstream(adapted.request, context))),
    warnings: [...windowWarnings(body.value.messages, messages, context.historyWindow), ...adapted.warnings],
  }
}

/** Members that differ, by identity: whatever is changed is a new value. */
function changes(before: ChatRequest, after: ChatRequest): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(after).filter(([key, value]) => before[key] !== value))
}
