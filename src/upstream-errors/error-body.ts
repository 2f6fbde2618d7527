import { isObject, parseObject } from '../json/json.ts'
import type { JsonObject } from '../json/json.ts'

/** The fields of an error, unredacted. */
export interface ErrorBody {
  readonly message: string | undefined
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly param?: string | undefined
  /** The object that holds these fields, with its other fields. */
  readonly fields?: JsonObject | undefined
}

/** A failure inside a stream whose status is 200. */
interface StreamRefusal {
  /** The status that the event names, if it names one. */
  readonly status: number | undefined
  readonly error: ErrorBody
}

/**
 * What an event at the start of a stream is: it precedes any output, it is output, or it is a failure instead of
 * output.
 */
export type FirstEvent<Refusal = StreamRefusal> = 'prelude' | 'output' | { readonly refusal: Refusal }

/**
 * The body of an error reply, in any of its shapes: `{error: {message, code, type, param}}`, `{error: "…"}`, `{message,
 * code}`, `{detail: "…"}`, `{detail: {code}}`, `{detail: [{loc, msg}]}`, a JSON text inside a message, or plain text.
 * Sources: docs/copilot-wire.md, "Errors"; docs/codex-wire.md, "Errors".
 */
export function readErrorBody(text: string, depth = 0): ErrorBody {
  const trimmed = text.trim()
  if (trimmed === '') return { message: undefined }
  const value = parseObject(trimmed)
  return value === undefined ? { message: trimmed } : readErrorValue(value, depth)
}

/** As `readErrorBody`, for a body or a stream event that is parsed already. */
export function readErrorValue(value: JsonObject, depth = 0): ErrorBody {
  const error = errorOf(value)
  const message = typeof value['error'] === 'string' ? value['error'] : error['message']
  const own: ErrorBody = {
    message: typeof message === 'string' ? message : undefined,
    code: textOf(error['code']),
    type: textOf(error['type']),
    param: textOf(error['param']),
    fields: error,
  }
  // Some gateways put upstream's whole JSON error into the message of their own.
  const inner =
    own.message?.trimStart().startsWith('{') && depth < 3 ? readErrorBody(own.message, depth + 1) : undefined
  if (inner?.message === undefined) return own
  return {
    message: inner.message,
    code: inner.code ?? own.code,
    type: inner.type ?? own.type,
    param: inner.param ?? own.param,
    fields: inner.fields ?? own.fields,
  }
}

/** The object with `message`, `code`, `type` and `param`. `detail` is FastAPI's; a message beside it says more. */
function errorOf(value: JsonObject): JsonObject {
  const { error, message, detail } = value
  if (isObject(error)) return error
  if ((error ?? message ?? undefined) !== undefined) return value
  if (typeof detail === 'string') return { ...value, message: detail }
  if (Array.isArray(detail)) return { ...value, ...validationError(detail) }
  return isObject(detail) ? { ...value, ...detail } : value
}

/** More would be repetition. */
const mostComplaints = 5

/** FastAPI's list of what is wrong with a body: `{loc: ["body", "input", 0], msg, type}`. */
function validationError(detail: readonly unknown[]): { readonly message?: string; readonly param?: string } {
  const complaints = detail.slice(0, mostComplaints).flatMap((entry) => {
    if (!isObject(entry) || typeof entry['msg'] !== 'string') return []
    const { loc, msg } = entry
    const steps = Array.isArray(loc) ? loc.filter((step) => typeof step === 'string' || typeof step === 'number') : []
    const path = (steps[0] === 'body' ? steps.slice(1) : steps).join('.')
    return [{ path, text: path === '' ? msg : `${path}: ${msg}` }]
  })
  const [first] = complaints
  if (first === undefined) return {}
  return { message: complaints.map(({ text }) => text).join('; '), param: first.path }
}

export function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' ? text : undefined
}
