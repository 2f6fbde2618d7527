import { Agent, EnvHttpProxyAgent, buildConnector } from 'undici'
import type { Dispatcher } from 'undici'
import { formatConfigError } from '../config/problem.ts'
import { readProxyUrls } from '../config/proxy-variables.ts'

export interface AgentOptions {
  readonly connectMs: number
  /** `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` in either case are read from here; `loadConfig` has checked them. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** One provider's own connections. */
export interface ConnectionPool {
  readonly agent: Dispatcher
  /**
   * How many connections were begun so far. When it did not change while a request ran, the request ran on a connection
   * that was already there. Undefined where that cannot be known (behind a proxy).
   */
  readonly connectionsBegun: () => number | undefined
}

/**
 * A pool that keeps idle connections for a minute, so that the next turn of a conversation finds one open. Deadlines for
 * headers and silence are set per request.
 * @throws TypeError for proxy variables that `loadConfig` refuses; it names the variable and not its value
 */
export function createPool({ connectMs, env }: AgentOptions): ConnectionPool {
  const proxyOptions = toProxyOptions(env)
  if (proxyOptions !== undefined) {
    const agent = new EnvHttpProxyAgent({ ...poolOptions, connect: { timeout: connectMs }, ...proxyOptions })
    return { agent, connectionsBegun: () => undefined }
  }
  let begun = 0
  const connect = buildConnector({ timeout: connectMs })
  const agent = new Agent({
    ...poolOptions,
    connect(options, callback) {
      begun += 1
      connect(options, callback)
    },
  })
  return { agent, connectionsBegun: () => begun }
}

const poolOptions = {
  keepAliveTimeout: 60_000,
  keepAliveMaxTimeout: 600_000,
  // An answer streams for as long as the model writes. Silence is watched by whoever reads, to the millisecond.
  bodyTimeout: 0,
} satisfies Agent.Options

function toProxyOptions(env: AgentOptions['env']): EnvHttpProxyAgent.Options | undefined {
  const proxies = readProxyUrls(env)
  if (!proxies.ok) throw new TypeError(formatConfigError(proxies))
  const { http, https } = proxies.value
  if (http === undefined && https === undefined) return undefined
  const noProxy = env['no_proxy'] ?? env['NO_PROXY']
  return {
    // '' and not undefined, for which undici would read the variables of the process itself.
    httpProxy: http ?? '',
    httpsProxy: https ?? '',
    noProxy: [noProxy, 'localhost', '127.0.0.1', '[::1]'].filter(Boolean).join(','),
  }
}
