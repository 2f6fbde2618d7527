import type { FileContent, Folder } from '../folder.ts'
import { failed, ToolError, type Conflict } from '../tool-error.ts'
import { applyEdits, toFileLines, type FileLines } from './file-lines.ts'
import { fitHunks, type FitOptions } from './fit-hunks.ts'
import { shownLines, type Misfit } from './misfit.ts'
import { changedConflict, readIfThere, type Change } from './journal.ts'
import type { Pace } from './pace.ts'
import type { FilePatch, Hunk } from './file-patch.ts'
import { planSeries, type PatchedFiles, type Plan } from './plan-series.ts'
import type { FileDiff } from './render-diff.ts'
import { sha256Of } from './sha256.ts'

/** Maximum size of all files of a patch, which are in memory together. Bytes. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024

/** Maximum number of conflicts in one answer. */
const MAX_CONFLICTS = 50

/** The argument `baseSha256` of a patch. */
export type StatedHashes = string | Readonly<Record<string, string | null>> | undefined

export interface PlanDeps {
  readonly folder: Folder
  readonly maxFileBytes: number
}

/**
 * Computes what a patch does. If several parts name the same file, each one refers to what the parts before it have made of it, as in
 * the output of `git log -p`. If that does not fit, all parts refer to the files before the patch.
 * @throws ToolError `conflict` if the patch does not match; `invalid_arguments`, `failed`, `too_large`, `cancelled`
 */
export async function planChanges(
  deps: PlanDeps,
  patches: readonly FilePatch[],
  stated: StatedHashes,
  pace: Pace,
  signal: AbortSignal,
): Promise<Plan> {
  const { folder, maxFileBytes } = deps
  const files = new Map<string, FileContent | null>()
  let totalBytes = 0
  const add = (bytes: number): void => {
    totalBytes += bytes
    if (totalBytes > MAX_TOTAL_BYTES)
      throw tooLarge(`The files of the patch have more than ${MAX_TOTAL_BYTES / 1024 / 1024} MB. Send it in parts.`)
  }
  const read = async (path: string): Promise<FileContent | null> => {
    const known = files.get(path)
    if (known !== undefined) return known
    const content = await readIfThere(folder, path, { maxBytes: maxFileBytes, signal })
    add(content?.size ?? 0)
    files.set(path, content)
    return content
  }
  const named: FilePatch[] = []
  for (const patch of patches) named.push(await resolveName(patch, read))
  const merged = merge(named)
  const bases = await checkBases(merged, stated, folder, read)
  const together = (): Promise<Plan> => planTogether(deps, merged, { read, add, bases }, pace)
  const paths = patches.flatMap(({ from, to }) => [...new Set([from, to])])
  if (new Set(paths).size === paths.length) return together()
  try {
    const planPart = async (part: FilePatch, partFiles: PatchedFiles): Promise<Plan> =>
      planTogether(deps, [await resolveName(part, partFiles.read)], partFiles, pace)
    return await planSeries(patches, { read, add, bases }, planPart, pace)
  } catch (error) {
    if (!isMismatch(error)) throw error
    return together().catch((other: unknown) => {
      throw isMismatch(other) ? error : other
    })
  }
}

function isMismatch(error: unknown): boolean {
  return error instanceof ToolError && !['cancelled', 'timed_out', 'denied'].includes(error.failure.kind)
}

/** The state of a file after a patch. */
interface Outcome {
  readonly path: string
  readonly before: FileContent | null
  readonly after: Change['after']
  /** Whether the patch creates the file, so it must not exist yet. */
  readonly isNew: boolean
}

