import { modelList, modelRow } from '../../api/models.ts'
import type { ModelRow } from '../../api/models.ts'
import { shellSafeId } from '../../client-settings/target.ts'
import { shortCount } from '../../terminal/format.ts'
import type { Output } from '../../terminal/output.ts'
import { fittingColumns, formatTable, wrapText } from '../../terminal/table.ts'
import type { TableColumn } from '../../terminal/table.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, ModelsFlags } from '../shared/command.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { modelPath, openView, RouteRefused } from '../shared/view.ts'
import type { DaemonView } from '../shared/view.ts'
import { settingsPage } from './settings-page.ts'
import { explainName, namesLeadingTo, oneModelText } from './one-model.ts'

type Column = TableColumn<ModelRow>

/** Empty in the row of a long context tier, which follows its model. */
function oncePerModel({ cell, ...column }: Column): Column {
  return { ...column, cell: (row) => (row.copilot_proxy.context_tier === 'long' ? '' : cell(row)) }
}

/** @param width of the screen */
function modelWithin(width: number): Column {
  return {
    title: 'MODEL',
    cell: ({ id, copilot_proxy: { alias_of: target } }) => {
      const name = visible(target === null ? id : `${id} -> ${target}`)
      return name.length > width ? `${name.slice(0, width - 1)}…` : name
    },
  }
}
const vendor = oncePerModel({ title: 'VENDOR', rank: 3, cell: ({ owned_by: owner }) => visible(shortVendor(owner)) })
/** Shown only if it adds to the name. */
const family = oncePerModel({
  title: 'FAMILY',
  rank: 2,
  cell: ({ id, copilot_proxy: { family: name, alias_of: target } }) =>
    (target ?? id).endsWith(name) ? '' : visible(name),
})
const provider = oncePerModel({ title: 'PROVIDER', rank: 5, cell: (row) => visible(row.copilot_proxy.provider) })
const contextWindow: Column = {
  title: 'CONTEXT',
  rank: 10,
  cell: (row) => tokens(row.copilot_proxy.context_window),
  align: 'right',
}
const outputLimit: Column = {
  title: 'OUTPUT',
  rank: 6,
  cell: (row) => tokens(row.copilot_proxy.max_output_tokens),
  align: 'right',
}
/** Per million tokens, in and out, in the unit of GitHub's bill and of `copilot-proxy usage`. */
const credits: Column = {
  title: 'CREDITS',
  rank: 9,
  cell: ({ copilot_proxy: { prices } }) =>
    prices?.default ? `${amount(prices.default.input)}/${amount(prices.default.output)}` : '',
  align: 'right',
}
const abilities = oncePerModel({ title: 'CAN', rank: 8, cell: (row) => abilitiesOf(row).join(' ') })
const thinking = oncePerModel({
  title: 'THINKING',
  rank: 4,
  cell: (row) => visible(shortLevels(row.copilot_proxy.capabilities.reasoning_effort ?? [])),
})
const routes: readonly Column[] = [
  oncePerModel({ title: 'CHAT', rank: 7, cell: (row) => routeOf(row, 'chat') }),
  oncePerModel({ title: 'RESP', rank: 7, cell: (row) => routeOf(row, 'responses') }),
  oncePerModel({ title: 'MSGS', rank: 7, cell: (row) => routeOf(row, 'messages') }),
]
const state = oncePerModel({ title: 'STATE', rank: 1, cell: (row) => visible(stateOf(row)) })

/**
 * A table of models, each followed by its long context tier, disabled ones last and dim; then a legend and upstream's
 * notices. A narrow screen lacks the less important columns.
 */
export function modelsText(
  listed: readonly ModelRow[],
  disabled: readonly ModelRow[],
  output: Pick<Output, 'columns' | 'style'>,
): string {
  const rows = [...listed.flatMap(withLongContext), ...disabled]
  const model = modelWithin(output.columns)
  const hasPrices = rows.some((row) => credits.cell(row) !== '')
  const isMixed = new Set(rows.map((row) => row.copilot_proxy.provider)).size > 1
  const hasState = rows.some((row) => stateOf(row) !== '')
  const all = [
    model,
    vendor,
    ...(rows.some((row) => family.cell(row) !== '') ? [family] : []),
    ...(isMixed ? [provider] : []),
    contextWindow,
    outputLimit,
    ...(hasPrices ? [credits] : []),
    abilities,
    thinking,
    ...routes,
    ...(hasState ? [state] : []),
  ]
  const columns = fittingColumns(all, rows, output)
  const notes = [...notesOn(listed, disabled, columns), ...noteOnWidth(all, columns)].map((note) =>
    wrapText(note, output.columns),
  )
  const table = formatTable(columns, rows, output, (row) => disabled.includes(row))
  return notes.length === 0 ? table : `${table}\n${notes.join('')}`
}

