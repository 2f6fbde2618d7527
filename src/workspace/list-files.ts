import { posix } from 'node:path'
import { filesIn } from './confirm-files.ts'
import type { Folder } from './folder.ts'
import { pathOf, readGlob, runRipgrep } from './ripgrep.ts'

export interface ListFilesArguments {
  /** As `readGlob` has it. Default: every file. */
  readonly glob?: string | undefined
  readonly limit?: number | undefined
}

export interface FileList {
  /** Relative to the root, with `/`, sorted. The first ones of all if the tree could be walked in time, else some. */
  readonly files: readonly string[]
  /** Whether there are more, or the time was up. */
  readonly truncated: boolean
}

const defaultLimit = 1000

/** More would be of no use to anybody, and sorting them would hold the event loop. */
const maxLimit = 10_000

/** So long it looks for files that come before those it has. Ms. */
const walkMs = 300

/** A list that takes longer ends here: a caller can ask for a narrower one. Ms. */
const defaultDeadlineMs = 1500

/** Of `defaultDeadlineMs` for looking at the files again. Ms. */
const confirmMs = 300

/** Folders that are held open at once. */
const foldersAtOnce = 16

/**
 * Lists the files of a folder, without ignored files, `.git` and links.
 * @throws ToolError `denied` for a glob that leads outside; `invalid_arguments`; `failed` without ripgrep; `cancelled`
 */
export async function listFiles(
  folder: Folder,
  { glob: pattern = '', limit = defaultLimit }: ListFilesArguments,
  signal: AbortSignal,
  deadlineMs = defaultDeadlineMs,
): Promise<FileList> {
  const glob = await readGlob(folder, pattern)
  const wanted = Math.min(limit, maxLimit)
  const startedMs = performance.now()
  const walkedAt = startedMs + walkMs
  let files: string[] = []
  let remainder = Buffer.alloc(0)
  const take = (chunk: Buffer): boolean => {
    const bytes = remainder.length === 0 ? chunk : Buffer.concat([remainder, chunk])
    const end = bytes.lastIndexOf(0) + 1
    remainder = Buffer.from(bytes.subarray(end))
    if (end === 0) return true
    for (const output of bytes.toString('utf8', 0, end - 1).split('\0')) {
      const path = pathOf(output)
      if (glob.matches(path)) files.push(path)
    }
    // One more than requested shows that there are more.
    if (files.length > 2 * maxLimit) files = firstOf(files, wanted + 1)
    return files.length <= wanted || performance.now() < walkedAt
  }
  // Not sorted by ripgrep: it would walk with one thread, and show nothing of a folder before it has read all of it.
  const { isStopped } = await runRipgrep({ folder, glob, args: ['--files', '--null'], signal, deadlineMs, take })
  const first = firstOf(files, wanted)
  const confirmed = await confirm(folder, first, startedMs + deadlineMs + confirmMs)
  const isComplete = !isStopped && files.length <= wanted && confirmed.length === first.length
  return { files: confirmed, truncated: !isComplete }
}

/** The files that are there, in the same order. Those that could not be looked at in time are left out. */
async function confirm(folder: Folder, files: readonly string[], untilMs: number): Promise<readonly string[]> {
  const groups = Map.groupBy(files, (file) => posix.dirname(file))
  const waiting = groups.entries()
  const found = new Set<string>()
  const confirmSome = async (): Promise<void> => {
    // Each of several loops takes the next group.
    for (const [base, paths] of waiting) {
      if (performance.now() > untilMs) return
      const names = await filesIn(
        folder,
        base,
        paths.map((path) => posix.basename(path)),
      )
      for (const name of names) found.add(posix.join(base, name))
    }
  }
  await Promise.all(Array.from({ length: foldersAtOnce }, confirmSome))
  return files.filter((file) => found.has(file))
}

function firstOf(files: readonly string[], count: number): string[] {
  return files.toSorted().slice(0, count)
}
