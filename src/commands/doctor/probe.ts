import { describeConnectionFailure, errorCode, findProxyFailure, refusalClause } from '../../auth/connection-failure.ts'
import { proxyFor } from '../../config/proxy-variables.ts'
import type { ConnectionPool } from '../../executors/connection-pool.ts'

/** The outcome of one request, without a credential, to a host. */
export type Probe = {
  /** With the port, unless it is the default. */
  readonly host: string
  readonly isSecure: boolean
  readonly proxy: ProxyInUse | undefined
} & (
  | {
      readonly kind: 'reached'
      /** How far this machine's clock is ahead of the host's; undefined without a Date header. Ms. */
      readonly aheadMs: number | undefined
    }
  | {
      readonly kind: 'failed'
      readonly stage: ProbeStage
      /** The error code of the system or the library. */
      readonly code: string
      /** The reason, as a clause. */
      readonly reason: string
    }
)

export type FailedProbe = Extract<Probe, { kind: 'failed' }>

export type ProbeStage = 'lookup' | 'connect' | 'proxy' | 'tls' | 'answer'

export interface ProbeDeps {
  readonly pool: Pick<ConnectionPool, 'agent'>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ms since epoch. */
  readonly now: () => number
  /** For the whole answer; longer than the connect timeout of the pool, so that this timeout means a late answer. */
  readonly timeoutMs: number
}

/**
 * Sends a HEAD request through the same pool and proxy as other requests. Any answer means that the host was reached.
 */
export async function probe(deps: ProbeDeps, origin: string, signal: AbortSignal): Promise<Probe> {
  const { pool, env, now, timeoutMs } = deps
  const url = new URL(origin)
  const about = { host: url.host, isSecure: url.protocol === 'https:', proxy: proxyInUse(url, env) }
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const sentMs = now()
    const { headers, body } = await pool.agent.request({
      origin: url.origin,
      path: '/',
      method: 'HEAD',
      signal: AbortSignal.any([signal, timeout]),
    })
    const answeredMs = now()
    await body.dump()
    return { ...about, kind: 'reached', aheadMs: aheadOf(headers, (sentMs + answeredMs) / 2) }
  } catch (error) {
    if (timeout.aborted) {
      const reason = `no complete answer within ${timeoutMs / 1000} seconds`
      return { ...about, kind: 'failed', stage: 'answer', code: 'ETIMEDOUT', reason }
    }
    const failure = findProxyFailure(error)
    const refusal = failure?.refusal
    if (refusal !== undefined) {
      // The proxy is named separately.
      return {
        ...about,
        kind: 'failed',
        stage: 'proxy',
        code: String(refusal.status),
        reason: `it ${refusalClause(refusal)}`,
      }
    }
    const code = errorCode(error) ?? ''
    if (failure !== undefined) {
      const reason = `the proxy failed: ${describeConnectionFailure(failure.cause) || 'the connection failed'}`
      return { ...about, kind: 'failed', stage: 'proxy', code, reason }
    }
    return {
      ...about,
      kind: 'failed',
      stage: stageOf(code),
      code,
      reason: describeConnectionFailure(error) || 'the connection failed',
    }
  }
}

/** `Date` has whole seconds, and a cached answer is older by `Age`. Source: RFC 9110 §6.6.1, RFC 9111 §5.1. */
function aheadOf(headers: Readonly<Record<string, string | string[] | undefined>>, hereMs: number): number | undefined {
  const { date, age } = headers
  if (typeof date !== 'string') return undefined
  const ageSeconds = typeof age === 'string' && /^\d{1,9}$/.test(age) ? Number(age) : 0
  const ahead = hereMs - (Date.parse(date) + 500 + ageSeconds * 1000)
  return Number.isFinite(ahead) ? ahead : undefined
}

const lookupCodes: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN'])
const connectCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EACCES',
  'EPERM',
  'EADDRNOTAVAIL',
])

/** Of a failure that is not one of a proxy. */
function stageOf(code: string): ProbeStage {
  if (lookupCodes.has(code)) return 'lookup'
  if (connectCodes.has(code)) return 'connect'
  return /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/.test(
    code,
  )
    ? 'tls'
    : 'answer'
}

type Environment = Readonly<Record<string, string | undefined>>

export interface ProxyInUse {
  /** The variable that names it. */
  readonly variable: string
  /** Without user name and password. */
  readonly address: string
}

/** The environment's proxy for this program's requests to `url`; undefined for none. */
export function proxyInUse(url: URL, env: Environment): ProxyInUse | undefined {
  const proxy = proxyFor(url, env)
  return proxy && { variable: proxy.variable, address: new URL(proxy.url).origin }
}