function notesOn(
  listed: readonly ModelRow[],
  disabled: readonly ModelRow[],
  shown: readonly Column[],
): readonly string[] {
  const isTranslated = listed.some((row) => callers.some((caller) => !['yes', '-'].includes(routeOf(row, caller))))
  const isDemo = listed.some(({ owned_by: owner }) => owner.includes('(demo)'))
  const priced = listed.find((row) => credits.cell(row) !== '')
  const long = listed.flatMap(({ copilot_proxy: { long_context: tier } }) => tier ?? [])[0]
  return [
    ...(priced === undefined || !shown.includes(credits)
      ? []
      : ['CREDITS: price of a million input/output tokens. One credit is US$0.01.']),
    ...(long === undefined
      ? []
      : [
          `[1m]: the model with its long context window. Prompts that need it cost more. You can also write ${shellSafeId(visible(long.id))}`,
        ]),
    ...(isTranslated && routes.every((route) => shown.includes(route))
      ? [
          'CHAT, RESP, MSGS: the API that your client uses. "yes": the model supports it. Otherwise, copilot-proxy translates requests to the API shown.',
        ]
      : []),
    ...(disabled.length > 0
      ? [
          `Disabled for your account: ${closedOf(disabled)}. To enable one: copilot-proxy models enable MODEL (or ${settingsPage})`,
        ]
      : []),
    ...(listed.some((row) => row.copilot_proxy.alias_of !== null)
      ? ['NAME -> MODEL: an alias of yours (models.aliases).']
      : []),
    ...listed.flatMap(({ id, copilot_proxy: { notices, alias_of: target } }) =>
      (target === null ? notices : [])
        .map(({ level, message }) => `${level === 'warning' ? 'Warning' : 'Note'} for ${id}: ${message}`)
        .map(visible),
    ),
    ...(isDemo ? ['These models are simulated (--demo).'] : []),
  ]
}

function noteOnWidth(all: readonly Column[], shown: readonly Column[]): readonly string[] {
  const hidden = all.filter((column) => !shown.includes(column)).map(({ title }) => title)
  return hidden.length === 0
    ? []
    : [`Hidden columns: ${hidden.join(', ')}. Widen the terminal, or show one model: copilot-proxy models NAME`]
}

/** With the policy, unless it is `disabled`. */
function closedOf(rows: readonly ModelRow[]): string {
  return rows
    .map(({ id, copilot_proxy: { policy } }) => visible(policy === 'disabled' ? id : `${id} (${policy ?? ''})`))
    .join(', ')
}

/** In ascending order. */
const knownLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** `low-high,max`: consecutive levels as a range. */
function shortLevels(levels: readonly string[]): string {
  const rows: string[][] = []
  for (const level of levels) {
    const row = rows.at(-1)
    const before = knownLevels.indexOf(level) - 1
    // `none` starts no range.
    if (row !== undefined && before > 0 && row.at(-1) === knownLevels[before]) row.push(level)
    else rows.push([level])
  }
  return rows.map((row) => (row.length > 2 ? `${row[0]}-${row.at(-1)}` : row.join(','))).join(',')
}

const knownVendors = ['OpenAI', 'Anthropic', 'Google', 'xAI', 'Microsoft', 'Mistral', 'Meta', 'DeepSeek', 'Moonshot']

/** `OpenAI` for `Azure OpenAI`: the maker of the model, not its host. */
function shortVendor(owner: string): string {
  // The default if upstream states none.
  if (owner === 'github-copilot') return ''
  const known = knownVendors.find((name) => new RegExp(`\\b${name}\\b`, 'i').test(owner))
  return known ?? owner.slice(0, 12)
}