/** Plans parts that all refer to the same state of the files. */
async function planTogether(
  { folder, maxFileBytes }: PlanDeps,
  patches: readonly FilePatch[],
  { read, add, bases }: PatchedFiles,
  pace: Pace,
): Promise<Plan> {
  const misfits: Misfit[] = []
  const outcomes: Outcome[] = []
  const diffs: FileDiff[] = []
  for (const patch of patches) {
    await pace.rest()
    const { from, to, isExecutable } = patch
    const source = patch.kind === 'create' ? null : await read(from)
    // Let `readFile` throw the reason why the file cannot be read.
    if (source === null && patch.kind !== 'create') {
      await folder.readFile(from, { maxBytes: maxFileBytes })
      throw failed(`The patch changes ${from} after it has removed it. No file was changed.`)
    }
    if ((patch.hunks.length > 0 || patch.isWhole === true) && source?.bytes.includes(0) === true) {
      throw failed(`${from} is a binary file. Only text can be patched. No file was changed.`)
    }
    const file = await toFileLines(source?.bytes ?? Buffer.alloc(0), pace)
    const options: FitOptions = { path: from, isBaseKnown: bases.has(from) }
    const fitted = await fit(patch, file, options, pace)
    misfits.push(...fitted.misfits)
    if (fitted.misfits.length > 0) continue
    const bytes = await applyEdits(file, fitted.edits, pace)
    if (bytes.length > maxFileBytes) throw tooLarge(`${to} would become larger than ${maxFileBytes / 1024 / 1024} MB.`)
    add(bytes.length)
    const newMode = modeAfter(source?.mode, isExecutable)
    diffs.push({ kind: patch.kind, from, to, oldMode: source?.mode, newMode, file, edits: fitted.edits })
    if (patch.kind === 'delete') {
      if (bytes.length > 0) misfits.push(notEmptied(from, bytes))
      outcomes.push({ path: from, before: source, after: null, isNew: false })
      continue
    }
    const isNew = patch.kind !== 'modify'
    const mode = isNew || newMode !== source?.mode ? newMode : undefined
    const after = { bytes, sha256: await sha256Of(bytes, pace), mode }
    outcomes.push({ path: to, before: await read(to), after, isNew })
    if (patch.kind === 'rename') outcomes.push({ path: from, before: source, after: null, isNew: false })
  }
  const changes = join(outcomes, misfits)
  if (misfits.length > 0) throw conflictOf(misfits)
  return { changes, diffs }
}

async function fit(
  { kind, to, hunks, isWhole }: FilePatch,
  file: FileLines,
  options: FitOptions,
  pace: Pace,
): ReturnType<typeof fitHunks> {
  if (kind === 'create') return created(hunks, to)
  if (isWhole === true) return { edits: [{ start: 0, end: file.count, lines: [] }], misfits: [] }
  return fitHunks(file, hunks, options, pace)
}

/** Chooses the path that exists for a patch of `diff -u x.orig x`. Recognises a new file also without `/dev/null`. */
async function resolveName(patch: FilePatch, read: (path: string) => Promise<FileContent | null>): Promise<FilePatch> {
  if (patch.kind !== 'modify') return patch
  const { from, to, hunks } = patch
  const target = await read(to)
  if (from === to) {
    const isCreation = target === null && hunks.length === 1 && hunks[0]?.old.length === 0 && hunks[0].statedIndex === 0
    return isCreation ? { ...patch, kind: 'create' } : patch
  }
  const source = await read(from)
  if (target !== null && source !== null) {
    throw invalid(
      `The patch names two existing files for one change: ${from} and ${to}. Use the same name in the lines "---" and "+++".`,
    )
  }
  const path = target === null && source !== null ? from : to
  return { ...patch, from: path, to: path }
}

/** Merges the parts that modify the same file. All their hunks refer to the file before the patch. */
function merge(patches: readonly FilePatch[]): readonly FilePatch[] {
  const merged = new Map<string, FilePatch>()
  for (const [index, patch] of patches.entries()) {
    const key = patch.kind === 'modify' ? patch.to : `\0${index}`
    const earlier = merged.get(key)
    if (earlier === undefined) merged.set(key, patch)
    else {
      const isExecutable = patch.isExecutable ?? earlier.isExecutable
      merged.set(key, { ...earlier, isExecutable, hunks: [...earlier.hunks, ...patch.hunks] })
    }
  }
  return [...merged.values()]
}

