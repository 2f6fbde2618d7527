import { fstatSync, readFileSync, statSync } from 'node:fs'
import { devNull, homedir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { isatty } from 'node:tty'
import type { CommandContext, EndingSignal } from './commands/context.ts'
import { exitCode } from './commands/exit-code.ts'
import { runProgram } from './commands/program.ts'
import { proxyPasswords } from './config/proxy-variables.ts'
import { v8Engine } from './engine.ts'
import { createKnownSecrets, type KnownSecrets } from './known-secrets.ts'
import { redactText } from './redact.ts'
import type { Output } from './terminal/output.ts'
import { createStyle, wantsColors } from './terminal/style.ts'

// The process edge: the only file that reads `process`. Everything a command needs is handed to it.

/** What an interrupted command exits with: 128 + the number of the signal, as shells have it. */
const signalExitCodes = new Map<unknown, number>([
  ['SIGHUP', 129],
  ['SIGINT', exitCode.interrupted],
  ['SIGTERM', 143],
])

function readVersion(): string {
  // Proof of the cast: npm makes no package without a version, and a test runs `--version`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return version
}

/**
 * @param onFailure called once when text could not be written. A reader that left (`models | head -1`) is no failure,
 * and a daemon serves on either way.
 */
function toOutput(stream: NodeJS.WriteStream & { readonly fd: number }, onFailure: (error: Error) => void): Output {
  let failed = false
  // Nobody has to listen to it: each write is told, and earlier.
  stream.on('error', () => {})
  const onWritten = (error?: NodeJS.ErrnoException | null): void => {
    if (failed || !error) return
    failed = true
    if (error.code !== 'EPIPE') onFailure(error)
  }
  const isTerminal = isatty(stream.fd)
  const hasColors = wantsColors({ isTty: isTerminal, env: process.env })
  return {
    write: (text) => {
      // After a failure every further write would fail as well, or leave a gap.
      if (!failed) stream.write(text, onWritten)
    },
    isClosed: () => failed,
    isDelivered: () =>
      new Promise((resolve) => {
        stream.write('', () => resolve(!failed && !leadsNowhere(stream.fd)))
      }),
    // A terminal that was told no size, as in some containers, says 0.
    columns: isTerminal ? stream.columns || 80 : Infinity,
    isTerminal,
    hasColors,
    style: createStyle(hasColors),
  }
}

/** Node opens the null device in the place of a standard stream that was closed. */
function leadsNowhere(fd: number): boolean {
  try {
    const target = fstatSync(fd)
    return target.isCharacterDevice() && target.rdev === statSync(devNull).rdev
  } catch {
    // Windows cannot be asked about its null device.
    return false
  }
}

interface Network {
  readonly fetch: typeof globalThis.fetch
  readonly prepare: () => Promise<void>
}

async function loadUndici(): Promise<void> {
  const [undici, { createPool }] = await Promise.all([import('undici'), import('./executors/agent.ts')])
  undici.install()
  undici.setGlobalDispatcher(createPool({ connectMs: 10_000, env: process.env }).agent)
}

/** Loads undici when the first request is made: commands that need no network do not wait for it. */
function createNetwork(): Network {
  let ready: Promise<void> | undefined
  const prepare = (): Promise<void> => (ready ??= loadUndici())
  return {
    prepare,
    fetch: async (...args) => {
      await prepare()
      return globalThis.fetch(...args)
    },
  }
}

/** What a second signal waits for, and how long at most. Ms. */
const mostHeldMs = 5000

/** Work that is not over yet. */
interface Unfinished {
  readonly add: (work: Promise<void>) => void
  readonly list: () => readonly Promise<void>[]
}

function createUnfinished(): Unfinished {
  const works = new Set<Promise<void>>()
  return {
    add(work) {
      works.add(work)
      work.catch(() => {}).finally(() => works.delete(work))
    },
    list: () => [...works],
  }
}

type SignalTaker = (name: EndingSignal) => void

/**
 * Aborts with the first ending signal, its name as the reason; the second one ends the process on the spot, or, where
 * something is left whose result exists nowhere else, within a few seconds. While somebody takes them, nothing of it.
 */
function listenForSignals(
  unfinished: Unfinished,
): Required<Pick<CommandContext, 'takeSignals'>> & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  let taker: SignalTaker | undefined
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (taker !== undefined) {
        taker(name)
        return
      }
      if (!controller.signal.aborted) {
        controller.abort(name)
        return
      }
      const works = unfinished.list()
      if (works.length === 0) process.exit(signalExitCodes.get(name))
      void Promise.race([Promise.allSettled(works), delay(mostHeldMs)]).then(() =>
        process.exit(signalExitCodes.get(name)),
      )
    })
  }
  return {
    signal: controller.signal,
    takeSignals(take) {
      taker = take
      return () => {
        taker = undefined
      }
    },
  }
}

/** After either event the state is unknown: say what happened, without secrets, and let a supervisor start afresh. */
function reportDefects(stderr: Output, secrets: KnownSecrets): void {
  // A report that somebody asks for by Node's options would hold every variable, tokens and keys among them.
  process.report.excludeEnv = true
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const told = error instanceof Error ? (error.stack ?? error.message) : String(error)
      stderr.write(redactText(secrets.redact(`copilot-proxy: internal error\n${told}\n`)))
      process.exit(exitCode.failed)
    })
  }
}

async function main(): Promise<void> {
  let lost = false
  const stderr = toOutput(process.stderr, () => {})
  const stdout = toOutput(process.stdout, ({ message }) => {
    lost = true
    stderr.write(`Standard output could not be written: ${message}\n`)
  })
  const secrets = createKnownSecrets()
  secrets.hold('environment', process.env['COPILOT_GITHUB_TOKEN']?.trim(), ...proxyPasswords(process.env))
  reportDefects(stderr, secrets)
  const network = createNetwork()
  const unfinished = createUnfinished()
  const context: CommandContext = {
    env: process.env,
    workingDir: () => process.cwd(),
    homeDir: homedir,
    platform: process.platform,
    stdout,
    stderr,
    stdin: process.stdin,
    interactive: isatty(process.stdin.fd) && isatty(process.stdout.fd),
    ...listenForSignals(unfinished),
    beforeExit: unfinished.add,
    engine: v8Engine,
    fetch: network.fetch,
    prepareFetch: network.prepare,
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    self: [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)],
    pid: process.pid,
    now: Date.now,
    version: readVersion(),
    nodeVersion: process.version,
    secrets,
  }
  const outcome = await runProgram(process.argv.slice(2), context)
  // A client that was started may have ended with the same code for a reason of its own.
  const ended = (outcome === exitCode.interrupted ? signalExitCodes.get(context.signal.reason) : undefined) ?? outcome
  // Idle connections must not hold the process up, but text on its way to a pipe must arrive: Windows writes in the
  // background.
  process.stdout.write('', () => {
    const code = lost && ended === exitCode.done ? exitCode.failed : ended
    process.stderr.write('', () => process.exit(code))
  })
}

// Not a top-level await: bin/copilot-proxy.cjs loads this file with require().
void main()
