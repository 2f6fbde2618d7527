import { getDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { Agent, Client, Dispatcher, Pool, ProxyAgent, buildConnector, errors } from 'undici'
import { ProxyFailure, errorCode } from '../auth/connection-failure.ts'
import { elapsedMs } from '../auth/token-life.ts'
import type { Moment } from '../auth/token-life.ts'
import { formatConfigError } from '../config/problem.ts'
import { proxyFor, readProxies } from '../config/proxy-variables.ts'
import { isBrokenConnection, isReset } from './network-fault.ts'

export interface AgentOptions {
  /** Also the time limit for a proxy to open the tunnel. */
  readonly connectMs: number
  /** The proxy variables are read from here (config/proxy-variables.ts); `loadConfig` has checked them. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock?: () => Moment
}

/** One provider's own connections. */
export interface ConnectionPool {
  /** Sends each request on the connections of the moment. For callers that know no `current`: `fetch`, `request`. */
  readonly agent: Dispatcher
  /** The agent for the next request: another one after a sleep of the machine, and after `giveUp`. */
  readonly current: () => Dispatcher
  /**
   * A kept connection of this agent has failed, so its other ones may be gone too: later requests open new ones. Running
   * requests keep theirs.
   */
  readonly giveUp: (used: Dispatcher) => void
  /** Resolves when all running requests have ended. */
  readonly close: () => Promise<void>
  /** Ends all running requests. */
  readonly destroy: () => Promise<void>
}

/**
 * A pool that keeps idle connections for a minute, so that the next turn of a conversation finds one open. Deadlines
 * for headers and silence are set per request. Requests to this machine never use a proxy.
 * @throws TypeError for proxy variables that `loadConfig` refuses; it names the variable and not its value
 */
export function createPool({ connectMs, env, clock = bothClocks }: AgentOptions): ConnectionPool {
  const proxies = readProxies(env)
  if (!proxies.ok) throw new TypeError(formatConfigError(proxies))
  const options = {
    keepAliveTimeout: 60_000,
    keepAliveMaxTimeout: 600_000,
    // An answer streams for as long as the model writes. The reader of the body limits silence, to the millisecond.
    bodyTimeout: 0,
    connect: buildConnector({ timeout: connectMs, autoSelectFamilyAttemptTimeout: addressMs(connectMs) }),
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
            new Pool(address, { ...opening, connect: options.connect, headersTimeout: connectMs }).compose(
              (dispatch) => (request, handler) => dispatch(request, reportProxyFailure(address, handler)),
            ),
        })
      },
    })
  let agent = open()
  const retired = new Set<Dispatcher>()
  let lookedAt = clock()
  let ticks: NodeJS.Timeout | undefined

  function giveUp(used: Dispatcher): void {
    // Another request may have noticed it before.
    if (used !== agent) return
    agent = open()
    retired.add(used)
    // Closes idle connections now, and each other one when its requests have ended.
    void used.close().finally(() => retired.delete(used))
  }

  function look(): void {
    const now = clock()
    const hasSlept = elapsedMs(lookedAt, now) > sleepMs
    lookedAt = now
    if (hasSlept) giveUp(agent)
  }

  function current(): Dispatcher {
    if (ticks === undefined) {
      // Before the first request, nothing is kept.
      lookedAt = clock()
      ticks = setInterval(look, tickMs).unref()
    } else look()
    return agent
  }

  /** @param end ends one agent */
  async function endAll(end: (one: Dispatcher) => Promise<void>): Promise<void> {
    clearInterval(ticks)
    await Promise.all([agent, ...retired].map(end))
  }

  return {
    agent: new CurrentAgent(current, giveUp),
    current,
    giveUp,
    close: () => endAll((one) => one.close()),
    destroy: () => endAll((one) => one.destroy()),
  }
}

/**
 * How long an address of a host has to answer before the next one is tried. Node tries one at a time, gives up an earlier one
 * for good, and leaves the remaining time to the last one: after its 250 ms, a slow IPv4 address before a broken IPv6 address
 * would never be reached. A system repeats a lost first packet after a second (RFC 6298 §2.1). Ms.
 */
function addressMs(connectMs: number): number {
  return Math.max(getDefaultAutoSelectFamilyAttemptTimeout(), Math.floor(connectMs / 8))
}

