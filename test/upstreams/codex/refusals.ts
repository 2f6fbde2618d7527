import type { Outcome } from '../http/outcome.ts'
import { openaiError } from './failures.ts'

// OpenAI's wording of errors in one value.

export function missing(param: string): Outcome {
  const message = `Missing required parameter: '${param}'.`
  return openaiError(400, { message, code: 'missing_required_parameter', param })
}

export function unsupported(param: string): Outcome {
  const message = `Unsupported parameter: '${param}' is not supported with this model.`
  return openaiError(400, { message, code: 'unsupported_parameter', param })
}

export function invalid(message: string, param: string): Outcome {
  return openaiError(400, { message, code: 'invalid_value', param })
}

export function invalidValue(value: string, param: string, accepted: readonly string[]): Outcome {
  const list = accepted.map((each) => `'${each}'`).join(', ')
  return invalid(`Invalid value: '${value}'. Supported values are: ${list}.`, param)
}

export function tooLong(text: string, param: string, limit: number): Outcome {
  return openaiError(400, {
    message: `Invalid '${param}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${text.length} instead.`,
    code: 'string_above_max_length',
    param,
  })
}

/** Adds OpenAI's content type to a refusal of the simulated Copilot, whose wording is OpenAI's already. */
export function inJson(refusal: Outcome | undefined): Outcome | undefined {
  if (refusal?.kind !== 'whole') return refusal
  return { ...refusal, headers: { ...refusal.headers, 'content-type': 'application/json; charset=utf-8' } }
}
