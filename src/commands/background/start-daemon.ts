import { isDeepStrictEqual } from 'node:util'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import { redactText } from '../../redaction/redact.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { restartService } from '../service/service.ts'
import { loginAdvice } from '../shared/accounts.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ServeFlags, ExitCode, ReportFlags } from '../shared/command.ts'
import { findLogins } from '../shared/logins.ts'
import { askHealth, findOwnerToken } from '../shared/find-daemon.ts'
import { requestPageAddress } from '../shared/page-code.ts'
import { toConfigFlags, loadSettings, showWarnings, withAbsoluteFolders } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import {
  runningText,
  findRunningDaemon,
  limits,
  openStateFiles,
  reportFileErrors,
  withBackgroundLock,
  daemonDocument,
  findStateFiles,
} from './background-daemon.ts'
import type { DaemonRecord, StartedDaemon, StateFiles } from './background-daemon.ts'
import { stopDaemon, stoppingText } from './stop.ts'

/** For a running daemon to answer, on a busy machine. Ms. */
const answerLimitMs = 5000

/**
 * Starts the daemon as a detached process and resolves once it accepts connections, or with the background daemon that
 * already runs. Concurrent calls start one daemon.
 * @param settings loaded with `flags`
 * @throws CommandFailure with the daemon's own message and exit code if it does not start, or where the running one
 * differs from the requested one
 */
export async function startBackgroundDaemon(
  context: CommandContext,
  settings: LoadedSettings,
  flags: ServeFlags,
): Promise<StartedDaemon> {
  const files = await openStateFiles(context)
  return withBackgroundLock(context, files, settings.config.server.shutdownGraceSeconds, () =>
    startUnderLock(context, files, settings, flags),
  )
}

export async function startUnderLock(
  context: CommandContext,
  files: StateFiles,
  settings: LoadedSettings,
  flags: ServeFlags,
): Promise<StartedDaemon> {
  const running = await findRunningDaemon(context, files)
  if (running !== undefined) {
    refuseOther(running, settings, flags)
    await requireAnswer(context, running)
    return { record: running, wasRunning: true }
  }
  return { record: await startProcess(context, files, settings, flags), wasRunning: false }
}

/** @throws CommandFailure `failed` */
function refuseOther(running: DaemonRecord, settings: LoadedSettings, flags: ServeFlags): void {
  const { port } = settings.config.server
  const isSamePort = flags.port === undefined || port === 0 || Number(new URL(running.url).port || 80) === port
  const wanted = flags.workspace
  const hasWorkspaces = wanted === undefined || isDeepStrictEqual(wanted, running.flags.workspace)
  if (isSamePort && hasWorkspaces && running.flags.demo === flags.demo) return
  const message = `${runningText(running)} To start it with other options, stop it first: copilot-proxy stop`
  throw new CommandFailure(exitCode.failed, message)
}

/** @throws CommandFailure `failed` */
async function requireAnswer(context: CommandContext, { pid, url }: DaemonRecord): Promise<void> {
  if ((await askHealth(url, context.fetch, answerLimitMs)) !== undefined) return
  context.signal.throwIfAborted()
  const message = `copilot-proxy at ${visible(url)} (process ${pid}) does not answer. Run: copilot-proxy restart`
  throw new CommandFailure(exitCode.failed, message)
}

async function startProcess(
  context: CommandContext,
  files: StateFiles,
  settings: LoadedSettings,
  flags: ServeFlags,
): Promise<DaemonRecord> {
  const log = await reportFileErrors(files, () => open(files.logFile, 'a', 0o600))
  let logStart: number
  let child: ChildProcess
  try {
    logStart = (await log.stat()).size
    const [file, ...args] = context.self
    // A session of its own: closing the terminal and Ctrl-C do not reach the daemon. Secrets are passed in the
    // environment, since every user of the machine can read a command line.
    child = spawn(file, [...args, ...serveArguments(settings, flags)], {
      detached: true,
      windowsHide: true,
      env: context.env,
      stdio: ['ignore', 'pipe', log.fd],
    })
  } finally {
    await log.close()
  }
  try {
    const outcome = await watchStart(child, context.signal)
    if (outcome.kind === 'listening') {
      const record = await findRunningDaemon(context, files)
      if (record !== undefined) return record
    }
    if (outcome.kind === 'exit') {
      throw new CommandFailure(toExitCode(outcome.code), await messagesSince(files, logStart, outcome.code))
    }
    child.kill()
    context.signal.throwIfAborted()
    const why = outcome.kind === 'failed' ? `: ${visible(outcome.message)}` : ''
    throw new CommandFailure(exitCode.failed, `copilot-proxy did not start${why}. See its log: ${files.logFile}`)
  } finally {
    child.stdout?.destroy()
    child.unref()
  }
}

function serveArguments(settings: LoadedSettings, flags: ServeFlags): readonly string[] {
  const options = [
    ['--config', settings.isNamed ? settings.configFile : undefined],
    ['--port', flags.port],
    ['--host', flags.host],
    ['--log-level', flags.logLevel],
  ] as const
  return [
    'serve',
    '--background=detach',
    ...options.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])),
    ...(flags.workspace ?? []).map((dir) => `--workspace=${dir}`),
    ...(flags.demo ? ['--demo'] : []),
  ]
}

