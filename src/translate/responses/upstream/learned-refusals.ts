import type { EncodeContext } from '../../dialect.ts'
import {
  createRecover,
  FIELD_CODES,
  learnedValues,
  namedFields,
  nameSet,
  removing,
  UNSUPPORTED_VALUE,
  withoutField,
  type IsEssential,
  type RefusalRow,
  type Refused,
  type Remedy,
  editAt,
  removeAt,
} from '../../learned-refusals.ts'
import { clampEffort, isEffort } from '../../parts/effort.ts'
import { isFilled, isObject, type JsonObject, objectsOf } from '../../../json/json.ts'
import { valueAt } from '../../../json/value-at.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf } from '../items.ts'
import { isWebSearchType } from '../wire.ts'

/** The model refuses namespace tools. Only a translation can flatten them and restore their names in the reply. */
export const NO_NAMESPACES = 'namespaces'
/** The model refuses freeform tools, so they are wrapped as functions. */
export const NO_CUSTOM_TOOLS = 'custom_tools'
/** The model refuses `include: ["reasoning.encrypted_content"]`, because it has no reasoning to return. */
export const NO_ENCRYPTED_CONTENT = 'encrypted_content'
/** The ChatGPT backend accepts the model in the lite form only. */
export const LITE = 'lite'
/** Upstream refuses item ids that do not fit the opaque values beside them. It accepts the values without ids. */
export const NO_ITEM_IDS = 'item_ids'
/** The model refuses `prompt_cache_breakpoint` on parts and `prompt_cache_options`. */
export const NO_BREAKPOINTS = 'breakpoints'

/** The levels that upstream named when it refused one; undefined if it never did. */
export function learnedEfforts(learned: ReadonlySet<string>): readonly string[] | undefined {
  // The newest, because a model's levels can change.
  return learnedValues(learned, 'efforts').at(-1)?.split(',').filter(isEffort)
}

/** @param kind as `wireKind` returns it */
export function isRefusedTool(kind: string, learned: ReadonlySet<string>): boolean {
  return learned.has(`tool:${kind}`)
}

/** Key of a tool under which refusals are stored. */
export function wireKind(type: string): string {
  return isWebSearchType(type) ? 'web_search' : type
}

const essential = nameSet('model input instructions tools tool_choice text store stream include')

/** Members that contain the content of other members. */
const essentialInside = nameSet(
  'type role content text refusal call_id name namespace arguments input output tools parameters format schema encrypted_content image_url file_data file_url',
)

const isEssential: IsEssential = (steps) => (steps.length === 1 ? essential : essentialInside).has(steps.at(-1) ?? '')

const ABOUT_IDS =
  /does not belong to this connection|item_id (?:did not match|mismatch)|items are not persisted|without its required 'reasoning' item|expected an id|string_above_max_length.*?\binput\[\d+\]\.id\b/is

const ABOUT_OPAQUE =
  /encrypted .{0,400}could not be (?:decrypted|verified|parsed)|invalid_encrypted_content|without its required following item/is

const REFUSES_KIND =
  /not supported|unsupported|invalid value|not allowed|not permitted|unknown|unrecognized|does not support/i

/**
 * The ChatGPT backend answers that it does not know the model in the usual form, or requires a member that only the
 * lite form has.
 */
const usualForm: RefusalRow = {
  name: 'the usual form of a request',
  source: 'docs/codex-wire.md, "Lite form"',
  pattern: /(model not found)|reasoning\.context|all_turns/i,
  remedy: ([, isNotFound], { body, refusal, context }) => {
    if (!takesLite(context)) return undefined
    const isAboutForm = isNotFound ? refusal.status === 404 : valueAt(body, ['reasoning', 'context']) === undefined
    return isAboutForm ? { learned: [LITE] } : undefined
  },
}

