import { Fault } from '../errors.ts'
import type { ProxyError } from '../errors.ts'

/** The `code` of a system or undici error, looked up through `cause` as far as it goes. */
function errorCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return undefined
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

const brokenConnection: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** True when the peer closed or reset the connection, as it does with one that was idle for too long. */
export function isBrokenConnection(error: unknown): boolean {
  return brokenConnection.has(errorCode(error) ?? '')
}

/**
 * What was thrown before the response head was there, as a ProxyError. An abort by the caller is returned as it is: it
 * is its own outcome, not a fault of upstream's.
 */
export function toHeadFault(
  error: unknown,
  deadlines: { readonly connectMs: number; readonly headersMs: number },
): unknown {
  return isOutcome(error) ? error : new Fault(classify(errorCode(error), deadlines), { cause: error })
}

/** What was thrown while the body was read, as a ProxyError; an abort as `toHeadFault`. */
export function toBodyFault(error: unknown): unknown {
  return isOutcome(error) ? error : new Fault({ kind: 'upstream_truncated' }, { cause: error })
}

function isOutcome(error: unknown): boolean {
  return error instanceof Fault || (error instanceof Error && error.name === 'AbortError')
}

function classify(
  code: string | undefined,
  { connectMs, headersMs }: { readonly connectMs: number; readonly headersMs: number },
): ProxyError {
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return { kind: 'upstream_silent', phase: 'connect', afterMs: connectMs }
  }
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return { kind: 'upstream_silent', phase: 'headers', afterMs: headersMs }
  if (code?.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return { kind: 'upstream_unusable', detail: 'its reply is not valid HTTP' }
  }
  const detail = (code && unreachable[code]) ?? `the connection failed (${code ?? 'unknown reason'})`
  return { kind: 'upstream_unreachable', detail }
}
