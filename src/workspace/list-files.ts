import { posix } from 'node:path'
import { filesIn } from './confirm-files.ts'
import type { Folder, Reading } from './folder.ts'
import { matcherOf } from './glob.ts'
import { pathOf, readGlob, runRipgrep } from './ripgrep.ts'

export interface ListFilesArguments {
  /** A pattern of `readGlob`. Default: all files. */
  readonly glob?: string | undefined
  readonly limit?: number | undefined
}

export interface FileList {
  /** Sorted paths with `/`, relative to the root: the first of all files, or some files if the time was too short. */
  readonly files: readonly string[]
  /** Whether there may be more files. */
  readonly truncated: boolean
}

export const defaultListLimit = 1000

/** Sorting more files would block the event loop, and no caller needs them. */
const maxLimit = 10_000

/** After this time of ripgrep, the list ends as soon as it has enough files, even if others would sort before them. Ms. */
const walkMs = 300

/** The list ends after this time in any case; a caller can request a narrower glob. Ms. */
const defaultDeadlineMs = 1500

/** Time after the deadline to confirm the files. Ms. */
const confirmMs = 300

/** Number of folders that are open at the same time. */
const foldersAtOnce = 16

/**
 * Lists the files of a folder, without ignored files, `.git` and links.
 * @throws ToolError `denied` for a glob that leads outside; `invalid_arguments`; the errors of `runRipgrep`
 */
export async function listFiles(
  folder: Folder,
  { glob: pattern = '', limit = defaultListLimit }: ListFilesArguments,
  signal: AbortSignal,
  deadlineMs = defaultDeadlineMs,
): Promise<FileList> {
  const [glob, reading] = await Promise.all([readGlob(folder, pattern), folder.reading()])
  const matches = matcherOf(glob)
  const wanted = Math.min(limit, maxLimit)
  let files: string[] = []
  let remainder = Buffer.alloc(0)
  const take = (chunk: Buffer, elapsedMs: number): boolean => {
    const bytes = remainder.length === 0 ? chunk : Buffer.concat([remainder, chunk])
    const end = bytes.lastIndexOf(0) + 1
    remainder = Buffer.from(bytes.subarray(end))
    if (end === 0) return true
    for (const output of bytes.toString('utf8', 0, end - 1).split('\0')) {
      const path = pathOf(output)
      if (matches(path) && !reading.isHidden(path)) files.push(path)
    }
    // Keep one more than requested, which shows that there are more.
    if (files.length > 2 * maxLimit) files = firstOf(files, wanted + 1)
    return files.length <= wanted || elapsedMs < walkMs
  }
  // ripgrep must not sort: it would use one thread, and print a folder only after it has read all of it.
  const { excludes } = reading
  const end = await runRipgrep({ folder, glob, args: ['--files', '--null'], excludes, signal, deadlineMs, take })
  const first = firstOf(files, wanted)
  const untilMs = performance.now() - end.elapsedMs + deadlineMs + confirmMs
  const confirmed = await confirm(folder, reading, first, untilMs)
  const isComplete = !end.isPartial && files.length <= wanted && confirmed.isComplete
  return { files: confirmed.files, truncated: !isComplete }
}

/** Returns the files that exist and are not hidden, in the same order. Omits those that it could not check in time. */
async function confirm(
  folder: Folder,
  reading: Reading,
  files: readonly string[],
  untilMs: number,
): Promise<{ readonly files: readonly string[]; readonly isComplete: boolean }> {
  const groups = Map.groupBy(files, (file) => posix.dirname(file))
  const waiting = groups.entries()
  const found = new Set<string>()
  let hidden = 0
  const confirmSome = async (): Promise<void> => {
    // Several loops share this iterator, and each one takes the next group.
    for (const [base, paths] of waiting) {
      if (performance.now() > untilMs) return
      const isHidden = await reading.hiddenIn(base === '.' ? '' : base)
      const visible = paths.filter((path) => !isHidden(path))
      hidden += paths.length - visible.length
      const names = await filesIn(
        folder,
        base,
        visible.map((path) => posix.basename(path)),
      )
      for (const name of names) found.add(posix.join(base, name))
    }
  }
  await Promise.all(Array.from({ length: foldersAtOnce }, confirmSome))
  const confirmed = files.filter((file) => found.has(file))
  return { files: confirmed, isComplete: confirmed.length + hidden === files.length }
}

function firstOf(files: readonly string[], count: number): string[] {
  return files.toSorted().slice(0, count)
}
