import type { ServerResponse } from 'node:http'
import type { Fault } from '../errors.ts'

/** The life of one request: from its headers until its last byte is out or the caller is gone. */
interface Lifetime {
  /** Aborted when the caller leaves (an AbortError) or when the daemon ends the request (a Fault). */
  readonly signal: AbortSignal
  readonly close: () => void
}

export interface Lifetimes {
  readonly open: (response: ServerResponse) => Lifetime
  /** Ends every open request with the given fault. */
  readonly endAll: (reason: Fault) => void
  readonly count: () => number
}

/** Every request that is being served, so that a shutdown can end what outlives the grace period. */
export function createLifetimes(): Lifetimes {
  const open = new Set<AbortController>()
  return {
    open(response) {
      const controller = new AbortController()
      open.add(controller)
      // The response's `close`: the request's comes as soon as its body was read. Node closes when the caller does, so
      // one that only closes its sending side counts as gone too; from here the two look alike.
      const onClose = () => {
        if (!response.writableFinished) controller.abort()
      }
      response.once('close', onClose)
      return {
        signal: controller.signal,
        close() {
          open.delete(controller)
          response.off('close', onClose)
        },
      }
    },
    endAll(reason) {
      for (const controller of open) controller.abort(reason)
    },
    count: () => open.size,
  }
}
