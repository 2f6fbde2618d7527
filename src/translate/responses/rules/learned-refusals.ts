import type { EncodeContext, Recovery } from '../../dialect.ts'
import {
  createRecover,
  FIELD_CODES,
  learnedField,
  learnedValues,
  namedFields,
  UNSUPPORTED_VALUE,
  withoutField,
  withoutFields,
  type IsEssential,
  type RefusalRow,
  type Refused,
} from '../../engine/learned-refusals.ts'
import { nameSet } from '../../engine/fields.ts'
import { clampEffort, isEffort } from '../../engine/effort.ts'
import { isFilled, isObject, type JsonObject, objectsOf } from '../../../json/json.ts'
import { valueAt } from '../../../json/value-at.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf } from '../items/item.ts'
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
/** A choice of the tool that upstream has just refused goes with it. Later requests that demand the tool are refused. */
export const NO_REFUSED_CHOICE = 'choice:refused'
/** Upstream cannot read the encrypted parts of this conversation. */
export const UNREADABLE = 'unreadable'

/** The levels that upstream named when it refused one; undefined if it never did. */
export function learnedEfforts(learned: ReadonlySet<string>): readonly string[] | undefined {
  // The newest, because a model's levels can change.
  return learnedValues(learned, 'efforts').at(-1)?.split(',').filter(isEffort)
}

/** @param kind as `wireKind` returns it */
export function isRefusedTool(kind: string, learned: ReadonlySet<string>): boolean {
  return learned.has(`tool:${kind}`)
}

/** The types of items that upstream refused in this conversation. */
export function refusedItems(learned: ReadonlySet<string>): readonly string[] {
  return learnedValues(learned, 'items')
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
  finding: ([, isNotFound], { body, refusal, context }) => {
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
    finding: { learned: [NO_ITEM_IDS] },
  },
  {
    name: 'reasoning upstream cannot read',
    source: 'caozhiyuan/copilot-api#309, #346, #376; OpenAI API, reasoning items, 2026-11',
    pattern: new RegExp(`${ABOUT_OPAQUE.source}|${ABOUT_IDS.source}`, 'is'),
    finding: (_match, { body }) => ({ passing: [UNREADABLE], warnings: lostWith(body) }),
  },
  {
    name: 'a model without reasoning',
    source: 'OpenAI API, include, 2026-11',
    pattern: /encrypted content is not supported/i,
    finding: { learned: [NO_ENCRYPTED_CONTENT] },
  },
  {
    // Upstream names one breakpoint. All of them are removed, so that it costs one request.
    name: 'cache breakpoints',
    source: 'docs/copilot-wire.md, "Prompt caching"',
    pattern: /prompt_cache_(?:breakpoint|options)/,
    finding: { learned: [NO_BREAKPOINTS] },
  },
  {
    name: 'a member upstream does not know',
    source: 'caozhiyuan/copilot-api#308, microsoft/vscode#282170, router-for-me/CLIProxyAPI#897',
    pattern: /./,
    finding: (_match, { refusal }) => withoutField(namedFields(refusal)[0] ?? '', isEssential),
  },
  {
    name: 'a level of effort the model does not have',
    source: 'docs/copilot-wire.md, "Errors"; OpenAI API, reasoning.effort, 2026-11',
    pattern: /reasoning[ ._]effort|unsupported value/i,
    finding: withOtherEffort,
  },
  {
    name: 'a kind of tool upstream does not have',
    source: 'caozhiyuan/copilot-api#206, xuangong/copilot-api-gateway (custom tools)',
    pattern: REFUSES_KIND,
    finding: withoutToolKind,
  },
  {
    name: 'a value the model does not take',
    source: 'OpenAI API, unsupported_value, 2026-11',
    pattern: UNSUPPORTED_VALUE,
    finding: ([, value = ''], { body }) => {
      const path = ['reasoning.summary', 'text.verbosity', 'truncation'].find(
        (each) => valueAt(body, each.split('.')) === value,
      )
      return withoutField(path ?? value, isEssential)
    },
  },
  {
    name: 'a member that the error names',
    source: 'OpenAI API, unsupported_parameter, 2026-11',
    pattern: FIELD_CODES,
    finding: (_match, { refusal }) => withoutField(refusal.param ?? '', isEssential),
  },
  {
    name: 'an item that says little',
    source: 'openai/codex#7073',
    pattern: /\binput\[(\d{1,7})\]/,
    finding: ([, at], { body }) => {
      const item = valueAt(body, ['input', Number(at)])
      const type = isObject(item) ? (itemTypeOf(item) ?? '') : ''
      if (!optionalItems.has(type)) return undefined
      return {
        passing: [`items:${type}`],
        warnings: [{ code: 'refused_upstream', field: `input[].${type}` }],
      }
    },
  },
]

