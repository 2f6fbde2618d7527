import { Agent, Client, Pool, ProxyAgent, buildConnector, errors } from 'undici'
import type { Dispatcher } from 'undici'
import { ProxyFailure } from '../auth/connection-failure.ts'
import { formatConfigError } from '../config/problem.ts'
import { proxyFor, readProxies } from '../config/proxy-variables.ts'
import { isBrokenConnection } from './network-fault.ts'

export interface AgentOptions {
  /** Also the time limit for a proxy to open the tunnel. */
  readonly connectMs: number
  /** The proxy variables are read from here (config/proxy-variables.ts); `loadConfig` has checked them. */
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
  const proxies = readProxies(env)
  if (!proxies.ok) throw new TypeError(formatConfigError(proxies))
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
      factory(origin, given) {
        const proxy = proxyFor(new URL(origin), env)
        if (proxy === undefined) return openDirect(origin, given)
        return new ProxyAgent({
          ...options,
          uri: proxy.url,
          connectTimeout: connectMs,
          // undici would wait five minutes for a proxy that accepts the connection and never answers.
          clientFactory: (address, opening) =>
            new Pool(address, { ...opening, headersTimeout: connectMs }).compose(
              (dispatch) => (request, handler) => dispatch(request, reportProxyFailure(address, handler)),
            ),
        })
      },
    })
  return { agent: open(), openUnused: open }
}

function openDirect(origin: string | URL, options: object): Dispatcher {
  return new Pool(origin, { ...options, factory: (one, given) => new WatchedClient(one, given) })
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

/** One open connection. */
interface Connection {
  /** The connection has carried an answer, so later requests find it as a keep-alive connection. */
  hasAnswered: boolean
}

/** A client's current connection, which is replaced when upstream closes it. */
interface ConnectionSlot {
  /** Undefined while not connected. */
  readonly connection: Connection | undefined
}

/** A handler that receives the connection slot of its request, possibly long before the request is sent. */
export interface SlotWatcher {
  readonly onSlot: (slot: ConnectionSlot) => void
}

function isWatcher(handler: object): handler is SlotWatcher {
  return 'onSlot' in handler && typeof handler.onSlot === 'function'
}

/** undici's client, which also exposes its connection: undici's errors do not show whether it was a kept one. */
class WatchedClient extends Client implements ConnectionSlot {
  #connection: Connection | undefined

  constructor(origin: string | URL, options: Client.Options) {
    super(origin, options)
    this.on('connect', () => {
      this.#connection = { hasAnswered: false }
    })
    this.on('disconnect', () => {
      this.#connection = undefined
    })
  }

  get connection(): Connection | undefined {
    return this.#connection
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (isWatcher(handler)) handler.onSlot(this)
    return super.dispatch(options, handler)
  }
}

/** A connection that breaks later than this after a request was written was not stale. Ms. */
const staleWithinMs = 500

/** Upstream, or something in between, had closed a kept connection before a request used it. */
export class StaleConnection extends Error {
  override readonly name = 'StaleConnection'

  constructor(cause: unknown) {
    super('a keep-alive connection was already closed', { cause })
  }
}

/** Tracks one request and its connection until the answer begins. */
export interface ConnectionUse {
  readonly given: (slot: ConnectionSlot) => void
  readonly sent: () => void
  /** The first byte has arrived. */
  readonly answerBegan: () => void
  /** The head has arrived. */
  readonly answered: () => void
  /** Whether the request seems to have failed only because its connection was stale (RFC 9112 §9.3.1). */
  readonly isStale: (error: unknown) => boolean
}

export function createConnectionUse(): ConnectionUse {
  let slot: ConnectionSlot | undefined
  let connection: Connection | undefined
  let wasKept = false
  let sentAtMs: number | undefined
  let answerBegan = false
  return {
    given(to) {
      slot = to
    },
    sent() {
      connection = slot?.connection
      wasKept = connection?.hasAnswered === true
      sentAtMs = performance.now()
    },
    answerBegan() {
      answerBegan = true
    },
    answered() {
      answerBegan = true
      if (connection !== undefined) connection.hasAnswered = true
    },
    isStale(error) {
      if (answerBegan || !isBrokenConnection(error)) return false
      // If a keep-alive connection breaks while idle, undici reports the error on the next request.
      if (sentAtMs === undefined) return slot?.connection?.hasAnswered === true
      return wasKept && performance.now() - sentAtMs < staleWithinMs
    },
  }
}
