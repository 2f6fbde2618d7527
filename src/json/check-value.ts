import type { z } from 'zod'
import { valueAt } from './value-at.ts'

/** Of a caller's own text in a message. Characters. */
const maxShown = 60

/** What is wrong with a value, in words for the one who sent it. */
export interface ValueProblem {
  /** Keys and indexes that lead to the wrong value. */
  readonly path: readonly PropertyKey[]
  readonly kind: 'missing' | 'unknown' | 'invalid'
  /** Continues a sentence that names the place: `must be a string`, `is missing`, `is unknown`. */
  readonly detail: string
  /** All members that the schema does not know, as paths. */
  readonly unknown: readonly (readonly PropertyKey[])[]
}

type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: ValueProblem }

/**
 * Checks a value of a caller, a provider or a model against a schema. All of them get the same sentences: those of the
 * schema, and else those of this file instead of zod's.
 */
export function checkValue<Schema extends z.ZodType>(schema: Schema, value: unknown): Checked<z.output<Schema>> {
  const parsed = schema.safeParse(value, { error: wordIssue })
  if (parsed.success) return { ok: true, value: parsed.data }
  const { issues } = parsed.error
  const unknown = issues.flatMap(({ code, path, ...rest }) =>
    code === 'unrecognized_keys' && 'keys' in rest ? rest.keys.map((key) => [...path, key]) : [],
  )
  const [first] = issues
  if (first === undefined) return { ok: false, problem: { path: [], kind: 'invalid', detail: 'is invalid', unknown } }
  if (first.code === 'unrecognized_keys') {
    return { ok: false, problem: { path: unknown[0] ?? [], kind: 'unknown', detail: 'is unknown', unknown } }
  }
  const isMissing = first.code !== 'custom' && valueAt(value, first.path) === undefined
  return {
    ok: false,
    problem: {
      path: first.path,
      kind: isMissing ? 'missing' : 'invalid',
      detail: isMissing ? 'is missing' : first.message,
      unknown,
    },
  }
}

const nouns: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** zod calls it for an issue whose schema has no message of its own. */
function wordIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${nouns[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${anyOf(issue.values.map((value) => JSON.stringify(value) ?? String(value)))}${shown(issue.input)}`
    case 'too_small':
      return `must ${amount(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)}`
    case 'too_big':
      return `must ${amount(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)}`
    case 'invalid_format':
      return issue.format === 'regex' ? 'has an invalid form' : `must be ${issue.format}`
    default:
      return 'is invalid'
  }
}

const units: Readonly<Record<string, string>> = {
  string: 'character',
  array: 'element',
  map: 'member',
  object: 'member',
}

function amount(origin: string, bound: string, limit: number | bigint): string {
  const unit = units[origin]
  if (unit === undefined) return `be ${bound} ${limit}`
  if (bound === 'at least' && limit === 1) return 'not be empty'
  return `have ${bound} ${limit} ${unit}${limit === 1 ? '' : 's'}`
}

function anyOf(values: readonly string[]): string {
  return values.length < 2 ? values.join() : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`
}

function shown(input: unknown): string {
  if (typeof input !== 'string') return ''
  return `, got ${JSON.stringify(input.length > maxShown ? `${input.slice(0, maxShown)}…` : input)}`
}
