import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants as fsConstants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { constants, homedir } from 'node:os'
import { delimiter, isAbsolute, join, posix, relative, sep } from 'node:path'
import { env, platform } from 'node:process'
import { errnoOf } from '../auth/records/record-fs.ts'
import { createOutput, type Output } from './command-output.ts'
import { hasDescriptorPaths, LinkFound, openDirectory, type Directory } from './directory.ts'
import type { Folder } from './folder.ts'
import { withLimits, type ProgramLimits } from './limited-program.ts'
import type { Network } from './network/host-pattern.ts'
import { endWithDaemon } from './sandbox/end-with-daemon.ts'
import { signalGroup } from './sandbox/kill-group.ts'
import { enclosureFailure, readReport, preventedBySandbox, type EnclosureReport } from './sandbox/report.ts'
import type { StartedIn, Widening } from './sandbox/sandbox.ts'
import { failed, ToolError } from './tool-error.ts'

export interface CommandRun {
  readonly folder: Folder
  /** An argument vector that the policy allows. */
  readonly argv: readonly string[]
  /** Working folder, relative to the root. Default: the root. */
  readonly cwd?: string | undefined
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Standard input of the program. Default: none. */
  readonly stdin?: string | undefined
  /** Limit for each stream. The start and the end of a longer output are kept. */
  readonly maxOutputBytes: number
  /** Receives the output as it arrives, up to `maxOutputBytes` of each stream. */
  readonly onOutput?: ((part: { readonly stream: 'stdout' | 'stderr'; readonly text: string }) => void) | undefined
  /** Called when the program has started. */
  readonly onStart?: (() => void) | undefined
  /** Take the output, so that the caller can read it while the program runs. Default: outputs of `maxOutputBytes`. */
  readonly outputs?: { readonly stdout: Output; readonly stderr: Output } | undefined
  /** Time between SIGTERM and SIGKILL. Ms. */
  readonly graceMs?: number
  /** `read`: the program cannot change the workspace, if a sandbox holds. Default: `write`. */
  readonly access?: 'write' | 'read'
  /** The hosts that the program may reach, if a sandbox holds. Default: none. */
  readonly network?: Network | undefined
  /** Variables beyond the minimal environment. */
  readonly variables?: Readonly<Record<string, string>> | undefined
  /** Default: none, because a command may need any amount of memory. */
  readonly limits?: ProgramLimits | undefined
  /** What a person has allowed beyond the sandbox. Default: nothing. */
  readonly widening?: Widening | undefined
}

export interface CommandEnd {
  /** The exit code, or like in shells 128 + the number of the signal that ended the program. */
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  /** Whether a part of the output is missing. */
  readonly truncated: boolean
  readonly timedOut: boolean
  readonly sandbox: 'bubblewrap' | 'none'
  /** Sentences about what the sandbox did not let the program do, and about files that it has made. */
  readonly notes?: readonly string[]
  /** What the program may need to succeed. Absent: the sandbox has prevented nothing. */
  readonly needs?: Widening
}

const defaultGraceMs = 2000

/** The PATH of commands if the daemon has none. */
const systemPath = '/usr/local/bin:/usr/bin:/bin'

