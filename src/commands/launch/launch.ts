import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import * as nodeFs from 'node:fs/promises'
import { access, stat } from 'node:fs/promises'
import { tmpdir, constants as osConstants } from 'node:os'
import { join, posix, win32 } from 'node:path'
import { clients, anyKey } from '../../client-settings/target.ts'
import { launchSettings } from '../../client-settings/launch-settings.ts'
import type { LaunchSettings } from '../../client-settings/launch-settings.ts'
import type { ClientId, Target } from '../../client-settings/target.ts'
import { providers } from '../../models/names.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { readUserSettings } from '../clients/client-check.ts'
import { ensureDaemon, pickTarget, planDaemon } from '../clients/target.ts'
import type { RunningDaemon } from '../clients/target.ts'
import { silentLog } from '../shared/accounts.ts'
import { CommandFailure, exitCode, isNotLoggedIn } from '../shared/command.ts'
import type { CommandContext, LaunchFlags } from '../shared/command.ts'
import { requireCallerKey } from '../shared/find-daemon.ts'
import type { CallerKey } from '../shared/find-daemon.ts'
import { findOwnPaths, loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'

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
      return await run(context, flags, file, await pickTarget(context, client, demo, demoKey, flags.model))
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
  return run(context, flags, file, await pickTarget(context, client, daemon, key, flags.model))
}

async function requireProgram(context: CommandContext, client: ClientId): Promise<string> {
  const { name, program, install } = clients[client]
  const file = await findProgram(program, context)
  if (file !== undefined) return file
  throw new CommandFailure(exitCode.failed, `${name} is not installed. Run: ${install}`)
}

const demoKey: CallerKey = { key: anyKey, isAsked: false }

async function run(context: CommandContext, flags: LaunchFlags, file: string, target: Target): Promise<number> {
  const { client, args } = flags
  const { main, small } = target.chosen
  const forSmall = small.id === main.id || client === 'codex' ? '' : `; small tasks use ${small.id}`
  const simulated = flags.demo ? ' All answers are simulated.' : ''
  context.stderr.write(visibleLines(`Starting ${clients[client].name} with ${main.id}${forSmall}.${simulated}\n`))
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

/** Undefined if it has been deleted. */
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
  { config, configFile, authDir }: LoadedSettings,
): Promise<RunningDaemon & { readonly close: () => Promise<void> }> {
  const { env, version } = context
  const [{ startDaemon }] = await Promise.all([import('../../daemon.ts'), context.prepareFetch()])
  const daemon = await startDaemon({
    config: { ...config, server: { ...config.server, host: '127.0.0.1', port: 0, apiKeys: [] } },
    authDir,
    ownPaths: findOwnPaths(context, configFile),
    codexHome: undefined,
    version,
    // Log lines would disturb the client's output on the terminal.
    log: silentLog,
    demo: true,
    githubToken: undefined,
    env,
    secrets: context.secrets,
  })
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

export interface SpawnLine {
  readonly file: string
  readonly args: readonly string[]
  /** Windows only: the arguments are quoted already. */
  readonly windowsVerbatimArguments: boolean
}

/**
 * Windows runs scripts such as npm's `.cmd` shims only through its command interpreter, which has quoting rules of its
 * own, and the shim passes its arguments to the interpreter a second time.
 * Source: nodejs.org/api/child_process.html, "Spawning .bat and .cmd files on Windows" (2026-11).
 */
export function spawnLine(
  file: string,
  args: readonly string[],
  { env, platform }: { readonly env: Readonly<Record<string, string | undefined>>; readonly platform: NodeJS.Platform },
): SpawnLine {
  if (platform !== 'win32' || !/\.(?:cmd|bat)$/i.test(file)) return { file, args, windowsVerbatimArguments: false }
  const line = [escaped(file), ...args.map((argument) => escaped(escaped(quoted(argument))))].join(' ')
  return { file: env['ComSpec'] ?? 'cmd.exe', args: ['/d', '/s', '/c', `"${line}"`], windowsVerbatimArguments: true }
}

/** For the program's argument parser: escapes quotes, and doubles backslashes before quotes. */
function quoted(argument: string): string {
  return `"${argument.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\+)$/, '$1$1')}"`
}

/** For the interpreter. */
function escaped(text: string): string {
  return text.replaceAll(/[()\][%!^"`<>&|;, *?]/g, '^$&')
}

/** The path of a command, as a shell finds it; undefined if there is none. */
export async function findProgram(
  name: string,
  { env, platform }: Pick<CommandContext, 'env' | 'platform'>,
): Promise<string | undefined> {
  const isWindows = platform === 'win32'
  const paths = isWindows ? win32 : posix
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(paths.delimiter).filter((folder) => paths.isAbsolute(folder))
  const endings = isWindows ? (env['PATHEXT'] ?? '.COM;.EXE;.BAT;.CMD').split(';') : ['']
  for (const folder of folders) {
    for (const ending of endings) {
      const file = paths.join(folder, name + ending)
      if (await isProgram(file)) return file
    }
  }
  return undefined
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}
