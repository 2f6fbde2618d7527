import { dropRule } from '../../engine/drop-rule.ts'
import { fieldOf } from '../../engine/origin.ts'
import { keepPlaces } from '../../engine/places.ts'
import {
  type Applied,
  applyRules,
  type Draft,
  type Made,
  type Outcome,
  type Rule as EngineRule,
} from '../../engine/apply-rules.ts'
import { isObject, type JsonObject, textOf } from '../../../json/json.ts'
import type { EncodeContext } from '../../dialect.ts'
import { editAt, learnedFieldsRule, learnedValues, removeAt } from '../../engine/learned-refusals.ts'
import { refuseTooManyTools } from '../../engine/request/shared-checks.ts'
import type { Warning } from '../../warning.ts'
import { encryptedTools, openToolList, withOpenParameters } from '../agent-messages.ts'
import { itemTypeOf, mapParts } from '../items/item.ts'
import { fitBreakpoints, takesBreakpoints, toInstructions } from './breakpoints.ts'
import { NO_BREAKPOINTS, NO_ITEM_IDS, opaqueItems, refusedItems, UNREADABLE } from './learned-refusals.ts'
import { isLite, liteHeaders, toLite } from './lite.ts'
import {
  droppedByApi,
  droppedByChatgpt,
  fitCap,
  fitChatgptStreamOptions,
  fitInclude,
  fitReasoning,
  fitText,
  withoutObfuscation,
} from './member-rules.ts'
import { isChatgpt, isCopilot } from './model-profile.ts'
import { nameTools } from './name-tools.ts'
import { fitItem } from './item-rules.ts'
import { bringsTools, fitChatgptChoice, fitToolList, offeredTools, passToolChoice } from './tool-rules.ts'
import { pairItems } from './pair-calls.ts'
import { type Session, sessionOf } from './session.ts'

interface Target extends EncodeContext {
  readonly session: Session
}

type Rule = EngineRule<JsonObject, Target>

const REQUESTS = 'docs/copilot-wire.md, "Responses requests"'
const CODEX = 'docs/codex-wire.md, "Request body"'

/** A rule about one member. `fit` adds warnings, and returns the same value if nothing changes. */
function memberRule(
  member: string,
  name: string,
  source: string,
  fit: (value: unknown, target: Target, warnings: Warning[]) => unknown,
  applies?: (target: Target) => boolean,
): Rule {
  return {
    name,
    source,
    applies,
    adapt: ({ body }, target) => {
      const warnings: Warning[] = []
      const value = fit(body[member], target, warnings)
      const isSame = value === body[member]
      return isSame && warnings.length === 0 ? undefined : { patch: { [member]: value }, warnings }
    },
  }
}

/** A rule about the items of the input, if they are a list. Returns the same list if nothing changes. */
function itemsRule(
  name: string,
  source: string,
  fit: (items: readonly JsonObject[], target: Target, warnings: Warning[]) => readonly JsonObject[],
  applies?: (target: Target) => boolean,
): Rule {
  // The items were checked when the request was decoded, or an encoder made them.
  const fitInput = (input: unknown, target: Target, warnings: Warning[]): unknown =>
    Array.isArray(input) ? fit(input, target, warnings) : input
  return memberRule('input', name, source, fitInput, applies)
}

/** OpenAI's own API takes all breakpoints, as long as it refuses none. */
const fitsBreakpoints = (target: Target): boolean => isCopilot(target) || target.learnedRefusals.has(NO_BREAKPOINTS)

const itemRules: readonly Rule[] = [
  {
    name: 'items in the form that upstream takes',
    source: REQUESTS,
    at: 'input',
    adapt: ({ body: { input } }, target) => {
      if (!Array.isArray(input)) return undefined
      const items: readonly JsonObject[] = input
      const warnings: Warning[] = []
      const fitted = items.map((item, at) =>
        fitItem(item, { path: fieldOf(item, 'input', at), context: target, warnings }),
      )
      if (fitted.every((item, at) => item === items[at])) return undefined
      const { kept, places } = keepPlaces(fitted)
      return { patch: { input: kept }, places: { input: places }, warnings }
    },
  },
  {
    name: 'items that upstream refuses left out',
    source: 'caozhiyuan/copilot-api#309, openai/codex#7073, openclaw/openclaw#66424',
    at: 'input',
    adapt: ({ body }, { learnedRefusals }) => {
      const fitted = withoutRefused(body, learnedRefusals)
      // The refusal's own warning tells the caller.
      return fitted === body ? undefined : { patch: { input: fitted['input'] }, warnings: [] }
    },
  },
  itemsRule(
    'calls and outputs in pairs',
    `${REQUESTS}: No tool output found for function call`,
    (items, _target, warnings) => pairItems(items, warnings),
  ),
  // OpenAI's own API has different rules for images.
  itemsRule(
    'image details that every model takes',
    `${REQUESTS}; caozhiyuan/copilot-api#362`,
    (items, _target, warnings) => fitDetails(items, warnings),
    isCopilot,
  ),
  {
    name: 'breakpoints that upstream takes',
    source: 'docs/copilot-wire.md, "Prompt caching"',
    at: 'input',
    adapt({ body, made }, target) {
      const { input } = body
      if (!Array.isArray(input) || (made === undefined && !fitsBreakpoints(target))) return undefined
      const items: readonly JsonObject[] = input
      const fitted = fitBreakpoints(items, target)
      if (fitted === items) return undefined
      const isInstructed = made !== undefined && body['instructions'] === undefined && !takesBreakpoints(target)
      return { patch: { input: fitted, ...(isInstructed && toInstructions({ input: fitted })) }, warnings: [] }
    },
  },
  memberRule(
    'input',
    'input as a list',
    `${CODEX}: a string is refused`,
    (input) =>
      typeof input === 'string'
        ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
        : input,
    isChatgpt,
  ),
]

