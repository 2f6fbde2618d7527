import type { CallerRequest, EncodeContext, EncodedRequest } from '../../dialect.ts'
import { refuseValue } from '../../parts/invalid.ts'
import { isObject, type JsonObject } from '../../../json/json.ts'
import { changedMembers, spliceMembers } from '../../../json/json-members.ts'
import { refuseTooManyTools } from '../../parts/shared-checks.ts'
import type { Warning } from '../../warning.ts'
import { settingsOf } from '../response-object.ts'
import { responsesBodyOf, type ResponsesRequest, storedInputOf } from '../wire.ts'
import { fitBreakpoints, takesBreakpoints } from './breakpoints.ts'
import { finishRequest } from './finish-request.ts'
import { isLite } from './lite.ts'
import {
  fitCap,
  fitChatgptStreamOptions,
  fitChatgptText,
  fitInclude,
  fitReasoning,
  membersToDrop,
  withoutObfuscation,
} from './members.ts'
import { isChatgpt, isCopilot } from './model-profile.ts'
import type { UpstreamReplyNotes } from './normalise/state.ts'
import { isPassableItem, passItems } from './pass-items.ts'
import {
  arePassable,
  bringsTools,
  fitChatgptChoice,
  fitChatgptTools,
  inUsualForm,
  isPassableName,
  offeredTools,
  passToolChoice,
  passTools,
} from './pass-tools.ts'
import { sessionOf } from './session.ts'

/**
 * Returns the body for a Responses upstream: the caller's own text with only the necessary changes. The body always
 * asks for a stream and for encrypted reasoning, and never for storage.
 *
 * @returns undefined if this model does not accept the request's names, namespaces or freeform tools
 * @throws Fault `invalid_request`
 */
export function passResponsesRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const body = responsesBodyOf(request)
  const isForChatgpt = isChatgpt(context)
  const value: JsonObject = isForChatgpt ? inUsualForm(body.value) : body.value
  if (!isPassable(value, context.learnedRefusals)) return undefined
  if (value['previous_response_id']) {
    refuseValue('previous_response_id', 'no response with this id is stored', 'previous_response_not_found')
  }
  const warnings: Warning[] = []
  const input = fitInput(value['input'], context, warnings)
  const tools = fitTools(value, context, warnings)
  if (Array.isArray(tools['tools'])) refuseTooManyTools(tools['tools'].length, 'tools', context.model)
  const fitted: JsonObject = {
    ...value,
    model: context.model.id,
    input,
    ...tools,
    reasoning: fitReasoning(value['reasoning'], context, warnings),
    include: fitInclude(value['include'], context, warnings),
    ...(!isForChatgpt && { max_output_tokens: fitCap(value['max_output_tokens'], context, warnings) }),
    ...Object.fromEntries(membersToDrop(value, context, warnings).map((member) => [member, undefined])),
    ...(isForChatgpt
      ? {
          stream_options: fitChatgptStreamOptions(value['stream_options']),
          service_tier: usualTiers.has(value['service_tier']) ? undefined : value['service_tier'],
          text: fitChatgptText(value['text'], context, warnings),
          instructions: typeof value['instructions'] === 'string' ? value['instructions'] : '',
        }
      : { stream_options: withoutObfuscation(value['stream_options']) }),
    store: false,
    stream: true,
    ...(isCopilot(context) && !takesBreakpoints(context) && { prompt_cache_options: undefined }),
  }
  const session = sessionOf((body.value.prompt_cache_key ?? undefined) || request.sessionId, value)
  const finished = finishRequest(fitted, session, context, warnings, (field) =>
    // A member that the proxy added needs no warning.
    Object.hasOwn(value, field.split(/[.[]/, 1)[0] ?? '')
      ? { code: 'refused_upstream', field, detail: 'the provider has refused this field for this model' }
      : undefined,
  )
  const echo = settingsOf(body.value, body.continues)
  return {
    headers: finished.headers,
    body: spliceMembers(body, changedMembers(body.value, finished.body)),
    warnings,
    replyNotes: {
      ...finished.replyNotes,
      storedInput: storedInputOf(body),
      echo: isLite(context) ? { ...echo, ...liteEcho(body.value) } : echo,
    } satisfies UpstreamReplyNotes,
  }
}

/** Values of `service_tier` that ask for the default. */
const usualTiers: ReadonlySet<unknown> = new Set(['auto', 'default', null])

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

function fitInput(input: unknown, context: EncodeContext, warnings: Warning[]): unknown {
  if (Array.isArray(input)) {
    const items = passItems(input, context, warnings)
    // OpenAI's own API has different rules for breakpoints.
    return isCopilot(context) ? fitBreakpoints(items, context) : items
  }
  // The ChatGPT backend does not accept a string.
  if (context.profile !== 'chatgpt' || typeof input !== 'string') return input
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

/** Without a tool, upstream refuses `tool_choice`. */
function fitTools(value: JsonObject, context: EncodeContext, warnings: Warning[]): JsonObject {
  const { tools: given, input, tool_choice: choice, parallel_tool_calls: parallel } = value
  const tools = isChatgpt(context) && Array.isArray(given) ? fitChatgptTools(given, 'tools', choice, warnings) : given
  const kept = Array.isArray(tools) ? passTools(tools, 'tools', context, warnings) : tools
  const choiceKept = passToolChoice(choice, context)
  const isBare = (Array.isArray(kept) ? kept.length === 0 : !kept) && !bringsTools(input)
  if (!isBare) {
    const fitted = isChatgpt(context) ? fitChatgptChoice(choiceKept, offeredTools(kept, input)) : choiceKept
    return { tools: kept, tool_choice: fitted, parallel_tool_calls: parallel }
  }
  if (isObject(choice) || choice === 'required') {
    warnings.push({ code: 'dropped', field: 'tool_choice', detail: 'there are no tools' })
  }
  return { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined }
}
