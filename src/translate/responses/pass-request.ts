import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { refuseValue } from '../engine/request/invalid.ts'
import type { JsonObject } from '../../json/json.ts'
import { changedMembers, spliceMembers } from '../../json/json-members.ts'
import { settingsOf } from './response-object.ts'
import { responsesBodyOf, type ResponsesRequest, storedInputOf } from './wire.ts'
import { isLite } from './rules/lite.ts'
import { isChatgpt } from './rules/model-profile.ts'
import { callNotes } from './read-stream/wrapper-calls.ts'
import { inUsualForm } from './rules/tool-rules.ts'
import { adaptRequest } from './rules/rules.ts'

/**
 * Returns the body for a Responses upstream: the caller's own text with only the necessary changes. The body always
 * asks for a stream and for encrypted reasoning, and never for storage. Its reply gives calls the caller's names of tools
 * again.
 * @throws Fault `invalid_request`
 */
export function passResponsesRequest(request: CallerRequest, context: EncodeContext): EncodedRequest {
  const body = responsesBodyOf(request)
  if (body.value.previous_response_id) {
    refuseValue('previous_response_id', 'no response with this id is stored', 'previous_response_not_found')
  }
  const usual: JsonObject = isChatgpt(context) ? inUsualForm(body.value) : body.value
  const conversation = (body.value.prompt_cache_key ?? undefined) || request.sessionId
  const { body: sent, headers, warnings, effects } = adaptRequest(usual, conversation, context)
  const echo = settingsOf(body.value, body.continues)
  return {
    headers: isChatgpt(context) ? headers : undefined,
    body: spliceMembers(body, changedMembers(body.value, sent)),
    warnings,
    replyNotes: {
      dialect: 'responses',
      calls: callNotes(sent, effects),
      storedInput: storedInputOf(body),
      echo: isLite(context) ? { ...echo, ...liteEcho(body.value) } : echo,
    },
  }
}

/** The caller's values of members that the lite form moves into items. */
function liteEcho(value: ResponsesRequest): JsonObject {
  return {
    instructions: value.instructions ?? null,
    tools: value.tools ?? [],
    tool_choice: value.tool_choice ?? 'auto',
    parallel_tool_calls: value.parallel_tool_calls ?? true,
  }
}
