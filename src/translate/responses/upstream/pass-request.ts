import type { CallerRequest, EncodeContext, EncodedRequest } from '../../dialect.ts'
import { refuseValue } from '../../parts/invalid.ts'
import { isObject, type JsonObject } from '../../../json/json.ts'
import { changedMembers, spliceMembers } from '../../../json/json-members.ts'
import type { Warning } from '../../warning.ts'
import { settingsOf } from '../response-object.ts'
import { responsesBodyOf, type ResponsesRequest, storedInputOf } from '../wire.ts'
import { adaptRequest } from './adapt.ts'
import { isLite } from './lite.ts'
import { isChatgpt } from './model-profile.ts'
import type { UpstreamReplyNotes } from './normalise/state.ts'
import { isPassableItem } from './pass-items.ts'
import { arePassable, inUsualForm, isPassableName } from './pass-tools.ts'

/**
 * Returns the body for a Responses upstream: the caller's own text with only the necessary changes. The body always
 * asks for a stream and for encrypted reasoning, and never for storage.
 *
 * @returns undefined if this model does not accept the request's names, namespaces or freeform tools
 * @throws Fault `invalid_request`
 */
export function passResponsesRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const body = responsesBodyOf(request)
  const value: JsonObject = isChatgpt(context) ? inUsualForm(body.value) : body.value
  if (!isPassable(value, context.learnedRefusals)) return undefined
  if (value['previous_response_id']) {
    refuseValue('previous_response_id', 'no response with this id is stored', 'previous_response_not_found')
  }
  const warnings: Warning[] = []
  const conversation = (body.value.prompt_cache_key ?? undefined) || request.sessionId
  const adapted = adaptRequest(value, conversation, context, warnings)
  const echo = settingsOf(body.value, body.continues)
  return {
    headers: adapted.headers,
    body: spliceMembers(body, changedMembers(body.value, adapted.body)),
    warnings,
    replyNotes: {
      ...adapted.replyNotes,
      storedInput: storedInputOf(body),
      echo: isLite(context) ? { ...echo, ...liteEcho(body.value) } : echo,
    } satisfies UpstreamReplyNotes,
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

function isPassable({ input, tools, tool_choice: choice }: JsonObject, learnedRefusals: ReadonlySet<string>): boolean {
  if (!arePassable(tools, learnedRefusals)) return false
  if (isObject(choice) && !isPassableName(choice['name'])) return false
  return (
    !Array.isArray(input) || input.every((item: unknown) => !isObject(item) || isPassableItem(item, learnedRefusals))
  )
}
