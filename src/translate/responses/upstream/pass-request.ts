import type { CallerRequest, EncodedRequest } from '../../dialect.ts'
import { withoutLearnedFields } from '../../learned-refusals.ts'
import { refuseValue } from '../../parts/invalid.ts'
import { isObject, type JsonObject } from '../../parts/json.ts'
import { spliceMembers } from '../../parts/json-members.ts'
import { refuseTooManyTools } from '../../parts/shared-checks.ts'
import type { Warning } from '../../warning.ts'
import { settingsOf } from '../response-object.ts'
import { responsesBodyOf, type ResponsesRequest } from '../wire.ts'
import { fitBreakpoints, takesBreakpoints } from './breakpoints.ts'
import { isLite, liteHeaders, toLite } from './lite.ts'
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
import { callNotes } from './normalise/wrapper-calls.ts'
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
import type { EncodeContext } from './settings.ts'

/**
 * The body for a Responses upstream: the caller's own text, with only the members rewritten that must change. It always
 * streams, is never stored, and always asks for encrypted reasoning.
 *
 * @returns undefined if this model does not take the request's names, namespaces or freeform tools
 * @throws Fault `invalid_request`
 */
export function passResponsesRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const body = responsesBodyOf(request)
  const given: JsonObject = body.value
  const value = isChatgpt(context) ? inUsualForm(given) : given
  if (!isPassable(value, context.learnedRefusals)) return undefined
  if (value['previous_response_id']) {
    refuseValue('previous_response_id', 'there is no stored response of this id', 'previous_response_not_found')
  }
  const warnings: Warning[] = []
  const edits = new Map<string, unknown>()
  const set = (member: string, next: unknown): void => {
    if (next === given[member]) edits.delete(member)
    else edits.set(member, next)
  }

  set('model', context.model.id)
  set('input', fitInput(value['input'], context, warnings))
  const tools = fitTools(value, context, warnings)
  if (Array.isArray(tools['tools'])) refuseTooManyTools(tools['tools'].length, 'tools', context.model)
  for (const member of ['tools', 'tool_choice', 'parallel_tool_calls']) set(member, tools[member])
  set('reasoning', fitReasoning(value['reasoning'], context, warnings))
  set('include', fitInclude(value['include'], context, warnings))
  if (!isChatgpt(context)) set('max_output_tokens', fitCap(value['max_output_tokens'], context, warnings))
  for (const member of membersToDrop(value, context, warnings)) set(member, undefined)
  if (isChatgpt(context)) {
    set('stream_options', fitChatgptStreamOptions(value['stream_options']))
    set('service_tier', usualTiers.has(value['service_tier']) ? undefined : value['service_tier'])
    set('text', fitChatgptText(value['text'], context, warnings))
    set('instructions', typeof value['instructions'] === 'string' ? value['instructions'] : '')
  } else set('stream_options', withoutObfuscation(value['stream_options']))
  set('store', false)
  set('stream', true)
  const named = body.value.prompt_cache_key ?? undefined
  const session = sessionOf(named || request.sessionId, { instructions: value['instructions'], input: value['input'] })
  set('prompt_cache_key', session.key)
  if (isCopilot(context) && !takesBreakpoints(context)) set('prompt_cache_options', undefined)
  dropRefused(value, edits, context.learnedRefusals, warnings)
  const echo = settingsOf(body.value, body.continues)
  const notesOf = (sent: JsonObject): UpstreamReplyNotes => ({ echo, calls: callNotes(sent) })
  if (!isChatgpt(context)) return { body: spliceMembers(body, edits), warnings, replyNotes: notesOf(value) }

  const usual = withEdits(value, edits)
  const { headers } = session
  if (!isLite(context)) return { body: spliceMembers(body, edits), headers, warnings, replyNotes: notesOf(usual) }
  const lite = toLite(usual, warnings)
  for (const member of new Set([...Object.keys(given), ...edits.keys(), ...Object.keys(lite.body)]))
    // `constructor` and its like are members only if somebody wrote them.
    set(member, Object.hasOwn(lite.body, member) ? lite.body[member] : undefined)
  return {
    body: spliceMembers(body, edits),
    headers: { ...headers, ...liteHeaders },
    warnings,
    replyNotes: {
      echo: { ...echo, ...liteEcho(body.value) },
      calls: callNotes(usual, lite.grouped),
    } satisfies UpstreamReplyNotes,
  }
}

/** Values of `service_tier` that ask for the default. */
const usualTiers: ReadonlySet<unknown> = new Set(['auto', 'default', null])

function withEdits(value: JsonObject, edits: ReadonlyMap<string, unknown>): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...value, ...Object.fromEntries(edits) }).filter(([, next]) => next !== undefined),
  )
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

function fitInput(input: unknown, context: EncodeContext, warnings: Warning[]): unknown {
  if (Array.isArray(input)) {
    const items = passItems(input, context, warnings)
    // OpenAI's API has rules of its own for breakpoints.
    return isCopilot(context) ? fitBreakpoints(items, context) : items
  }
  // The ChatGPT backend takes no string.
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
  return {}
}

function dropRefused(
  value: JsonObject,
  edits: Map<string, unknown>,
  learnedRefusals: ReadonlySet<string>,
  warnings: Warning[],
): void {
  const kept = withoutLearnedFields(withEdits(value, edits), learnedRefusals)
  if (kept === undefined) return
  for (const [member, next] of kept.changes) edits.set(member, next)
  for (const field of kept.fields) {
    const [member = ''] = field.split(/[.[]/, 1)
    // A member that the proxy added needs no warning.
    if (Object.hasOwn(value, member))
      warnings.push({ code: 'refused_upstream', field, detail: 'upstream has refused it for this model before' })
  }
}
