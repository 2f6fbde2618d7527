import type { FileContent, Folder } from '../folder.ts'
import { failed, ToolError, type Conflict } from '../tool-error.ts'
import { toFileLines } from './file-lines.ts'
import { applyEdits, fitHunks, shownLines, type Edit, type FitOptions, type Misfit } from './fit-hunks.ts'
import { formatChanges, type Unformatted } from './format-changes.ts'
import { intendedFiles, type DiffSection, type IntendedFile } from './intended-files.ts'
import { changedConflict, findFile, readIfThere, type Change, type Journal, type JournalEntry } from './journal.ts'
import { createPace, type Pace } from './pace.ts'
import { parsePatch, type FilePatch, type Hunk } from './parse-patch.ts'
import { diffOf, renderDiff, type FileDiff } from './render-diff.ts'
import { sha256Of } from './sha256.ts'

/** Maximum size of all files of a patch, which are in memory together. Bytes. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024

/** Maximum number of conflicts in one answer. */
const MAX_CONFLICTS = 50

export interface PatchDeps {
  readonly folder: Folder
  readonly journal: Journal
  /** `workspace.max-file-mb`. Bytes. */
  readonly maxFileBytes: number
}

export interface PatchContext {
  /** Called once, after everything is computed and before the first change. @throws ToolError */
  readonly authorize: (intent: {
    readonly writes: readonly string[]
    readonly files: readonly IntendedFile[]
    readonly diff: string
  }) => Promise<void>
  /** Called first, so that a refusal comes before a conflict. Asks no person. @throws ToolError */
  readonly permit: (intent: { readonly writes: readonly string[] }) => Promise<void>
  readonly signal: AbortSignal
}

export interface ApplyPatchContext extends PatchContext {
  /** Formats a text and organises its imports, for `ApplyPatchArgs.format`. @throws ToolError */
  readonly format: (path: string, text: string) => Promise<string>
}

export interface ApplyPatchArgs {
  readonly unifiedDiff: string
  /** Has no effect: every patch is verified. The tool bus specifies this argument. */
  readonly verify?: true | undefined
  /**
   * SHA-256 in hex of the file that the patch was made for, or a record by path for several files. `null`: no such file.
   */
  readonly baseSha256?: string | Readonly<Record<string, string | null>> | undefined
  /** Formats the patched files and organises their imports before writing them. */
  readonly format?: boolean | undefined
  /** Computes the result and changes nothing. Needs no authorisation, unless `format` runs a program. */
  readonly dryRun?: boolean | undefined
}

export interface UndoPatchArgs {
  /** The `id` of a `PatchResult`. Default: the latest change that is not undone and is not an undo itself. */
  readonly id?: string | undefined
  readonly dryRun?: boolean | undefined
}

export interface PatchResult {
  readonly ok: true
  /** Id of the journal entry, for `undoPatch`. Absent if nothing was changed. */
  readonly id?: string
  /** `before` and `after` are SHA-256 in hex; null if there is no file. A rename lists both paths. */
  readonly files: readonly { readonly path: string; readonly before: string | null; readonly after: string | null }[]
  /** Always empty, because a conflict is an error. The tool bus specifies this field. */
  readonly conflicts: readonly []
  /** Present if `format` was requested. */
  readonly unformatted?: readonly Unformatted[]
}

/**
 * Applies a unified diff to all of its files or to none.
 * @throws ToolError `conflict` if the patch does not match; also all other kinds
 */
