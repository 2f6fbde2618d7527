import { countLines } from './count-lines.ts'
import type { Journal, JournalEntry } from './journal.ts'
import { diffOf } from './render-diff.ts'

/** What the changes of a journal have done to a file together. */
export interface NetChange {
  readonly path: string
  readonly change: 'created' | 'modified' | 'deleted'
  /** Added lines. */
  readonly added: number
  /** Removed lines. */
  readonly removed: number
  /** A unified diff; '' if it is not shown. */
  readonly diff: string
}

/** Consecutive changes of a file. A change by another program in between begins a new stretch. */
interface Stretch {
  readonly first: Place
  readonly last: Place
}

/** A file of an entry. */
interface Place {
  readonly entry: JournalEntry
  readonly index: number
}

/** Maximum length of all diffs. Characters. */
const maxDiffs = 2 * 1024 * 1024

/**
 * Returns the net change of each file, in the order of the first changes. Leaves out files that are as they were.
 * @param entries oldest first
 * @param isShown whether the content of a file may be shown
 */
export async function netChanges(
  journal: Pick<Journal, 'oldBytes' | 'newBytes'>,
  entries: readonly JournalEntry[],
  isShown: (path: string) => Promise<boolean>,
): Promise<{ readonly files: readonly NetChange[]; readonly truncated: boolean }> {
  let length = 0
  let truncated = false

  async function diffOfStretch(path: string, { first, last }: Stretch): Promise<string> {
    if (!(await isShown(path))) return ''
    // The journal removes its oldest entries, and then their bytes are gone.
    const before = (await journal.oldBytes(first.entry).catch(() => []))[first.index]
    const after = fileOf(last)?.after === null ? null : (await journal.newBytes(last.entry))[last.index]
    if (before === undefined || after === undefined || length > maxDiffs) {
      truncated = true
      return ''
    }
    const diff = await diffOf(before, after, path)
    length += diff.length
    return diff
  }

  const files: NetChange[] = []
  for (const [path, all] of stretchesOf(entries)) {
    const stretches = all.filter(({ first, last }) => !isSame(fileOf(first)?.before, fileOf(last)?.after))
    const [first, last] = [stretches[0]?.first, stretches.at(-1)?.last]
    if (first === undefined || last === undefined) continue
    let diff = ''
    for (const stretch of stretches) diff += await diffOfStretch(path, stretch)
    const isNew = fileOf(first)?.before === null
    const change = isNew ? 'created' : fileOf(last)?.after === null ? 'deleted' : 'modified'
    files.push({ path, change, ...countLines(diff), diff })
  }
  return { files, truncated }
}

function stretchesOf(entries: readonly JournalEntry[]): ReadonlyMap<string, readonly Stretch[]> {
  const byPath = new Map<string, readonly Stretch[]>()
  for (const entry of entries) {
    for (const [index, { path, before }] of entry.files.entries()) {
      const known = byPath.get(path) ?? []
      const open = known.at(-1)
      const place = { entry, index }
      const isNext = open !== undefined && fileOf(open.last)?.after?.sha256 === before?.sha256
      const stretch = { first: isNext ? open.first : place, last: place }
      byPath.set(path, [...(isNext ? known.slice(0, -1) : known), stretch])
    }
  }
  return byPath
}

function fileOf({ entry, index }: Place): JournalEntry['files'][number] | undefined {
  return entry.files[index]
}

type State = JournalEntry['files'][number]['after'] | undefined

/** Undefined and null both mean that there is no file. A mode of null was kept. */
function isSame(before: State, after: State): boolean {
  const isSameMode = before?.mode === after?.mode || (before ?? after)?.mode === null || after?.mode === null
  return before?.sha256 === after?.sha256 && isSameMode
}
