/** What upstream has refused of each model, so that the next request is right at once. Kept in memory only. */
export interface Lessons {
  readonly of: (route: string, modelId: string) => ReadonlySet<string>
  readonly learn: (route: string, modelId: string, lesson: string) => void
}

/** A model has a handful of habits; more than this is noise from a broken upstream. */
const mostPerModel = 64

const none: ReadonlySet<string> = new Set()

export function createLessons(): Lessons {
  // One entry for each model that ever refused something: bounded by the model list.
  const learned = new Map<string, Set<string>>()
  return {
    of: (route, modelId) => learned.get(keyOf(route, modelId)) ?? none,
    learn(route, modelId, lesson) {
      const key = keyOf(route, modelId)
      const lessons = learned.get(key) ?? new Set<string>()
      learned.set(key, lessons)
      // The newest is last and stays: of two that contradict each other it holds, and a caller's whims must not fill the
      // place of what every request needs.
      lessons.delete(lesson)
      const [oldest] = lessons
      if (lessons.size >= mostPerModel && oldest !== undefined) lessons.delete(oldest)
      lessons.add(lesson)
    },
  }
}

function keyOf(route: string, modelId: string): string {
  return `${route} ${modelId}`
}
