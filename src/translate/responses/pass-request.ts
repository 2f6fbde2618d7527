import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { refuseValue } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { spliceMembers } from '../parts/json-members.ts'
import { refuseTooManyTools } from '../parts/tool-limit.ts'
import { isFilled } from '../parts/wire-json.ts'
import type { Warning } from '../warning.ts'
import { fitBreakpoints, takesBreakpoints } from './breakpoints.ts'
import { callNotes } from './call-notes.ts'
import {
  fitServiceTier,
  fitStreamOptions,
  membersToLeaveOut,
  onlyEncrypted,
  onlyReasoning,
  onlyText,
} from './chatgpt-members.ts'
import { fitChatgptChoice, fitChatgptTools, inUsualForm, offeredTools } from './chatgpt-tools.ts'
import { settingsOf } from './echo.ts'
import { itemTypeOf } from './item-types.ts'
import { NO_ENCRYPTED_CONTENT, refusedFields } from './lessons.ts'
import { isLite, liteHeaders, toLite } from './lite.ts'
import {
  fitEffort,
  isChatgpt,
  isCopilot,
  knownEffort,
  takesContextManagement,
  takesReasoning,
  takesSampling,
  takesSummary,
} from './model-habits.ts'
import { isPassableItem, passItems } from './pass-items.ts'
import { arePassable, isPassableName, passToolChoice, passTools } from './pass-tools.ts'
import { removeField } from './remove-field.ts'
import { sessionOf } from './session.ts'
import { responsesBodyOf, type ResponsesRequest } from './wire-request.ts'

/**
 * The body for a Responses upstream: the caller's own text, in which only the members that must change are written
 * anew. It always streams, is never stored, and always asks for reasoning in a form that can be handed back.
 *
 * @returns undefined where names, namespaces or freeform tools do not reach this model as they are
 * @throws Fault `invalid_request`
 */
export function passResponsesRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const body = responsesBodyOf(request)
  const given: JsonObject = body.value
  const value = isChatgpt(context) ? inUsualForm(given) : given
  if (!isPassable(value, context.lessons)) return undefined
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
  const include = isChatgpt(context) ? onlyEncrypted(value['include'], warnings) : value['include']
  set('include', fitInclude(include, context.lessons))
  set('stream_options', withoutObfuscation(value['stream_options']))
  if (isChatgpt(context)) fitToChatgpt(value, set, context, warnings)
  else {
    set('max_output_tokens', fitCap(value['max_output_tokens'], context, warnings))
    for (const row of droppedMembers) if (isDropped(row, value, context, warnings)) set(row.member, undefined)
  }
  set('store', false)
  set('stream', true)
  const named = body.value.prompt_cache_key ?? undefined
  const session = sessionOf(named || request.sessionId, { instructions: value['instructions'], input: value['input'] })
  set('prompt_cache_key', session.key)
  if (isCopilot(context) && !takesBreakpoints(context)) set('prompt_cache_options', undefined)
  dropRefused(value, edits, context.lessons, warnings)
  const echo = settingsOf(body.value, body.continues)
  if (!isChatgpt(context)) return { body: spliceMembers(body, edits), warnings, echo, calls: callNotes(value) }

  const usual = withEdits(value, edits)
  if (!isLite(context)) {
    const bytes = spliceMembers(body, edits)
    return { body: bytes, headers: session.headers, warnings, echo, calls: callNotes(usual) }
  }
  const lite = toLite(usual, warnings)
  for (const member of new Set([...Object.keys(given), ...edits.keys(), ...Object.keys(lite.body)]))
    // `constructor` and its like are members only where somebody wrote them.
    set(member, Object.hasOwn(lite.body, member) ? lite.body[member] : undefined)
  return {
    body: spliceMembers(body, edits),
    headers: { ...session.headers, ...liteHeaders },
    warnings,
    echo: { ...echo, ...liteEcho(body.value) },
    calls: callNotes(usual, lite.grouped),
  }
}

function withEdits(value: JsonObject, edits: ReadonlyMap<string, unknown>): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...value, ...Object.fromEntries(edits) }).filter(([, next]) => next !== undefined),
  )
}