/** Copilot's refusals have OpenAI's wording, mostly without `param` and with one code for all of them. */
const rows: readonly RefusalRow[] = [
  {
    name: 'ids that upstream does not know',
    source: 'openclaw/openclaw#66424, can1357/oh-my-pi#290, anomalyco/opencode#17933',
    pattern: ABOUT_IDS,
    remedy: {
      edit: (body) => removeAt(withoutItems(body, 'item_reference'), 'input[].id'),
      learned: [NO_ITEM_IDS],
    },
  },
  {
    name: 'reasoning upstream cannot read',
    source: 'caozhiyuan/copilot-api#309, #346, #376; OpenAI API, reasoning items, 2026-11',
    pattern: new RegExp(`${ABOUT_OPAQUE.source}|${ABOUT_IDS.source}`, 'is'),
    remedy: withoutOpaque,
  },
  {
    name: 'a model without reasoning',
    source: 'OpenAI API, include, 2026-11',
    pattern: /encrypted content is not supported/i,
    remedy: { edit: withoutInclude, learned: [NO_ENCRYPTED_CONTENT] },
  },
  {
    // Upstream names one breakpoint. All of them are removed, so that it costs one request.
    name: 'cache breakpoints',
    source: 'docs/copilot-wire.md, "Prompt caching"',
    pattern: /prompt_cache_(?:breakpoint|options)/,
    remedy: {
      edit: removing(
        'input[].content[].prompt_cache_breakpoint',
        'input[].output[].prompt_cache_breakpoint',
        'prompt_cache_options',
      ),
      learned: [NO_BREAKPOINTS],
    },
  },
  {
    name: 'a member upstream does not know',
    source: 'caozhiyuan/copilot-api#308, microsoft/vscode#282170, router-for-me/CLIProxyAPI#897',
    pattern: /./,
    remedy: (_match, { refusal }) => withoutMember(namedFields(refusal)[0] ?? ''),
  },
  {
    name: 'a level of effort the model does not have',
    source: 'docs/copilot-wire.md, "Errors"; OpenAI API, reasoning.effort, 2026-11',
    pattern: /reasoning[ ._]effort|unsupported value/i,
    remedy: withOtherEffort,
  },
  {
    name: 'a kind of tool upstream does not have',
    source: 'caozhiyuan/copilot-api#206, xuangong/copilot-api-gateway (custom tools)',
    pattern: REFUSES_KIND,
    remedy: withoutToolKind,
  },
  {
    name: 'a value the model does not take',
    source: 'OpenAI API, unsupported_value, 2026-11',
    pattern: UNSUPPORTED_VALUE,
    remedy: ([, value = ''], { body }) => {
      const path = ['reasoning.summary', 'text.verbosity', 'truncation'].find(
        (each) => valueAt(body, each.split('.')) === value,
      )
      return withoutMember(path ?? value)
    },
  },
  {
    name: 'a member that the error names',
    source: 'OpenAI API, unsupported_parameter, 2026-11',
    pattern: FIELD_CODES,
    remedy: (_match, { refusal }) => withoutMember(refusal.param ?? ''),
  },
  {
    name: 'an item that says little',
    source: 'openai/codex#7073',
    pattern: /\binput\[(\d{1,7})\]/,
    remedy: ([, at], { body }) => {
      const item = valueAt(body, ['input', Number(at)])
      const type = isObject(item) ? (itemTypeOf(item) ?? '') : ''
      if (!optionalItems.has(type)) return undefined
      const warnings: Warning[] = [{ code: 'refused_upstream', field: `input[].${type}` }]
      return { edit: (whole) => withoutItems(whole, type), warnings }
    },
  },
]

const conversation = { member: 'input', textType: 'input_text' } as const

/** Returns the request without the parts that upstream refused; undefined if nothing can be removed. */
export const recoverResponses = createRecover({ rows: [usualForm, ...rows], conversation })

/** Whether models of the upstream may be sent the lite form. */
export function takesLite({ profile, lite }: EncodeContext): boolean {
  return profile === 'chatgpt' && lite === 'auto'
}

function withoutMember(path: string): Remedy | undefined {
  return withoutField(path, isEssential)
}

function atOnce(remedy: Remedy | undefined): Remedy | undefined {
  return remedy && { ...remedy, fromSecondRefusal: false }
}

function withoutItems(body: JsonObject, type: string): JsonObject {
  return editAt(body, 'input[]', (item) => (isObject(item) && itemTypeOf(item) === type ? undefined : item))
}

/** Items with notes by upstream or a client about a turn. They contain nothing of the conversation. */
const optionalItems = nameSet(
  'reasoning web_search_call image_generation_call file_search_call code_interpreter_call configuration_update',
)

/** This refusal concerns one conversation, so nothing is learned about the model. */
function withoutOpaque(_match: RegExpExecArray, { body }: Refused): Remedy {
  const lost = new Map<Warning['code'], string>()
  const withoutItem = (item: unknown): unknown => {
    const type = isObject(item) ? itemTypeOf(item) : undefined
    if (type === 'reasoning') lost.set('thinking_dropped', 'the provider could not read the reasoning of earlier turns')
    else if (type === 'compaction' || type === 'compaction_summary') {
      lost.set('compaction_dropped', 'the provider could not read the compacted history')
    } else return item
    return undefined
  }
  const withoutPart = (part: unknown): unknown => {
    if (!isObject(part) || !Object.hasOwn(part, 'encrypted_content')) return part
    lost.set('refused_upstream', 'the provider could not read the output of a tool')
    return undefined
  }
  const readable = editAt(editAt(body, 'input[]', withoutItem), 'input[].output[]', withoutPart)
  return {
    edit: () => readable,
    warnings: [...lost].map(([code, detail]) => ({ code, field: 'encrypted_content', detail })),
  }
}

