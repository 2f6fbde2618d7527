/**
 * Failures while connecting, by the error code of the system, of TLS or of undici. No part of the request has been
 * sent.
 */
const whileConnecting: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name was not found',
  EAI_AGAIN: 'the host name could not be resolved; check the network connection',
  ECONNREFUSED: 'the connection was refused',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  CERT_HAS_EXPIRED: 'its certificate has expired, or the clock of this machine is ahead',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this machine is behind',
  CERT_REVOKED: 'its certificate was revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  HOSTNAME_MISMATCH: 'its certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is not trusted: it is self-signed; if it is the right one, NODE_EXTRA_CA_CERTS must name a file that contains it',
  // The chain ends at a certificate that is in the file of NODE_EXTRA_CA_CERTS and that another one issued.
  UNABLE_TO_GET_ISSUER_CERT:
    'its certificate is not trusted: the root certificate is missing; the file of NODE_EXTRA_CA_CERTS must contain the root of your company, not only an intermediate certificate',
  // Company proxies that inspect connections cause these.
  SELF_SIGNED_CERT_IN_CHAIN: unknownIssuer(),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownIssuer(),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer(),
  // If the request was not aborted, the HTTP proxy refused to open the tunnel.
  UND_ERR_ABORTED: 'the HTTP proxy refused the connection',
  UND_ERR_PRX_CONN: 'the HTTP proxy closed the connection',
  UND_ERR_PRX_TLS: 'the TLS handshake with the HTTP proxy failed',
}

/** This machine does not know who issued the certificate. */
function unknownIssuer(): string {
  return 'its certificate is not trusted; NODE_EXTRA_CA_CERTS must name a file with the root certificate of your company'
}

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

/** A proxy's answer to CONNECT that opens no tunnel. */
export interface ProxyRefusal {
  readonly status: number
  /** Whether a login was sent with it. */
  readonly hadLogin: boolean
  /** The kinds of login that it asks for, as in `Proxy-Authenticate`: `Basic`, `NTLM`, `Negotiate`. */
  readonly schemes: readonly string[]
}

/** The connection to a proxy failed, or the proxy refused to open a tunnel. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure'
  readonly code: string | undefined
  /** Without user name and password. */
  readonly proxyOrigin: string
  /** Undefined if it gave no answer. */
  readonly refusal: ProxyRefusal | undefined

  constructor(proxyOrigin: string, failure: { readonly cause: unknown } | { readonly refusal: ProxyRefusal }) {
    const cause = 'cause' in failure ? failure.cause : undefined
    super(`the HTTP proxy ${proxyOrigin} failed`, { cause })
    this.code = errorCode(cause)
    this.proxyOrigin = proxyOrigin
    this.refusal = 'refusal' in failure ? failure.refusal : undefined
  }
}

/**
 * Why a request failed, as a clause; '' if the error has no code. The clause ends with the system's error code, which
 * users can look up. Codes of libraries are left out.
 */
export function describeConnectionFailure(error: unknown): string {
  const proxy = findProxyFailure(error)
  if (proxy === undefined) return clauseOf(error)
  const { proxyOrigin, refusal } = proxy
  if (refusal !== undefined) return `the HTTP proxy ${proxyOrigin} ${refusalClause(refusal)}`
  return `the HTTP proxy ${proxyOrigin} failed: ${clauseOf(proxy) || 'the connection failed'}`
}

/** The failure of a proxy, if one caused the error. */
export function findProxyFailure(error: unknown): ProxyFailure | undefined {
  return causes(error).find((cause) => cause instanceof ProxyFailure)
}

/** What a proxy answered, and what that means. */
export function refusalClause({ status, hadLogin, schemes }: ProxyRefusal): string {
  if (status !== 407) return `answered ${status} and opened no connection`
  // undici sends Basic only.
  if (schemes.length > 0 && !schemes.some((scheme) => /^basic$/i.test(scheme))) {
    return (
      `answered 407: it asks for a login by ${schemes.join(' or ')}, which copilot-proxy does not support; ` +
      'a local proxy such as Px or Cntlm can log in for it'
    )
  }
  return hadLogin ? 'answered 407: its login is wrong' : 'answered 407: its login is missing'
}

function clauseOf(error: unknown): string {
  const code = errorCode(error)
  if (code === undefined) return ''
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
  if (error instanceof ProxyFailure && error.refusal !== undefined) return true
  const isOfConnecting = 'syscall' in error && (error.syscall === 'connect' || error.syscall === 'getaddrinfo')
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return isOfConnecting || Object.hasOwn(whileConnecting, code) || isBeforeSending(error.cause)
}

/** The `code` of a system or library error. fetch puts it into `cause`, sometimes one level deeper. */
export function errorCode(error: unknown): string | undefined {
  const codes = causes(error).flatMap((cause) => {
    if ('code' in cause && typeof cause.code === 'string') return [cause.code]
    // undici's errors about answers that are not HTTP have lost their codes.
    return cause.name === 'HTTPParserError' ? ['HPE_INVALID'] : []
  })
  // It says less than its cause, which names the fault of a certificate.
  return codes.find((code) => code !== 'UND_ERR_PRX_TLS') ?? codes[0]
}

/** The error and its causes, the latest first. */
function causes(error: unknown): readonly Error[] {
  const found: Error[] = []
  for (let at = error; at instanceof Error && found.length < 5; at = at.cause) found.push(at)
  return found
}
