import type { FastifyInstance } from 'fastify'
import { dialects } from '../translate/dialects.ts'
import { countTokens } from './count-tokens.ts'
import { admit } from './admit.ts'
import { createServe } from './serve.ts'
import type { ServeDeps } from './serve-deps.ts'

/** `POST /v1/messages` and its token count. `?beta=true` says nothing that the `anthropic-beta` header does not. */
export function registerMessagesRoutes(app: FastifyInstance, deps: ServeDeps): void {
  const config = { dialect: 'messages' } as const
  app.post('/v1/messages', { config }, createServe(deps)(dialects.messages))
  app.post('/v1/messages/count_tokens', { config }, (request, reply) =>
    admit(deps, 'count_tokens', request, reply, (admitted) => countTokens(deps, admitted, request, reply)),
  )
}
