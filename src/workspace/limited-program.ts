import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { platform } from 'node:process'

/** What the system enforces for a child process. A program that needs more gets no memory and usually ends with an error. */
export type ProgramLimits =
  /** Maximum address space (`ulimit -v`), which includes the memory and all files that the program maps. MB. */
  | { readonly addressSpaceMb: number }
  /** Maximum memory without the files that the program maps (`ulimit -d`). MB. */
  | { readonly dataMb: number }

const shell = '/bin/sh'

/**
 * Sets the limits and then becomes the program, so the process id and the signals are those of the program. Without `-c 0`, a
 * program that aborts may leave a core file in its working folder. A limit that cannot be set is lower already.
 */
const script = 'ulimit -c 0 2>/dev/null; ulimit "$1" "$2" 2>/dev/null; shift 2; exec "$@"'

/**
 * Returns the argument vector that starts a program within limits. Returns it unchanged on macOS and Windows, whose shells cannot
 * limit memory. Do not use it for Node.js, which reserves so much address space that it does not start: `--max-old-space-size`
 * limits that.
 */
export function withLimits(argv: readonly [string, ...string[]], limits: ProgramLimits): typeof argv {
  if (platform === 'darwin' || platform === 'win32' || !existsSync(shell)) return argv
  const [flag, mb] = 'dataMb' in limits ? (['-d', limits.dataMb] as const) : (['-v', limits.addressSpaceMb] as const)
  return [shell, '-c', script, shell, flag, String(mb * 1024), ...argv]
}

/** Returns whether the exit code is that of a shell which could not start the program. The code of errno is then ENOENT or EACCES. */
export function startErrorOf(exitCode: number | null): 'ENOENT' | 'EACCES' | undefined {
  if (exitCode === 127) return 'ENOENT'
  return exitCode === 126 ? 'EACCES' : undefined
}

/** Returns the signal that ended a program, if another program reports it by the exit code 128 + its number. */
export function signalOf(exitCode: number | null): string | null {
  const found = Object.entries(constants.signals).find(([, number]) => exitCode === 128 + number)
  return found?.[0] ?? null
}
