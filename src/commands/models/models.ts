import { visible, visibleLines } from '../../terminal/visible.ts'
import { exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode } from '../shared/command.ts'
import type { ReportFlags } from '../shared/flags.ts'
import { loadSettings } from '../shared/settings.ts'
import { fetchFromDaemon, fetchFromProviders, modelSources } from './fetch-models.ts'
import type { ListedModel, ModelSource } from './fetch-models.ts'
import { modelsText } from './models-table.ts'

/** Lists the models of the running daemon, else those that the providers return. */
export async function models(
  context: CommandContext,
  flags: ReportFlags,
  sources: readonly ModelSource[] = modelSources,
): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const fromDaemon = await fetchFromDaemon(context, settings)
  const { models: list, disabled, problems } = fromDaemon ?? (await fetchFromProviders(context, settings, sources))
  const { stdout, stderr } = context
  if (flags.json) writeJson(context, { object: 'list', data: list, disabled })
  else stdout.write(`${modelsText(list, disabled, stdout)}${builtInNote(list)}`)
  for (const problem of problems) stderr.write(visibleLines(`Note: ${problem}\n`))
  return problems.length > 0 ? exitCode.failed : exitCode.done
}

function providersOf(list: readonly ListedModel[]): ReadonlySet<string> {
  return new Set(list.map(({ copilot_proxy: { provider } }) => provider))
}

/** Empty where every model is from an account. */
function builtInNote(list: readonly ListedModel[]): string {
  const builtIn = providersOf(list.filter((model) => model.copilot_proxy.source === 'seed'))
  if (builtIn.size === 0) return ''
  const whose = providersOf(list).size > 1 ? ` of ${[...builtIn].map(visible).join(' and ')}` : ''
  return `\nThe models${whose} are a built-in list; that of the account replaces it once somebody is logged in.\n`
}
