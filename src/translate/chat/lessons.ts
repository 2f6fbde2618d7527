/**
 * What upstream has refused of a model, as `recover.ts` learns it and the request coders honour it. The words are this
 * dialect's own; nobody else reads them.
 */

/** `max_tokens` has to be called `max_completion_tokens`. */
export const RENAMES_CAP = 'rename:max_tokens'

/** `copilot_cache_control` on messages and tools. */
export const NO_CACHE_MARKS = 'marks:copilot_cache_control'

const fieldPrefix = 'field:'

/** A top-level member has to be left out. */
export function fieldLesson(member: string): string {
  return `${fieldPrefix}${member}`
}

/** The top-level members that have to be left out. */
export function refusedFields(lessons: ReadonlySet<string>): string[] {
  return [...lessons]
    .filter((lesson) => lesson.startsWith(fieldPrefix))
    .map((lesson) => lesson.slice(fieldPrefix.length))
}
