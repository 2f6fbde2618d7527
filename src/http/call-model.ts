import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import { Fault } from '../errors.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { callerLeft, createRequestMeter } from '../pipeline/request-meter.ts'
import type { MeterDeps, RequestKind, RequestMeter } from '../pipeline/request-meter.ts'
import type { CallOptions } from '../pipeline/run-turn.ts'
import { presentedKeys } from './api-keys.ts'
import { readBody } from './body.ts'
import type { RequestBody } from './body.ts'
import { callerIdentity } from './caller-identity.ts'
import { statementIn } from './caller-statement.ts'
import type { RateLimit } from './rate-limit.ts'
import { whileCallerStays } from './while-caller-stays.ts'
import type { CallerDeps } from './while-caller-stays.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for model requests, on arrival. */
    meter: RequestMeter | undefined
  }
}

export interface ModelRouteDeps extends CallerDeps, MeterDeps {
  readonly config: () => Config
  readonly pipeline: Pipeline
  readonly rateLimit: RateLimit
  /** The longest time between two pieces of a request body. Ms. */
  readonly uploadIdleMs: number
  /** Removes known credentials from error messages. */
  readonly redact: (text: string) => string
}

/** A model request as arguments of a pipeline call. */
export interface HttpCall {
  readonly options: CallOptions & { readonly meter: RequestMeter }
  /** Reads the body. Nothing here keeps it, because a stream can last for minutes and a body can be megabytes. */
  readonly readBody: () => Promise<RequestBody>
}

/** Wraps a handler that calls a model with the meter, the rate limit and the lifetime of the request. */
export async function callModel<Result>(
  deps: ModelRouteDeps,
  kind: RequestKind,
  request: FastifyRequest,
  reply: FastifyReply,
  handle: (call: HttpCall) => Promise<Result>,
): Promise<Result | undefined> {
  const meter = createRequestMeter(deps, kind, request.keyName)
  // The fault handler counts refusals on it, because it knows their status.
  request.meter = meter
  const { maxRequestsPerMinute, bodyLimitMb } = deps.config().server
  if (maxRequestsPerMinute > 0) deps.rateLimit.count(callerIdentity(request), maxRequestsPerMinute)
  return await whileCallerStays(deps, request, reply, async (signal) => {
    try {
      return await handle({
        options: {
          id: request.id,
          signal,
          keyName: request.keyName,
          flow: flowOf(request),
          statement: statementIn(request.headers),
          meter,
        },
        readBody: () =>
          readBody(request.raw, { limitBytes: bodyLimitMb * 1024 * 1024, idleMs: deps.uploadIdleMs, signal }),
      })
    } catch (error) {
      if (signal.aborted && !(signal.reason instanceof Fault)) meter.end(callerLeft)
      throw error
    }
  })
}

/** The flow for admission: the accepted key's name, else the first key presented, else the user agent. */
function flowOf(request: FastifyRequest): string {
  return request.keyName ?? presentedKeys(request.headers)[0] ?? request.headers['user-agent'] ?? ''
}
