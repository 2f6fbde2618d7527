import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { constants as osConstants } from 'node:os'
import { posix, win32 } from 'node:path'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'

interface ClientRun {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Runs a client in this terminal until it ends; signals go to the client.
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
    // A terminal sends signals to the whole process group, and clients treat a second Ctrl-C differently.
    if (!hasTerminal || name === 'SIGTERM') child.kill(name)
  })
  child.once('error', (cause) => {
    giveBack?.()
    reject(new CommandFailure(exitCode.failed, `${file} could not be started: ${cause.message}`, { cause }))
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

/** The path of a command, as a shell finds it; undefined where there is none. */
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
