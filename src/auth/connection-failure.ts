/**
 * Failures while connecting, by the error code of the system, of TLS or of undici. No part of the request has been
 * sent.
 */
const whileConnecting: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name was not found',
  EAI_AGAIN: 'the host name could not be resolved; check the network connection',
  ECONNREFUSED: 'the connection was refused',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  // If the request was not aborted, the HTTP proxy refused to open the tunnel.
  UND_ERR_ABORTED: 'the HTTP proxy refused the connection',
  UND_ERR_PRX_CONN: 'the HTTP proxy closed the connection',
  UND_ERR_PRX_TLS: 'the TLS handshake with the HTTP proxy failed',
}

/** This machine does not know the certificate's issuer. Company proxies that inspect connections cause this. */
const unknownIssuer: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const clauses: Readonly<Record<string, string>> = {
  ...whileConnecting,
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'the network is unreachable; check the network connection',
  EPROTO: 'the TLS handshake failed',
}

/** The connection to a proxy failed. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure'
  readonly code: string | undefined
  /** Without user name and password. */
  readonly proxyOrigin: string

  constructor(proxyOrigin: string, cause: unknown) {
    super(`the HTTP proxy ${proxyOrigin} failed`, { cause })
    this.code = errorCode(cause)
    this.proxyOrigin = proxyOrigin
  }
}

/**
 * Why a request failed, as a clause; '' if the error has no code. The clause ends with the system's error code, which
 * users can look up. Codes of libraries are left out.
 */
export function describeConnectionFailure(error: unknown): string {
  const proxy = causes(error).find((cause) => cause instanceof ProxyFailure)
  const clause = clauseOf(error)
  return proxy === undefined ? clause : `the HTTP proxy ${proxy.proxyOrigin} failed: ${clause}`
}

function clauseOf(error: unknown): string {
  const code = errorCode(error)
  if (code === undefined) return ''
  if (unknownIssuer.has(code))
    return 'its certificate is not trusted; set NODE_EXTRA_CA_CERTS to the certificate file of your company'
  if (code.startsWith('ERR_SSL_')) return `the TLS handshake failed (${code})`
  if (code.startsWith('HPE_')) return 'its answer is not HTTP'
  const clause = Object.hasOwn(clauses, code) ? clauses[code] : undefined
  return code.startsWith('UND_')
    ? (clause ?? 'the connection failed')
    : `${clause ?? 'the connection failed'} (${code})`
}

/** Whether a request certainly failed before any of it was sent. A broken connection does not prove that. */
export function isBeforeSending(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isBeforeSending)
  if (!(error instanceof Error)) return false
  const isOfConnecting = 'syscall' in error && (error.syscall === 'connect' || error.syscall === 'getaddrinfo')
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return (
    isOfConnecting || unknownIssuer.has(code) || Object.hasOwn(whileConnecting, code) || isBeforeSending(error.cause)
  )
}

/** The `code` of a system or library error. fetch puts it into `cause`, sometimes one level deeper. */
export function errorCode(error: unknown): string | undefined {
  for (const cause of causes(error)) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code
  }
  return undefined
}

/** The error and its causes, the latest first. */
function causes(error: unknown): readonly Error[] {
  const found: Error[] = []
  for (let at = error; at instanceof Error && found.length < 5; at = at.cause) found.push(at)
  return found
}
