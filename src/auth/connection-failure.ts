/**
 * Failures while connecting, by the error code of the system, of TLS or of undici. None of the request has been sent.
 */
const whileConnecting: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up; is there a network?',
  ECONNREFUSED: 'the connection was refused',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  // If the request was not aborted, the HTTP proxy refused to open the tunnel.
  UND_ERR_ABORTED: 'the proxy on the way did not let the connection through',
  UND_ERR_PRX_CONN: 'the proxy on the way cut the connection',
  UND_ERR_PRX_TLS: 'no secure connection to the proxy could be agreed on',
}

/** This machine does not know the certificate's issuer. Company proxies that inspect connections cause this. */
const unknownIssuer: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const clauses: Readonly<Record<string, string>> = {
  ...whileConnecting,
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ETIMEDOUT: 'no connection in time',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it; is there a network?',
  EPROTO: 'no secure connection could be agreed on',
}

/** The connection to a proxy failed. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure'
  readonly code: string | undefined
  /** Without user name and password. */
  readonly proxyOrigin: string

  constructor(proxyOrigin: string, cause: unknown) {
    super(`the proxy ${proxyOrigin} could not be asked`, { cause })
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
  return proxy === undefined ? clause : `the proxy ${proxy.proxyOrigin} on the way failed: ${clause}`
}

function clauseOf(error: unknown): string {
  const code = errorCode(error)
  if (code === undefined) return ''
  if (unknownIssuer.has(code)) return 'its certificate is not trusted; NODE_EXTRA_CA_CERTS names the one of a company'
  if (code.startsWith('ERR_SSL_')) return `no secure connection could be agreed on (${code})`
  if (code.startsWith('HPE_')) return 'what it answered is not HTTP'
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
