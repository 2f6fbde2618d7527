import type { FileContent } from '../folder.ts'
import { failed, ToolError, type Conflict } from '../tool-error.ts'
import { finish, type PatchContext, type PatchDeps, type PatchResult } from './apply-patch.ts'
import type { DiffSection } from './intended-files.ts'
import { findFile, findUndone, readIfThere, type Change, type JournalEntry } from './journal.ts'
import { shownLines } from './misfit.ts'
import { diffOf } from './render-diff.ts'

export interface UndoArgs {
  /** The `id` of a `PatchResult`. Default: the latest change that is not undone and is not an undo itself. */
  readonly id?: string | undefined
  /** Undoes all changes of this run instead, or none. */
  readonly run?: string | undefined
  /** Undoes all of these changes instead, or none. */
  readonly ids?: readonly string[] | undefined
  /** Describes what would be restored and changes nothing. Asks no person. */
  readonly dryRun?: boolean | undefined
}

export interface UndoDeps extends PatchDeps {
  /** Whether an agent calls. Its last change is never what the person has typed in an editor, which no run has made. */
  readonly isAgent?: boolean
}

/** A file while the changes are taken back one after the other. */
interface Restored {
  /** The file on disk. */
  readonly found: FileContent | null
  /** What the file becomes. */
  readonly bytes: Buffer | null
  readonly before: JournalEntry['files'][number]['before']
}

/**
 * Restores the old bytes and modes of the files of changes, including formatted ones, and removes their created folders if they
 * are empty. The undo is one change that can be undone too.
 * @throws ToolError `conflict` if a file has changed since; `failed` if there is no such change
 */
export async function undoChanges(deps: UndoDeps, args: UndoArgs, context: PatchContext): Promise<PatchResult> {
  const { folder, journal } = deps
  await journal.settle(context.signal)
  const entries = await journal.entries()
  const isNewest = args.id === undefined && args.run === undefined && args.ids === undefined
  const undone = findUndone(entries)
  const rolledBack = await journal.rolledBack()
  const isByAgent = ({ runId }: JournalEntry): boolean => deps.isAgent !== true || runId !== null
  const newest = entries.findLast((entry) => entry.undoes === null && !undone.has(entry.id) && isByAgent(entry))
  if (rolledBack !== undefined && (isNewest || args.id === rolledBack.id)) throw alreadyRolledBack(rolledBack, newest)
  const chosen = isNewest ? [newest].filter((entry) => entry !== undefined) : choose(entries, undone, args)
  if (chosen.length === 0) throw failed('There is no change to undo.')
  const paths = [...new Set(chosen.flatMap(({ files }) => files.map(({ path }) => path)))]
  await context.permit({ writes: paths })
  return journal.withPaths(paths, context.signal, async () => {
    const files = new Map<string, Restored>()
    const conflicts: Conflicts = new Map()
    for (const entry of chosen) {
      const oldBytes = await journal.oldBytes(entry)
      for (const [index, { path, before, after }] of entry.files.entries()) {
        if (conflicts.has(path)) continue
        const known = files.get(path)
        const found = known === undefined ? await findFile(folder, path, after?.size ?? 0) : known.found
        const isOther = found === 'other' || (known ?? { before: found }).before?.sha256 !== after?.sha256
        if (isOther) conflicts.set(path, { entry, conflict: await undoConflict(deps, entry, index, known) })
        else files.set(path, { found, bytes: oldBytes[index] ?? null, before })
      }
    }
    if (conflicts.size > 0) throw undoConflicts(conflicts)
    const changes: Change[] = []
    const sections: DiffSection[] = []
    for (const [path, { found, bytes, before }] of files) {
      const after = before === null || bytes === null ? null : { bytes, sha256: before.sha256, mode: before.mode }
      if (found?.sha256 === after?.sha256 && found?.mode === after?.mode) continue
      changes.push({ path, before: found, after })
      const text = await diffOf(found?.bytes ?? null, bytes, path, context.signal)
      sections.push({ kind: 'modify', from: path, to: path, text })
    }
    if (changes.length === 0) throw failed('There is nothing to undo: the changes cancel each other out.')
    return finish(deps, changes, sections, { ...args, undoes: chosen, undoesNewest: isNewest }, context)
  })
}

/** Returns the changes to undo, the newest first. @throws ToolError `failed` */
function choose(
  entries: readonly JournalEntry[],
  undone: ReadonlyMap<string, string>,
  { id, run, ids: given }: UndoArgs,
): readonly JournalEntry[] {
  if (id !== undefined) {
    const entry = entries.find((each) => each.id === id)
    if (entry === undefined) throw failed(`There is no change ${JSON.stringify(id)}.`)
    if (undone.has(id)) throw failed(`The change ${id} was undone already.`)
    return [entry]
  }
  const wanted = given === undefined ? undefined : new Set(given)
  const ofRun = entries.filter((entry) => wanted?.has(entry.id) ?? entry.runId === run)
  if (ofRun.length < (wanted?.size ?? 1)) throw failed('The run has made no change that can be undone.')
  const ids = new Set(ofRun.map((entry) => entry.id))
  // If the run itself has undone its change, both are taken back, one after the other.
  const left = ofRun.filter((entry) => ids.has(undone.get(entry.id) ?? entry.id))
  if (left.length === 0) throw failed('The changes of the run were undone already.')
  return left.toReversed()
}

/** @param earlier the change that an undo without an id would have chosen otherwise */
function alreadyRolledBack({ id }: JournalEntry, earlier: JournalEntry | undefined): ToolError {
  const next = earlier === undefined ? '' : ` To undo the change before it, send its id: ${earlier.id}.`
  return failed(
    `The last change, ${id}, was interrupted and is rolled back: its files are as they were before it. Nothing else was undone.${next}`,
  )
}

/** The files that have changed since, each with the change that it no longer has. */
type Conflicts = Map<string, { readonly entry: JournalEntry; readonly conflict: Conflict }>

function undoConflicts(found: Conflicts): ToolError {
  const [first, ...others] = found.values()
  const since =
    others.length === 0 ? `has changed since the change ${first?.entry.id}` : 'have changed since the changes'
  const detail = `${[...found.keys()].join(', ')} ${since}. Nothing was undone.`
  return new ToolError({ kind: 'conflict', detail, conflicts: Array.from(found.values(), ({ conflict }) => conflict) })
}

/**
 * Returns the first lines of a file that differ from the result of the change.
 * @param restored the file after the undo of later changes, if there were any
 */
async function undoConflict(
  { folder, journal, maxFileBytes }: PatchDeps,
  entry: JournalEntry,
  index: number,
  restored: Restored | undefined,
): Promise<Conflict> {
  const { path = '', after } = entry.files[index] ?? {}
  const onDisk = readIfThere(folder, path, { maxBytes: maxFileBytes }).catch(() => null)
  const found = restored === undefined ? (await onDisk)?.bytes : restored.bytes
  const expected = after === null ? undefined : (await journal.newBytes(entry))[index]
  const [expectedLines, foundLines] = [expected, found].map((bytes) => bytes?.toString('latin1').split('\n'))
  let same = 0
  while (foundLines?.[same] !== undefined && foundLines[same] === expectedLines?.[same]) same += 1
  return {
    path,
    ...(expectedLines !== undefined && foundLines !== undefined && { line: same + 1 }),
    expected: expectedLines === undefined ? [] : shownLines(expectedLines.slice(same)),
    found: foundLines === undefined ? [] : shownLines(foundLines.slice(same)),
  }
}