export async function applyPatch(
  deps: PatchDeps,
  args: ApplyPatchArgs,
  context: ApplyPatchContext,
): Promise<PatchResult> {
  const pace = createPace(context.signal)
  const patches = await parsePatch(args.unifiedDiff, pace)
  const normal: FilePatch[] = []
  for (const patch of patches) {
    const [from, to] = await Promise.all([patch.from, patch.to].map(deps.folder.existingPath))
    normal.push({ ...patch, from: from ?? '', to: to ?? '' })
  }
  const paths = new Set(normal.flatMap(({ from, to }) => [from, to]))
  if (args.dryRun !== true) await context.permit({ writes: writesOf(normal) })
  return deps.journal.withPaths([...paths], context.signal, async () => {
    const planned = await plan(deps, normal, args, pace, context.signal)
    const { maxFileBytes } = deps
    const formatting = { format: context.format, maxFileBytes }
    const { changes, diffs, unformatted } =
      args.format === true
        ? await formatChanges(planned.changes, planned.diffs, formatting, pace)
        : { ...planned, unformatted: undefined }
    const sections: DiffSection[] = []
    for (const diff of diffs) sections.push({ ...diff, text: await renderDiff(diff, pace) })
    const result = await finish(deps, changes.filter(isEffective), sections, { ...args, undoes: undefined }, context)
    return unformatted === undefined ? result : { ...result, unformatted }
  })
}

/** Returns the paths that the patch certainly writes. For a patch from `x.orig` to `x`, `resolveName` chooses the path later. */
function writesOf(patches: readonly FilePatch[]): readonly string[] {
  return patches.flatMap(({ kind, from, to }) => {
    if (kind === 'modify') return from === to ? [to] : []
    return kind === 'rename' ? [from, to] : [kind === 'delete' ? from : to]
  })
}

/**
 * Restores the old bytes and modes of the files of a change, including formatted ones, and removes its created folders if they
 * are empty. The undo is a change that can be undone too.
 * @throws ToolError `conflict` if a file has changed since; `failed` if there is no such change
 */
export async function undoPatch(deps: PatchDeps, args: UndoPatchArgs, context: PatchContext): Promise<PatchResult> {
  const { folder, journal } = deps
  await journal.settle(context.signal)
  const entries = await journal.entries()
  const undone = new Set<string>()
  for (const { id, undoes } of entries.toReversed()) if (undoes !== null && !undone.has(id)) undone.add(undoes)
  const newest = entries.findLast(({ id, undoes }) => undoes === null && !undone.has(id))
  const rolledBack = await journal.rolledBack()
  if (rolledBack !== undefined && (args.id ?? rolledBack.id) === rolledBack.id)
    throw alreadyRolledBack(rolledBack, newest)
  const entry = args.id === undefined ? newest : entries.find(({ id }) => id === args.id)
  if (entry === undefined) {
    const detail =
      args.id === undefined ? 'There is no change to undo.' : `There is no change ${JSON.stringify(args.id)}.`
    throw failed(detail)
  }
  if (undone.has(entry.id)) throw failed(`The change ${entry.id} was undone already.`)
  const paths = entry.files.map(({ path }) => path)
  if (args.dryRun !== true) await context.permit({ writes: paths })
  return journal.withPaths(paths, context.signal, async () => {
    const oldBytes = await journal.oldBytes(entry)
    const changes: Change[] = []
    const sections: DiffSection[] = []
    for (const [index, { path, before, after }] of entry.files.entries()) {
      const found = await findFile(folder, path, after?.size ?? 0)
      if (found === 'other' || found?.sha256 !== after?.sha256) throw await undoConflict(deps, entry, index)
      const old = oldBytes[index] ?? null
      changes.push({
        path,
        before: found,
        after: before === null || old === null ? null : { bytes: old, sha256: before.sha256, mode: before.mode },
      })
      const text = await diffOf(found?.bytes ?? null, old, path, context.signal)
      sections.push({ kind: 'modify', from: path, to: path, text })
    }
    return finish(deps, changes, sections, { ...args, undoes: entry, undoesNewest: args.id === undefined }, context)
  })
}

/** @param earlier the change that an undo without an id would have chosen otherwise */
function alreadyRolledBack({ id }: JournalEntry, earlier: JournalEntry | undefined): ToolError {
  const next = earlier === undefined ? '' : ` To undo the change before it, send its id: ${earlier.id}.`
  return failed(
    `The last change, ${id}, was interrupted and is rolled back: its files are as they were before it. Nothing else was undone.${next}`,
  )
}

