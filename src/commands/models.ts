import { formatTable } from '../terminal/table.ts'
import type { TableColumn } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'
import type { CommandContext } from './context.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import { fetchFromCopilot, fetchFromDaemon } from './fetch-models.ts'
import type { ListedModel } from './fetch-models.ts'
import type { ReportFlags } from './flags.ts'
import { loadSettings } from './settings.ts'
import { writeJson } from './write-json.ts'

const columns: readonly TableColumn<ListedModel>[] = [
  { title: 'MODEL', cell: ({ id }) => visible(id) },
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

/** Lists the models: those of the running daemon, else those Copilot itself names. */
export async function models(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const list = (await fetchFromDaemon(context, settings)) ?? (await fetchFromCopilot(context, settings))
  if (flags.json) {
    writeJson(context, { object: 'list', data: list })
    return exitCode.done
  }
  const { stdout } = context
  stdout.write(formatTable(columns, list, stdout))
  if (list.some((model) => model.copilot_proxy.source === 'seed')) {
    stdout.write('\nThis is the built-in list; the list of your account replaces it once somebody is logged in.\n')
  }
  return exitCode.done
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
