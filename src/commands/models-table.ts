import { shellSafeId } from '../client-settings/client-model.ts'
import type { Output } from '../terminal/output.ts'
import { shortCount } from '../terminal/short-count.ts'
import { fitsTable, formatTable } from '../terminal/table.ts'
import type { TableColumn } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'
import type { ListedModel } from './fetch-models.ts'

type Column = TableColumn<ListedModel>

/** The row of a long context tier follows that of its model, and says nothing again. */
function oncePerModel({ title, cell }: Column): Column {
  return { title, cell: (row) => (row.copilot_proxy.context_tier === 'long' ? '' : cell(row)) }
}

const model: Column = { title: 'MODEL', cell: ({ id }) => visible(id) }
const vendor = oncePerModel({ title: 'VENDOR', cell: ({ owned_by: owner }) => visible(shortVendor(owner)) })
/** Where it says more than the name does. */
const family = oncePerModel({
  title: 'FAMILY',
  cell: ({ id, copilot_proxy: { family: name } }) => (id.endsWith(name) ? '' : visible(name)),
})
const provider = oncePerModel({ title: 'PROVIDER', cell: (row) => visible(row.copilot_proxy.provider) })
const limits: readonly Column[] = [
  { title: 'CONTEXT', cell: (row) => tokens(row.copilot_proxy.context_window), align: 'right' },
  { title: 'OUTPUT', cell: (row) => tokens(row.copilot_proxy.max_output_tokens), align: 'right' },
]
/** Per million tokens, in and out. The unit is that of GitHub's bill and of `copilot-proxy usage`. */
const credits: Column = {
  title: 'CREDITS',
  cell: ({ copilot_proxy: { prices } }) =>
    prices?.default ? `${amount(prices.default.input)}/${amount(prices.default.output)}` : '',
  align: 'right',
}
const abilities = oncePerModel({ title: 'CAN', cell: (row) => abilitiesOf(row).join(' ') })
const thinking = oncePerModel({
  title: 'THINKING',
  cell: (row) => visible(shortLevels(row.copilot_proxy.capabilities.reasoning_effort ?? [])),
})
const routes: readonly Column[] = [
  oncePerModel({ title: 'CHAT', cell: (row) => routeOf(row, 'chat') }),
  oncePerModel({ title: 'RESP', cell: (row) => routeOf(row, 'responses') }),
  oncePerModel({ title: 'MSGS', cell: (row) => routeOf(row, 'messages') }),
]
const state = oncePerModel({ title: 'STATE', cell: (row) => visible(stateOf(row)) })

/**
 * The models, each with its long context tier behind it, those that are switched off last and dim; what the words in it
 * mean, and upstream's notices. Columns that matter less make room on a narrow screen.
 */
export function modelsText(
  listed: readonly ListedModel[],
  disabled: readonly ListedModel[],
  output: Pick<Output, 'columns' | 'style'>,
): string {
  const rows = [...listed.flatMap(withLongContext), ...disabled]
  const hasPrices = rows.some((row) => credits.cell(row) !== '')
  const isMixed = new Set(rows.map((row) => row.copilot_proxy.provider)).size > 1
  const hasState = rows.some((row) => stateOf(row) !== '')
  const without = (...left: readonly Column[]): readonly Column[] =>
    [
      model,
      vendor,
      ...(rows.some((row) => family.cell(row) !== '') ? [family] : []),
      ...(isMixed ? [provider] : []),
      ...limits,
      ...(hasPrices ? [credits] : []),
      abilities,
      thinking,
      ...routes,
      ...(hasState ? [state] : []),
    ].filter((column) => !left.includes(column))
  const leastFirst = [state, family, vendor, thinking, provider]
  const narrower = [0, ...leastFirst.keys().map((at) => at + 1)].map((count) => without(...leastFirst.slice(0, count)))
  // Where none fits, each model becomes a block, which has room for all.
  const columns = narrower.find((some) => fitsTable(some, rows, output)) ?? without()
  const notes = [...notesOn(listed, disabled), ...noteOnWidth(without(), columns)].map((note) => `${note}\n`)
  const table = formatTable(columns, rows, output, (row) => disabled.includes(row))
  return notes.length === 0 ? table : `${table}\n${notes.join('')}`
}