function withoutInclude(body: JsonObject): JsonObject {
  return editAt(body, 'include', (include) => {
    if (!Array.isArray(include) || !include.includes('reasoning.encrypted_content')) return include
    const kept = include.filter((value) => value !== 'reasoning.encrypted_content')
    return kept.length === 0 ? undefined : kept
  })
}

/** Upstream lists the levels: `supported values:[low medium]`, `Supported values are: 'low' and 'medium'.` */
function withOtherEffort({ input }: RegExpExecArray, { body, refusal: { message } }: Refused): Remedy | undefined {
  const effort = valueAt(body, ['reasoning', 'effort'])
  const isNamed = /reasoning[ ._]effort/i.test(input) || UNSUPPORTED_VALUE.exec(input)?.[1] === effort
  if (typeof effort !== 'string' || !isNamed) return undefined
  const [, list = ''] = message.split(/supported values/i)
  const listed = (list.match(/[a-z]+/g) ?? []).filter(isEffort)
  if (listed.length === 0) {
    // The model takes no effort at all, so one refusal is enough.
    if (/does not support/i.test(message)) return atOnce(withoutMember('reasoning.effort'))
    return { edit: removing('reasoning.effort'), warnings: [{ code: 'refused_upstream', field: 'reasoning.effort' }] }
  }
  const nearest = isEffort(effort) ? clampEffort(effort, listed) : effort
  return {
    edit: (whole) => editAt(whole, 'reasoning.effort', () => (nearest === effort ? undefined : nearest)),
    learned: [`efforts:${listed.join(',')}`],
    warnings: [{ code: 'clamped', field: 'reasoning.effort' }],
  }
}

/** The remedy for the refusal of a kind of tool, or of the items that such tools add. */
const otherEncodings: ReadonlyMap<string, string> = new Map([
  ['namespace', NO_NAMESPACES],
  ['additional_tools', NO_NAMESPACES],
  ['custom', NO_CUSTOM_TOOLS],
  ['custom_tool_call', NO_CUSTOM_TOOLS],
  ['custom_tool_call_output', NO_CUSTOM_TOOLS],
])

/** Tools that a conversation can do without. For other tools the caller gets the refusal. */
const optionalTools = nameSet('web_search image_generation tool_search')

function withoutToolKind(_match: RegExpExecArray, { body, refusal }: Refused): Remedy | undefined {
  const kind = refusedKind(body, refusal)
  if (kind === undefined) return undefined
  const encoding = otherEncodings.get(kind)
  if (encoding !== undefined) return { learned: [encoding] }
  return {
    edit: (whole) => withoutTools(whole, kind),
    learned: [`tool:${kind}`],
    warnings: [{ code: 'refused_upstream', field: 'tools', detail: `the provider has no ${kind} tool` }],
  }
}

function withoutTools(body: JsonObject, kind: string): JsonObject {
  const drop = (tool: unknown): unknown => (isObject(tool) && kindOf(tool) === kind ? undefined : tool)
  const kept = editAt(body, 'tools[]', drop)
  if (kept === body) return body
  return objectsOf(kept['tools']).length === 0
    ? removeAt(kept, 'tools', 'tool_choice', 'parallel_tool_calls')
    : editAt(kept, 'tool_choice', drop)
}

function kindOf({ type }: JsonObject): string {
  return typeof type === 'string' ? wireKind(type) : ''
}

/** The kind of tool that the refusal names, if the body contains it. */
function refusedKind(body: JsonObject, { message, param }: Refused['refusal']): string | undefined {
  // The code alone does not show that a tool was refused.
  if (!REFUSES_KIND.test(message)) return undefined
  // Upstream's message lists accepted kinds after these words, so ignore the kinds that follow.
  const [refused = ''] = message.split(/supported values\b/i, 1)
  const words = new Set(refused.replaceAll('web search', 'web_search').match(/[A-Za-z_]+/g))
  const tools = objectsOf(body['tools'])
  const input = objectsOf(body['input'])
  const items = input.map((item) => itemTypeOf(item) ?? '')
  if (input.some(({ namespace }) => isFilled(namespace))) items.push('namespace')
  const kinds = [...tools.map(kindOf), ...items].filter((kind) => otherEncodings.has(kind) || optionalTools.has(kind))
  const named = kinds.find((kind) => words.has(kind))
  if (named !== undefined) return named
  const at = /^tools\[(\d+)\](?:\.type)?$/.exec(param ?? '')?.[1]
  const kind = at === undefined ? '' : kindOf(tools[Number(at)] ?? {})
  return kinds.includes(kind) ? kind : undefined
}