/** What upstream is told elsewhere in the lite form, as the caller said it. */
function liteEcho(value: ResponsesRequest): JsonObject {
  return {
    instructions: value.instructions ?? null,
    tools: value.tools ?? [],
    tool_choice: value.tool_choice ?? 'auto',
    parallel_tool_calls: value.parallel_tool_calls ?? true,
  }
}

type SetMember = (member: string, next: unknown) => void

/** Leaves nothing but what the ChatGPT backend takes. */
function fitToChatgpt(value: JsonObject, set: SetMember, context: EncodeContext, warnings: Warning[]): void {
  for (const member of membersToLeaveOut(value, warnings)) set(member, undefined)
  set('stream_options', fitStreamOptions(value['stream_options']))
  set('service_tier', fitServiceTier(value['service_tier']))
  set('text', onlyText(value['text'], context.model.supports.verbosity !== false, warnings))
  set('instructions', typeof value['instructions'] === 'string' ? value['instructions'] : '')
}

function isPassable({ input, tools, tool_choice: choice }: JsonObject, lessons: ReadonlySet<string>): boolean {
  if (!arePassable(tools, lessons)) return false
  if (isObject(choice) && !isPassableName(choice['name'])) return false
  return !Array.isArray(input) || input.every((item: unknown) => !isObject(item) || isPassableItem(item, lessons))
}

