import { CATALOGUE } from './catalogue.ts'
import type { CatalogueRow } from './catalogue.ts'
import { toModel } from './catalogue-models.ts'
import type { DemoModel, DemoModels } from './catalogue-models.ts'

/** The API versions that changed `GET /models` (docs/copilot-wire.md, "Context tiers and prices"). */
const TIERS_SINCE = '2026-06-01'
const CACHE_READ_SINCE = '2026-08-01'
const AUTO_SINCE = '2026-08-01'

/** Models released after the newer API versions. Older versions do not list them. */
const NEWER = new Set(['claude-sonnet-5', 'claude-opus-4.8'])

type Fields = Readonly<Record<string, unknown>>

/** Models for measuring: they answer `[demo:frames N]` with prepared events and read nothing else of the prompt. */
const BENCH: readonly DemoModel[] = [
  bench({ id: 'demo-bench', vendor: 'Simulated OpenAI (demo)', profile: 'gpt-5' }),
  bench({
    id: 'demo-bench-responses',
    vendor: 'Simulated OpenAI (demo)',
    profile: 'gpt-5',
    endpoints: ['/responses'],
  }),
  bench({
    id: 'demo-bench-messages',
    vendor: 'Simulated Anthropic (demo)',
    profile: 'claude',
    endpoints: ['/v1/messages'],
  }),
]

function bench(row: Pick<CatalogueRow, 'id' | 'vendor' | 'profile' | 'endpoints'>): DemoModel {
  return toModel({
    ...row,
    name: 'Prepared events for measuring',
    limits: [100_000, 100_000, 1000],
    multiplier: 0,
    picker: false,
  })
}

export function isBench({ id }: DemoModel): boolean {
  return id.startsWith('demo-bench')
}

/** An entry that lacks almost everything, as real lists contain. It must not affect the other entries. */
const SPARSE: DemoModel = {
  ...toModel({ id: 'mai-code-1-flash', vendor: '', profile: 'gpt-5', limits: [128, 128, 16] }),
  entry: { id: 'mai-code-1-flash' },
}

/** Models whose routes no model of the catalogue has. */
const OTHER_ROUTES: readonly DemoModel[] = [
  toModel({
    id: 'claude-sonnet-4',
    vendor: 'Simulated Anthropic (demo)',
    profile: 'claude',
    version: 4,
    limits: [216, 128, 16],
    images: 5,
    thinkingBudget: 16_000,
    noBetas: true,
    endpoints: ['/chat/completions'],
  }),
  toModel({
    id: 'claude-opus-4.1',
    vendor: 'Simulated Anthropic (demo)',
    profile: 'claude',
    version: 4.1,
    limits: [200, 168, 32],
    images: 5,
    thinkingBudget: 16_000,
    noBetas: true,
    endpoints: ['/v1/messages'],
  }),
  toModel({
    id: 'gpt-5-chat',
    vendor: 'Simulated OpenAI (demo)',
    profile: 'gpt-5',
    limits: [400, 272, 128],
    efforts: ['low', 'medium', 'high'],
    images: 1,
    endpoints: ['/chat/completions'],
  }),
]

const MORE = [...BENCH, ...OTHER_ROUTES, SPARSE]
const NEWEST = [...CATALOGUE.map(toModel), ...MORE]
/** Older API versions list the default tier only. */
const OLD = [...CATALOGUE.map((row) => toModel(withoutLongTier(row))), ...MORE].filter(({ id }) => !NEWER.has(id))

export const MODELS: DemoModels = {
  list: (version) => (version >= TIERS_SINCE ? NEWEST : OLD).map((model) => atVersion(model, version)),
  // A model answers requests of older API versions, even if they do not list it.
  find: (id, version = CACHE_READ_SINCE) => {
    const isThis = (model: DemoModel): boolean => model.id === id
    const model = (version >= TIERS_SINCE ? undefined : OLD.find(isThis)) ?? NEWEST.find(isThis)
    return model && atVersion(model, version)
  },
}

/** The body of `GET /models`. @param version `x-github-api-version` */
export function modelList(version: string): string {
  return JSON.stringify({ object: 'list', data: MODELS.list(version).map(({ entry }) => entry) })
}

