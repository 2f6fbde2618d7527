import type { z } from 'zod'
import type { InferenceCall } from './inference.ts'
import type { Outcome } from './http/outcome.ts'

type Path = readonly PropertyKey[]

/** The first error in a body. Each route words it in its own way. */
export interface FirstIssue {
  readonly path: Path
  /** Type of the value at the path: `array`, `null`, `nothing` for an absent value, … */
  readonly got: string
  /** The type that the schema requires; undefined if the error is not about the type. */
  readonly want: string | undefined
  /** The schema's own message. */
  readonly reason: string
}

type Issues = readonly z.core.$ZodIssue[]

/** Returns the first issue of a failed parse. For a union, the branch whose issue is deepest counts. */
export function firstIssue(issues: Issues, root: unknown, base: Path = []): FirstIssue {
  const [issue] = issues
  if (issue === undefined) return { path: base, got: kindAt(root, base), want: undefined, reason: 'invalid' }
  const path = [...base, ...issue.path]
  if (issue.code === 'invalid_union') {
    const branches = issue.errors.map((errors) => firstIssue(errors, root, path))
    const furthest = branches.toSorted((a, b) => b.path.length - a.path.length)[0]
    if (furthest !== undefined) return furthest
  }
  const want = issue.code === 'invalid_type' ? issue.expected : undefined
  return { path, got: kindAt(root, path), want, reason: issue.message }
}

function kindAt(root: unknown, path: Path): string {
  let value = root
  for (const key of path) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  }
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  return Array.isArray(value) ? 'array' : typeof value
}

/** The first refusal in a table of checks; undefined if all checks pass. */
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

/** Whether the headers of a request state that it has images. */
export function hasVisionHeader({ header }: Pick<InferenceCall, 'header'>): boolean {
  return header('copilot-vision-request') === 'true'
}

/** Values of `anthropic-beta`. */
export function betasOf({ header }: Pick<InferenceCall, 'header'>): readonly string[] {
  return (header('anthropic-beta') ?? '').split(',').flatMap((value) => value.trim() || [])
}