function fitInput(input: unknown, context: EncodeContext, warnings: Warning[]): unknown {
  if (Array.isArray(input)) {
    const items = passItems(input, context, warnings)
    // OpenAI's own API has its own rules for them.
    return isCopilot(context) ? fitBreakpoints(items, context) : items
  }
  // The ChatGPT backend takes a list only.
  if (context.profile !== 'chatgpt' || typeof input !== 'string') return input
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

/** Without any tool, upstream refuses to be told how to choose one. */
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

/** Tools can come as items too. */
function bringsTools(input: unknown): boolean {
  return Array.isArray(input) && input.some((item: unknown) => isObject(item) && toolBearers.has(itemTypeOf(item)))
}

const toolBearers: ReadonlySet<string | undefined> = new Set(['additional_tools', 'tool_search_output'])

function fitReasoning(reasoning: unknown, context: EncodeContext, warnings: Warning[]): unknown {
  if (!isObject(reasoning)) return reasoning
  const { model } = context
  const { effort } = reasoning
  const dropped = (field: string) => warnings.push({ code: 'dropped', field, detail: `not supported by ${model.id}` })
  if (!takesReasoning(model)) {
    if (isFilled(effort) && effort !== 'none') dropped('reasoning')
    return undefined
  }
  const changes = new Map<string, unknown>()
  if (isFilled(effort)) {
    const fitted = fitEffort(effort, context)
    if (fitted !== effort) changes.set('effort', fitted)
    if (fitted === undefined) dropped('reasoning.effort')
    else if (fitted !== effort) {
      const code = fitted === knownEffort(effort, context) ? 'adapted' : 'clamped'
      warnings.push({ code, field: 'reasoning.effort', detail: `sent as '${fitted}' to ${model.id}` })
    }
  }
  for (const member of ['summary', 'generate_summary']) {
    if (takesSummary(context) || !isFilled(reasoning[member])) continue
    dropped(`reasoning.${member}`)
    changes.set(member, undefined)
  }
  const fitted = changes.size === 0 ? reasoning : { ...reasoning, ...Object.fromEntries(changes) }
  return isChatgpt(context) ? onlyReasoning(fitted, warnings) : fitted
}

function fitCap(cap: unknown, { model }: EncodeContext, warnings: Warning[]): unknown {
  const limit = model.maxOutputTokens ?? Infinity
  if (typeof cap !== 'number' || cap <= limit) return cap
  warnings.push({ code: 'clamped', field: 'max_output_tokens', detail: `above the limit of ${model.id}` })
  return limit
}

const ENCRYPTED = 'reasoning.encrypted_content'

/** Nothing is stored upstream, so that reasoning has to travel with the conversation. */
function fitInclude(include: unknown, lessons: ReadonlySet<string>): unknown {
  const asked: readonly unknown[] = Array.isArray(include) ? include : []
  if (lessons.has(NO_ENCRYPTED_CONTENT)) {
    const kept = asked.filter((value) => value !== ENCRYPTED)
    if (kept.length === asked.length) return include
    return kept.length === 0 ? undefined : kept
  }
  return asked.includes(ENCRYPTED) ? include : [...asked, ENCRYPTED]
}

/** Events are written anew where needed: padding that was measured for other texts is of no use. */
function withoutObfuscation(options: unknown): unknown {
  if (!isObject(options) || !Object.hasOwn(options, 'include_obfuscation')) return options
  const { include_obfuscation: _padding, ...rest } = options
  return Object.keys(rest).length === 0 ? undefined : rest
}

interface DroppedMember {
  readonly member: string
  /** Values that ask for what happens anyway, or for nothing that could change the answer. */
  readonly isIdle?: (value: unknown) => boolean
  /** Absent: always. */
  readonly applies?: (context: EncodeContext) => boolean
}

const anyValue = (): boolean => true
const isZero = (value: unknown): boolean => value === 0
const isOne = (value: unknown): boolean => value === 1
const isUsualTier = (value: unknown): boolean => value === 'auto' || value === 'default'
const refusesSampling = (context: EncodeContext): boolean => !takesSampling(context)

/**
 * Members that Copilot or OpenAI's own API refuses (docs/copilot-wire.md, "Responses requests"). The first four are
 * refused or carried out before, so that what is left of them says nothing.
 */
const droppedMembers: readonly DroppedMember[] = [
  { member: 'previous_response_id', isIdle: anyValue },
  { member: 'background', isIdle: anyValue },
  { member: 'conversation', isIdle: anyValue },
  { member: 'prompt', isIdle: anyValue },
  // Labels: Codex CLI's own telemetry, and who the end user is.
  { member: 'client_metadata', isIdle: anyValue },
  { member: 'safety_identifier', isIdle: anyValue, applies: isCopilot },
  { member: 'service_tier', isIdle: isUsualTier, applies: isCopilot },
  { member: 'temperature', isIdle: isOne, applies: refusesSampling },
  { member: 'top_p', isIdle: isOne, applies: refusesSampling },
  // It asks for items that hold the history in short; a caller that does not ask gets none.
  {
    member: 'context_management',
    isIdle: (value) => Array.isArray(value) && value.length === 0,
    applies: (context) => isCopilot(context) && !takesContextManagement(context),
  },
  // In Open Responses, not in OpenAI's API.
  { member: 'frequency_penalty', isIdle: isZero },
  { member: 'presence_penalty', isIdle: isZero },
]

function isDropped(row: DroppedMember, value: JsonObject, context: EncodeContext, warnings: Warning[]): boolean {
  const { member, isIdle, applies } = row
  const asked = value[member]
  if (asked === undefined || applies?.(context) === false) return false
  if (asked !== null && isIdle?.(asked) !== true) {
    warnings.push({ code: 'dropped', field: member, detail: `not supported by ${context.model.id}` })
  }
  return true
}

/** Leaves out what upstream has refused of the model before. */
function dropRefused(
  value: JsonObject,
  edits: Map<string, unknown>,
  lessons: ReadonlySet<string>,
  warnings: Warning[],
): void {
  for (const path of refusedFields(lessons)) {
    const [member = ''] = path.split(/[.[]/, 1)
    const own = Object.hasOwn(value, member) ? value[member] : undefined
    const current = edits.has(member) ? edits.get(member) : own
    if (current === undefined) continue
    const before: JsonObject = { [member]: current }
    const after = removeField(before, path)
    if (after === before) continue
    edits.set(member, after[member])
    // What only the proxy has added, the caller does not miss.
    if (own !== undefined)
      warnings.push({ code: 'refused_upstream', field: path, detail: 'upstream has refused it for this model before' })
  }
}
