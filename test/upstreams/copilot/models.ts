import { CATALOGUE } from '../../../src/demo/catalogue.ts'
import type { CatalogueRow } from '../../../src/demo/catalogue.ts'
import { toModel } from '../../../src/demo/models.ts'
import type { DemoModel, DemoModels } from '../../../src/demo/models.ts'

/** Versions of the API from which on `GET /models` differs (docs/copilot-wire.md, "Context tiers and prices"). */
const TIERS_SINCE = '2026-06-01'
const CACHE_READ_SINCE = '2026-08-01'
const AUTO_SINCE = '2026-08-01'

/** What came out after the newer API versions, which alone list it. */
const NEWER = new Set(['claude-sonnet-5', 'claude-opus-4.8'])

type Fields = Readonly<Record<string, unknown>>

/** Models that serve prepared events without looking at the prompt, for measuring (`[demo:frames N]`). */
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

/** Real lists have rows that lack almost everything; each must be judged alone. */
const SPARSE: DemoModel = {
  ...toModel({ id: 'mai-code-1-flash', vendor: '', profile: 'gpt-5', limits: [128, 128, 16] }),
  entry: { id: 'mai-code-1-flash' },
}

const MORE = [...BENCH, SPARSE]
const NEWEST = [...CATALOGUE.map(toModel), ...MORE]
/** Clients of older versions of the API get no more than the default tier. */
const OLD = [...CATALOGUE.map((row) => toModel(withoutLongTier(row))), ...MORE].filter(({ id }) => !NEWER.has(id))

export const MODELS: DemoModels = {
  list: (version) => (version >= TIERS_SINCE ? NEWEST : OLD).map((model) => atVersion(model, version)),
  // What an older version does not list it answers all the same.
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

/** The same in the newest version. */
export const MODEL_LIST = modelList(CACHE_READ_SINCE)

function withoutLongTier({ long, ...row }: CatalogueRow): CatalogueRow {
  if (long === undefined) return row
  const [context, , output] = row.limits
  return { ...row, limits: [Math.min(context, long.defaultPrompt + output), long.defaultPrompt, output] }
}

function atVersion(model: DemoModel, version: string): DemoModel {
  return { ...model, entry: entryAt(model, version) }
}

/** A model's element of the list, with the names and members of that version. */
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

/** Models with a member that nothing else of the catalogue tells. */
const NO_OUTPUT_CONFIG = new Set(['claude-haiku-4.5'])
const BREAKPOINTS = new Set(['gpt-5.6'])

/** What the request checks need to know of a model. */
export function limitsOf({ id, row }: DemoModel) {
  const isSearching = row.version === undefined ? row.toolSearch === true : row.noBetas !== true
  return {
    maxOutputTokens: row.limits[2] * 1000,
    /** Takes `thinking: {type: "enabled", budget_tokens}`. */
    takesBudget: row.thinkingBudget !== undefined,
    /** Takes `thinking: {type: "adaptive"}`. */
    takesAdaptive: row.adaptive === true,
    takesOutputConfig: !NO_OUTPUT_CONFIG.has(id),
    /** Most tools on the chat and Responses routes. */
    mostTools: isSearching ? Infinity : 128,
    /** Tool search and context editing, each under its beta. */
    takesBetas: row.noBetas !== true,
    isOlder: row.older === true,
    /** GPT-5.6 and later take `prompt_cache_breakpoint` and `prompt_cache_options` on /responses. */
    takesBreakpoints: BREAKPOINTS.has(id),
  }
}
