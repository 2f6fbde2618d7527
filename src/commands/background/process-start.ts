import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemEnvironment } from '../system-environment.ts'

export interface ProcessStartOptions {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  /** Linux's process file system. */
  readonly procDir?: string
  /** What a command prints; rejects where it fails. */
  readonly run?: (file: string, args: readonly string[], env: ProcessStartOptions['env']) => Promise<string>
}

/**
 * Tells the process that has this id now from any other that had it before or gets it later, also across a restart of
 * the system; undefined where no such process runs. Never throws.
 */
export async function findProcessStart(
  pid: number,
  { platform, env, procDir = '/proc', run = runCommand }: ProcessStartOptions,
): Promise<string | undefined> {
  try {
    if (platform === 'linux') return await readProc(pid, procDir)
    const [file, ...args] = platform === 'win32' ? powershell(pid) : ps(pid)
    // Dates in one language and one zone, whatever the terminal's are.
    const printed = (await run(file, args, { ...env, LC_ALL: 'C', TZ: 'UTC' })).trim()
    // A zombie has ended, and nobody has asked how.
    return printed === '' || printed.startsWith('Z') ? undefined : printed.replace(/^\S+\s+/, '')
  } catch {
    return undefined
  }
}

/** Fields 3 and 22 of `/proc/<pid>/stat`: state, and ticks from the start of the system (man 5 proc_pid_stat). */
async function readProc(pid: number, procDir: string): Promise<string | undefined> {
  const [stat, boot] = await Promise.all([
    readFile(join(procDir, String(pid), 'stat'), 'utf8'),
    // Not every container has it.
    readFile(join(procDir, 'sys/kernel/random/boot_id'), 'utf8').catch(() => ''),
  ])
  // The name before it stands in parentheses and may hold any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, ticks] = [fields[0], fields[19]]
  if (ticks === undefined || state === undefined || 'ZX'.includes(state)) return undefined
  return `${boot.trim()} ${ticks}`
}

type CommandLine = readonly [string, ...string[]]

/** State and start, as `S+ Sun Nov 22 00:30:00 2026`. */
function ps(pid: number): CommandLine {
  return ['ps', '-o', 'stat=', '-o', 'lstart=', '-p', String(pid)]
}

/** The same shape; Windows knows no zombies. */
function powershell(pid: number): CommandLine {
  const script = `'R ' + (Get-Process -Id ${pid} -ErrorAction Stop).StartTime.ToFileTimeUtc()`
  return ['powershell.exe', '-NoProfile', '-NonInteractive', '-Command', script]
}

async function runCommand(file: string, args: readonly string[], env: ProcessStartOptions['env']): Promise<string> {
  const { stdout } = await promisify(execFile)(file, [...args], { env: systemEnvironment(env) })
  return stdout
}
