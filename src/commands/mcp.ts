import { resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import type { Config } from '../config/schema.ts'
import { watchConfig } from '../config/watch.ts'
import { formatConfigError } from '../config/problem.ts'
import { secretValues } from '../config/secrets.ts'
import { createLog } from '../logging/create-log.ts'
import type { Output } from '../terminal/output.ts'
import { noteLogins } from './shared/logins.ts'
import { CommandFailure, exitCode } from './shared/command.ts'
import type { CommandContext, ExitCode, McpFlags } from './shared/command.ts'
import { findOwnPaths, homeOf, loadSettings, logFormatOf } from './shared/settings.ts'
import { findWorkspace, inHome, openWorkspaceFolder } from './shared/workspace-folder.ts'
import type { Workspace } from './shared/workspace-folder.ts'

/** For the last log entries to be written. Ms. */
const flushMs = 1000

/**
 * Serves one MCP client on standard input and output, in this process: it needs no daemon, and shares the journals of
 * workspaces with one.
 */
export async function mcp(context: CommandContext, flags: McpFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const workspace = await chooseWorkspace(context, settings.config, flags.workspace)
  await openWorkspaceFolder(context, settings, workspace)
  await noteLogins(context, settings)
  const only = (config: Config): Config => ({ ...config, workspaces: [workspace] })
  let config = only(settings.config)
  const log = createLog({
    level: config.log.level,
    format: logFormatOf(config, context),
    colors: context.stderr.hasColors,
    redact: context.secrets.redact,
  })
  const [{ openWorkspaces }, { serveMcpStdio }] = await Promise.all([
    import('../sessions/open-workspaces.ts'),
    import('../mcp/server/serve-stdio.ts'),
  ])
  const workspaces = await openWorkspaces({
    config: () => config,
    dataDir: settings.workspacesDir,
    homeDir: () => homeOf(context),
    ownPaths: findOwnPaths(context, settings.configFile),
    redact: context.secrets.redact,
    log,
  })
  const watch = watchConfig({
    path: settings.configFile,
    env: context.env,
    flags: [],
    current: settings.config,
    onChange(changed) {
      config = only(changed)
      context.secrets.hold('settings', ...secretValues(changed))
      log.setLevel(changed.log.level)
    },
    onInvalid: (error) =>
      log.error(`the changed configuration is invalid; the old settings remain in use: ${formatConfigError(error)}`),
  })
  if (context.interactive) context.stderr.write(interactiveHint)
  try {
    await serveMcpStdio({
      workspaces,
      stdin: Readable.from(context.stdin),
      stdout: toWritable(context.stdout),
      maxMessageBytes: config.server.bodyLimitMb * 1024 * 1024,
      signal: context.signal,
      version: context.version,
      log,
    })
    return context.signal.aborted && context.signal.reason !== 'SIGTERM' ? exitCode.interrupted : exitCode.done
  } finally {
    watch.close()
    workspaces.close()
    await log.flush(flushMs)
  }
}

const interactiveHint =
  'copilot-proxy mcp is for MCP clients, which start it themselves. To add it to one: copilot-proxy setup claude --mcp\n' +
  'It waits for messages of a client on standard input. To end it, press Ctrl-C.\n'

/** @throws CommandFailure `usage` if several are configured and none holds the working folder */
async function chooseWorkspace(context: CommandContext, config: Config, given: string | undefined): Promise<Workspace> {
  const { workspaces } = config
  const here = context.workingDir()
  if (given !== undefined) return findWorkspace(context, config, resolve(here, inHome(context, given)))
  if (workspaces.length === 0) return { path: here }
  const around = await findWorkspace(context, config, here)
  const [first] = workspaces
  if (workspaces.includes(around)) return around
  if (workspaces.length === 1 && first !== undefined) return first
  const paths = workspaces.map(({ path }) => path).join(', ')
  throw new CommandFailure(
    exitCode.usage,
    `Several workspaces are configured, and this folder is in none of them. Name one with --workspace: ${paths}`,
  )
}

/** Accepts more when the client has read what there is, as far as the system says. */
function toWritable({ write, isDelivered }: Output): Writable {
  return new Writable({
    decodeStrings: false,
    async write(text, _encoding, done) {
      write(String(text))
      const isRead = (await isDelivered?.()) ?? true
      done(isRead ? undefined : new Error('the client disconnected'))
    },
  })
}
