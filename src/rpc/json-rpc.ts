import { cutText } from '../json/cut-text.ts'
import { isObject, parseCallerJson } from '../json/json.ts'
import type { JsonObject } from '../json/json.ts'
import type { ToolFailure } from '../workspace/tool-error.ts'

// JSON-RPC 2.0 (https://www.jsonrpc.org/specification). Pure: text to requests, results to text.

export type Id = string | number | null

/** A request; without `id` a notification, which gets no answer. */
export interface Request {
  readonly id?: Id
  readonly method: string
  readonly params?: JsonObject | readonly unknown[]
}

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonObject | undefined
}

/** A member of a message: a request, or what to answer instead. */
export type Item =
  | { readonly ok: true; readonly request: Request }
  | { readonly ok: false; readonly id: Id; readonly error: RpcError }

/** `batch`: the answers go into an array. */
export interface Message {
  readonly isBatch: boolean
  readonly items: readonly Item[]
}

export const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  failed: -32000,
  denied: -32001,
  conflict: -32002,
  tooLarge: -32003,
  timedOut: -32004,
  approvalRefused: -32005,
  cancelled: -32800,
} as const

/** Each member of a longer array would get an error of its own: many times the text that was sent. */
const maxBatch = 1000

export function parseMessage(text: string): Message {
  const parsed = parseCallerJson(text)
  if (!parsed.ok) return refused(codes.parseError, `The message cannot be read: ${parsed.problem}.`)
  const { value } = parsed
  if (!Array.isArray(value)) return { isBatch: false, items: [toItem(value)] }
  if (value.length === 0) return refused(codes.invalidRequest, 'The batch is empty.')
  if (value.length > maxBatch) return refused(codes.invalidRequest, `The batch has more than ${maxBatch} requests.`)
  return { isBatch: true, items: value.map(toItem) }
}

function refused(code: number, message: string): Message {
  return { isBatch: false, items: [{ ok: false, id: null, error: { code, message } }] }
}

function toItem(value: unknown): Item {
  if (!isObject(value)) return invalid(null, 'A request is a JSON object.')
  const { jsonrpc, id, method, params } = value
  if (id !== undefined && !isId(id)) {
    return invalid(
      null,
      `"id" must be null, a number that JSON can represent exactly, or a string of at most ${longestId} characters.`,
    )
  }
  const known = id ?? null
  if (jsonrpc !== '2.0') return invalid(known, '"jsonrpc" must be "2.0".')
  if (typeof method !== 'string') return invalid(known, '"method" must be a string.')
  if (params !== undefined && !isObject(params) && !Array.isArray(params)) {
    return invalid(known, '"params" must be an object or an array.')
  }
  return {
    ok: true,
    request: { method, ...(id !== undefined && { id }), ...(params !== undefined && { params }) },
  }
}

function invalid(id: Id, message: string): Item {
  return { ok: false, id, error: { code: codes.invalidRequest, message } }
}

/** Each answer repeats the id. Characters. */
const longestId = 1000

/** Refuses numbers that the answer would repeat as other ones, and long texts. */
function isId(value: unknown): value is Id {
  if (typeof value === 'number')
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
  return value === null || (typeof value === 'string' && value.length <= longestId)
}

/** @throws TypeError, RangeError for a result that JSON cannot hold */
export function resultText(id: Id, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

/** A message that repeats a name from the request is cut. Characters. */
const longestMessage = 8000

export function errorText(id: Id, error: RpcError): string {
  const message = cutText(error.message, longestMessage)
  return JSON.stringify({ jsonrpc: '2.0', id, error: { ...error, message } })
}

export function notificationText(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

const codeOf = {
  invalid_arguments: codes.invalidParams,
  denied: codes.denied,
  conflict: codes.conflict,
  too_large: codes.tooLarge,
  timed_out: codes.timedOut,
  approval_refused: codes.approvalRefused,
  cancelled: codes.cancelled,
  failed: codes.failed,
} satisfies Record<ToolFailure['kind'], number>

/** @param message of the ToolError */
export function failureError(failure: ToolFailure, message: string): RpcError {
  const { kind } = failure
  const data = {
    kind,
    ...(kind === 'invalid_arguments' && { path: failure.path }),
    ...(kind === 'conflict' && { conflicts: failure.conflicts }),
    ...(kind === 'timed_out' && { afterMs: failure.afterMs }),
    ...(kind === 'failed' && failure.errorCode !== undefined && { errorCode: failure.errorCode }),
  }
  return { code: codeOf[kind], message, data }
}
