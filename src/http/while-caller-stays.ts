import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import type { Lifetimes } from './lifetimes.ts'
import { callerLeft } from '../pipeline/request-meter.ts'

export interface CallerDeps {
  readonly lifetimes: Lifetimes
  readonly log: Logger
}

/**
 * Runs a handler while its caller is connected. The signal is aborted when the caller disconnects, which is logged and
 * is no failure, or with a Fault as its reason when the daemon ends the request.
 * @returns what `run` returns; undefined if the caller disconnected
 */
export async function whileCallerStays<Result>(
  { lifetimes, log }: CallerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  const lifetime = lifetimes.open(reply.raw)
  const { signal } = lifetime
  try {
    return await run(signal)
  } catch (error) {
    if (!signal.aborted || signal.reason instanceof Fault) throw error
    const { keyName: key, meter } = request
    log.info(
      { requestId: request.id, status: callerLeft, ...meter?.facts(), key },
      'the caller left before the answer was complete',
    )
    reply.hijack()
    return undefined
  } finally {
    lifetime.close()
  }
}
