import type { CallerRequest, EncodeContext, EncodedRequest } from '../../dialect.ts'
import { isObject } from '../../../json/json.ts'
import { changedMembers, spliceMembers } from '../../../json/json-members.ts'
import { isLegalName } from '../../parts/ids.ts'
import { cutHistory } from '../request-changes.ts'
import { chatReplyNotes } from '../reply-notes.ts'
import { chatBodyOf, type ChatMessage, type ChatRequest } from '../wire.ts'
import { adaptRequest } from './adapt/adapt.ts'

/**
 * Returns the caller's own text with only the necessary changes. Undefined if the reply must change too: upstream
 * refuses the name or kind of a tool, or the proxy runs a web search.
 * @throws Fault `invalid_request`
 */
export function passChatRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const body = chatBodyOf(request)
  const { messages, warnings } = cutHistory(body)
  const windowed = messages === body.value.messages ? body.value : { ...body.value, messages }
  if (!arePassableTools(windowed) || (isObject(windowed['web_search_options']) && context.canSearch?.() === true)) {
    return undefined
  }
  const adapted = adaptRequest(windowed, context)
  return {
    body: spliceMembers(body, changedMembers(body.value, adapted.request)),
    warnings: [...warnings, ...adapted.warnings],
    replyNotes: chatReplyNotes(body),
  }
}

/** Characters in a tool's name (docs/copilot-wire.md, "Parameters by model"). */
export const LONGEST_TOOL_NAME = 64

/** Whether upstream takes the tools that are offered and the calls of the history. */
function arePassableTools({ tools, functions, messages }: ChatRequest): boolean {
  return (
    (tools ?? []).every((tool) => tool.type !== 'custom' && isAccepted(tool.function) && isAccepted(tool.custom)) &&
    (functions ?? []).every(isAccepted) &&
    messages.every(arePassableCalls)
  )
}

function arePassableCalls({ role, tool_calls: calls, function_call: call }: ChatMessage): boolean {
  if (role !== 'assistant') return true
  if (!isAccepted(call)) return false
  if (!calls) return true
  // Upstream's schema knows functions only.
  return calls.every((each) => each['type'] !== 'custom' && isAccepted(each['function']) && isAccepted(each['custom']))
}

/** An empty name passes: no translation could repair it, and upstream's own 400 is clearer. */
function isAccepted(named: unknown): boolean {
  const name = isObject(named) ? named['name'] : undefined
  return typeof name !== 'string' || name === '' || isLegalName(name, LONGEST_TOOL_NAME)
}
