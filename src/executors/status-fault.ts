import { Fault } from '../errors.ts'
import { toUpstreamMessage } from '../upstream-message.ts'

export interface ErrorReply {
  readonly status: number
  readonly body: string
  /** As received: seconds or an HTTP date. */
  readonly retryAfter: string | undefined
  /** Those a caller may see. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * An error reply as a Fault. Bodies come in several shapes and are often mislabelled, so they are read by content:
 * `{error: {message, code, type, param}}`, `{message, code}`, a JSON text inside a message, or plain text.
 * Source: docs/copilot-wire.md, "Errors".
 */
export function toStatusFault({ status, body, retryAfter, headers }: ErrorReply): Fault {
  if (status < 400) {
    return new Fault({ kind: 'upstream_unusable', detail: `it answered with the unexpected status ${status}` })
  }
  const found = readErrorBody(body)
  return new Fault({
    kind: 'upstream_status',
    status,
    message:
      found.message === undefined ? `Upstream answered ${status} without a message.` : toUpstreamMessage(found.message),
    ...(found.code !== undefined && { code: found.code }),
    ...(found.type !== undefined && { type: found.type }),
    ...(found.param !== undefined && { param: found.param }),
    ...(retryAfter !== undefined && { retryAfter }),
    headers,
  })
}

interface ErrorBody {
  readonly message: string | undefined
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly param?: string | undefined
}

function readErrorBody(text: string, depth = 0): ErrorBody {
  const trimmed = text.trim()
  if (trimmed === '') return { message: undefined }
  const value = parseObject(trimmed)
  if (value === undefined) return { message: trimmed }
  const error = isRecord(value['error']) ? value['error'] : value
  const message = typeof value['error'] === 'string' ? value['error'] : error['message']
  const own: ErrorBody = {
    message: typeof message === 'string' ? message : undefined,
    code: textOf(error['code']),
    type: textOf(error['type']),
    param: textOf(error['param']),
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
  }
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' ? text : undefined
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
