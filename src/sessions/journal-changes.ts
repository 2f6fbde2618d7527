import type { FileChange } from '../agent/agent-task.ts'
import type { Folder } from '../workspace/folder.ts'
import { countLines } from '../workspace/patch/count-lines.ts'
import { readIfThere, type Journal } from '../workspace/patch/journal.ts'
import { diffOf } from '../workspace/patch/render-diff.ts'

/** Which changes of a session. */
export interface ChangesSince {
  /** Ms since epoch. */
  readonly fromMs: number
  /** Ids of changes to leave out. */
  readonly exceptIds: ReadonlySet<string>
  /** The id of the key that made them; null: a caller without a key. */
  readonly ownerId: string | null
}

/** Returns the changes of the journal entries since `fromMs` by one caller, in order. `diff` is '' if the file has changed again since. */
export async function journalChanges(
  journal: Journal,
  folder: Folder,
  { fromMs, exceptIds, ownerId }: ChangesSince,
): Promise<readonly FileChange[]> {
  const changes: FileChange[] = []
  for (const entry of await journal.entries(fromMs)) {
    if (exceptIds.has(entry.id) || entry.ownerId !== ownerId) continue
    const oldBytes = await journal.oldBytes(entry).catch(() => [])
    for (const [index, { path, before, after }] of entry.files.entries()) {
      const change = before === null ? 'created' : after === null ? 'deleted' : 'modified'
      const now = after === null ? null : await readIfThere(folder, path, { maxBytes: after.size })
      const isKnown = now?.sha256 === after?.sha256 && oldBytes[index] !== undefined
      const diff = isKnown ? await diffOf(oldBytes[index] ?? null, now?.bytes ?? null, path) : ''
      changes.push({ path, change, ...countLines(diff), diff })
    }
  }
  return changes
}
