import { Client, type Dispatcher } from 'undici'
import { isBrokenConnection } from './network-fault.ts'

/** One open connection. */
export interface Connection {
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
export class WatchedClient extends Client implements ConnectionSlot {
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
