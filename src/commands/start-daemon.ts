import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { redactText } from '../redact.ts'
import { visible } from '../terminal/visible.ts'
import { askHealth } from './ask-daemon.ts'
import type { DaemonRecord } from './background/daemon-record.ts'
import { runningText } from './background/describe.ts'
import { findRunningDaemon, openBackgroundPlace, tellingFileErrors, withBackgroundLock } from './background/place.ts'
import type { BackgroundPlace } from './background/place.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ServeFlags } from './flags.ts'
import type { LoadedSettings } from './settings.ts'
import { stopLimitMs } from './stop-daemon.ts'

export interface StartedDaemon {
  /** It runs, and accepts connections at `record.url`. */
  readonly record: DaemonRecord
  /** It was there before, as this user's background daemon. */
  readonly wasRunning: boolean
}

/** For a daemon to accept connections, on a machine that has much else to do. Ms. */
const startLimitMs = 60_000
/** For one that runs to say that it does, with much else to do as well. Ms. */
const answerLimitMs = 5000

/**
 * Starts the daemon as a process of its own that outlives this one, and resolves once it accepts connections; a
 * background daemon of this user that is there already is the answer as well. Two at once make one daemon.
 * @param settings of these very flags
 * @throws CommandFailure with the daemon's own message and exit code where it does not start, or where the one that
 * runs is another than the one asked for
 */
export async function startBackgroundDaemon(
  context: CommandContext,
  settings: LoadedSettings,
  flags: ServeFlags,
): Promise<StartedDaemon> {
  const place = await openBackgroundPlace(context)
  return withBackgroundLock(context, place, lockLimitMs(settings.config.server.shutdownGraceSeconds), () =>
    startUnderLock(context, place, settings, flags),
  )
}

/** How long another command may hold the lock: it may be stopping one daemon and starting another. Ms. */
export function lockLimitMs(graceSeconds: number): number {
  return startLimitMs + stopLimitMs(graceSeconds)
}

export async function startUnderLock(
  context: CommandContext,
  place: BackgroundPlace,
  settings: LoadedSettings,
  flags: ServeFlags,
): Promise<StartedDaemon> {
  const running = await findRunningDaemon(context, place)
  if (running !== undefined) {
    refuseOther(running, settings, flags)
    await refuseHung(context, running)
    return { record: running, wasRunning: true }
  }
  return { record: await startProcess(context, place, settings, flags), wasRunning: false }
}

/** @throws CommandFailure `failed` */
function refuseOther(running: DaemonRecord, settings: LoadedSettings, flags: ServeFlags): void {
  const { port } = settings.config.server
  const isSamePort = port === 0 || Number(new URL(running.url).port || 80) === port
  if (isSamePort && running.flags.demo === flags.demo) return
  const message = `${runningText(running)} To start another one, end it first: copilot-proxy stop`
  throw new CommandFailure(exitCode.failed, message)
}

/** @throws CommandFailure `failed` */
async function refuseHung(context: CommandContext, { pid, url }: DaemonRecord): Promise<void> {
  if ((await askHealth(url, context.fetch, answerLimitMs)) !== undefined) return
  context.signal.throwIfAborted()
  const message = `copilot-proxy at ${visible(url)}, process ${pid}, runs and does not answer. Try: copilot-proxy restart`
  throw new CommandFailure(exitCode.failed, message)
}

async function startProcess(
  context: CommandContext,
  place: BackgroundPlace,
  settings: LoadedSettings,
  flags: ServeFlags,
): Promise<DaemonRecord> {
  const log = await tellingFileErrors(place, () => open(place.logFile, 'a', 0o600))
  let logStart: number
  let child: ChildProcess
  try {
    logStart = (await log.stat()).size
    const [file, ...args] = context.self
    // A session of its own: neither the end of the terminal nor its Ctrl-C reaches it. What it needs to know that is
    // secret it has from the environment, since every user of the machine can read a command line.
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
      const record = await findRunningDaemon(context, place)
      if (record !== undefined) return record
    }
    if (outcome.kind === 'exit') {
      throw new CommandFailure(toExitCode(outcome.code), await toldSince(place, logStart, outcome.code))
    }
    child.kill()
    context.signal.throwIfAborted()
    const why = outcome.kind === 'failed' ? `: ${visible(outcome.message)}` : ''
    throw new CommandFailure(exitCode.failed, `The daemon could not be started${why}. Its log: ${place.logFile}`)
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
    ...(flags.demo ? ['--demo'] : []),
  ]
}

type Outcome =
  | { readonly kind: 'listening' | 'slow' | 'aborted' }
  | { readonly kind: 'exit'; readonly code: number | null }
  | { readonly kind: 'failed'; readonly message: string }

/** Until it has printed its one line, which it does when it accepts connections. */
async function watchStart(child: ChildProcess, signal: AbortSignal): Promise<Outcome> {
  const limit = AbortSignal.timeout(startLimitMs)
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

/** What it said to people before it ended: the lines of its log that are none of the log's own. */
async function toldSince({ logFile }: BackgroundPlace, start: number, code: number | null): Promise<string> {
  const bytes = await readFile(logFile).catch(() => Buffer.alloc(0))
  // The daemon has begun a new file where it is shorter now.
  const text = bytes.subarray(bytes.length < start ? 0 : start).toString()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":'))
  if (lines.length > 0) return redactText(lines.join('\n'))
  return `The daemon ended at its start, with ${code ?? 'a signal'}. Its log: ${logFile}`
}
