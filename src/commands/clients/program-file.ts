import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { posix, win32 } from 'node:path'
import type { CommandContext } from '../shared/command.ts'

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