/** Returns a conflict with the first lines that differ from the result of the change. */
async function undoConflict({ folder, journal, maxFileBytes }: PatchDeps, entry: JournalEntry, index: number) {
  const { path = '', after } = entry.files[index] ?? {}
  const found = await readIfThere(folder, path, { maxBytes: maxFileBytes }).catch(() => null)
  const expected = after === null ? undefined : (await journal.newBytes(entry))[index]
  const [expectedLines, foundLines] = [expected, found?.bytes].map((bytes) => bytes?.toString('latin1').split('\n'))
  let same = 0
  while (foundLines?.[same] !== undefined && foundLines[same] === expectedLines?.[same]) same += 1
  const detail = `${path} has changed since the change ${entry.id}. Nothing was undone.`
  const conflict: Conflict = {
    path,
    ...(expectedLines !== undefined && foundLines !== undefined && { line: same + 1 }),
    expected: expectedLines === undefined ? [] : shownLines(expectedLines.slice(same)),
    found: foundLines === undefined ? [] : shownLines(foundLines.slice(same)),
  }
  return new ToolError({ kind: 'conflict', detail, conflicts: [conflict] })
}

async function finish(
  deps: PatchDeps,
  changes: readonly Change[],
  sections: readonly DiffSection[],
  options: {
    readonly dryRun?: boolean | undefined
    readonly undoes: JournalEntry | undefined
    readonly undoesNewest?: boolean
  },
  { authorize, signal }: PatchContext,
): Promise<PatchResult> {
  const readOnly = changes.find(({ before }) => before !== null && (before.mode & 0o200) === 0)
  if (readOnly !== undefined) throw failed(`${readOnly.path} is read-only. No file was changed.`)
  const files = changes.map(({ path, before, after }) => ({
    path,
    before: before?.sha256 ?? null,
    after: after?.sha256 ?? null,
  }))
  if (options.dryRun === true || changes.length === 0) return { ok: true, files, conflicts: [] }
  const diff = sections.map(({ text }) => text).join('')
  await authorize({ writes: changes.map(({ path }) => path), files: intendedFiles(changes, sections), diff })
  const { undoes, undoesNewest } = options
  const id = await deps.journal.commit(changes, { signal, undoes, undoesNewest })
  return { ok: true, id, files, conflicts: [] }
}

/** The state of a file after a patch. */
interface Outcome {
  readonly path: string
  readonly before: FileContent | null
  readonly after: Change['after']
  /** Whether the patch creates the file, so it must not exist yet. */
  readonly isNew: boolean
}

async function plan(
  { folder, maxFileBytes }: PatchDeps,
  patches: readonly FilePatch[],
  { baseSha256 }: ApplyPatchArgs,
  pace: Pace,
  signal: AbortSignal,
): Promise<{ readonly changes: readonly Change[]; readonly diffs: readonly FileDiff[] }> {
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
  const resolved = merge(named)
  const bases = await checkBases(resolved, baseSha256, folder, read)
  const misfits: Misfit[] = []
  const outcomes: Outcome[] = []
  const diffs: FileDiff[] = []
  for (const patch of resolved) {
    await pace.rest()
    const { from, to, isExecutable } = patch
    const source = patch.kind === 'create' ? null : await read(from)
    // Let `readFile` throw the reason why the file cannot be read.
    if (source === null && patch.kind !== 'create') await folder.readFile(from, { maxBytes: maxFileBytes })
    if (patch.hunks.length > 0 && source?.bytes.includes(0) === true) {
      throw failed(`${from} is a binary file. Only text can be patched. No file was changed.`)
    }
    const file = await toFileLines(source?.bytes ?? Buffer.alloc(0), pace)
    const options: FitOptions = { path: from, isBaseKnown: bases.has(from) }
    const fitted = patch.kind === 'create' ? created(patch.hunks, to) : await fitHunks(file, patch.hunks, options, pace)
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
  stated: ApplyPatchArgs['baseSha256'],
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

function created(
  hunks: readonly Hunk[],
  path: string,
): { readonly edits: readonly Edit[]; readonly misfits: readonly Misfit[] } {
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

function isEffective({ before, after }: Change): boolean {
  return before?.sha256 !== after?.sha256 || after?.mode !== undefined
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

function conflictOf(misfits: readonly Misfit[]): ToolError {
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