export const recoverResponses = createRecover([usualForm, ...rows], 'input')

/** Whether models of the upstream may be sent the lite form. */
export function takesLite({ profile }: EncodeContext): boolean {
  return profile === 'chatgpt'
}

/** Items with notes by upstream or a client about a turn. They contain nothing of the conversation. */
const optionalItems = nameSet(
  'reasoning web_search_call image_generation_call file_search_call code_interpreter_call configuration_update',
)

/** What the caller loses without the encrypted parts. */
function lostWith(body: JsonObject): readonly Warning[] {
  const lost = new Map<Warning['code'], string | undefined>()
  for (const item of objectsOf(body['input'])) {
    const loss = opaqueItems.get(itemTypeOf(item) ?? '')
    if (loss !== undefined) lost.set(loss.code, loss.detail)
    else if (objectsOf(item['output']).some((part) => Object.hasOwn(part, 'encrypted_content'))) {
      lost.set('refused_upstream', 'the provider could not read the output of a tool')
    }
  }
  return [...lost].map(([code, detail]) => ({ code, field: 'encrypted_content', detail }))
}

const compaction: Loss = { code: 'compaction_dropped', detail: 'the provider could not read the compacted history' }

type Loss = Pick<Warning, 'code' | 'detail'>

/** Items that are nothing without what is encrypted in them. */
export const opaqueItems: ReadonlyMap<string, Loss> = new Map<string, Loss>([
  ['reasoning', { code: 'thinking_dropped', detail: 'the provider could not read the reasoning of earlier turns' }],
  ['compaction', compaction],
  ['compaction_summary', compaction],
])

/** Upstream lists the levels: `supported values:[low medium]`, `Supported values are: 'low' and 'medium'.` */
function withOtherEffort({ input }: RegExpExecArray, { body, refusal: { message } }: Refused): Recovery | undefined {
  const effort = valueAt(body, ['reasoning', 'effort'])
  const isNamed = /reasoning[ ._]effort/i.test(input) || UNSUPPORTED_VALUE.exec(input)?.[1] === effort
  if (typeof effort !== 'string' || !isNamed) return undefined
  const [, list = ''] = message.split(/supported values/i)
  const listed = (list.match(/[a-z]+/g) ?? []).filter(isEffort)
  const field = 'reasoning.effort'
  // The model takes no effort at all, so one refusal is enough.
  if (listed.length === 0 && /does not support/i.test(message)) return { learned: [learnedField(field)] }
  if (listed.length === 0) return withoutFields(field)
  const isRefusedAnyway = !isEffort(effort) || clampEffort(effort, listed) === effort
  return { learned: [`efforts:${listed.join(',')}`], ...(isRefusedAnyway && withoutFields(field)) }
}

/** The key for the refusal of a kind of tool, or of the items that such tools add. */
const otherEncodings: ReadonlyMap<string, string> = new Map([
  ['namespace', NO_NAMESPACES],
  ['additional_tools', NO_NAMESPACES],
  ['custom', NO_CUSTOM_TOOLS],
  ['custom_tool_call', NO_CUSTOM_TOOLS],
  ['custom_tool_call_output', NO_CUSTOM_TOOLS],
])

/** Tools that a conversation can do without. For other tools the caller gets the refusal. */
const optionalTools = nameSet('web_search image_generation tool_search')

function withoutToolKind(_match: RegExpExecArray, { body, refusal }: Refused): Recovery | undefined {
  const kind = refusedKind(body, refusal)
  if (kind === undefined) return undefined
  const encoding = otherEncodings.get(kind)
  if (encoding !== undefined) return { learned: [encoding] }
  const warnings: Warning[] = [{ code: 'refused_upstream', field: 'tools', detail: `the provider has no ${kind} tool` }]
  return { learned: [`tool:${kind}`], passing: [NO_REFUSED_CHOICE], warnings }
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
