import { spawn } from 'node:child_process'

export interface ClientCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  /** All there is of it: nothing of this process's own environment is passed on. */
  readonly env: Readonly<Record<string, string>>
  /** Text for its standard input; without one it is empty. */
  readonly input?: string
}

export interface Finished {
  /** null: it was killed. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningClient {
  readonly finished: Promise<Finished>
  /** Ends it and whatever it has started, at once. */
  readonly kill: () => void
}

/** Longer than any client takes, retries included. */
const PATIENCE_MS = 60_000

export function startClient({ program, args, cwd, env, input = '' }: ClientCommand): RunningClient {
  // A group of its own, so that what the client starts ends with it.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: 'pipe' })
  const { promise, resolve, reject } = Promise.withResolvers<Finished>()
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text))
  }
  const kill = (): void => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // Everything of the group has ended.
    }
  }
  const timer = setTimeout(() => {
    kill()
    reject(new Error(`${program} did not come to an end:\n${output.stdout}\n${output.stderr}`))
  }, PATIENCE_MS)
  child.once('error', reject)
  child.once('exit', () => {
    clearTimeout(timer)
    kill()
  })
  child.once('close', (exitCode) => resolve({ exitCode, ...output }))
  // It may end without having read.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return { finished: promise, kill }
}
