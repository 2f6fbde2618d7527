import { newestLogin, withoutCodexBase } from './record-rules.ts'
import type { RecordStore } from './record-store.ts'
import type { CopilotRecord } from './wire.ts'

/**
 * Records that are never written anywhere: a login from the environment, the demo, tests. Keeps the promises of the
 * stored kind: changes of one record follow one another, and watchers hear of every change.
 */
export function createMemoryRecordStore(initial: readonly CopilotRecord[]): RecordStore {
  const records = new Map(initial.map((record) => [record.id, withoutCodexBase(record)]))
  const watchers = new Set<() => void>()
  let last: Promise<unknown> = Promise.resolve()

  const changed = (): void => {
    for (const watcher of watchers) queueMicrotask(watcher)
  }
  /** One after the other; a failed one does not hold up the next. */
  const inTurn = <T>(job: () => Promise<T>): Promise<T> => {
    const turn = last.then(job)
    last = turn.catch(() => {})
    return turn
  }
  const put = (record: CopilotRecord): void => {
    records.set(record.id, withoutCodexBase(record))
    changed()
  }

  return {
    list: async () => [...records.values()],
    read: async (id) => records.get(id),
    current: async () => newestLogin([...records.values()]),
    write: (record) => inTurn(async () => put(record)),
    update: (id, change) =>
      inTurn(async () => {
        const record = records.get(id)
        const next = record === undefined ? undefined : await change(record)
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
