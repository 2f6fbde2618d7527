import { programList, type ProgramList } from '../api/gateway.ts'
import { findProcessStart } from '../auth/records/process-start.ts'
import type { Config } from '../config/schema.ts'
import { gatewayCommands } from '../gateway/commands.ts'
import { readRunningGateways, type GatewayRecord } from '../gateway/token-files.ts'
import { formatPairs, formatTable, type TableColumn } from '../terminal/table.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { CommandFailure, exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, GatewayTokenFlags, ReportFlags } from './shared/command.ts'
import { loadSettings } from './shared/settings.ts'

/** For the gateway to answer. Ms. */
const answerMs = 5000

type Provider = ProgramList['providers'][number]

type OpenGateway = GatewayRecord & { readonly url: string }

/** Prints the state of the gateway for tool programs. If the gateway is not open, it prints why and exits with 1. */
export async function gatewayStatus(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const found = await findGateway(context, flags)
  if (!found.ok) {
    if (flags.json) writeJson(context, { open: false, problem: found.problem })
    else context.stdout.write(visibleLines(`${found.problem}\n`))
    return exitCode.failed
  }
  const { url, pid, started_at, discovery_file } = found.record
  const providers = await ask(context, found.record, gatewayCommands.providers)
  if (flags.json) {
    writeJson(context, { open: true, url, pid, started_at, token_file: discovery_file, providers: providers.length })
    return exitCode.done
  }
  const pairs = [
    ['Address', url],
    ['Process', String(pid)],
    ['Since', started_at],
    ['Token file', discovery_file ?? 'none: the file has the token of another gateway'],
    ['Programs', String(providers.length)],
  ] as const
  const rows = pairs.map(([name, value]) => [name, visible(value)] as const)
  context.stdout.write(formatPairs(rows, context.stdout.style))
  return exitCode.done
}

/** Prints the token for tool programs; with `--rotate` a new one. */
export async function gatewayToken(context: CommandContext, flags: GatewayTokenFlags): Promise<ExitCode> {
  let record = await requireGateway(context, flags)
  if (flags.rotate) {
    await ask(context, record, gatewayCommands.rotate)
    record = await requireGateway(context, flags)
  }
  if (flags.json) writeJson(context, { token: record.token })
  else context.stdout.write(`${record.token}\n`)
  return exitCode.done
}

/** Lists the connected tool programs. */
export async function gatewayPrograms(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const providers = await ask(context, await requireGateway(context, flags), gatewayCommands.providers)
  if (flags.json) writeJson(context, { providers })
  else if (providers.length === 0) context.stdout.write('No tool programs are connected.\n')
  else {
    const columns: readonly TableColumn<Provider>[] = [
      { title: 'PROVIDER', cell: ({ name }) => visible(name) },
      { title: 'ID', cell: ({ id }) => visible(id) },
      { title: 'SESSION', cell: ({ session }) => visible(session.name) },
      { title: 'CALLS', cell: ({ calls }) => `${calls.ended} (${calls.failed} failed)` },
      { title: 'TOOLS', cell: ({ tools }) => visible(tools.join(', ')) },
    ]
    context.stdout.write(formatTable(columns, providers, context.stdout))
  }
  return exitCode.done
}

type Found = { readonly ok: true; readonly record: OpenGateway } | { readonly ok: false; readonly problem: string }

async function findGateway(context: CommandContext, flags: ReportFlags): Promise<Found> {
  const { config, gatewayDir } = await loadSettings(context, flags.config)
  const running = await readRunningGateways(gatewayDir, (pid) => findProcessStart(pid, context))
  const open = running.filter((record): record is OpenGateway => record.url !== null)
  // If several daemons run, take the one with this configuration's port, otherwise the latest.
  const latest = open.toSorted((a, b) => b.started_at.localeCompare(a.started_at))
  const record = latest.find(({ url }) => new URL(url).port === String(config.gateway.port)) ?? latest[0]
  if (record !== undefined) {
    context.secrets.note(record.control_key)
    return { ok: true, record }
  }
  const [failed] = running
  return { ok: false, problem: failed?.problem ?? reasonFor(config) }
}

function reasonFor({ gateway, workspaces }: Config): string {
  if (!gateway.enabled) {
    return 'The gateway for tool programs is off. To open it, run: copilot-proxy config set gateway.enabled true'
  }
  if (workspaces.length === 0) {
    return 'The gateway for tool programs is closed, because no workspace is configured. Run: copilot-proxy serve --workspace DIR'
  }
  return 'The gateway for tool programs is closed, because copilot-proxy is not running. Run: copilot-proxy start'
}

/** @throws CommandFailure `failed` */
async function requireGateway(context: CommandContext, flags: ReportFlags): Promise<OpenGateway> {
  const found = await findGateway(context, flags)
  if (found.ok) return found.record
  throw new CommandFailure(exitCode.failed, found.problem)
}

/** @throws CommandFailure `failed` if the gateway does not answer */
async function ask(
  { fetch, signal }: CommandContext,
  { url, control_key }: OpenGateway,
  command: string,
): Promise<readonly Provider[]> {
  const [method, path = ''] = command.split(' ')
  try {
    const response = await fetch(url.replace(/^ws:/, 'http:') + path, {
      ...(method !== undefined && { method }),
      headers: { authorization: `Bearer ${control_key}` },
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
    })
    return programList.parse(await response.json()).providers
  } catch (cause) {
    if (signal.aborted) throw cause
    throw new CommandFailure(exitCode.failed, `The gateway at ${url} does not answer.`, { cause })
  }
}
