import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../../errors.ts'
import { dialects } from '../../translate/dialects.ts'
import { decodeEmbeddingsRequest } from '../../translate/embeddings.ts'
import type { ResponseStore } from '../../pipeline/reply-memory.ts'
import { decodeCountRequest } from '../../translate/messages/decode-request.ts'
import { countRequestBody, estimateTokens } from '../../translate/messages/count-tokens.ts'
import { responsesPaths } from '../responses-socket/route.ts'
import { callModel, createServe, creditsHeader } from '../serve.ts'
import { registerCompletionRoutes } from './completion-routes.ts'
import { registerImageRoutes } from './image-routes.ts'
import type { ModelRouteDeps } from '../serve.ts'

/** The routes that call a model. OpenAI's routes also work without `/v1`, for clients with the bare origin as base URL. */
export function registerDialectRoutes(app: FastifyInstance, deps: ModelRouteDeps): void {
  registerChatRoutes(app, deps)
  registerResponsesRoutes(app, deps)
  registerMessagesRoutes(app, deps)
  registerEmbeddingsRoutes(app, deps)
  registerImageRoutes(app, deps)
  registerCompletionRoutes(app, deps)
}

function registerChatRoutes(app: FastifyInstance, deps: ModelRouteDeps): void {
  const handler = createServe(deps)(dialects.chat)
  for (const path of ['/v1/chat/completions', '/chat/completions']) {
    app.post(path, { config: { dialect: 'chat' } }, handler)
  }
}

/** `?beta=true` is ignored: it repeats the `anthropic-beta` header. */
function registerMessagesRoutes(app: FastifyInstance, deps: ModelRouteDeps): void {
  const config = { dialect: 'messages' } as const
  const counter = { path: dialects.messages.upstream.path, encode: countRequestBody, estimate: estimateTokens }
  app.post('/v1/messages', { config }, createServe(deps)(dialects.messages))
  app.post('/v1/messages/count_tokens', { config }, (request, reply) =>
    callModel(deps, 'count_tokens', request, reply, async ({ options, readBody }) => {
      const { inputTokens, source } = await deps.pipeline.countTokens({
        ...options,
        counter,
        async request() {
          const { text, bytes } = await readBody()
          return decodeCountRequest(text, { bytes, headers: request.headers })
        },
        onRouted: ({ route }) => void reply.header('x-copilot-proxy-route', route),
      })
      // Callers that budget by the count can see whether it is an estimate.
      reply.header('x-copilot-proxy-token-count', source)
      return { result: { input_tokens: inputTokens }, fields: { tokenCount: source } }
    }),
  )
}

function registerEmbeddingsRoutes(app: FastifyInstance, deps: ModelRouteDeps): void {
  for (const path of ['/v1/embeddings', '/embeddings']) {
    app.post(path, (request, reply) =>
      callModel(deps, 'embeddings', request, reply, async ({ options, readBody }) => {
        const result = await deps.pipeline.embed({
          ...options,
          request: async () => decodeEmbeddingsRequest((await readBody()).text),
          onRouted: ({ route }) => void reply.header('x-copilot-proxy-route', route),
        })
        reply.headers(creditsHeader(options.meter))
        return { result }
      }),
    )
  }
}

type ById = FastifyRequest<{ Params: { id: string } }>

/** Includes the routes of stored responses. */
function registerResponsesRoutes(app: FastifyInstance, deps: ModelRouteDeps): void {
  const config = { dialect: 'responses' } as const
  const handler = createServe(deps)(dialects.responses)
  for (const path of responsesPaths) {
    app.post(path, { config }, handler)
    app.get(`${path}/:id`, { config }, (request: ById) => required(responsesOf(request).get(request.params.id)))
    app.delete(`${path}/:id`, { config }, (request: ById) => {
      const { id } = request.params
      if (!responsesOf(request).remove(id)) throw notStored()
      return { id, object: 'response', deleted: true }
    })
    app.get(`${path}/:id/input_items`, { config }, (request: ById) => {
      const data = required(responsesOf(request).inputOf(request.params.id))
      return {
        object: 'list',
        data,
        first_id: data[0]?.['id'] ?? null,
        last_id: data.at(-1)?.['id'] ?? null,
        has_more: false,
      }
    })
  }

  function responsesOf({ caller }: ById): ResponseStore {
    return deps.pipeline.responses(caller)
  }
}

function required<Stored>(found: Stored | undefined): Stored {
  if (found === undefined) throw notStored()
  return found
}

function notStored(): Fault {
  return new Fault({ kind: 'not_stored' })
}
