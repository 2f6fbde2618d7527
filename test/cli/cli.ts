import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** The program as it ships, or its sources. */
const program = process.env['COPILOT_PROXY_TEST_PROGRAM'] ?? 'bin/copilot-proxy.cjs'
const mainFile = fileURLToPath(new URL(`../../${program}`, import.meta.url))
const singleFile = fileURLToPath(new URL('../../dist-sea/copilot-proxy', import.meta.url))

interface Ended {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

export interface RunningCli {
  readonly child: ChildProcess
  /** Resolves with the match once stdout or stderr holds it; rejects when the process ends without. */
  readonly seen: (stream: 'stdout' | 'stderr', pattern: RegExp) => Promise<RegExpExecArray>
  readonly ended: Promise<Ended>
}

interface StartOptions {
  /** The folder it is started in; that of the tests by default. */
  readonly cwd?: string
}

/** Starts the program as a process of its own, with this environment only. */
export function startCli(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  options: StartOptions = {},
): RunningCli {
  return startProcess([mainFile, ...args], env, options)
}

/** Starts a shell script, in which "$@" is the program with these arguments. */
export function startShell(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): RunningCli {
  return start('/bin/sh', ['-c', script, 'sh', process.execPath, mainFile, ...args], env)
}

/** Runs the program on a terminal of its own; what is written to its stdin are keys. */
export const onTerminal = `exec python3 -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@"`

/** A user whom the system knows no home folder of, as one that only has a number: Node cannot name one either. */
export const withoutHome = {
  NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(
    `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module';
     os.homedir = () => { throw new Error('no home') }; syncBuiltinESMExports()`,
  ).replaceAll("'", '%27')}"`,
}

/** Starts `node <args>` with this environment only; killed when the test ends before it. */
export function startProcess(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  options: StartOptions = {},
): RunningCli {
  return start(process.execPath, args, env, options)
}

/** Starts the single-file program with this environment only. */
export function startSingleFile(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): RunningCli {
  return start(singleFile, args, env)
}

const defaults = {
  // Lines as on a terminal: most tests read them, and a pipe would get JSON. An empty variable is the program's default.
  COPILOT_PROXY_LOG_FORMAT: 'pretty',
  // Every test has a home of its own, in which no code is cached yet.
  NODE_DISABLE_COMPILE_CACHE: '1',
}

function start(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  { cwd }: StartOptions = {},
): RunningCli {
  const child = spawn(command, args, { env: { ...defaults, ...env }, cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  const text = { stdout: '', stderr: '' }
  const lookers = new Set<() => void>()
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      text[stream] += chunk
      for (const look of lookers) look()
    })
  }
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code: code ?? undefined, ...text }))
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return {
    child,
    ended,
    seen: (stream, pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(text[stream])
          if (match !== null) resolve(match)
        }
        lookers.add(look)
        look()
        void ended.then(({ code }) =>
          reject(
            new Error(`ended with ${code} before ${pattern} was seen in ${stream}:\n${text.stdout}\n${text.stderr}`),
          ),
        )
      }),
  }
}
