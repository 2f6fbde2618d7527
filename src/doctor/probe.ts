import { ProxyTrouble, connectionTrouble, errorCode } from '../auth/connection-trouble.ts'
import type { ConnectionPool } from '../executors/agent.ts'
import { proxyInUse } from './proxy-in-use.ts'
import type { ProxyInUse } from './proxy-in-use.ts'

/** What came of one request, without a credential, to a host. */
export type Probe = {
  /** Name, and port where it is not the usual one. */
  readonly host: string
  readonly isSecure: boolean
  readonly proxy: ProxyInUse | undefined
} & (
  | {
      readonly kind: 'reached'
      /** How far this machine's clock is ahead of the host's; undefined where the reply did not tell. Ms. */
      readonly aheadMs: number | undefined
    }
  | {
      readonly kind: 'failed'
      readonly stage: ProbeStage
      /** The system's or the library's word for it. */
      readonly code: string
      /** Why, as a clause. */
      readonly trouble: string
    }
)

export type FailedProbe = Extract<Probe, { kind: 'failed' }>

/** What failed: the name, the connection, the proxy on the way, its TLS, or what was answered. */
export type ProbeStage = 'lookup' | 'connect' | 'proxy' | 'tls' | 'answer'

export interface ProbeDeps {
  readonly pool: Pick<ConnectionPool, 'agent'>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ms since epoch. */
  readonly now: () => number
  /** For the whole answer; more than the pool takes to give up a connection, so that what is late then is the answer. */
  readonly timeoutMs: number
}

/** Asks a host for nothing, the way every request of this program goes. Whatever it answers, it can be reached. */
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
      const trouble = `none was complete within ${timeoutMs / 1000} seconds`
      return { ...about, kind: 'failed', stage: 'answer', code: 'ETIMEDOUT', trouble }
    }
    const code = errorCode(error) ?? ''
    const stage = stageOf(code, about.proxy !== undefined)
    // The proxy is named beside it.
    const trouble = connectionTrouble(error instanceof ProxyTrouble ? error.cause : error)
    return { ...about, kind: 'failed', stage, code: proxyStatus(error) ?? code, trouble }
  }
}

/** A `Date` is cut to the second, and as old as its copy where a cache answered. Source: RFC 9110 §6.6.1, RFC 9111 §5.1. */
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

function stageOf(code: string, isProxied: boolean): ProbeStage {
  if (code === 'UND_ERR_ABORTED' || code.startsWith('UND_ERR_PRX_')) return 'proxy'
  if (lookupCodes.has(code)) return isProxied ? 'proxy' : 'lookup'
  if (connectCodes.has(code)) return isProxied ? 'proxy' : 'connect'
  return /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/.test(
    code,
  )
    ? 'tls'
    : 'answer'
}

/** Of a proxy that refuses to open a tunnel, which undici tells in words only (lib/dispatcher/proxy-agent.js). */
function proxyStatus(error: unknown): string | undefined {
  return error instanceof Error ? /^Proxy response \((\d{3})\)/.exec(error.message)?.[1] : undefined
}
