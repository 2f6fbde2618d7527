import { isBrokenConnection } from './network-fault.ts'
import type { Connection, ConnectionSlot } from './watched-client.ts'

/** A connection that breaks later than this after a request was written to it did not break for being stale. Ms. */
const staleWithinMs = 500

/** Upstream, or something on the way, had given a kept connection up by the time a request was handed to it. */
export class StaleConnection extends Error {
  override readonly name = 'StaleConnection'

  constructor(cause: unknown) {
    super('a kept connection was no longer there', { cause })
  }
}

/** What is told of one request and its connection until the answer begins. */
export interface ConnectionUse {
  readonly given: (slot: ConnectionSlot) => void
  readonly sent: () => void
  /** The first byte is there. */
  readonly answerBegan: () => void
  /** The head is there. */
  readonly answered: () => void
  /** Whether the request failed for the age of its connection alone (RFC 9112 §9.3.1), as far as anybody can tell. */
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
      // Of a kept connection that broke before anything was written, undici fails the request that was to come next.
      if (sentAtMs === undefined) return slot?.connection?.hasAnswered === true
      return wasKept && performance.now() - sentAtMs < staleWithinMs
    },
  }
}
