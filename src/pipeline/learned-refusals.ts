/** What upstream refused for each model, so that later requests omit it. Kept in memory only. */
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
  const byModel = new Map<string, Set<string>>()
  return {
    of: (route, modelId) => byModel.get(`${route} ${modelId}`) ?? none,
    learn(route, modelId, key) {
      const model = `${route} ${modelId}`
      const learned = byModel.get(model) ?? new Set<string>()
      byModel.set(model, learned)
      // A key that is learned again moves to the end. The newer of two contradictory keys then wins, and keys that every
      // request needs outlive those of a single caller.
      learned.delete(key)
      const [oldest] = learned
      if (learned.size >= mostPerModel && oldest !== undefined) learned.delete(oldest)
      learned.add(key)
    },
  }
}
