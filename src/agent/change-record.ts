import { createHash } from 'node:crypto'
import type { Folder } from '../workspace/folder.ts'
import { readIfThere } from '../workspace/patch/journal.ts'
import { countLines } from '../workspace/patch/count-lines.ts'
import { diffOf } from '../workspace/patch/render-diff.ts'
import type { FileCount } from '../api/run.ts'
import type { FileChange } from './agent-task.ts'

/** Maximum of the file contents that a run keeps in memory to compute its net changes. */
const maxKeptBytes = 64 * 1024 * 1024

/** A changed file in a journal entry. `before` and `after` are SHA-256 hashes; null if the file does not exist. */
export interface JournalFile {
  readonly path: string
  readonly before: string | null
  readonly after: string | null
}

/** Records the changes of files by a run. */
export interface ChangeRecord {
  /** Reads files that a tool is about to write. The caller calls it while the journal has locked the files. */
  readonly before: (paths: readonly string[]) => Promise<Snapshot>
  /** Records a change that the journal describes. Returns it file by file. */
  readonly made: (snapshot: Snapshot, files: readonly JournalFile[], diff: string) => Promise<readonly FileChange[]>
  /** Records a change without a journal entry: compares the snapshot with the files on disk. */
  readonly madeWithoutJournal: (snapshot: Snapshot, diff: string) => Promise<readonly FileChange[]>
  /** The net change of each file, in the order of their first change. */
  readonly net: () => Promise<readonly FileChange[]>
}

type Snapshot = ReadonlyMap<string, Buffer | null>

/** Consecutive changes of a file by this run. A change by another program in between begins a new stretch. */
interface Stretch {
  /** Null if the file does not exist; undefined if the bytes are not kept. */
  readonly before: Buffer | null | undefined
  readonly after: Buffer | null | undefined
  /** The diff of a change whose bytes are not kept; otherwise ''. */
  readonly diff: string
}

export interface ChangeRecordDeps {
  readonly folder: Folder
  /** The folder with the texts of an editor: what the person has typed is no change of the run. */
  readonly files: Folder
  readonly maxFileBytes: number
}

export function createChangeRecord({ folder, files, maxFileBytes }: ChangeRecordDeps): ChangeRecord {
  const stretchesOf = new Map<string, readonly Stretch[]>()
  let keptBytes = 0

  async function read(path: string, from = folder): Promise<Buffer | null> {
    return (await readIfThere(from, path, { maxBytes: maxFileBytes }))?.bytes ?? null
  }

  async function note(path: string, before: Buffer | null, after: Buffer | null | undefined, diff: string) {
    keptBytes += (before?.length ?? 0) + (after?.length ?? 0)
    const isKept = keptBytes <= maxKeptBytes && after !== undefined
    const made: Stretch = isKept ? { before, after, diff: '' } : { before: undefined, after: undefined, diff }
    const known = stretchesOf.get(path) ?? []
    const last = known.at(-1)
    const isNext = isKept && last?.after !== undefined && isSame(last.after, before)
    stretchesOf.set(path, isNext ? [...known.slice(0, -1), { ...last, after }] : [...known, made])
    return changeOf(path, before, after, after === undefined ? diff : await diffOf(before, after, path))
  }

  return {
    async before(paths) {
      const snapshot = new Map<string, Buffer | null>()
      for (const path of paths) snapshot.set(path, await read(path, files))
      return snapshot
    },
    async made(snapshot, changed, diff) {
      const made: FileChange[] = []
      for (const { path, after } of changed) {
        const found = await read(path)
        // Another program may have written the file since.
        const isOurs = (found === null ? null : sha256Of(found)) === after
        const exists = after === null ? null : undefined
        made.push(await note(path, snapshot.get(path) ?? null, isOurs ? found : exists, diff))
      }
      return made
    },
    async madeWithoutJournal(snapshot, diff) {
      const made: FileChange[] = []
      for (const [path, before] of snapshot) made.push(await note(path, before, await read(path), diff))
      return made
    },
    async net() {
      const changes: FileChange[] = []
      for (const [path, stretches] of stretchesOf) {
        const diffs: string[] = []
        for (const { before, after, diff } of stretches) {
          const isKnown = before !== undefined && after !== undefined
          diffs.push(isKnown ? await diffBetween(before, after, path) : diff)
        }
        const diff = diffs.join('')
        if (diff !== '') changes.push(changeOf(path, stretches[0]?.before, stretches.at(-1)?.after, diff))
      }
      return changes
    },
  }
}

function changeOf(
  path: string,
  before: Buffer | null | undefined,
  after: Buffer | null | undefined,
  diff: string,
): FileChange {
  const change: FileCount['change'] = before === null ? 'created' : after === null ? 'deleted' : 'modified'
  return { path, change, ...countLines(diff), diff }
}

async function diffBetween(before: Buffer | null, after: Buffer | null, path: string): Promise<string> {
  return isSame(before, after) ? '' : diffOf(before, after, path)
}

function isSame(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b)
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
