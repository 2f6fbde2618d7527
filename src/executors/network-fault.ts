import { describeConnectionFailure, errorCode, findProxyFailure } from '../auth/connection-failure.ts'
import { Fault } from '../errors.ts'
import type { ProxyError } from '../errors.ts'

const brokenConnection: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Whether the peer closed or reset the connection, e.g. because it was idle for too long. */
export function isBrokenConnection(error: unknown): boolean {
  return brokenConnection.has(errorCode(error) ?? '')
}

/** Whether the peer, or something in between, answered that it does not know the connection. */
export function isReset(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ECONNRESET' || code === 'EPIPE'
}

/**
 * An error before the response head as a Fault. An abort by the caller is returned as it is: it is not upstream's
 * fault.
 */
export function toHeadFault(
  error: unknown,
  deadlines: { readonly connectMs: number; readonly headersMs: number },
): unknown {
  return isOutcome(error) ? error : new Fault(classify(error, deadlines), { cause: error })
}

/** An error while the body was read as a Fault; an abort as in `toHeadFault`. */
export function toBodyFault(error: unknown): unknown {
  return isOutcome(error) ? error : new Fault({ kind: 'upstream_truncated' }, { cause: error })
}

function isOutcome(error: unknown): boolean {
  // undici's own AbortError does not come from a caller: a proxy refused the tunnel, or the connection was given up.
  const isAbort = error instanceof Error && error.name === 'AbortError' && errorCode(error) !== 'UND_ERR_ABORTED'
  return error instanceof Fault || isAbort
}

function classify(
  error: unknown,
  { connectMs, headersMs }: { readonly connectMs: number; readonly headersMs: number },
): ProxyError {
  const code = errorCode(error)
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return { kind: 'upstream_silent', phase: 'connect', afterMs: connectMs }
  }
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return { kind: 'upstream_silent', phase: 'headers', afterMs: headersMs }
  const isUnusable = code?.startsWith('HPE_') === true || code === 'UND_ERR_HEADERS_OVERFLOW'
  if (isUnusable && findProxyFailure(error) === undefined) {
    return { kind: 'upstream_unusable', detail: 'its reply is not valid HTTP' }
  }
  return { kind: 'upstream_unreachable', detail: describeConnectionFailure(error) || 'the connection failed' }
}
