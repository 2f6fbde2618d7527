import type { FastifyReply, FastifyRequest } from 'fastify'
import { settleTurn } from '../pipeline/model-answer.ts'
import type { CallerDialect } from '../translate/caller-dialect.ts'
import { stringify } from '../translate/parts/json.ts'
import { formatWarning } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import { callModel } from './call-model.ts'
import type { HttpCall, ModelRouteDeps } from './call-model.ts'
import { createEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { endsInEvent, flatHeaders, foldReply, streamReply, toFault } from './reply.ts'

/** The handler of a dialect's route: runs a model turn for the request and replies with the answer. */
export function createServe(deps: ModelRouteDeps) {
  return (dialect: CallerDialect) =>
    (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
      callModel(deps, dialect.id, request, reply, (call) => serve(deps, dialect, call, request, reply))
}

async function serve(
  deps: ModelRouteDeps,
  dialect: CallerDialect,
  { options, readBody }: HttpCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { signal, meter } = options
  const { bodies } = deps.config().log
  const onText = bodies ? (text: string) => deps.log.info({ requestId: request.id, text }, 'answer') : undefined
  let stream: EventStream | undefined
  let wantsStream = false

  const startStream = (): void => {
    const { heartbeat } = dialect
    const headers = () => flatHeaders(reply)
    stream = createEventStream(reply.raw, { heartbeat, headers, onHead: meter.firstByte, onText })
  }

  try {
    const answer = await deps.pipeline.runTurn({
      ...options,
      async request() {
        const { text, bytes } = await readBody()
        if (bodies) deps.log.info({ requestId: request.id, text }, 'request')
        const decoded = dialect.decodeRequest(text, bytes, request.headers)
        wantsStream = decoded.stream
        return { dialect, request: decoded }
      },
      onRouted({ route, warnings }) {
        // Set before upstream answers, so that a refusal carries them too.
        reply.headers({ 'x-copilot-proxy-route': route, ...warningHeader(warnings) })
        if (wantsStream && stream === undefined) startStream()
      },
    })
    if (stream !== undefined) {
      const failure = await streamReply(stream, answer, dialect, signal)
      reply.hijack()
      answer.settle({ stream: true }, failure)
      return undefined
    }
    const text = stringify(await foldReply(answer))
    onText?.(text)
    answer.settle({ stream: false })
    reply.headers({ ...answer.upstream.headers, ...meter.creditsHeader() })
    return reply.type('application/json; charset=utf-8').send(text)
  } catch (error) {
    if (stream === undefined || !endsInEvent(stream, signal)) throw error
    // A heartbeat opened the caller's stream before upstream refused.
    const failure = toFault(error)
    reply.hijack()
    stream.end(deps.redact(dialect.errorEvent(failure.error, request.id)))
    settleTurn(deps, { requestId: request.id, keyName: request.keyName, meter }, { stream: true }, failure)
    return undefined
  } finally {
    stream?.stopHeartbeats()
  }
}

/** Characters. */
const maxWarningHeader = 2000

/** Replaces characters outside ASCII, which header values cannot carry. The log has the original warnings. */
function warningHeader(warnings: readonly Warning[]): Record<string, string> {
  if (warnings.length === 0) return {}
  const value = warnings
    .map(formatWarning)
    .join(', ')
    .replaceAll(/[^\x20-\x7e]/g, '?')
  return { 'x-copilot-proxy-warnings': value.slice(0, maxWarningHeader) }
}
