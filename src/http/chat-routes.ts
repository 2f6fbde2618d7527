import type { FastifyInstance } from 'fastify'
import { dialects } from '../translate/dialects.ts'
import { createServe } from './serve.ts'
import type { ServeDeps } from './serve-deps.ts'

/** `POST /v1/chat/completions`, also without `/v1` for clients that are given the bare origin. */
export function registerChatRoutes(app: FastifyInstance, deps: ServeDeps): void {
  const handler = createServe(deps)(dialects.chat)
  for (const path of ['/v1/chat/completions', '/chat/completions']) {
    app.post(path, { config: { dialect: 'chat' } }, handler)
  }
}
