import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import { spawnLine } from './spawn-line.ts'

interface ClientRun {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Runs a client in this terminal and waits for its end, whatever signals come: they are the client's.
 * @returns its exit code; 128 + n where signal n ended it
 * @throws CommandFailure `failed` where it cannot be started
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
    // A terminal sends these to all that runs in it, and a second Ctrl-C means something else than one.
    if (!hasTerminal || name === 'SIGTERM') child.kill(name)
  })
  child.once('error', (cause) => {
    giveBack?.()
    reject(new CommandFailure(exitCode.failed, `${file} could not be started: ${cause.message}`, { cause }))
  })
  child.once('exit', (code, signal) => {
    giveBack?.()
    resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
  })
  return promise
}
