import type { ServerResponse } from 'node:http'
import { OpenRequests } from '../executors/open-requests.ts'
import type { Fault } from '../errors.ts'
import type { EngineMemory } from './engine-memory.ts'

/** One request, from its headers until the last byte is sent or the caller disconnects. */
interface Lifetime {
  /** Aborted with an AbortError if the caller disconnects, with a Fault if the daemon ends the request. */
  readonly signal: AbortSignal
  readonly close: () => void
}

interface Open {
  readonly controller: AbortController
  readonly response: ServerResponse
}

export interface Lifetimes {
  readonly open: (response: ServerResponse) => Lifetime
  readonly endAll: (reason: Fault) => void
  readonly endWhere: (matches: (response: ServerResponse) => boolean, reason: Fault) => void
  /** Resolves when every request that is open at the call has been closed. */
  readonly drained: () => Promise<void>
}

/**
 * Tracks the open requests, so that a shutdown can end those that outlast the grace period.
 * @param memory notified when the first request is opened and the last is closed
 */
export function createLifetimes(memory: EngineMemory): Lifetimes {
  const open = new OpenRequests<Open>()
  const watchers = new Set<(closed: Open) => void>()
  return {
    open(response) {
      const controller = new AbortController()
      const opened = { controller, response }
      if (open.size === 0) memory.busy()
      const leave = open.add(opened)
      // The request's own `close` fires as soon as its body has been read.
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
    endWhere(matches, reason) {
      for (const { controller, response } of open.members()) if (matches(response)) controller.abort(reason)
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