type Outcome =
  | { readonly kind: 'listening' | 'slow' | 'aborted' }
  | { readonly kind: 'exit'; readonly code: number | null }
  | { readonly kind: 'failed'; readonly message: string }

/** The daemon prints its one line when it accepts connections. */
async function watchStart(child: ChildProcess, signal: AbortSignal): Promise<Outcome> {
  const limit = AbortSignal.timeout(limits.startMs)
  return new Promise((resolve) => {
    child.stdout?.once('data', () => resolve({ kind: 'listening' }))
    child.once('error', ({ message }) => resolve({ kind: 'failed', message }))
    child.once('exit', (code) => resolve({ kind: 'exit', code }))
    limit.addEventListener('abort', () => resolve({ kind: 'slow' }))
    if (signal.aborted) resolve({ kind: 'aborted' })
    signal.addEventListener('abort', () => resolve({ kind: 'aborted' }), { once: true })
  })
}

function toExitCode(code: number | null): CommandFailure['exitCode'] {
  return Object.values(exitCode).find((known) => known === code && known !== exitCode.done) ?? exitCode.failed
}

/** Lines that the daemon wrote for people before it ended: those that are not log entries. */
async function messagesSince({ logFile }: StateFiles, start: number, code: number | null): Promise<string> {
  const bytes = await readFile(logFile).catch(() => Buffer.alloc(0))
  // A shorter file has been rotated.
  const text = bytes.subarray(bytes.length < start ? 0 : start).toString()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":'))
  if (lines.length > 0) return redactText(lines.join('\n'))
  return `copilot-proxy did not start: it ended with ${code === null ? 'a signal' : `exit code ${code}`}. See its log: ${logFile}`
}

/** `start`: starts the daemon in the background, unless it already runs, and prints its address. */
export async function detach(context: CommandContext, given: ServeFlags): Promise<ExitCode> {
  const flags = withAbsoluteFolders(context, given)
  const settings = await loadSettings(context, flags.config, toConfigFlags(flags))
  showWarnings(context, settings)
  const started = await startBackgroundDaemon(context, settings, flags)
  await reportStarted(context, settings, started, flags.json)
  return exitCode.done
}

export async function reportStarted(
  context: CommandContext,
  settings: LoadedSettings,
  { record, wasRunning }: StartedDaemon,
  json: true | undefined,
): Promise<void> {
  const advice = record.flags.demo ? undefined : await findLoginAdvice(context, settings)
  if (json) {
    writeJson(context, { ...daemonDocument(record), was_running: wasRunning })
  } else {
    context.stdout.write(
      visibleLines(
        `copilot-proxy is ${wasRunning ? 'already ' : ''}running at ${record.url} (process ${record.pid})\n`,
      ),
    )
    if (record.version !== context.version) {
      const versions = `Version ${visible(record.version)} is running, but ${context.version} is installed.`
      context.stderr.write(`${versions} Run: copilot-proxy restart\n`)
    }
    const page = await findPageAddress(context, settings, record).catch(() => undefined)
    if (page !== undefined) context.stdout.write(`Page (works once, within 10 minutes): ${page}\n`)
    context.stderr.write('Show its log: copilot-proxy logs -f\nStop it: copilot-proxy stop\n')
    context.stderr.write('Open its page: copilot-proxy page\n')
  }
  if (advice !== undefined) context.stderr.write(visibleLines(`${advice}\n`))
}

/** Returns undefined unless a person reads the address on a terminal. */
async function findPageAddress(
  context: CommandContext,
  settings: LoadedSettings,
  record: DaemonRecord,
): Promise<string | undefined> {
  if (!context.stdout.isTerminal) return undefined
  const { url } = record
  const key = await findOwnerToken(context, settings, url)
  return key && (await requestPageAddress(context, { url, key }))
}

/** A daemon in the background has no terminal for this advice. */
async function findLoginAdvice(context: CommandContext, settings: LoadedSettings): Promise<string | undefined> {
  try {
    return (await findLogins(context, settings)).length > 0 ? undefined : loginAdvice
  } catch (error) {
    if (error instanceof RecordStoreError || error instanceof CommandFailure) return error.message
    throw error
  }
}

/**
 * Stops the background daemon and starts it again with its options; starts one if none runs. With invalid settings the
 * old one keeps running.
 */
export async function restart(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const before = await findRunningDaemon(context, findStateFiles(context))
  const serveFlags: ServeFlags = { ...before?.flags, ...(flags.config !== undefined && { config: flags.config }) }
  const settings = await loadSettings(context, serveFlags.config, toConfigFlags(serveFlags))
  const { shutdownGraceSeconds } = settings.config.server
  const files = await openStateFiles(context)
  const started = await withBackgroundLock(context, files, shutdownGraceSeconds, async () => {
    const running = await findRunningDaemon(context, files)
    if (running?.starter === 'service') return restartService(context, files, running)
    if (running !== undefined) {
      if (!flags.json) context.stderr.write(stoppingText(running))
      await stopDaemon(context, shutdownGraceSeconds, running)
    }
    return startUnderLock(context, files, settings, serveFlags)
  })
  await reportStarted(context, settings, started, flags.json)
  return exitCode.done
}
