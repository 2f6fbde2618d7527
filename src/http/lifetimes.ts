import type { ServerResponse } from 'node:http'
import type { Fault } from '../errors.ts'
import type { EngineMemory } from './engine-memory.ts'

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
  /** Ends those whose response is one of these. */
  readonly endWhere: (isMeant: (response: ServerResponse) => boolean, reason: Fault) => void
  /** Resolves when every request that is open now has been closed. */
  readonly drained: () => Promise<void>
}

/**
 * Every request that is being served, so that a shutdown can end what outlives the grace period.
 * @param memory hears when the first is opened and when the last is closed
 */
export function createLifetimes(memory: EngineMemory): Lifetimes {
  const open = new Map<AbortController, ServerResponse>()
  const watchers = new Set<(closed: AbortController) => void>()
  return {
    open(response) {
      const controller = new AbortController()
      if (open.size === 0) memory.busy()
      open.set(controller, response)
      // The response's `close`: the request's comes as soon as its body was read.
      const onClose = () => {
        if (!response.writableFinished) controller.abort()
      }
      response.once('close', onClose)
      return {
        signal: controller.signal,
        close() {
          open.delete(controller)
          if (open.size === 0) memory.idle()
          for (const watcher of watchers) watcher(controller)
          response.off('close', onClose)
        },
      }
    },
    endAll(reason) {
      for (const controller of open.keys()) controller.abort(reason)
    },
    endWhere(isMeant, reason) {
      for (const [controller, response] of open) if (isMeant(response)) controller.abort(reason)
    },
    drained() {
      const awaited = new Set(open.keys())
      if (awaited.size === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const watcher = (closed: AbortController) => {
          awaited.delete(closed)
          if (awaited.size > 0) return
          watchers.delete(watcher)
          resolve()
        }
        watchers.add(watcher)
      })
    },
  }
}