function withLongContext(row: ModelRow): readonly ModelRow[] {
  const { long_context: long, prices, alias_of: target } = row.copilot_proxy
  if (long === null) return [row]
  const { id, ...longLimits } = long
  const aliasOf = target && `${target}${id.slice(row.id.length)}`
  const facts = {
    ...longLimits,
    alias_of: aliasOf,
    context_tier: 'long' as const,
    prices: prices?.long_context ? { ...prices, default: prices.long_context } : null,
  }
  return [row, { ...row, id, copilot_proxy: { ...row.copilot_proxy, ...facts } }]
}

/** `37.5`; `?` if unknown. */
function amount(credit: number | null): string {
  return credit === null ? '?' : String(Number(credit.toFixed(2)))
}

/** `264k`; '' if unknown. */
function tokens(count: number | null): string {
  return count === null ? '' : shortCount(count)
}

function abilitiesOf({ copilot_proxy: { type, capabilities } }: ModelRow): readonly string[] {
  return [
    ...(type === 'embeddings' ? ['embeddings'] : []),
    ...(capabilities.tool_calls ? ['tools'] : []),
    ...(capabilities.vision ? ['vision'] : []),
  ]
}

const callers = ['chat', 'responses', 'messages'] as const
const shortNames = { chat: 'chat', responses: 'resp', messages: 'msgs' } as const

/**
 * How callers of that API are served: `yes` by the same API upstream, else the API it is translated to; `-` for not at
 * all.
 */
function routeOf({ copilot_proxy: { routes: taken } }: ModelRow, caller: (typeof callers)[number]): string {
  const upstream = taken[caller]
  if (upstream === null) return '-'
  return upstream === caller ? 'yes' : shortNames[upstream]
}

/** Empty for an ordinary model. */
function stateOf({ copilot_proxy: { policy, preview } }: ModelRow): string {
  if (policy !== null && policy !== 'enabled') return policy
  return preview ? 'preview' : ''
}

/** @throws CommandFailure `usage` for an unknown name, with similar ones */
async function findModel(view: DaemonView, name: string): Promise<ModelRow> {
  try {
    return await view.get(modelPath(name), modelRow)
  } catch (error) {
    if (!(error instanceof RouteRefused)) throw error
    const { disabled = [] } = await view.get(listPath, modelList)
    const row = disabled.find(({ id }) => id === name)
    if (row !== undefined) return row
    throw new CommandFailure(exitCode.usage, error.message, { cause: error })
  }
}

function showModel(
  context: CommandContext,
  { config }: LoadedSettings,
  row: ModelRow,
  { name, json }: ModelsFlags & { readonly name: string },
): void {
  const { stdout } = context
  const { aliases } = config.models
  const resolution = explainName(name, row, aliases)
  const leading = namesLeadingTo(row, aliases)
  if (json) {
    writeJson(context, {
      ...row,
      requested_name: name,
      resolved_by: resolution.resolvedBy,
      alias_pattern: resolution.pattern ?? null,
      aliases: leading.aliases,
      fallback_of: leading.fallbackOf,
    })
  } else stdout.write(oneModelText(row, resolution, leading, stdout))
}

const listPath = '/v1/models?include=disabled'

/** Lists the models of the running daemon, else those that the providers return. */
export async function models(context: CommandContext, flags: ModelsFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const { stdout, stderr } = context
  const view = await openView(context, settings)
  try {
    const { name } = flags
    if (name !== undefined) showModel(context, settings, await findModel(view, name), { ...flags, name })
    else {
      const list = await view.get(listPath, modelList)
      if (flags.json) writeJson(context, list)
      else
        stdout.write(`${builtInNote(list.data, stdout.columns)}${modelsText(list.data, list.disabled ?? [], stdout)}`)
    }
  } finally {
    await view.close()
  }
  const problems = view.problems()
  for (const problem of problems) stderr.write(visibleLines(`Note: ${problem}\n`))
  return problems.length > 0 ? exitCode.failed : exitCode.done
}

function providersOf(rows: readonly ModelRow[]): ReadonlySet<string> {
  return new Set(rows.map((row) => row.copilot_proxy.provider))
}

/** Empty if every model is from an account. */
function builtInNote(list: readonly ModelRow[], columns: number): string {
  const builtIn = providersOf(list.filter((row) => row.copilot_proxy.source === 'seed'))
  if (builtIn.size === 0) return ''
  const whose = providersOf(list).size > 1 ? ` of ${[...builtIn].map(visible).join(' and ')}` : ''
  return `${wrapText(`The models${whose} are from a built-in list. Log in to see those of your account: copilot-proxy login`, columns)}\n`
}
