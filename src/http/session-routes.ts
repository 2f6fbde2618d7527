import type { FastifyInstance, FastifyReply } from 'fastify'
import { snakeKeys } from '../json/key-case.ts'

/** A workspace as `GET /sessions` lists it. */
interface SessionEntry {
  readonly id: string
  readonly name: string
  readonly path: string
  readonly tools: readonly string[]
}

export interface SessionRouteDeps {
  /** Undefined without a workspace in the configuration. */
  readonly sessions?: (() => Promise<readonly SessionEntry[] | undefined>) | undefined
}

/**
 * `GET /sessions`: the open workspaces. The route exists always, because routes cannot be added to a running server; without
 * a workspace it answers 404.
 */
export function registerSessionRoutes(app: FastifyInstance, { sessions }: SessionRouteDeps): void {
  app.get('/sessions', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    const found = await sessions?.()
    return found === undefined ? answerNoWorkspace(reply) : snakeKeys({ sessions: found })
  })
}

export function answerNoWorkspace(reply: FastifyReply): FastifyReply {
  const message =
    'No workspace is configured. Add one to workspaces in the configuration, or run: copilot-proxy serve --workspace DIR'
  return reply.code(404).send({ error: { message, type: 'invalid_request_error', code: 'no_workspace', param: null } })
}
