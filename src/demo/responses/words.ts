import { openaiFailure } from '../failures.ts'
import type { Outcome } from '../outcome.ts'

// OpenAI's sentences for what is wrong with one value.

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

export function tooLong(text: string, param: string, limit: number): Outcome {
  return openaiFailure({
    message: `Invalid '${param}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${text.length} instead.`,
    code: 'string_above_max_length',
    param,
  })
}
