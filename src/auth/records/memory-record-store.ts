import { newestLogin, type RecordKind, type StoredRecord } from './record-kind.ts'
import type { RecordStore } from './record-store.ts'

/**
 * Records that are never written to disk: a login from the environment, the demo, tests. As in `RecordStore` on disk,
 * changes of one record run one after another, and watchers are called for every change.
 */
export function createMemoryRecordStore<Stored extends StoredRecord>(
  kind: RecordKind<Stored>,
  initial: readonly Stored[],
): RecordStore<Stored> {
  const records = new Map(initial.map((record) => [record.id, kind.cleaned(record)]))
  const watchers = new Set<() => void>()
  let last: Promise<unknown> = Promise.resolve()

  const changed = (): void => {
    for (const watcher of watchers) queueMicrotask(watcher)
  }
  /** Runs changes one after another. A failed one does not delay the next. */
  const inTurn = <T>(job: () => Promise<T>): Promise<T> => {
    const turn = last.then(job)
    last = turn.catch(() => {})
    return turn
  }
  const put = (record: Stored): void => {
    records.set(record.id, kind.cleaned(record))
    changed()
  }

  return {
    list: async () => [...records.values()],
    read: async (id) => records.get(id),
    has: async (id) => records.has(id),
    current: async () => newestLogin([...records.values()]),
    write: (record) => inTurn(async () => put(record)),
    update: (id, change) =>
      inTurn(async () => {
        const record = records.get(id)
        const next = record === undefined ? undefined : await change(record, async (step) => put(step), undefined)
        if (next !== undefined) put(next)
        return next ?? record
      }),
    remove: (id) =>
      inTurn(async () => {
        const removed = records.delete(id)
        if (removed) changed()
        return removed
      }),
    watch: (onChange) => {
      watchers.add(onChange)
      return () => {
        watchers.delete(onChange)
      }
    },
    locationOf: () => 'memory',
  }
}
