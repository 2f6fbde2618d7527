import { visible, visibleLines } from '../terminal/visible.ts'
import type { CommandContext } from './context.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import { fetchFromDaemon, fetchFromProviders } from './fetch-models.ts'
import type { ListedModel } from './fetch-models.ts'
import type { ReportFlags } from './flags.ts'
import { modelSources } from './model-sources.ts'
import type { ModelSource } from './model-sources.ts'
import { modelsText } from './models-table.ts'
import { loadSettings } from './settings.ts'
import { writeJson } from './write-json.ts'

/** Lists the models: those of the running daemon, else those the providers themselves name. */
export async function models(
  context: CommandContext,
  flags: ReportFlags,
  sources: readonly ModelSource[] = modelSources,
): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const ofDaemon = await fetchFromDaemon(context, settings)
  const { models: list, disabled, problems } = ofDaemon ?? (await fetchFromProviders(context, settings, sources))
  const { stdout, stderr } = context
  if (flags.json) writeJson(context, { object: 'list', data: list, disabled })
  else stdout.write(`${modelsText(list, disabled, stdout)}${builtInNote(list)}`)
  for (const problem of problems) stderr.write(visibleLines(`Note: ${problem}\n`))
  return problems.length > 0 ? exitCode.failed : exitCode.done
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
