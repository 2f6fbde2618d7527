import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Lifetimes } from './lifetimes.ts'
import { callerLeft } from './request-meter.ts'

export interface CallerDeps {
  readonly lifetimes: Lifetimes
  readonly log: Logger
}

/**
 * Runs a handler for as long as somebody waits for its answer. Its signal is aborted when the caller leaves, which is
 * an outcome of its own and no failure, and, with a Fault as its reason, when the daemon ends the request.
 * @returns what `run` returns; undefined when the caller has left
 * @throws what `run` throws
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
    // Nobody is left to answer, and nothing went wrong.
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
