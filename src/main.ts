import { once } from 'node:events'
import { fstatSync, statSync } from 'node:fs'
import { devNull, homedir } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { isSea } from 'node:sea'
import { setTimeout as delay } from 'node:timers/promises'
import { isatty } from 'node:tty'
import manifest from '../package.json' with { type: 'json' }
import { runProgram } from './commands/program.ts'
import { exitCode } from './commands/shared/command.ts'
import type { CommandContext, EndingSignal } from './commands/shared/command.ts'
import { proxyPasswords } from './config/proxy-variables.ts'
import { createKnownSecrets } from './redaction/known-secrets.ts'
import type { KnownSecrets } from './redaction/known-secrets.ts'
import { redactText } from './redaction/redact.ts'
import { createStyle, wantsColors } from './terminal/output.ts'
import type { Output } from './terminal/output.ts'

// The process edge: the only file that reads `process`. It passes everything that a command needs.

/** 128 + the number of the signal, as in shells. */
const signalExitCodes = new Map<unknown, number>([
  ['SIGHUP', 129],
  ['SIGINT', exitCode.interrupted],
  ['SIGTERM', 143],
])

/**
 * @param onFailure called once when text could not be written. A reader that left (`models
 * head -1`) is no failure.
 */
function toOutput(stream: NodeJS.WriteStream & { readonly fd: number }, onFailure: (error: Error) => void): Output {
  let failed = false
  // The callback of each write reports errors earlier.
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
      // Later writes would fail as well, or leave a gap.
      if (!failed) stream.write(text, onWritten)
    },
    isClosed: () => failed,
    isDelivered: () =>
      new Promise((resolve) => {
        stream.write('', () => resolve(!failed && !leadsNowhere(stream.fd)))
      }),
    // Some containers' terminals report 0.
    columns: isTerminal ? stream.columns || 80 : Infinity,
    isTerminal,
    hasColors,
    style: createStyle(hasColors),
  }
}

/** Node opens the null device in place of a closed standard stream. */
function leadsNowhere(fd: number): boolean {
  try {
    const target = fstatSync(fd)
    return target.isCharacterDevice() && target.rdev === statSync(devNull).rdev
  } catch {
    // The null device of Windows cannot be identified.
    return false
  }
}

interface Network {
  readonly fetch: typeof globalThis.fetch
  readonly prepare: () => Promise<void>
}

async function loadUndici(): Promise<void> {
  const [undici, { createPool }] = await Promise.all([import('undici'), import('./executors/connection-pool.ts')])
  undici.install()
  undici.setGlobalDispatcher(createPool({ connectMs: 10_000, env: process.env }).agent)
}

/** Loads undici at the first request, so that commands without network access do not wait for it. */
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

/** How long a second signal waits for unfinished work. Ms. */
const mostHeldMs = 5000

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
 * The first ending signal aborts, with its name as the reason. The second one ends the process, at once or after the
 * unfinished work. A registered taker receives all signals instead.
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

/** The state is unknown after either event: report it without secrets, and let a supervisor restart the process. */
function reportDefects(stderr: Output, secrets: KnownSecrets): void {
  // A report would hold every environment variable, tokens included.
  process.report.excludeEnv = true
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const description = error instanceof Error ? (error.stack ?? error.message) : String(error)
      stderr.write(redactText(secrets.redact(`copilot-proxy: internal error\n${description}\n`)))
      process.exit(exitCode.failed)
    })
  }
}

/** How long what was typed before a question is dropped: a terminal hands it over at once. Ms. */
const typedAheadMs = 50

function drop(): void {}

/** In raw mode a terminal sends keys as they are pressed, and Ctrl-C as a character. */
async function readKey(signal: AbortSignal, onReady: () => void): Promise<string> {
  const { stdin } = process
  stdin.setRawMode(true)
  try {
    stdin.on('data', drop).resume()
    await delay(typedAheadMs, undefined, { signal })
    stdin.off('data', drop)
    onReady()
    const [key]: unknown[] = await once(stdin, 'data', { signal })
    return String(key)
  } finally {
    stdin.off('data', drop)
    stdin.setRawMode(false)
    stdin.pause()
  }
}

async function readLine(signal: AbortSignal, prompt: string): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const ended = once(reader, 'close', { signal }).then(() => '')
    return await Promise.race([reader.question(prompt, { signal }), ended])
  } finally {
    reader.close()
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
    // Opening it costs a start 10 ms, and few commands read it.
    get stdin() {
      return process.stdin
    },
    interactive: isatty(0) && isatty(1),
    ...(isatty(0) && { readKey, readLine }),
    ...listenForSignals(unfinished),
    beforeExit: unfinished.add,
    fetch: network.fetch,
    prepareFetch: network.prepare,
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    // The single-file program is its own script.
    self: isSea() ? [process.execPath] : [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)],
    pid: process.pid,
    now: Date.now,
    version: manifest.version,
    nodeVersion: process.version,
    secrets,
  }
  const outcome = await runProgram(process.argv.slice(2), context)
  // A launched client may have returned the same code for its own reasons.
  const ended = (outcome === exitCode.interrupted ? signalExitCodes.get(context.signal.reason) : undefined) ?? outcome
  // Idle connections must not keep the process alive, but text for a pipe must arrive: Windows writes asynchronously.
  process.stdout.write('', () => {
    const code = lost && ended === exitCode.done ? exitCode.failed : ended
    process.stderr.write('', () => process.exit(code))
  })
}

// No top-level await: the build is CommonJS.
void main()