/** Most programs on Windows need these variables. */
const windowsVariables = ['SystemRoot', 'ComSpec', 'PATHEXT', 'TEMP', 'TMP', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA']

/**
 * Runs a program without a shell, with a minimal environment and in the sandbox of the folder. When the program ends, stops the
 * processes that it has left running and waits until they have ended. Without a sandbox, a process that starts a new session
 * (`setsid`) is not stopped.
 * @throws ToolError `denied` for a folder or program outside the workspace; `failed` if it cannot be started; `cancelled`
 */
export async function runCommand(run: CommandRun): Promise<CommandEnd> {
  const { folder, argv, cwd = '', signal } = run
  const [name = ''] = argv
  if (name === '') throw failed('The command names no program.')
  if (argv.some((word) => word.includes('\0'))) throw failed('The command contains a NUL character.')
  const inFolder = await folder.existingPath(cwd)
  const path = await searchPath(folder.root)
  const program = name.includes('/') ? await programAt(folder, inFolder, name) : await programOnPath(path, name, folder)
  const directory = await openWorkingFolder(folder, inFolder)
  let started: StartedIn | undefined
  try {
    const network = run.widening === 'network' ? 'public' : run.network
    const place = { cwd: join(folder.root, inFolder), access: run.access ?? 'write', network } as const
    const rule = run.widening === 'unsandboxed' ? run.widening : undefined
    const words: StartedIn['argv'] = [program, ...argv.slice(1)]
    const limited = run.limits === undefined ? words : withLimits(words, run.limits)
    started = await folder.sandbox.start({ argv: limited, ...place, rule })
    if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
    const child = startProgram(started, name, directory.entry('.'), {
      env: { ...commandEnvironment(path, env, platform), ...run.variables, ...started.variables },
      hasInput: run.stdin !== undefined,
    })
    if (run.onStart !== undefined) child.once('spawn', run.onStart)
    // Ignore errors, because a program may end without reading all of its input.
    child.stdin?.on('error', () => {}).end(run.stdin)
    const end = await waitFor(child, run, started.enclosure === 'none' ? undefined : readReport(child, started.mounts))
    const aftermath = await started.end()
    started = undefined
    if (end.sandbox === 'none') return end
    const { notes: prevented, widening: needs } = await preventedBySandbox(end, {
      root: folder.root,
      network,
      ...aftermath,
    })
    const notes = [...prevented, ...aftermath.notes]
    return { ...end, ...(notes.length > 0 && { notes }), ...(needs !== undefined && { needs }) }
  } finally {
    await started?.end()
    await directory.close()
  }
}

function startProgram(
  { argv: [program, ...args], enclosure }: StartedIn,
  name: string,
  cwd: string,
  { env: variables, hasInput }: { readonly env: Record<string, string>; readonly hasInput: boolean },
): ChildProcess {
  const isEnclosed = enclosure !== 'none'
  try {
    return spawn(program, args, {
      cwd,
      env: variables,
      ...(!isEnclosed && { argv0: name }),
      stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(isEnclosed ? (['pipe', 'pipe'] as const) : [])],
      // Starts a process group. On Windows, this would open a window.
      detached: platform !== 'win32',
      windowsHide: true,
    })
  } catch (error) {
    // Node throws some start errors and emits others as events.
    throw startFailure(name, error)
  }
}

async function waitFor(
  child: ChildProcess,
  { argv, signal, timeoutMs, maxOutputBytes, onOutput, outputs, graceMs = defaultGraceMs }: CommandRun,
  report: EnclosureReport | undefined,
): Promise<CommandEnd> {
  const { stdout, stderr } = outputs ?? {
    stdout: createOutput(maxOutputBytes, (text) => onOutput?.({ stream: 'stdout', text })),
    stderr: createOutput(maxOutputBytes, (text) => onOutput?.({ stream: 'stderr', text })),
  }
  child.stdout?.on('data', stdout.take)
  child.stderr?.on('data', stderr.take)
  const closed = once(child, 'close').catch(() => {})
  const endGuard = report === undefined ? endWithDaemon(child) : undefined

  let timedOut = false
  let graceTimer: NodeJS.Timeout | undefined
  const stop = (): void => {
    if (graceTimer !== undefined) return
    // bubblewrap itself must not get SIGTERM: with it, everything ends at once.
    const inner = report?.groupId()
    signalGroup(report === undefined ? child.pid : inner, 'SIGTERM')
    graceTimer = setTimeout(
      () => {
        signalGroup(child.pid, 'SIGKILL')
        // A process that has left the group may keep the pipes open.
        child.stdout?.destroy()
        child.stderr?.destroy()
      },
      // Before the start of the program, nothing can be saved.
      report !== undefined && inner === undefined ? 0 : graceMs,
    )
  }
  const timer = setTimeout(() => {
    timedOut = true
    stop()
  }, timeoutMs)
  signal.addEventListener('abort', stop)
  try {
    const exitCode = await exitCodeOf(child)
    clearTimeout(timer)
    // Stop the processes that it has left running. Those of a sandbox end with it.
    if (report === undefined) stop()
    await closed
    if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
    const truncated = stdout.isTruncated() || stderr.isTruncated()
    const sandbox = report === undefined ? 'none' : 'bubblewrap'
    const end = { exitCode, stdout: stdout.text(), stderr: stderr.text(), truncated, timedOut, sandbox } as const
    if (report?.hasFailed() === true && !timedOut) throw enclosureFailure(argv[0] ?? '', end.stderr, report)
    return end
  } catch (error) {
    if (error instanceof ToolError) throw error
    throw startFailure(argv[0] ?? '', error)
  } finally {
    clearTimeout(timer)
    clearTimeout(graceTimer)
    signal.removeEventListener('abort', stop)
    endGuard?.()
    signalGroup(child.pid, 'SIGKILL')
  }
}

function exitCodeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, ending) => resolve(code ?? 128 + (ending === null ? 0 : constants.signals[ending])))
  })
}

/** Returns the minimal environment: PATH, HOME, LANG and TERM, and on Windows some variables of the daemon. */
export function commandEnvironment(
  path: readonly string[],
  own: Readonly<Record<string, string | undefined>>,
  system: NodeJS.Platform,
): Record<string, string> {
  const kept = system === 'win32' ? windowsVariables : []
  return {
    PATH: path.join(system === 'win32' ? ';' : ':'),
    HOME: homedir(),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    ...Object.fromEntries(kept.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))),
  }
}

/** Returns the daemon's PATH without relative folders, missing folders, and folders of the workspace. */
async function searchPath(root: string): Promise<readonly string[]> {
  const folders = (env['PATH'] ?? systemPath).split(delimiter).filter((folder) => isAbsolute(folder))
  const real = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)))
  return folders.filter((_, index) => {
    const target = real[index]
    return target !== undefined && !isInside(root, target)
  })
}

async function programOnPath(path: readonly string[], name: string, { root }: Folder): Promise<string> {
  const names = platform === 'win32' ? [`${name}.exe`, name] : [name]
  for (const candidate of path.flatMap((folder) => names.map((each) => join(folder, each)))) {
    if (!(await isProgram(candidate))) continue
    // Skip a link on PATH that points to a program of the workspace.
    if (!isInside(root, await realpath(candidate))) return candidate
  }
  throw failed(`The program ${JSON.stringify(name)} is not installed: no folder of PATH has it.`)
}

/**
 * Resolves a program that is a path. Only an absolute path, which the policy names, may be outside the workspace. If
 * another process replaces a folder by a link after this check, the program outside runs: whoever can do that can also
 * replace the program. Starting it by its descriptor would prevent that, but scripts could not find their folder by `$0`.
 */
async function programAt(folder: Folder, cwd: string, name: string): Promise<string> {
  const isOutside = isAbsolute(name) && !isInside(folder.root, name)
  const path = isOutside
    ? name
    : join(folder.root, folder.relativePath(isAbsolute(name) ? name : posix.join(cwd, name)))
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined || !(await isProgram(real))) throw failed(`${JSON.stringify(name)} is not a program.`)
  if (!isOutside && !isInside(folder.root, real)) {
    const detail = `${JSON.stringify(name)} leads outside the workspace through a link.`
    throw new ToolError({ kind: 'denied', detail })
  }
  return real
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, fsConstants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Follows no link, so that the command runs in the folder that the policy has checked. */
async function openWorkingFolder(folder: Folder, cwd: string): Promise<Directory> {
  const segments = cwd.split('/').filter((segment) => segment !== '')
  try {
    return await openDirectory(folder.root, segments, { held: hasDescriptorPaths(), create: false })
  } catch (error) {
    if (error instanceof LinkFound) {
      const detail = `${JSON.stringify(cwd)} is reached through a link. Use the path of the folder itself.`
      throw new ToolError({ kind: 'denied', detail }, { cause: error })
    }
    throw new ToolError({ kind: 'failed', detail: `${JSON.stringify(cwd)} is not a folder.` }, { cause: error })
  }
}

function startFailure(name: string, cause: unknown): ToolError {
  const detail = `The program ${JSON.stringify(name)} could not be started: ${startReason(errnoOf(cause))}.`
  return new ToolError({ kind: 'failed', detail }, { cause })
}

function startReason(code: string): string {
  switch (code) {
    case 'ENOENT':
      return 'it needs an interpreter that is not installed'
    case 'EACCES':
    case 'EPERM':
      return 'permission was denied'
    case 'E2BIG':
      return 'its arguments are too long'
    default:
      return `error ${code}`
  }
}
