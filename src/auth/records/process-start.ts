import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isAlive } from './atomic-file.ts'

export interface ProcessStartOptions {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  /** Linux's process file system. */
  readonly procDir?: string
  /** Resolves with standard output; rejects if the command fails. */
  readonly run?: (file: string, args: readonly string[], env: ProcessStartOptions['env']) => Promise<string>
}

/**
 * Identifies a process beyond its pid, which the system reuses, also across a reboot; undefined if no such process
 * runs. Never throws.
 */
export async function findProcessStart(
  pid: number,
  { platform, env, procDir = '/proc', run = runCommand }: ProcessStartOptions,
): Promise<string | undefined> {
  try {
    if (platform === 'linux') return await readProc(pid, procDir)
    const [file, ...args] = platform === 'win32' ? powershell(pid) : ps(pid)
    // Dates in one language and time zone.
    const printed = (await run(file, args, { ...env, LC_ALL: 'C', TZ: 'UTC' })).trim()
    // A zombie has ended.
    return printed === '' || printed.startsWith('Z') ? undefined : printed.replace(/^\S+\s+/, '')
  } catch {
    return undefined
  }
}

/** Whether the process that wrote a record runs. @param of `process_start` is '' if the system did not report it */
export async function isStillRunning(
  of: { readonly pid: number; readonly process_start: string },
  processStart: (pid: number) => Promise<string | undefined>,
): Promise<boolean> {
  if (!isAlive(of.pid)) return false
  const started = await processStart(of.pid)
  return started === undefined || of.process_start === '' || started === of.process_start
}

/** Fields 3 and 22 of `/proc/<pid>/stat`: state, and ticks since boot (man 5 proc_pid_stat). */
async function readProc(pid: number, procDir: string): Promise<string | undefined> {
  const [stat, boot] = await Promise.all([
    readFile(join(procDir, String(pid), 'stat'), 'utf8'),
    // Some containers lack it.
    readFile(join(procDir, 'sys/kernel/random/boot_id'), 'utf8').catch(() => ''),
  ])
  // The name in parentheses before it may hold any character.
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

/** The same format; Windows has no zombies. */
function powershell(pid: number): CommandLine {
  const script = `'R ' + (Get-Process -Id ${pid} -ErrorAction Stop).StartTime.ToFileTimeUtc()`
  return ['powershell.exe', '-NoProfile', '-NonInteractive', '-Command', script]
}

async function runCommand(file: string, args: readonly string[], env: ProcessStartOptions['env']): Promise<string> {
  const { stdout } = await promisify(execFile)(file, [...args], { env: systemEnvironment(env) })
  return stdout
}

/**
 * Variables that system programs need to run and to find the user's session. All others, tokens among them, are
 * withheld.
 */
const passedVariables = [
  'DBUS_SESSION_BUS_ADDRESS',
  'HOME',
  'LANG',
  'LC_ALL',
  'LOGNAME',
  'PATH',
  'SystemRoot',
  'TZ',
  'USER',
  'USERPROFILE',
  'XDG_CONFIG_HOME',
  'XDG_RUNTIME_DIR',
]

type Environment = Readonly<Record<string, string | undefined>>

export function systemEnvironment(env: Environment): Environment {
  return Object.fromEntries(passedVariables.map((name) => [name, env[name]]))
}
