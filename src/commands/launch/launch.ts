import { spawn } from 'node:child_process'
import * as nodeFs from 'node:fs/promises'
import { constants as osConstants } from 'node:os'
import { join } from 'node:path'
import { clients, anyKey } from '../../client-settings/target.ts'
import { launchSettings } from '../../client-settings/launch-settings.ts'
import type { ClientId, Target } from '../../client-settings/target.ts'
import { providers } from '../../models/names.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { readUserSettings } from '../clients/client-check.ts'
import { writeCodexCatalogue } from '../clients/codex-catalogue.ts'
import { withTemporaryFolder } from '../clients/codex-program.ts'
import { findProgram, spawnLine } from '../clients/program-file.ts'
import { ensureDaemon, pickTarget, planDaemon } from '../clients/target.ts'
import type { RunningDaemon } from '../clients/target.ts'
import { silentLog } from '../../logging/logger.ts'
import { CommandFailure, exitCode, isNotLoggedIn } from '../shared/command.ts'
import type { CommandContext, LaunchFlags } from '../shared/command.ts'
import { requireCallerKey } from '../shared/find-daemon.ts'
import type { CallerKey } from '../shared/find-daemon.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { startHere } from '../shared/start-here.ts'

/**
 * Runs a client against the proxy for one session, without changing the user's settings.
 * @returns the client's exit code
 */
export async function launch(context: CommandContext, flags: LaunchFlags): Promise<number> {
  const { client } = flags
  const settings = await loadSettings(context, flags.config)
  if (flags.demo) {
    const file = await requireProgram(context, client)
    const demo = await openDemo(context, settings)
    try {
      const target = await pickTarget(context, client, demo, demoKey, flags.model)
      return await run(context, flags, { settings, file, target })
    } finally {
      await demo.close()
    }
  }
  const planned = await planDaemon(context, settings).catch((error: unknown) => {
    if (!isNotLoggedIn(error)) throw error
    const message = `${error.message}\nTo try it without an account: copilot-proxy launch ${client} --demo`
    throw new CommandFailure(error.exitCode, message)
  })
  const file = await requireProgram(context, client)
  const key = requireCallerKey(context, settings.config)
  const daemon = await ensureDaemon(context, settings, planned, flags.config)
  const target = await pickTarget(context, client, daemon, key, flags.model)
  return run(context, flags, { settings, file, target })
}

async function requireProgram(context: CommandContext, client: ClientId): Promise<string> {
  const { name, program, install } = clients[client]
  const file = await findProgram(program, context)
  if (file !== undefined) return file
  throw new CommandFailure(exitCode.failed, `${name} is not installed. Run: ${install}`)
}

const demoKey: CallerKey = { key: anyKey, isAsked: false }

interface Run {
  readonly settings: LoadedSettings
  /** The client's program. */
  readonly file: string
  readonly target: Target
}

async function run(context: CommandContext, flags: LaunchFlags, { settings, file, target }: Run): Promise<number> {
  const { client, args } = flags
  const { main, small } = target.chosen
  const forSmall =
    small.id === main.id || client === 'codex' || client === 'copilot' ? '' : `; small tasks use ${small.id}`
  const simulated = flags.demo ? ' All answers are simulated.' : ''
  context.stderr.write(visibleLines(`Starting ${clients[client].name} with ${main.id}${forSmall}.${simulated}\n`))
  const { claude, opencode } = await readUserSettings(context, folderOrNone(context))
  return withTemporaryFolder(async (folder) => {
    const codexCatalogue =
      client === 'codex' ? await giveCatalogue(context, { settings, file, target }, folder) : undefined
    const { file: extra, ...given } = launchSettings(client, {
      target: { ...target, codexCatalogue },
      env: context.env,
      claudeEnv: claude?.env ?? {},
      opencodeEnabled: opencode?.enabled?.names,
    })
    const path = join(folder, 'settings.json')
    if (extra !== undefined) await nodeFs.writeFile(path, extra.text, { mode: 0o600 })
    const options = extra === undefined ? [] : [extra.option, path]
    return runClient(context, { file, args: [...options, ...given.args, ...args], env: given.env })
  })
}

/** The file with the models for Codex CLI, which has its own list without it. */
async function giveCatalogue(
  context: CommandContext,
  { settings, file, target }: Run,
  folder: string,
): Promise<string | undefined> {
  const path = join(folder, 'models.json')
  const problem = await writeCodexCatalogue(context, {
    daemon: target,
    chosen: target.chosen.main.id,
    files: settings,
    program: file,
    path,
  })
  if (problem === undefined) return path
  context.stderr.write(visibleLines(`Note: Codex CLI starts with its own list of models: ${problem}\n`))
  return undefined
}

/** Undefined if it has been deleted. */
function folderOrNone({ workingDir }: CommandContext): string | undefined {
  try {
    return workingDir()
  } catch {
    return undefined
  }
}

/** A daemon in this process that answers from the simulated Copilot, on a free port and without a key. */
async function openDemo(
  context: CommandContext,
  settings: LoadedSettings,
): Promise<RunningDaemon & { readonly close: () => Promise<void> }> {
  const server = { ...settings.config.server, host: '127.0.0.1', port: 0, apiKeys: [] }
  // Log lines would disturb the client's output on the terminal.
  const own = { config: { ...settings.config, server }, demo: true, log: silentLog, workspacesDir: undefined }
  const daemon = await startHere(context, settings, own)
  return { url: daemon.url, providers, close: () => daemon.close(0) }
}

interface ClientRun {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Runs a client in this terminal until it ends; signals go to the client.
 * @returns its exit code, or 128 + n if signal n ended it
 * @throws CommandFailure `failed` if it cannot be started
 */
export function runClient(context: CommandContext, { file, args, env }: ClientRun): Promise<number> {
  context.signal.throwIfAborted()
  const line = spawnLine(file, args, context)
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const child = spawn(line.file, line.args, {
    env,
    stdio: 'inherit',
    windowsVerbatimArguments: line.windowsVerbatimArguments,
  })
  const hasTerminal = context.interactive || context.stdout.isTerminal || context.stderr.isTerminal
  const giveBack = context.takeSignals?.((name) => {
    // A terminal sends signals to the whole process group, and clients treat a second Ctrl-C differently.
    if (!hasTerminal || name === 'SIGTERM') child.kill(name)
  })
  child.once('error', (cause) => {
    giveBack?.()
    reject(new CommandFailure(exitCode.failed, `Could not start ${file}: ${cause.message}`, { cause }))
  })
  child.once('exit', (code, signal) => {
    giveBack?.()
    resolve(code ?? 128 + (signal === null ? 0 : osConstants.signals[signal]))
  })
  return promise
}