/** Returns the paths whose hash the caller has stated. @throws ToolError `conflict` for a file with another hash */
async function checkBases(
  patches: readonly FilePatch[],
  stated: StatedHashes,
  folder: Folder,
  read: (path: string) => Promise<FileContent | null>,
): Promise<ReadonlySet<string>> {
  const paths = new Set(patches.flatMap(({ from, to }) => [from, to]))
  const [first] = patches
  if (typeof stated === 'string' && (patches.length > 1 || first === undefined)) {
    throw invalid(
      'The patch has several files. Send baseSha256 as an object with one hash for each path.',
      'baseSha256',
    )
  }
  const bases = Object.entries(typeof stated === 'string' ? { [first?.from ?? '']: stated } : (stated ?? {}))
  const checked = new Set<string>()
  for (const [name, sha256] of bases) {
    const path = await folder.existingPath(name)
    if (!paths.has(path)) throw invalid(`The patch has no file ${JSON.stringify(name)}.`, 'baseSha256')
    if (sha256 !== null && !/^[0-9a-f]{64}$/i.test(sha256)) {
      throw invalid(`The hash of ${path} must be a SHA-256 in hex.`, 'baseSha256')
    }
    const found = await read(path)
    if ((found?.sha256 ?? null) !== (sha256?.toLowerCase() ?? null)) {
      throw changedConflict(path, sha256?.toLowerCase(), found?.sha256)
    }
    checked.add(path)
  }
  return checked
}

function created(hunks: readonly Hunk[], path: string): Awaited<ReturnType<typeof fitHunks>> {
  if (hunks.some((hunk) => hunk.old.length > 0))
    throw invalid(`The patch creates ${path}, but has lines of an old file.`)
  const [first, ...others] = hunks
  // Avoid copying a single long hunk.
  const lines = others.length === 0 ? (first?.new ?? []) : hunks.flatMap((hunk) => hunk.new)
  return { edits: lines.length === 0 ? [] : [{ start: 0, end: 0, lines }], misfits: [] }
}

/** Merges the outcomes of each path, because a patch may rename a file and write another one to its path. */
function join(outcomes: readonly Outcome[], misfits: Misfit[]): readonly Change[] {
  const byPath = new Map<string, Outcome>()
  for (const outcome of outcomes) {
    const other = byPath.get(outcome.path)
    if (other === undefined) {
      byPath.set(outcome.path, outcome)
      continue
    }
    const isReplaced = (other.after === null) !== (outcome.after === null) && (other.isNew || outcome.isNew)
    if (!isReplaced) throw invalid(`The patch changes ${outcome.path} twice.`)
    byPath.set(outcome.path, { ...outcome, after: outcome.after ?? other.after, isNew: false })
  }
  const all = [...byPath.values()]
  for (const { path, before, isNew } of all) {
    if (!isNew || before === null) continue
    misfits.push({
      reason: `The patch creates ${path}, which exists already.`,
      conflict: { path, expected: [], found: linesOf(before.bytes) },
    })
  }
  return all
}

/** Like git, makes a file executable for everybody who may read it. */
function modeAfter(mode: number | undefined, isExecutable: boolean | undefined): number | undefined {
  if (isExecutable === undefined) return mode
  if (mode === undefined) return isExecutable ? 0o755 : undefined
  return isExecutable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111
}

function notEmptied(path: string, remainder: Buffer): Misfit {
  return {
    reason: `The patch deletes ${path}, which has lines that the patch does not have.`,
    conflict: { path, expected: [], found: linesOf(remainder) },
  }
}

function linesOf(bytes: Buffer): readonly string[] {
  // This is enough for all lines that a conflict shows.
  return shownLines(bytes.subarray(0, 10_000).toString('latin1').split('\n'))
}

export function conflictOf(misfits: readonly Misfit[]): ToolError {
  const conflicts: readonly Conflict[] = misfits.slice(0, MAX_CONFLICTS).map(({ conflict }) => conflict)
  const more = misfits.length > 1 ? ` (${misfits.length - 1} more conflicts)` : ''
  return new ToolError({
    kind: 'conflict',
    detail: `${misfits[0]?.reason ?? ''}${more} No file was changed.`,
    conflicts,
  })
}

function invalid(detail: string, path = 'unifiedDiff'): ToolError {
  return new ToolError({ kind: 'invalid_arguments', path, detail })
}

function tooLarge(detail: string): ToolError {
  return new ToolError({ kind: 'too_large', detail })
}
