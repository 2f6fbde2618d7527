import { Client } from 'undici'
import type { Dispatcher } from 'undici'

/** One connection, from when it is there until it is gone. */
export interface Connection {
  /** It has brought an answer. A request that it is given from now on has not begun it. */
  hasAnswered: boolean
}

/** The place of a request: one connection after the other, as upstream closes them. */
export interface ConnectionSlot {
  /** Undefined while there is none. */
  readonly connection: Connection | undefined
}

/** Hears which slot a request was given to; that may be long before it is sent. */
export interface SlotWatcher {
  readonly onSlot: (slot: ConnectionSlot) => void
}

function isWatcher(handler: object): handler is SlotWatcher {
  return 'onSlot' in handler && typeof handler.onSlot === 'function'
}

/** undici's client, which also says what it knows of the connection: no error of undici's tells whether it was a kept one. */
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
