import * as nodeFs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clients } from '../../client-settings/clients.ts'
import { launchSettings } from '../../client-settings/launch-settings.ts'
import type { LaunchSettings } from '../../client-settings/launch-settings.ts'
import { anyKey } from '../../client-settings/target.ts'
import type { Target } from '../../client-settings/target.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { ensureDaemon, allProviders } from '../background/ensure-daemon.ts'
import type { RunningDaemon } from '../background/ensure-daemon.ts'
import { readUserSettings } from '../clients/client-notes.ts'
import { pickTarget } from '../clients/target.ts'
import { silentLog } from '../shared/accounts.ts'
import { requireCallerKey } from '../shared/caller-key.ts'
import type { CallerKey } from '../shared/caller-key.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import type { LaunchFlags } from '../shared/flags.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { findProgram, runClient } from './run-client.ts'

/**
 * Runs a client against the proxy for one session, without changing the user's settings.
 * @returns the client's exit code
 */
export async function launch(context: CommandContext, flags: LaunchFlags): Promise<number> {
  const { client } = flags
  const { name, program, install } = clients[client]
  const file = await findProgram(program, context)
  if (file === undefined) {
    throw new CommandFailure(exitCode.failed, `${name} is not installed here. Install it with: ${install}`)
  }
  const settings = await loadSettings(context, flags.config)
  if (flags.demo) {
    const demo = await openDemo(context, settings)
    try {
      return await run(context, flags, file, await pickTarget(context, client, demo, demoKey, flags.model))
    } finally {
      await demo.close()
    }
  }
  const key = requireCallerKey(context, settings.config)
  const daemon = await ensureDaemon(context, settings, flags.config)
  return run(context, flags, file, await pickTarget(context, client, daemon, key, flags.model))
}

const demoKey: CallerKey = { key: anyKey, isAsked: false }

async function run(context: CommandContext, flags: LaunchFlags, file: string, target: Target): Promise<number> {
  const { client, args } = flags
  const { main, small } = target.chosen
  const forSmall = small.id === main.id || client === 'codex' ? '' : `, ${small.id} for small tasks`
  const simulated = flags.demo ? ', simulated' : ''
  context.stderr.write(visibleLines(`${clients[client].name} with ${main.id}${forSmall}${simulated}.\n`))
  const { claude, opencode } = await readUserSettings(context, folderOrNone(context))
  const settings = launchSettings(client, {
    target,
    env: context.env,
    claudeEnv: claude?.env ?? {},
    opencodeEnabled: opencode?.enabled?.names,
  })
  return withFile(settings, (given) =>
    runClient(context, { file, args: [...given, ...settings.args, ...args], env: settings.env }),
  )
}

/** Undefined where it has been deleted. */
function folderOrNone({ workingDir }: CommandContext): string | undefined {
  try {
    return workingDir()
  } catch {
    return undefined
  }
}

/** The file is readable by this user alone, and removed when the client has ended. */
async function withFile({ file }: LaunchSettings, work: (args: readonly string[]) => Promise<number>): Promise<number> {
  if (file === undefined) return work([])
  const folder = await nodeFs.mkdtemp(join(tmpdir(), 'copilot-proxy-'))
  try {
    const path = join(folder, 'settings.json')
    await nodeFs.writeFile(path, file.text, { mode: 0o600 })
    return await work([file.option, path])
  } finally {
    await nodeFs.rm(folder, { recursive: true, force: true })
  }
}

/** A daemon in this process that answers from the simulated Copilot, on a free port and without a key. */
async function openDemo(
  context: CommandContext,
  { config, authDir }: LoadedSettings,
): Promise<RunningDaemon & { readonly close: () => Promise<void> }> {
  const { env, version } = context
  const [{ startDaemon }] = await Promise.all([import('../../daemon.ts'), context.prepareFetch()])
  const daemon = await startDaemon({
    config: { ...config, server: { ...config.server, host: '127.0.0.1', port: 0, apiKeys: [] } },
    authDir,
    codexHome: undefined,
    version,
    // The client uses the terminal.
    log: silentLog,
    demo: true,
    githubToken: undefined,
    env,
    secrets: context.secrets,
  })
  return { url: daemon.url, providers: allProviders, close: () => daemon.close(0) }
}
