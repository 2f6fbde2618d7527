import { createLruMap } from '../cache/lru-map.ts'
import type { LruMap } from '../cache/lru-map.ts'

/** The parts that upstream refused for each model, so that later requests omit them. Kept in memory only. */
export interface LearnedRefusals {
  /** Keys as the dialect's `recover` names them, the newest last. */
  readonly of: (route: string, modelId: string) => ReadonlySet<string>
  readonly learn: (route: string, modelId: string, key: string) => void
}

/** More than this is noise from a broken upstream. */
const mostPerModel = 64

const none: ReadonlySet<string> = new Set()

export function createLearnedRefusals(): LearnedRefusals {
  // One entry for each model that ever refused something: bounded by the model list.
  const byModel = new Map<string, LruMap<true>>()
  return {
    of(route, modelId) {
      const learned = byModel.get(`${route} ${modelId}`)
      return learned === undefined ? none : new Set(learned.keys())
    },
    learn(route, modelId, key) {
      const model = `${route} ${modelId}`
      const learned = byModel.get(model) ?? createLruMap<true>({ maxEntries: mostPerModel })
      byModel.set(model, learned)
      // A key that is learned again becomes the newest. The newer of two contradictory keys then wins, and keys that
      // every request needs outlive those of a single caller.
      learned.set(key, true)
    },
  }
}
