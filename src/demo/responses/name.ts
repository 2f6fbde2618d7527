import { openaiFailure } from '../failures.ts'
import type { Outcome } from '../outcome.ts'
import { missing, tooLong } from './words.ts'

const LONGEST_NAME = 64
const NAME = /^[a-zA-Z0-9_-]+$/

/** The name of a tool or of a call. */
export function refuseName(name: string | undefined, param: string): Outcome | undefined {
  if (name === undefined) return missing(param)
  if (name.length > LONGEST_NAME) return tooLong(name, param, LONGEST_NAME)
  return NAME.test(name)
    ? undefined
    : openaiFailure({
        message: `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
        code: 'invalid_value',
        param,
      })
}
