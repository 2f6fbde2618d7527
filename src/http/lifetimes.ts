import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { removeFrom } from '../cache/remove-from.ts'
import { callerLeft, Fault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import { callerLeftMessage } from '../pipeline/request-meter.ts'

interface Open {
  readonly controller: AbortController
  readonly response: ServerResponse
  readonly closed: PromiseWithResolvers<void>
}

/** The reply of a request that lasts as long as its caller stays. */
export interface LastingReply {
  readonly raw: ServerResponse
  readonly hijack: () => unknown
  /** Aborted when a caller disconnects whose connection `raw` does not have. */
  readonly left?: AbortSignal
}

/** The requests that run, so that a shutdown can end those that outlast the grace period. */
export interface Lifetimes {
  /**
   * Runs a handler while its caller is connected. The signal is aborted when the caller disconnects, which is no failure,
   * or with a Fault as its reason when the daemon ends the request. Logs a caller that disconnects, unless the request
   * has a meter, which logs its end.
   * @returns what `run` returns; undefined if the caller disconnected
   */
  readonly whileCallerStays: <Result>(
    request: Pick<FastifyRequest, 'id' | 'caller' | 'meter'>,
    reply: LastingReply,
    run: (signal: AbortSignal) => Promise<Result>,
  ) => Promise<Result | undefined>
  readonly end: (reason: Fault, matches?: (response: ServerResponse) => boolean) => void
  /** Resolves when every request that runs at the call has ended. */
  readonly drained: () => Promise<void>
}

export function createLifetimes(log: Logger): Lifetimes {
  const open: Open[] = []
  return {
    async whileCallerStays({ id, caller: { key }, meter }, reply, run) {
      const response = reply.raw
      const controller = new AbortController()
      const { signal } = controller
      const opened: Open = { controller, response, closed: Promise.withResolvers() }
      open.push(opened)
      // The request's own `close` fires as soon as its body has been read.
      const onClose = () => {
        if (!response.writableFinished) controller.abort()
      }
      const onLeft = () => controller.abort()
      response.once('close', onClose)
      reply.left?.addEventListener('abort', onLeft)
      try {
        return await run(signal)
      } catch (error) {
        if (!signal.aborted || signal.reason instanceof Fault) throw error
        const head = response.headersSent ? { httpStatus: response.statusCode } : {}
        const line = { requestId: id, status: callerLeft, ...head, key: key?.name }
        if (meter === undefined) log.info(line, callerLeftMessage)
        reply.hijack()
        return undefined
      } finally {
        removeFrom(open, opened)
        opened.closed.resolve()
        response.off('close', onClose)
        reply.left?.removeEventListener('abort', onLeft)
      }
    },
    end(reason, matches = () => true) {
      for (const { controller } of open.filter(({ response }) => matches(response))) controller.abort(reason)
    },
    async drained() {
      await Promise.all(open.map(({ closed }) => closed.promise))
    },
  }
}
