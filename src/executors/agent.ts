import { Agent, EnvHttpProxyAgent, Pool, buildConnector, errors } from 'undici'
import type { Dispatcher } from 'undici'
import { ProxyTrouble } from '../auth/connection-trouble.ts'
import { isLoopbackHost } from '../config/loopback.ts'
import { formatConfigError } from '../config/problem.ts'
import { readProxyUrls } from '../config/proxy-variables.ts'
import { WatchedClient } from './watched-client.ts'

export interface AgentOptions {
  /** For the proxy on the way, too: until it has opened the tunnel. */
  readonly connectMs: number
  /** `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` in either case are read from here; `loadConfig` has checked them. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** One provider's own connections. */
export interface ConnectionPool {
  readonly agent: Dispatcher
  /** Another one like `agent` in which no connection is kept; whoever opens it closes it. */
  readonly openUnused: () => Dispatcher
}

/**
 * A pool that keeps idle connections for a minute, so that the next turn of a conversation finds one open. Deadlines for
 * headers and silence are set per request. This machine itself is never looked for at a proxy.
 * @throws TypeError for proxy variables that `loadConfig` refuses; it names the variable and not its value
 */
export function createPool({ connectMs, env }: AgentOptions): ConnectionPool {
  const proxies = toProxyOptions(env)
  const options = {
    keepAliveTimeout: 60_000,
    keepAliveMaxTimeout: 600_000,
    // An answer streams for as long as the model writes. Silence is watched by whoever reads, to the millisecond.
    bodyTimeout: 0,
    connect: buildConnector({ timeout: connectMs }),
    factory: openDirect,
  } satisfies Agent.Options
  const open = (): Dispatcher =>
    new Agent({
      ...options,
      // Asked once per origin.
      factory: (origin, given) =>
        proxies === undefined || isThisMachine(new URL(origin))
          ? openDirect(origin, given)
          : new EnvHttpProxyAgent({
              ...options,
              ...proxies,
              connectTimeout: connectMs,
              // A proxy that takes the connection and never answers is not there: undici itself would wait for five minutes.
              clientFactory: (proxy, opening) =>
                new Pool(proxy, { ...opening, headersTimeout: connectMs }).compose(
                  (dispatch) => (request, handler) => dispatch(request, tellingOfTunnel(proxy, handler)),
                ),
            }),
    })
  return { agent: open(), openUnused: open }
}

function openDirect(origin: string | URL, options: object): Dispatcher {
  return new Pool(origin, { ...options, factory: (one, given) => new WatchedClient(one, given) })
}

/** With or without the dot that ends a full name. */
function isThisMachine({ hostname }: URL): boolean {
  return isLoopbackHost(hostname.replace(/\.$/, ''))
}

/** Hears what kept the tunnel from being asked for as what it is: the proxy's trouble, and no answer as no connection in time. */
function tellingOfTunnel(proxy: URL, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (...told) => handler.onRequestStart?.(...told),
    onRequestUpgrade: (...told) => handler.onRequestUpgrade?.(...told),
    onResponseStart: (...told) => handler.onResponseStart?.(...told),
    onResponseData: (...told) => handler.onResponseData?.(...told),
    onResponseEnd: (...told) => handler.onResponseEnd?.(...told),
    onResponseError(controller, error) {
      const known = error instanceof errors.HeadersTimeoutError ? new errors.ConnectTimeoutError() : error
      handler.onResponseError?.(controller, new ProxyTrouble(proxy.origin, known))
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
    // '' and not undefined, for which undici would read the variables of the process itself.
    httpProxy: http ?? '',
    httpsProxy: https ?? '',
    noProxy: noProxy ?? '',
  }
}
