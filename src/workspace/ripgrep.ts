import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { isAbsolute } from 'node:path'
import { env, platform } from 'node:process'
import { errnoOf } from '../auth/records/record-fs.ts'
import { hasDescriptorPaths, LinkFound, openDirectory } from './directory.ts'
import type { Folder } from './folder.ts'
import { parseGlob, type Glob } from './glob.ts'
import { createLanes } from './lanes.ts'
import { signalOf, startErrorOf, withLimits } from './limited-program.ts'
import { temporaryPrefix } from './open-folder.ts'
import { outerIgnoreFiles } from './outer-ignore-files.ts'
import { killGroup } from './sandbox/kill-group.ts'
import { enclosureFailure, readReport } from './sandbox/report.ts'
import { ToolError } from './tool-error.ts'

interface RipgrepRun {
  readonly folder: Folder
  readonly glob: Glob
  readonly args: readonly string[]
  readonly signal: AbortSignal
  /** Stops ripgrep after this time. */
  readonly deadlineMs: number
  /** Receives the output in chunks, one after the other, and the time since ripgrep started. Returns false to stop ripgrep. */
  readonly take: (chunk: Buffer, elapsedMs: number) => boolean | Promise<boolean>
  /** Globs of `Reading.excludes`. Default: none. */
  readonly excludes?: readonly string[]
}

export interface RipgrepEnd {
  /** Whether files may be missing: ripgrep was stopped, a signal ended it, or it could not read a folder or file. */
  readonly isPartial: boolean
  /** ripgrep's message about invalid arguments, or ''. */
  readonly complaint: string
  /** Time since ripgrep started. */
  readonly elapsedMs: number
}

/**
 * ripgrep reads ignore files whole, also a link to an endless device. It takes less than 150 MB for ordinary folders, also with
 * many threads.
 */
const limits = { addressSpaceMb: 400 }

/** ripgrep waits for a FIFO that is an ignore file until its deadline. Then it must not delay other workspaces. */
const lanes = createLanes({ perKey: 2, total: 8 })

/** ripgrep's exit code if the arguments are invalid, or if it could not read a folder or file and did search all others. */
const errorCode = 2

/** Longer than any message, which repeats the regular expression. Characters. */
const maxComplaint = 20_000

/** Includes hidden files such as `.github`, but neither `.git` nor this program's temporary files. Follows no link. */
const commonArgs = [
  '--no-config',
  '--no-messages',
  '--color=never',
  '--hidden',
  '--no-follow',
  '--glob=!.git',
  `--glob=!${temporaryPrefix}.*.tmp`,
]

/**
 * Runs ripgrep in the glob's folder and waits until it has ended. The caller must confirm each result (confirm-files.ts) before
 * it returns it.
 * @throws ToolError `cancelled`; `failed` without ripgrep, if the workspace is missing, or if a signal ended ripgrep before it
 * had any output
 */
export async function runRipgrep(run: RipgrepRun): Promise<RipgrepEnd> {
  return lanes(run.folder.root, run.signal, () => runNow(run))
}