function bothClocks(): Moment {
  return { wallMs: Date.now(), monotonicMs: performance.now() }
}

/** How often an agent looks at the clock. Ms. */
const tickMs = 5000
/**
 * The machine slept if this time has passed since the last look. After a sleep, the other side or a box in between has
 * forgotten the connections, and nobody says so: a request on one of them would wait for its deadline. Wall time shows the
 * sleep on every system; monotonic time stands still meanwhile on Linux and continues on macOS. Ms.
 */
const sleepMs = 3 * tickMs

/** Sends each request on the agent of the moment. */
class CurrentAgent extends Dispatcher {
  readonly #current: ConnectionPool['current']
  readonly #giveUp: ConnectionPool['giveUp']

  constructor(current: ConnectionPool['current'], giveUp: ConnectionPool['giveUp']) {
    super()
    this.#current = current
    this.#giveUp = giveUp
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const agent = this.#current()
    const watching = watchConnection(handler, () => this.#giveUp(agent))
    return agent.dispatch(options, watching)
  }
}

/** A handler that calls `onGone` if its request shows that its kept connection is gone. */
function watchConnection(
  handler: Dispatcher.DispatchHandler,
  onGone: () => void,
): Dispatcher.DispatchHandler & SlotWatcher {
  const use = createConnectionUse()
  return {
    onSlot: use.given,
    onRequestStart(...args) {
      use.sent()
      handler.onRequestStart?.(...args)
    },
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStarted() {
      use.answerBegan()
      handler.onResponseStarted?.()
    },
    onResponseStart(...args) {
      use.answered()
      handler.onResponseStart?.(...args)
    },
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError(controller, error) {
      if (use.isGone(error)) onGone()
      handler.onResponseError?.(controller, error)
    },
  }
}

function openDirect(origin: string | URL, options: object): Dispatcher {
  return new Pool(origin, { ...options, factory: (one, given) => new WatchedClient(one, given) })
}

/** Reports a failed or refused tunnel as a failure of the proxy, and a tunnel request without an answer as a connect timeout. */
function reportProxyFailure(proxy: URL, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (...args) => handler.onRequestStart?.(...args),
    onRequestUpgrade(controller, status, headers, socket) {
      if (status === 200) {
        handler.onRequestUpgrade?.(controller, status, headers, socket)
        return
      }
      // undici would name neither the proxy nor what it asks for.
      socket.on('error', () => {}).destroy()
      const refusal = { status, hadLogin: proxy.username !== '', schemes: schemesIn(headers['proxy-authenticate']) }
      handler.onResponseError?.(controller, new ProxyFailure(proxy.origin, { refusal }))
    },
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError(controller, error) {
      const cause = error instanceof errors.HeadersTimeoutError ? new errors.ConnectTimeoutError() : error
      handler.onResponseError?.(controller, new ProxyFailure(proxy.origin, { cause }))
    },
  }
}

/** The kinds of login in `Proxy-Authenticate`, which may be several headers or one with commas between parameters too. */
function schemesIn(challenges: string | string[] | undefined): readonly string[] {
  const texts = [challenges ?? []].flat().flatMap((text) => text.split(','))
  return texts.flatMap((text) => /^\s*([a-z][\w-]*)(?:\s|$)(?!\s*=)/i.exec(text)?.[1] ?? [])
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

/** A kept connection that the other side closes later than this after a request was written was not stale. Ms. */
const staleWithinMs = 500

/**
 * A reset says that the other side does not know the connection, and on a slow link it takes some round trips and
 * repetitions to arrive. Later than this, upstream may have worked on the request. Ms.
 */
const resetWithinMs = 10_000

/** A kept connection that gave no byte for this long may be gone. Ms. */
const silentMs = 5000

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
  /** Whether the connection was a kept one that seems to be gone, without a word or with one. */
  readonly isGone: (error: unknown) => boolean
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
      return wasKept && performance.now() - sentAtMs < (isReset(error) ? resetWithinMs : staleWithinMs)
    },
    isGone(error) {
      if (answerBegan || !wasKept || sentAtMs === undefined) return false
      return isBrokenConnection(error) || performance.now() - sentAtMs >= silentMs || isHeadersTimeout(error)
    },
  }
}

function isHeadersTimeout(error: unknown): boolean {
  return errorCode(error) === 'UND_ERR_HEADERS_TIMEOUT'
}
