import type { Outcome } from './outcome.ts'

/** The first refusal of a table of checks; undefined when all is well. */
export function firstRefusal<Subject>(
  checks: readonly ((subject: Subject) => Outcome | undefined)[],
  subject: Subject,
): Outcome | undefined {
  for (const check of checks) {
    const refusal = check(subject)
    if (refusal !== undefined) return refusal
  }
  return undefined
}