async function runNow({
  folder,
  glob,
  args,
  excludes = [],
  signal,
  deadlineMs,
  take,
}: RipgrepRun): Promise<RipgrepEnd> {
  const startedMs = performance.now()
  const elapsedMs = (): number => performance.now() - startedMs
  // ripgrep follows a link on its command line.
  if (!(await isFolder(folder, glob.base))) {
    if (glob.base === '') throw new ToolError({ kind: 'failed', detail: 'The folder of the workspace is missing.' })
    return { isPartial: false, complaint: '', elapsedMs: elapsedMs() }
  }
  // In the sandbox, this folder does not exist, which ripgrep would report as an error.
  if (await isOwn(folder, glob.base)) return { isPartial: false, complaint: '', elapsedMs: elapsedMs() }
  const names = (glob.names ?? []).map((name) => `--type-add=wanted:${name}`)
  const type = names.length > 0 ? ['--type=wanted'] : []
  const { root, sandbox } = folder
  const ripgrep = await ripgrepPath()
  const { enclosure } = await sandbox.state()
  const outer = await outerIgnoreFiles(root, glob.base, enclosure.kind !== 'none')
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
  const hidden = excludes.map((each) => `--glob=${each}`)
  const argv = [
    ripgrep,
    ...commonArgs,
    ...outer.args,
    ...hidden,
    ...names,
    ...type,
    ...args,
    '--',
    `./${glob.base}`,
  ] as const
  const started = await sandbox.start({
    argv: withLimits(argv, limits),
    cwd: root,
    access: 'read',
    programs: [...(isAbsolute(ripgrep) ? [ripgrep] : []), ...outer.above],
    rule: 'never refused',
  })
  const [program, ...words] = started.argv
  const isEnclosed = started.enclosure !== 'none'
  const child = spawn(program, words, {
    cwd: root,
    // Omit other variables: RIPGREP_CONFIG_PATH names a file of options, and HOME may have a global ignore file.
    env: { PATH: env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe', ...(isEnclosed ? (['pipe', 'pipe'] as const) : [])],
    windowsHide: true,
    detached: isEnclosed,
  })
  const { stdout, stderr } = child
  // The type of `stdio` has no pipes if it is not a literal.
  if (stdout === null || stderr === null) throw new Error('ripgrep has no pipes')
  const report = isEnclosed ? readReport(child, started.mounts) : undefined
  let isStopped = false
  const end = (): void => {
    if (isEnclosed) killGroup(child)
    else child.kill('SIGKILL')
  }
  const stop = (): void => {
    isStopped = true
    end()
  }
  const timer = setTimeout(stop, deadlineMs)
  signal.addEventListener('abort', stop)
  let complaint = ''
  stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, maxComplaint)
  })
  let hasOutput = false
  const takeOne = async (chunk: Buffer): Promise<void> => {
    hasOutput = true
    if (!isStopped && !(await take(chunk, elapsedMs()))) stop()
  }
  try {
    await Promise.all([once(child, 'close'), takeAll(stdout, takeOne)])
  } catch (error) {
    if (error instanceof ToolError) throw error
    throw new ToolError({ kind: 'failed', detail: adviceFor(errnoOf(error)) }, { cause: error })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    end()
    await started.end()
  }
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
  if (isStopped) return { isPartial: true, complaint: '', elapsedMs: elapsedMs() }
  if (report?.hasFailed() === true) throw enclosureFailure('rg', complaint, report)
  const { exitCode } = child
  const signalCode = child.signalCode ?? (isEnclosed ? signalOf(exitCode) : null)
  const startError = startErrorOf(exitCode)
  if (startError !== undefined) throw new ToolError({ kind: 'failed', detail: adviceFor(startError) })
  if (signalCode !== null) {
    // The output so far is correct, but nobody knows what is missing.
    if (!hasOutput) throw new ToolError({ kind: 'failed', detail: killedSentence(signalCode) })
    return { isPartial: true, complaint: '', elapsedMs: elapsedMs() }
  }
  return { isPartial: exitCode === errorCode, complaint, elapsedMs: elapsedMs() }
}

/** Passes on one chunk after the other, so that a slow consumer slows ripgrep down. */
async function takeAll(chunks: AsyncIterable<Buffer>, take: (chunk: Buffer) => Promise<void>): Promise<void> {
  for await (const chunk of chunks) await take(chunk)
}

/** Converts a path in ripgrep's output to one relative to the root. Only Windows separates folders with a backslash. */
export function pathOf(output: string): string {
  const path = platform === 'win32' ? output.replaceAll('\\', '/') : output
  return path.startsWith('./') ? path.slice(2) : path
}

/**
 * Parses a glob with `parseGlob`. The path of a folder selects everything in it.
 * @throws the errors of `parseGlob`
 */
export async function readGlob(folder: Folder, pattern: string): Promise<Glob> {
  const parsed = parseGlob(pattern, folder)
  const glob = { ...parsed, base: await formOnDisk(folder, parsed.base) }
  if (pattern === '' || /[*?[{]/.test(pattern)) return glob
  const path = await formOnDisk(folder, pattern)
  return (await isFolder(folder, path)) ? parseGlob(path === '' ? '' : `${path}/**`, folder) : glob
}

/** Returns `existingPath`, or the path itself: a glob may name what does not exist. */
async function formOnDisk(folder: Folder, path: string): Promise<string> {
  const normal = folder.relativePath(path)
  return folder.existingPath(normal).catch((error: unknown) => {
    if (error instanceof ToolError) return normal
    throw error
  })
}

/** Whether a folder belongs to copilot-proxy. */
async function isOwn(folder: Folder, base: string): Promise<boolean> {
  if (base === '') return false
  try {
    await folder.refuseOwn(base)
    return false
  } catch (error) {
    if (error instanceof ToolError && error.failure.kind === 'denied') return true
    throw error
  }
}

async function isFolder(folder: Folder, base: string): Promise<boolean> {
  try {
    const segments = base.split('/').filter((segment) => segment !== '')
    const directory = await openDirectory(folder.root, segments, { held: hasDescriptorPaths(), create: false })
    await directory.close()
    return true
  } catch (error) {
    if (error instanceof LinkFound || ['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error))) return false
    throw error
  }
}

/** Returns the program of the optional package, or else the one on PATH. */
async function ripgrepPath(): Promise<string> {
  try {
    const { rgPath } = await import('@vscode/ripgrep')
    return rgPath
  } catch {
    return 'rg'
  }
}

function killedSentence(signal: string): string {
  return (
    `ripgrep (rg) was ended by ${signal} before it found anything. It may have needed too much memory: ` +
    'look for a very large .gitignore or .ignore, or one that is a link to a device. Or use a narrower glob.'
  )
}

function adviceFor(code: string): string {
  return code === 'ENOENT'
    ? 'ripgrep (rg) is not installed. Install it, e.g. with "apt install ripgrep" or "brew install ripgrep".'
    : `ripgrep (rg) could not be started (${code}). Reinstall it.`
}
