import { openaiFailure } from '../failures.ts'
import type { Outcome } from '../../http/outcome.ts'

// OpenAI's wording of errors in one value.

export function missing(param: string): Outcome {
  return openaiFailure({
    message: `Missing required parameter: '${param}'.`,
    code: 'missing_required_parameter',
    param,
  })
}

export function unsupported(name: string): Outcome {
  return openaiFailure({
    message: `Unsupported parameter: '${name}' is not supported with this model.`,
    code: 'unsupported_parameter',
    param: name,
  })
}

export function invalidValue(value: string, param: string, accepted: readonly string[]): Outcome {
  const list = accepted.map((each) => `'${each}'`).join(', ')
  return openaiFailure({
    message: `Invalid value: '${value}'. Supported values are: ${list}.`,
    code: 'invalid_value',
    param,
  })
}

export function emptyString(param: string): Outcome {
  return openaiFailure({
    message: `Invalid '${param}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
    code: 'empty_string',
    param,
  })
}

export function tooLong(text: string, param: string, limit: number): Outcome {
  return openaiFailure({
    message: `Invalid '${param}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${text.length} instead.`,
    code: 'string_above_max_length',
    param,
  })
}

/** A path in OpenAI's form: `input[3].content[0].text`. */
export function paramOf(path: readonly PropertyKey[]): string {
  return path.map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${String(key)}`)).join('')
}

const LONGEST_NAME = 64
const NAME = /^[a-zA-Z0-9_-]+$/

/** Refuses an invalid name of a tool or call. */
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
