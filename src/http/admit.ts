import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../errors.ts'
import { presentedKeys } from './api-keys.ts'
import { readBody } from './body.ts'
import type { RequestBody } from './body.ts'
import { callerIdentity } from './caller-identity.ts'
import type { RequestKind } from './metrics.ts'
import { callerLeft, createRequestMeter } from './request-meter.ts'
import type { RequestMeter } from './request-meter.ts'
import type { ServeDeps } from './serve-deps.ts'
import { whileCallerStays } from './while-caller-stays.ts'

/** What a handler gets of an admitted request. */
export interface Admitted {
  /** Reads the body, which nothing here keeps: a held stream must not hold megabytes of history. */
  readonly readBody: () => Promise<RequestBody>
  readonly signal: AbortSignal
  readonly meter: RequestMeter
}

/**
 * Everything around a request that calls a model: a place in the queue, the body, the life of the connection. Bodies
 * are read after admission, so that waiting requests hold no memory of ours.
 */
export async function admit<Result>(
  deps: ServeDeps,
  kind: RequestKind,
  request: FastifyRequest,
  reply: FastifyReply,
  handle: (admitted: Admitted) => Promise<Result>,
): Promise<Result | undefined> {
  const meter = createRequestMeter(deps, kind, request.keyName)
  // A refusal, now or later, is counted by the fault handler, which knows its status.
  request.meter = meter
  const { maxRequestsPerMinute } = deps.config().server
  if (maxRequestsPerMinute > 0) deps.rateLimit.count(callerIdentity(request), maxRequestsPerMinute)
  return await whileCallerStays(deps, request, reply, async (signal) => {
    try {
      const leave = await deps.admission.enter(flowOf(request), signal)
      try {
        const limitBytes = deps.config().server.bodyLimitMb * 1024 * 1024
        const result = await handle({
          readBody: () => readBody(request.raw, { limitBytes, idleMs: deps.uploadIdleMs, signal }),
          signal,
          meter,
        })
        meter.end(200)
        return result
      } finally {
        leave()
      }
    } catch (error) {
      if (signal.aborted && !(signal.reason instanceof Fault)) meter.end(callerLeft)
      throw error
    }
  })
}

/** Requests of one program share a flow: by the key it was let in with, else by one it presents or what it calls itself. */
function flowOf(request: FastifyRequest): string {
  return request.keyName ?? presentedKeys(request.headers)[0] ?? request.headers['user-agent'] ?? ''
}
