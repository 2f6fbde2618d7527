import { formatTable } from '../terminal/table.ts'
import type { TableColumn } from '../terminal/table.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import type { CommandContext } from './context.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import { fetchFromDaemon, fetchFromProviders } from './fetch-models.ts'
import type { ListedModel } from './fetch-models.ts'
import type { ReportFlags } from './flags.ts'
import { modelSources } from './model-sources.ts'
import type { ModelSource } from './model-sources.ts'
import { loadSettings } from './settings.ts'
import { writeJson } from './write-json.ts'

const modelColumn: TableColumn<ListedModel> = { title: 'MODEL', cell: ({ id }) => visible(id) }
/** Shown where there is more than one. */
const providerColumn: TableColumn<ListedModel> = {
  title: 'PROVIDER',
  cell: (model) => visible(model.copilot_proxy.provider),
}
const factColumns: readonly TableColumn<ListedModel>[] = [
  { title: 'CONTEXT', cell: (model) => thousands(model.copilot_proxy.context_window), align: 'right' },
  { title: 'OUTPUT', cell: (model) => thousands(model.copilot_proxy.max_output_tokens), align: 'right' },
  { title: 'CAN', cell: (model) => abilities(model).join(' ') },
  { title: 'THINKING', cell: (model) => visible((model.copilot_proxy.capabilities.reasoning_effort ?? []).join(' ')) },
  { title: 'ROUTES', cell: (model) => visible(routesOf(model)) },
]

/** The routes that take the model, and how: `messages>chat` is a Messages caller served by upstream's chat. */
function routesOf({ copilot_proxy: { type, routes } }: ListedModel): string {
  if (type === 'embeddings') return 'embeddings'
  const taken = Object.entries(routes).flatMap(([caller, upstream]) => {
    if (upstream === null) return []
    return [caller === upstream ? caller : `${caller}>${upstream}`]
  })
  return taken.length === 0 ? 'none' : taken.join(' ')
}

/** Lists the models: those of the running daemon, else those the providers themselves name. */
export async function models(
  context: CommandContext,
  flags: ReportFlags,
  sources: readonly ModelSource[] = modelSources,
): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const ofDaemon = await fetchFromDaemon(context, settings)
  const { models: list, problems } =
    ofDaemon === undefined ? await fetchFromProviders(context, settings, sources) : { models: ofDaemon, problems: [] }
  const { stdout, stderr } = context
  if (flags.json) writeJson(context, { object: 'list', data: list })
  else stdout.write(`${formatTable(columnsFor(list), list, stdout)}${builtInNote(list)}`)
  for (const problem of problems) stderr.write(visibleLines(`Note: ${problem}\n`))
  return problems.length > 0 ? exitCode.failed : exitCode.done
}

function columnsFor(list: readonly ListedModel[]): readonly TableColumn<ListedModel>[] {
  return [modelColumn, ...(providersOf(list).size > 1 ? [providerColumn] : []), ...factColumns]
}

function providersOf(list: readonly ListedModel[]): ReadonlySet<string> {
  return new Set(list.map(({ copilot_proxy: { provider } }) => provider))
}

/** '' where every model is of an account. */
function builtInNote(list: readonly ListedModel[]): string {
  const builtIn = providersOf(list.filter((model) => model.copilot_proxy.source === 'seed'))
  if (builtIn.size === 0) return ''
  const whose = providersOf(list).size > 1 ? ` of ${[...builtIn].map(visible).join(' and ')}` : ''
  return `\nThe models${whose} are a built-in list; that of the account replaces it once somebody is logged in.\n`
}

/** `264k`; '' where upstream states nothing. */
function thousands(tokens: number | null): string {
  return tokens === null ? '' : `${Math.round(tokens / 1000)}k`
}

function abilities({ copilot_proxy: { type, preview, capabilities } }: ListedModel): readonly string[] {
  return [
    ...(type === 'embeddings' ? ['embeddings'] : []),
    ...(capabilities.tool_calls ? ['tools'] : []),
    ...(capabilities.vision ? ['vision'] : []),
    ...(preview ? ['(preview)'] : []),
  ]
}
