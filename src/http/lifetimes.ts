import type { ServerResponse } from 'node:http'
import { Bag } from '../bag.ts'
import type { Fault } from '../errors.ts'
import type { EngineMemory } from './engine-memory.ts'

/** The life of one request: from its headers until its last byte is out or the caller is gone. */
interface Lifetime {
  /** Aborted when the caller leaves (an AbortError) or when the daemon ends the request (a Fault). */
  readonly signal: AbortSignal
  readonly close: () => void
}

interface Open {
  readonly controller: AbortController
  readonly response: ServerResponse
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
  const open = new Bag<Open>()
  const watchers = new Set<(closed: Open) => void>()
  return {
    open(response) {
      const controller = new AbortController()
      const opened = { controller, response }
      if (open.size === 0) memory.busy()
      const leave = open.add(opened)
      // The response's `close`: the request's comes as soon as its body was read.
      const onClose = () => {
        if (!response.writableFinished) controller.abort()
      }
      response.once('close', onClose)
      return {
        signal: controller.signal,
        close() {
          leave()
          if (open.size === 0) memory.idle()
          for (const watcher of watchers) watcher(opened)
          response.off('close', onClose)
        },
      }
    },
    endAll(reason) {
      for (const { controller } of open.members()) controller.abort(reason)
    },
    endWhere(isMeant, reason) {
      for (const { controller, response } of open.members()) if (isMeant(response)) controller.abort(reason)
    },
    drained() {
      const awaited = new Set(open.members())
      if (awaited.size === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const watcher = (closed: Open) => {
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