function notesOn(listed: readonly ListedModel[], disabled: readonly ListedModel[]): readonly string[] {
  const isTranslated = listed.some((row) => callers.some((caller) => !['yes', '-'].includes(routeOf(row, caller))))
  const isDemo = listed.some(({ owned_by: owner }) => owner.includes('(demo)'))
  const priced = listed.find((row) => credits.cell(row) !== '')
  const long = listed.flatMap(({ copilot_proxy: { long_context: tier } }) => tier ?? [])[0]
  return [
    ...(priced === undefined ? [] : ['CREDITS: for a million tokens in/out. A credit is US$0.01.']),
    ...(long === undefined
      ? []
      : [
          `[1m]: the same model with its long context, whose price only longer prompts have. Also: ${shellSafeId(visible(long.id))}`,
        ]),
    ...(isTranslated ? ['CHAT, RESP, MSGS: the API you call; "yes", or the API it is translated to.'] : []),
    ...(disabled.length > 0 ? [`Switched off for this account: ${closedOf(disabled)}. Enable at ${settingsPage}`] : []),
    ...listed.flatMap(({ id, copilot_proxy: { notices } }) =>
      notices
        .map(({ level, message }) => `${level === 'warning' ? 'Warning' : 'Note'} on ${id}: ${message}`)
        .map(visible),
    ),
    ...(isDemo ? ['These models are simulated (--demo).'] : []),
  ]
}

/** Nobody would look for a column that is not there. */
function noteOnWidth(all: readonly Column[], shown: readonly Column[]): readonly string[] {
  const hidden = all.filter((column) => !shown.includes(column)).map(({ title }) => title)
  return hidden.length === 0 ? [] : [`No room here for ${hidden.join(', ')}: widen the window, or use --json.`]
}

/** Each with what its policy says, where that is not that somebody has switched it off. */
function closedOf(rows: readonly ListedModel[]): string {
  return rows
    .map(({ id, copilot_proxy: { policy } }) => visible(policy === 'disabled' ? id : `${id} (${policy ?? ''})`))
    .join(', ')
}

const settingsPage = 'https://github.com/settings/copilot/features'

/** In the order in which they grow. */
const knownLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** `low-high,max`: of levels in a row the first and the last. */
function shortLevels(levels: readonly string[]): string {
  const rows: string[][] = []
  for (const level of levels) {
    const row = rows.at(-1)
    const before = knownLevels.indexOf(level) - 1
    // `none` is no level to begin a row with.
    if (row !== undefined && before > 0 && row.at(-1) === knownLevels[before]) row.push(level)
    else rows.push([level])
  }
  return rows.map((row) => (row.length > 2 ? `${row[0]}-${row.at(-1)}` : row.join(','))).join(',')
}

const knownVendors = ['OpenAI', 'Anthropic', 'Google', 'xAI', 'Microsoft', 'Mistral', 'Meta', 'DeepSeek', 'Moonshot']

/** `OpenAI` for `Azure OpenAI`: who made the model, and not who runs it. */
function shortVendor(owner: string): string {
  // Stands where upstream states none.
  if (owner === 'github-copilot') return ''
  const known = knownVendors.find((name) => new RegExp(`\\b${name}\\b`, 'i').test(owner))
  return known ?? owner.slice(0, 12)
}

function withLongContext(row: ListedModel): readonly ListedModel[] {
  const { long_context: long, prices } = row.copilot_proxy
  if (long === null) return [row]
  const { id, ...longLimits } = long
  const facts = { ...longLimits, context_tier: 'long', prices: prices && { ...prices, default: prices.long_context } }
  return [row, { ...row, id, copilot_proxy: { ...row.copilot_proxy, ...facts } }]
}

/** `37.5`; `?` where upstream states nothing. */
function amount(credit: number | null): string {
  return credit === null ? '?' : String(Number(credit.toFixed(2)))
}

/** `264k`; '' where upstream states nothing. */
function tokens(count: number | null): string {
  return count === null ? '' : shortCount(count)
}

function abilitiesOf({ copilot_proxy: { type, capabilities } }: ListedModel): readonly string[] {
  return [
    ...(type === 'embeddings' ? ['embeddings'] : []),
    ...(capabilities.tool_calls ? ['tools'] : []),
    ...(capabilities.vision ? ['vision'] : []),
  ]
}

const callers = ['chat', 'responses', 'messages'] as const
const shortNames: ReadonlyMap<string, string> = new Map([
  ['chat', 'chat'],
  ['responses', 'resp'],
  ['messages', 'msgs'],
])

/** How a caller of that API is served: `yes` by the same API upstream, else the one it is translated to; `-` not at all. */
function routeOf({ copilot_proxy: { routes: taken } }: ListedModel, caller: (typeof callers)[number]): string {
  const upstream = taken[caller] ?? undefined
  if (upstream === undefined) return '-'
  return upstream === caller ? 'yes' : visible(shortNames.get(upstream) ?? upstream)
}

/** '' for a model that anybody would expect to answer. */
function stateOf({ copilot_proxy: { policy, preview } }: ListedModel): string {
  if (policy !== null && policy !== 'enabled') return policy
  return preview ? 'preview' : ''
}