const toolRules: readonly Rule[] = [
  {
    name: 'tools in the form that upstream takes',
    source: `${REQUESTS}; tool schemas; ${CODEX}`,
    at: 'tools',
    adapt: ({ body: { tools, tool_choice: choice } }, target) => {
      if (!Array.isArray(tools)) return undefined
      const warnings: Warning[] = []
      const fitted = fitToolList(tools, { path: 'tools', choice, context: target, warnings })
      if (warnings.length === 0 && fitted.every((tool, at) => tool === tools[at])) return undefined
      const { kept, places } = keepPlaces(fitted)
      return { patch: { tools: kept }, places: { tools: places }, warnings }
    },
  },
  {
    name: 'tool_choice and parallel calls that the tools allow',
    source: `${REQUESTS}: upstream refuses tool_choice without tools; ${CODEX}`,
    adapt: ({ body }, target) => fitChoice(body, target),
  },
  {
    name: 'too many tools refused',
    source: 'docs/copilot-wire.md, "Parameters by model"',
    at: 'tools',
    adapt: ({ body: { tools } }, { model }) => {
      if (Array.isArray(tools)) refuseTooManyTools(tools.length, 'tools', model)
      return undefined
    },
  },
]

function withoutRefused(body: JsonObject, learned: ReadonlySet<string>): JsonObject {
  const refused = new Set([...refusedItems(learned), ...(learned.has(UNREADABLE) ? opaqueItems.keys() : [])])
  const kept = editAt(body, 'input[]', (item) =>
    isObject(item) && refused.has(itemTypeOf(item) ?? '') ? undefined : item,
  )
  const readable = learned.has(UNREADABLE)
    ? editAt(kept, 'input[].output[]', (part) =>
        isObject(part) && Object.hasOwn(part, 'encrypted_content') ? undefined : part,
      )
    : kept
  return learned.has(NO_ITEM_IDS) ? removeAt(readable, 'input[].id') : readable
}

function fitChoice({ tools, input, tool_choice: choice, parallel_tool_calls: parallel }: JsonObject, target: Target) {
  const warnings: Warning[] = []
  const taken = passToolChoice(choice, target)
  const isBare = (Array.isArray(tools) ? tools.length === 0 : !tools) && !bringsTools(input)
  if (!isBare) {
    const fitted = isChatgpt(target) ? fitChatgptChoice(taken, offeredTools(tools, input)) : taken
    return { patch: { tool_choice: fitted, parallel_tool_calls: fitParallel(parallel, target, warnings) }, warnings }
  }
  if (isObject(choice) || choice === 'required') {
    warnings.push({ code: 'dropped', field: 'tool_choice', detail: 'there are no tools' })
  }
  return { patch: { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined }, warnings }
}

function fitParallel(parallel: unknown, { model }: EncodeContext, warnings: Warning[]): unknown {
  if (model.supports.parallelToolCalls !== false) return parallel
  if (parallel === true) {
    warnings.push({ code: 'dropped', field: 'parallel_tool_calls', detail: `not supported by ${model.id}` })
  }
  return undefined
}

/** Images in other details are refused by some models. Text in them stays readable in high detail. */
const details: ReadonlySet<unknown> = new Set(['low', 'high', undefined, null])

function fitDetails(items: readonly JsonObject[], warnings: Warning[]): readonly JsonObject[] {
  let first: string | undefined
  const fitted = items.map((item, at) => {
    const mapped = mapParts(item, (part) =>
      part['type'] === 'input_image' && !details.has(part['detail']) ? { ...part, detail: 'high' } : part,
    )
    if (mapped !== item) first ??= fieldOf(item, 'input', at)
    return mapped
  })
  if (first === undefined) return items
  warnings.push({ code: 'adapted', field: first, detail: 'image detail sent as high' })
  return fitted
}

/** Values of `service_tier` that ask for the default. */
const usualTiers: ReadonlySet<unknown> = new Set(['auto', 'default', null])

const isApi = (target: Target): boolean => !isChatgpt(target)

