import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stringify } from '../../json/json.ts'
import { endInEvent } from '../../pipeline/model-answer.ts'
import { dialects } from '../../translate/dialects.ts'
import { decodeCompletionRequest } from '../../translate/completions.ts'
import type { Fault } from '../../errors.ts'
import { createEventStream, createTicker } from '../event-stream.ts'
import type { EventStream } from '../event-stream.ts'
import { callModel, creditsHeader, flatHeaders, warningHeader } from '../serve.ts'
import type { ModelRouteDeps } from '../serve.ts'

/** OpenAI's legacy route for completions, which editors use for code between a prompt and a suffix. Also without `/v1`. */
export function registerCompletionRoutes(app: FastifyInstance, deps: ModelRouteDeps): void {
  const ticker = createTicker()
  const { heartbeat, errorEvent } = dialects.chat

  const handle = (request: FastifyRequest, reply: FastifyReply) => {
    const onText = (text: string): void => deps.requests.noteBody(request.id, 'answer', text)
    const encode: Parameters<typeof endInEvent>[2]['encode'] = (error) => errorEvent(error, request.id)
    return callModel(deps, 'completions', request, reply, async ({ options, notices, readBody }) => {
      const { signal, meter } = options
      let wantsStream = false
      let stream: EventStream | undefined
      let failure: Fault | undefined
      try {
        const completion = await deps.pipeline.complete({
          ...options,
          errorEvent: encode,
          async request() {
            const decoded = decodeCompletionRequest((await readBody()).text)
            wantsStream = decoded.stream
            return decoded
          },
          onRouted({ route, warnings }) {
            const told = [...notices, ...warnings]
            reply.header('x-copilot-proxy-route', route)
            if (told.length > 0) reply.header('x-copilot-proxy-warnings', warningHeader(told))
            if (!wantsStream) return
            const headers = () => flatHeaders(reply)
            stream = createEventStream(reply.raw, { heartbeat, ticker, headers, onHead: meter.firstByte, onText })
          },
        })
        if (stream === undefined) {
          const text = stringify(await completion.body())
          onText(text)
          reply.headers({ ...completion.headers, ...creditsHeader(meter) })
          return { result: reply.type('application/json; charset=utf-8').send(text), fields: { stream: false } }
        }
        failure = await completion.stream(stream)
      } catch (error) {
        if (stream === undefined) throw error
        failure = endInEvent(stream, error, { signal, encode, redact: deps.redact })
      } finally {
        stream?.stopHeartbeats()
      }
      reply.hijack()
      return { result: undefined, failure, fields: { stream: true } }
    })
  }

  for (const path of ['/v1/completions', '/completions']) app.post(path, { config: { dialect: 'chat' } }, handle)
}
