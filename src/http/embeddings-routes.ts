import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { decodeEmbeddingsRequest, encodeEmbeddingsBodies, encodeEmbeddingsReply } from '../translate/embeddings.ts'
import { admit } from './admit.ts'
import type { Admitted } from './admit.ts'
import { routeModel } from './route-model.ts'
import type { ServeDeps } from './serve-deps.ts'

const upstreamPath = '/embeddings'

/** `POST /v1/embeddings`, also without `/v1`. */
export function registerEmbeddingsRoutes(app: FastifyInstance, deps: ServeDeps): void {
  for (const path of ['/v1/embeddings', '/embeddings']) {
    app.post(path, (request, reply) =>
      admit(deps, 'embeddings', request, reply, (admitted) => embed(deps, admitted, request, reply)),
    )
  }
}

async function embed(
  deps: ServeDeps,
  { readBody, signal, meter }: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { text } = await readBody()
  const call = decodeEmbeddingsRequest(text)
  const { model } = await routeModel(deps, call.model, upstreamPath, signal)
  const route = `${model.provider}/embeddings`
  meter.routed(model, route)
  reply.header('x-copilot-proxy-route', route)
  const executor = deps.executorOf(model.provider)
  const replies: unknown[] = []
  // One after the other: bursts of parallel requests are what upstream's abuse limits look for.
  for (const upstreamBody of encodeEmbeddingsBodies(call, model)) {
    const upstreamCall = {
      path: upstreamPath,
      body: upstreamBody,
      initiator: 'user',
      hasImage: false,
      requestId: request.id,
    } as const
    replies.push(await executor.json(upstreamCall, { signal }))
  }
  const answer = encodeEmbeddingsReply(call, model, replies)
  meter.used({ inputTokens: answer.usage.prompt_tokens, outputTokens: 0, cachedInputTokens: 0 })
  reply.headers(meter.creditsHeader())
  const { keyName: key } = request
  deps.log.info({ requestId: request.id, ...meter.facts(), status: 200, key }, 'request served')
  return answer
}
