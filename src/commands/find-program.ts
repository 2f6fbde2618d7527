import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { posix, win32 } from 'node:path'
import type { CommandContext } from './context.ts'

/** Where a command of this name is, as a shell would look for it; undefined where there is none. */
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
