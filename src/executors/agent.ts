import { Agent, EnvHttpProxyAgent, Pool, buildConnector, errors } from 'undici'
import type { Dispatcher } from 'undici'
import { ProxyFailure } from '../auth/connection-failure.ts'
import { isLoopbackHost } from '../config/loopback.ts'
import { formatConfigError } from '../config/problem.ts'
import { readProxyUrls } from '../config/proxy-variables.ts'
import { WatchedClient } from './watched-client.ts'

export interface AgentOptions {
  /** Also the time limit for a proxy to open the tunnel. */
  readonly connectMs: number
  /** `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` in either case are read from here; `loadConfig` has checked them. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** One provider's own connections. */
export interface ConnectionPool {
  readonly agent: Dispatcher
  /** A new agent without kept connections; whoever opens it closes it. */
  readonly openUnused: () => Dispatcher
}

/**
 * A pool that keeps idle connections for a minute, so that the next turn of a conversation finds one open. Deadlines
 * for headers and silence are set per request. Requests to this machine never use a proxy.
 * @throws TypeError for proxy variables that `loadConfig` refuses; it names the variable and not its value
 */
export function createPool({ connectMs, env }: AgentOptions): ConnectionPool {
  const proxies = toProxyOptions(env)
  const options = {
    keepAliveTimeout: 60_000,
    keepAliveMaxTimeout: 600_000,
    // An answer streams for as long as the model writes. The reader of the body limits silence, to the millisecond.
    bodyTimeout: 0,
    connect: buildConnector({ timeout: connectMs }),
    factory: openDirect,
  } satisfies Agent.Options
  const open = (): Dispatcher =>
    new Agent({
      ...options,
      // Called once per origin.
      factory: (origin, given) =>
        proxies === undefined || isThisMachine(new URL(origin))
          ? openDirect(origin, given)
          : new EnvHttpProxyAgent({
              ...options,
              ...proxies,
              connectTimeout: connectMs,
              // undici would wait five minutes for a proxy that accepts the connection and never answers.
              clientFactory: (proxy, opening) =>
                new Pool(proxy, { ...opening, headersTimeout: connectMs }).compose(
                  (dispatch) => (request, handler) => dispatch(request, reportProxyFailure(proxy, handler)),
                ),
            }),
    })
  return { agent: open(), openUnused: open }
}

function openDirect(origin: string | URL, options: object): Dispatcher {
  return new Pool(origin, { ...options, factory: (one, given) => new WatchedClient(one, given) })
}

/** With or without the final dot of a full name. */
function isThisMachine({ hostname }: URL): boolean {
  return isLoopbackHost(hostname.replace(/\.$/, ''))
}

/** Reports a failed tunnel as a failure of the proxy, and a tunnel request without an answer as a connect timeout. */
function reportProxyFailure(proxy: URL, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (...args) => handler.onRequestStart?.(...args),
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError(controller, error) {
      const known = error instanceof errors.HeadersTimeoutError ? new errors.ConnectTimeoutError() : error
      handler.onResponseError?.(controller, new ProxyFailure(proxy.origin, known))
    },
  }
}

function toProxyOptions(env: AgentOptions['env']): EnvHttpProxyAgent.Options | undefined {
  const proxies = readProxyUrls(env)
  if (!proxies.ok) throw new TypeError(formatConfigError(proxies))
  const { http, https } = proxies.value
  if (http === undefined && https === undefined) return undefined
  const noProxy = env['no_proxy'] ?? env['NO_PROXY']
  return {
    // '' and not undefined, or undici would read the process's own variables.
    httpProxy: http ?? '',
    httpsProxy: https ?? '',
    noProxy: noProxy ?? '',
  }
}
