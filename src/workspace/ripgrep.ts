import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { env } from 'node:process'
import { errnoOf } from '../auth/records/record-fs.ts'
import { hasDescriptorPaths, LinkFound, openDirectory } from './directory.ts'
import type { Folder } from './folder.ts'
import { parseGlob, type Glob } from './glob.ts'
import { temporaryPrefix } from './open-folder.ts'
import { ToolError } from './tool-error.ts'

interface RipgrepRun {
  readonly folder: Folder
  readonly glob: Glob
  readonly args: readonly string[]
  readonly signal: AbortSignal
  /** Stops ripgrep after this time. */
  readonly deadlineMs: number
  /** Receives the output in chunks, one after the other. Returns false to stop ripgrep. */
  readonly take: (chunk: Buffer) => boolean | Promise<boolean>
  /** Globs of `Reading.excludes`. Default: none. */
  readonly excludes?: readonly string[]
}

export interface RipgrepEnd {
  /** Whether ripgrep was stopped before its end. */
  readonly isStopped: boolean
  /** ripgrep's message about invalid arguments, or ''. */
  readonly complaint: string
}

/** Longer than any message, which repeats the regular expression. Characters. */
const maxComplaint = 20_000

/**
 * Includes hidden files such as `.github`, but neither `.git` nor this program's temporary files. Uses ignore files also outside
 * of git repositories. Follows no link.
 */
const commonArgs = [
  '--no-config',
  '--no-messages',
  '--color=never',
  '--hidden',
  '--no-require-git',
  '--no-follow',
  '--glob=!.git',
  `--glob=!${temporaryPrefix}.*.tmp`,
]

/**
 * Runs ripgrep in the glob's folder and waits until it has ended. The caller must confirm each result (confirm-files.ts) before
 * it returns it.
 * @throws ToolError `cancelled`; `failed` without ripgrep or if the workspace is missing
 */
export async function runRipgrep({
  folder,
  glob,
  args,
  excludes = [],
  signal,
  deadlineMs,
  take,
}: RipgrepRun): Promise<RipgrepEnd> {
  // ripgrep follows a link on its command line.
  if (!(await isFolder(folder, glob.base))) {
    if (glob.base === '') throw new ToolError({ kind: 'failed', detail: 'The folder of the workspace is missing.' })
    return { isStopped: false, complaint: '' }
  }
  const names = (glob.names ?? []).map((name) => `--type-add=wanted:${name}`)
  const type = names.length > 0 ? ['--type=wanted'] : []
  const program = await ripgrepPath()
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
  const hidden = excludes.map((each) => `--glob=${each}`)
  const child = spawn(program, [...commonArgs, ...hidden, ...names, ...type, ...args, '--', `./${glob.base}`], {
    cwd: folder.root,
    // Omit other variables: RIPGREP_CONFIG_PATH names a file of options, and HOME may have a global ignore file.
    env: { PATH: env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
  let isStopped = false
  const stop = (): void => {
    isStopped = true
    child.kill('SIGKILL')
  }
  const timer = setTimeout(stop, deadlineMs)
  signal.addEventListener('abort', stop)
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, maxComplaint)
  })
  try {
    await Promise.all([
      once(child, 'close'),
      takeAll(child.stdout, async (chunk) => isStopped || (await take(chunk)) || stop()),
    ])
  } catch (error) {
    throw new ToolError({ kind: 'failed', detail: adviceFor(errnoOf(error)) }, { cause: error })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    child.kill('SIGKILL')
  }
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
  return { isStopped, complaint: isStopped ? '' : complaint }
}

/** Passes on one chunk after the other, so that a slow consumer slows ripgrep down. */
async function takeAll(chunks: AsyncIterable<Buffer>, take: (chunk: Buffer) => Promise<unknown>): Promise<void> {
  for await (const chunk of chunks) await take(chunk)
}

/** Converts a path in ripgrep's output to one relative to the root. */
export function pathOf(output: string): string {
  const path = output.includes('\\') ? output.replaceAll('\\', '/') : output
  return path.startsWith('./') ? path.slice(2) : path
}

/**
 * Parses a glob with `parseGlob`. The path of a folder selects everything in it.
 * @throws the errors of `parseGlob`
 */
export async function readGlob(folder: Folder, pattern: string): Promise<Glob> {
  const glob = parseGlob(pattern, folder)
  if (pattern === '' || /[*?[{]/.test(pattern)) return glob
  const path = folder.relativePath(pattern)
  return (await isFolder(folder, path)) ? parseGlob(path === '' ? '' : `${path}/**`, folder) : glob
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

function adviceFor(code: string): string {
  return code === 'ENOENT'
    ? 'ripgrep (rg) is not installed. Install it, e.g. with "apt install ripgrep" or "brew install ripgrep".'
    : `ripgrep (rg) could not be started (${code}). Reinstall it.`
}
