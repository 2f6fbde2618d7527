import { Fault } from '../../../errors.ts'
import { cutText } from '../../../json/cut-text.ts'
import type { ValueProblem } from '../../../json/check-value.ts'

/** OpenAI's code for a missing value. */
export const missingParameter = 'missing_required_parameter'

/** OpenAI's code for a member that it does not know. */
export const unknownParameter = 'unknown_parameter'

const problemDetails = { missing: 'missing required parameter', unknown: 'unknown parameter' } as const

const problemCodes = { missing: missingParameter, unknown: unknownParameter, invalid: 'invalid_value' } as const

/** Throws the 400 for a body that `checkValue` refuses. */
export function refuseProblem({ path, kind, detail, unknown }: ValueProblem): never {
  throw new Fault({
    kind: 'invalid_request',
    path: formatPath(path),
    detail: kind === 'invalid' ? detail : problemDetails[kind],
    code: problemCodes[kind],
    ...(unknown.length > 0 && { unknown: unknown.map(formatPath) }),
  })
}

/** Throws the 400 for a missing value or one of the wrong type. The message names its type, never its content. */
export function refuseType(path: string, expected: string, actual: unknown): never {
  throw new Fault({
    kind: 'invalid_request',
    path,
    detail: `expected ${expected}, ${actual === undefined ? 'but it is missing' : `got ${kindOf(actual)}`}`,
    code: actual === undefined ? missingParameter : 'invalid_type',
  })
}

/** Throws the 400 for a value of the right type that is not acceptable. @param code OpenAI's, if it has one */
export function refuseValue(path: string, detail: string, code: string): never {
  throw new Fault({ kind: 'invalid_request', path, detail, code })
}

/** A caller can name a member as it likes. Characters. */
const longestName = 200

/** `['tools', 0, 'function', 'name']` to `tools[0].function.name`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    const name = cutText(String(key), longestName)
    return text === '' ? name : `${text}.${name}`
  }, '')
}

/** `messages.3.content.0`, the form of warnings, to `messages[3].content[0]`, the form of errors. */
export function toFieldPath(path: string): string {
  return path.replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]')
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value === '') return 'an empty string'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
