import { serverList, sessionList } from '../../api/sessions.ts'
import { findProcessStart } from '../../auth/records/process-start.ts'
import { readRunningGateways } from '../../gateway/token-files.ts'
import type { CommandContext } from './command.ts'
import type { LoadedSettings } from './settings.ts'
import type { DaemonView } from './view.ts'

/** A source of tools that does not work, and why. */
export interface ToolFailure {
  /** E.g. `MCP server "git" in foo`. */
  readonly source: string
  readonly reason: string
  /** The remedy: one line. */
  readonly fix: string
}

const gatewayFix = 'End the other program, or run: copilot-proxy config set gateway.port PORT'
const serverFix =
  'Read the output of the server: copilot-proxy logs. To change its settings (mcp-servers): copilot-proxy config edit'

/** For each answer of the daemon. Ms. */
const answerMs = 1000

/**
 * Why a running daemon lacks tools: a gateway that is not open, MCP servers that failed. Never throws: a daemon that refuses
 * the key is reported elsewhere.
 */
export async function findToolFailures(
  context: CommandContext,
  settings: LoadedSettings,
  daemon: DaemonView,
): Promise<readonly ToolFailure[]> {
  const { workspaces, gateway, mcpServers } = settings.config
  if (workspaces.length === 0) return []
  const [ofGateway, ofServers] = await Promise.all([
    gateway.enabled ? gatewayFailures(context, settings).catch(() => []) : [],
    Object.keys(mcpServers).length === 0 ? [] : serverFailures(daemon).catch(() => []),
  ])
  return [...ofGateway, ...ofServers]
}

async function gatewayFailures(
  context: CommandContext,
  { gatewayDir }: LoadedSettings,
): Promise<readonly ToolFailure[]> {
  const running = await readRunningGateways(gatewayDir, (pid) => findProcessStart(pid, context))
  if (running.some(({ url }) => url !== null)) return []
  return running.flatMap(({ problem }) =>
    problem === null ? [] : [{ source: 'Gateway', reason: problem, fix: gatewayFix }],
  )
}

async function serverFailures({ get }: DaemonView): Promise<readonly ToolFailure[]> {
  const { sessions } = await get('/sessions', sessionList, { timeoutMs: answerMs })
  const failures = sessions.map(async ({ id, name: workspace }) => {
    const path = `/sessions/${encodeURIComponent(id)}/servers`
    const { servers } = await get(path, serverList, { timeoutMs: answerMs })
    return servers.flatMap(({ name, state, error = 'unknown reason', problems = [] }) =>
      (state === 'failed' ? [error] : problems.map((problem) => `a tool is left out: ${problem}`)).map((reason) => ({
        source: `MCP server "${name}" in ${workspace}`,
        reason,
        fix: serverFix,
      })),
    )
  })
  return (await Promise.all(failures)).flat()
}