/** The body of `GET /models` for the newest API version. */
export const MODEL_LIST = modelList(CACHE_READ_SINCE)

function withoutLongTier({ long, ...row }: CatalogueRow): CatalogueRow {
  if (long === undefined) return row
  const [context, , output] = row.limits
  return { ...row, limits: [Math.min(context, long.defaultPrompt + output), long.defaultPrompt, output] }
}

function atVersion(model: DemoModel, version: string): DemoModel {
  return { ...model, entry: entryAt(model, version) }
}

/** A model's entry in the list, with the names and members of an API version. */
function entryAt({ entry }: DemoModel, version: string): Fields {
  const { billing } = entry
  if (!isFields(billing)) return entry
  const { auto_discount: discount, token_prices: prices, ...others } = billing
  return {
    ...entry,
    billing: {
      ...others,
      ...(discount !== undefined && version >= AUTO_SINCE && { auto_discount: discount }),
      ...(isFields(prices) && { token_prices: pricesAt(prices, version) }),
    },
  }
}

function pricesAt(prices: Fields, version: string): Fields {
  if (version >= CACHE_READ_SINCE) return prices
  return Object.fromEntries(
    Object.entries(prices).map(([name, value]) => [
      name === 'cache_read_price' ? 'cache_price' : name,
      isFields(value) ? pricesAt(value, version) : value,
    ]),
  )
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

/** Facts about models that the catalogue does not contain. */
const NO_OUTPUT_CONFIG = new Set(['claude-haiku-4.5'])
const BREAKPOINTS = /^gpt-(?:5\.6|6)/
/** docs/copilot-wire.md, "Messages requests". */
const NO_FORCED_CHOICE = new Set(['claude-fable-5.1', 'claude-mythos-5.1'])

/** Betas of single models (docs/copilot-wire.md, "Messages requests"). */
export const BLOCK_BINDING = 'thinking-binding-controls-2026-08-01'
const FALLBACK_CREDIT = 'fallback-credit-2026-07-01'
const LATER_OUTPUT_CONFIG = 'mid-conversation-output-config-2026-07-01'
const WITH_LATER_OUTPUT_CONFIG = new Set(['claude-opus-5.5', 'claude-fable-5.1'])
const WITHOUT_FALLBACK_CREDIT = /^claude-(?:haiku-|opus-6|sonnet-5$)/

/** The betas beyond those of every Claude that GitHub's CLI sends to a model. */
function laterBetas({ id, version }: DemoModel): ReadonlySet<string> {
  return new Set([
    ...(version >= 5.1 && id !== 'claude-mythos-5.1' ? [BLOCK_BINDING] : []),
    ...(version >= 5 && !WITHOUT_FALLBACK_CREDIT.test(id) ? [FALLBACK_CREDIT] : []),
    ...(WITH_LATER_OUTPUT_CONFIG.has(id) ? [LATER_OUTPUT_CONFIG] : []),
  ])
}

/** The facts about a model that the request checks need. */
export function limitsOf(model: DemoModel) {
  const { id, row } = model
  const isSearching = row.version === undefined ? row.toolSearch === true : row.noBetas !== true
  return {
    maxOutputTokens: row.limits[2] * 1000,
    /** Accepts `thinking: {type: "enabled", budget_tokens}`. */
    takesBudget: row.thinkingBudget !== undefined,
    /** Accepts `thinking: {type: "adaptive"}`. */
    takesAdaptive: row.adaptive === true,
    /** Thinks always: accepts no other type of `thinking`. */
    isAdaptiveOnly: /^claude-(?:fable|mythos)-/.test(id),
    takesForcedChoice: !NO_FORCED_CHOICE.has(id),
    takesOutputConfig: !NO_OUTPUT_CONFIG.has(id),
    /** The most tools on the chat and Responses routes. */
    mostTools: isSearching ? Infinity : 128,
    /** Accepts tool search and context editing, each with its beta. */
    takesBetas: row.noBetas !== true,
    laterBetas: laterBetas(model),
    isOlder: row.older === true,
    /** GPT-5.6 and later accept `prompt_cache_breakpoint` and `prompt_cache_options` on /responses. */
    takesBreakpoints: BREAKPOINTS.test(id),
  }
}
