import { explainNotification } from '../auth/notifications.ts'
import { Fault } from '../errors.ts'
import { adviceOfCopilot } from '../upstream-advice.ts'
import type { Advice } from '../upstream-advice.ts'
import { toUpstreamMessage } from '../upstream-message.ts'
import { isRecord, parseRecord } from './json-record.ts'
import type { JsonRecord } from './json-record.ts'
import { resetWords } from './reset-words.ts'

export interface ErrorReply {
  readonly status: number
  readonly body: string
  /** As received: seconds or an HTTP date. */
  readonly retryAfter: string | undefined
  /** Those a caller may see. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * An error reply as a Fault. Bodies come in several shapes and are often mislabelled, so they are read by content.
 * Source: docs/copilot-wire.md, "Errors".
 * @param redact takes known credentials out of its words
 */
export function toStatusFault(
  { status, body, retryAfter, headers }: ErrorReply,
  redact: (text: string) => string,
): Fault {
  if (status < 400) {
    return new Fault({ kind: 'upstream_unusable', detail: `it answered with the unexpected status ${status}`, headers })
  }
  const found = readErrorBody(body)
  const known = adviceFor(status, found)
  const code = found.code ?? known?.code
  const advice = [resetWords(known?.limit, { status, retryAfter, headers }), known?.advice].filter(Boolean).join(' ')
  return new Fault({
    kind: 'upstream_status',
    status,
    message:
      found.message === undefined
        ? `Upstream answered ${status} without a message.`
        : toUpstreamMessage(found.message, redact),
    ...(advice !== '' && { advice }),
    ...(code !== undefined && { code }),
    ...(found.type !== undefined && { type: found.type }),
    ...(found.param !== undefined && { param: found.param }),
    ...(retryAfter !== undefined && { retryAfter }),
    headers,
  })
}

/** A refusal of the account says why, in the words of the token exchange, whose ids also come as codes. */
function adviceFor(status: number, found: ErrorBody): Advice | undefined {
  const details = found.fields?.['error_details']
  const id = (isRecord(details) ? textOf(details['notification_id']) : undefined) ?? found.code
  const explained = status === 403 ? explainNotification(id ?? '') : undefined
  if (id === undefined || explained === undefined) return adviceOfCopilot(status, found)
  return { code: id, advice: `${explained.message} ${explained.fix}.` }
}

/** What an error says of itself, unredacted. */
export interface ErrorBody {
  readonly message: string | undefined
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly param?: string | undefined
  /** The object that holds these, for what else stands in it. */
  readonly fields?: JsonRecord | undefined
}

/**
 * The body of an error reply, in any of its shapes: `{error: {message, code, type, param}}`, `{error: "…"}`,
 * `{message, code}`, `{detail: "…"}`, `{detail: {code}}`, `{detail: [{loc, msg}]}`, a JSON text inside a message, or plain
 * text. Sources: docs/copilot-wire.md, "Errors"; docs/codex-wire.md, "Errors".
 */
export function readErrorBody(text: string, depth = 0): ErrorBody {
  const trimmed = text.trim()
  if (trimmed === '') return { message: undefined }
  const value = parseRecord(trimmed)
  return value === undefined ? { message: trimmed } : readErrorValue(value, depth)
}

/** The same of a body, or an event of a stream, that is parsed already. */
export function readErrorValue(value: JsonRecord, depth = 0): ErrorBody {
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
function errorOf(value: JsonRecord): JsonRecord {
  const { error, message, detail } = value
  if (isRecord(error)) return error
  if ((error ?? message ?? undefined) !== undefined) return value
  if (typeof detail === 'string') return { ...value, message: detail }
  if (Array.isArray(detail)) return { ...value, ...validationError(detail) }
  return isRecord(detail) ? { ...value, ...detail } : value
}

/** More of them would be repetition. */
const mostComplaints = 5

/** FastAPI's list of what is wrong with a body: `{loc: ["body", "input", 0], msg, type}`. */
function validationError(detail: readonly unknown[]): { readonly message?: string; readonly param?: string } {
  const complaints = detail.slice(0, mostComplaints).flatMap((entry) => {
    if (!isRecord(entry) || typeof entry['msg'] !== 'string') return []
    const { loc, msg } = entry
    const steps = Array.isArray(loc) ? loc.filter((step) => typeof step === 'string' || typeof step === 'number') : []
    const path = (steps[0] === 'body' ? steps.slice(1) : steps).join('.')
    return [{ path, text: path === '' ? msg : `${path}: ${msg}` }]
  })
  const [first] = complaints
  if (first === undefined) return {}
  return { message: complaints.map(({ text }) => text).join('; '), param: first.path }
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' ? text : undefined
}