const settingRules: readonly Rule[] = [
  memberRule('reasoning', 'reasoning that the model takes', `${REQUESTS}; ${CODEX}`, fitReasoning),
  memberRule('text', 'text settings that the model takes', `${REQUESTS}; ${CODEX}`, fitText),
  memberRule('include', 'encrypted reasoning included', REQUESTS, fitInclude),
  memberRule('max_output_tokens', 'output cap within the limit', REQUESTS, fitCap, isApi),
  ...droppedByApi.map((row) =>
    dropRule<JsonObject, Target>(
      { source: REQUESTS, ...row, applies: (target) => isApi(target) && row.applies?.(target) !== false },
      { reason: ({ model }) => `not supported by ${model.id}`, code: 'unsupported_parameter' },
    ),
  ),
  {
    name: 'members that the ChatGPT backend does not take',
    source: CODEX,
    applies: isChatgpt,
    adapt: ({ body }) => droppedByChatgpt(body),
  },
  memberRule('stream_options', 'no obfuscation', REQUESTS, withoutObfuscation, isApi),
  memberRule('stream_options', 'options of delivery', CODEX, fitChatgptStreamOptions, isChatgpt),
  memberRule('service_tier', 'no usual tier', CODEX, (tier) => (usualTiers.has(tier) ? undefined : tier), isChatgpt),
  memberRule('instructions', 'instructions stated', CODEX, (text) => textOf(text), isChatgpt),
  memberRule(
    'prompt_cache_options',
    'no cache options',
    'docs/copilot-wire.md, "Prompt caching"',
    () => undefined,
    (target) => fitsBreakpoints(target) && !takesBreakpoints(target),
  ),
]

/** The last rules. The form of the backend is written when all else is settled. */
const formRules: readonly Rule[] = [
  {
    name: 'a stream that is not stored',
    source: `${REQUESTS}; ${CODEX}`,
    adapt: (_draft, { model }) => ({ patch: { model: model.id, store: false, stream: true }, warnings: [] }),
  },
  learnedFieldsRule(REQUESTS),
  {
    name: 'the conversation named',
    source: 'docs/copilot-wire.md, "Prompt caching"; docs/codex-wire.md, "Request headers"',
    adapt: ({ headers }, target) => {
      const { key, headers: named } = target.session
      const isRefused = learnedValues(target.learnedRefusals, 'field').includes('prompt_cache_key')
      return {
        patch: { prompt_cache_key: isRefused ? undefined : key },
        headers: isChatgpt(target) ? { ...headers, ...named } : headers,
        warnings: [],
      }
    },
  },
  {
    name: 'the lite form',
    source: 'docs/codex-wire.md, "Lite form"',
    applies: isLite,
    adapt: ({ body, headers }): Outcome<JsonObject> => {
      const warnings: Warning[] = []
      const { body: lite, grouped } = toLite(body, warnings)
      const patch = { tools: undefined, ...lite }
      return { patch, headers: { ...headers, ...liteHeaders }, warnings, effects: { grouped } }
    },
  },
]

const namesRule: Rule = {
  name: 'names and kinds of tools that upstream takes',
  source: `${REQUESTS}; a model that refused namespaces or freeform tools`,
  adapt: ({ body }, { learnedRefusals }) => {
    const warnings: Warning[] = []
    const { value, tools } = nameTools(body, learnedRefusals, warnings)
    return value === body ? undefined : { patch: value, warnings, effects: { tools: tools ?? new Map() } }
  },
}

/** Runs before tools get other names, because its effect names the caller's tools. */
const agentRule: Rule = {
  name: 'no encrypted parameters',
  source:
    'decolua/9router#1758, openai/codex#34833, #37237: only OpenAI’s own backend writes and reads encrypted arguments; ' +
    'not verified for Copilot',
  applies: isCopilot,
  adapt: ({ body }) => {
    const opened = encryptedTools(body)
    if (opened === undefined) return undefined
    const { tools, input } = body
    const items: unknown = Array.isArray(input)
      ? input.map((item: unknown) => (isObject(item) && Array.isArray(item['tools']) ? withOpenParameters(item) : item))
      : input
    return {
      patch: { input: items, ...(Array.isArray(tools) && { tools: openToolList(tools) }) },
      warnings: [
        { code: 'adapted', field: 'tools', detail: 'arguments that agents send each other are not encrypted' },
      ],
      effects: { opened },
    }
  },
}

/** In running order: a later rule sees the changes of earlier ones. */
const rules: readonly Rule[] = [agentRule, namesRule, ...itemRules, ...toolRules, ...settingRules, ...formRules]

/**
 * Fits a request to upstream and to the model. The result always asks for a stream and for encrypted reasoning, and never for
 * storage.
 * @param conversation the caller's name for its conversation
 * @throws Fault `invalid_request`
 */
export function adaptRequest(
  body: JsonObject,
  conversation: string | undefined,
  context: EncodeContext,
  made?: Made,
): Applied<JsonObject> {
  const draft: Draft<JsonObject> = { body, headers: {}, made }
  return applyRules(draft, rules, { ...context, session: sessionOf(conversation, body) })
}
