import { Fault } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import { redactText } from '../redact.ts'

/** Where a connection was when it failed: before the response head, or while the body was read. */
export type Phase = 'headers' | 'body'

interface Deadlines {
  readonly connectMs: number
  readonly headersMs: number
  readonly idleMs: number
}

/** The `code` of a system or undici error, looked up through `cause` as far as it goes. */
function errorCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return undefined
}

const timeouts: Readonly<Record<string, 'connect' | 'headers' | 'idle'>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  ETIMEDOUT: 'connect',
  UND_ERR_HEADERS_TIMEOUT: 'headers',
  UND_ERR_BODY_TIMEOUT: 'idle',
}

const unreachable: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its host name could not be resolved',
  EAI_AGAIN: 'its host name could not be resolved (no network?)',
  ECONNREFUSED: 'the connection was refused',
  EHOSTUNREACH: 'no route to its host',
  ENETUNREACH: 'the network is unreachable',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate chain is self-signed (a company CA? set NODE_EXTRA_CA_CERTS)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate could not be verified (a company CA? set NODE_EXTRA_CA_CERTS)',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its TLS certificate could not be verified (a company CA? set NODE_EXTRA_CA_CERTS)',
}

/**
 * What undici or a socket threw, as a ProxyError. An abort by the caller is returned as it is: it is its own outcome,
 * not a fault of upstream's.
 */
export function toUpstreamFault(error: unknown, phase: Phase, deadlines: Deadlines): unknown {
  if (error instanceof Fault || (error instanceof Error && error.name === 'AbortError')) return error
  return new Fault(classify(errorCode(error), phase, deadlines), { cause: error })
}

function classify(code: string | undefined, phase: Phase, deadlines: Deadlines): ProxyError {
  const silent = code === undefined ? undefined : timeouts[code]
  if (silent !== undefined) return { kind: 'upstream_silent', phase: silent, afterMs: deadlines[`${silent}Ms`] }
  if (phase === 'body') return { kind: 'upstream_truncated' }
  if (code?.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return { kind: 'upstream_unusable', detail: 'its reply is not valid HTTP' }
  }
  const detail = (code && unreachable[code]) ?? `the connection failed (${code ?? 'unknown reason'})`
  return { kind: 'upstream_unreachable', detail }
}

/**
 * An error reply as a Fault. Bodies come in several shapes and are often mislabelled, so they are read by content:
 * `{error: {message, code, type, param}}`, `{message, code}`, a JSON text inside a message, or plain text.
 * Source: copilot-upstream reference §10, §14.54.
 */
export function toStatusFault(status: number, body: string, retryAfter: string | undefined): Fault {
  if (status < 400) {
    return new Fault({ kind: 'upstream_unusable', detail: `it answered with the unexpected status ${status}` })
  }
  const found = readErrorBody(body)
  return new Fault({
    kind: 'upstream_status',
    status,
    message: redactText(found.message ?? `Upstream answered ${status} without a message.`),
    ...(found.code !== undefined && { code: found.code }),
    ...(found.type !== undefined && { type: found.type }),
    ...(found.param !== undefined && { param: found.param }),
    ...(retryAfter !== undefined && { retryAfter }),
  })
}

interface ErrorBody {
  readonly message: string | undefined
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly param?: string | undefined
}

const longestMessage = 4000

function readErrorBody(text: string, depth = 0): ErrorBody {
  const trimmed = text.trim()
  if (trimmed === '') return { message: undefined }
  if (/^<(?:!doctype|html|head|body|\?xml)/i.test(trimmed)) {
    return { message: 'The answer was a web page, not the API (a sign-in page, a firewall or an outage page).' }
  }
  const value = parseObject(trimmed)
  if (value === undefined) return { message: trimmed.slice(0, longestMessage) }
  const error = isRecord(value['error']) ? value['error'] : value
  const message = typeof value['error'] === 'string' ? value['error'] : error['message']
  const own: ErrorBody = {
    message: typeof message === 'string' ? message.slice(0, longestMessage) : undefined,
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
