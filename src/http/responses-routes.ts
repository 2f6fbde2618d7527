import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../errors.ts'
import { dialects } from '../translate/dialects.ts'
import type { StoredResponse } from './response-store.ts'
import { createServe } from './serve.ts'
import type { ServeDeps } from './serve-deps.ts'

type ById = FastifyRequest<{ Params: { id: string } }>

/** `POST /v1/responses`, also without `/v1`, and what is stored of earlier ones. */
export function registerResponsesRoutes(app: FastifyInstance, deps: ServeDeps): void {
  const config = { dialect: 'responses' } as const
  const handler = createServe(deps)(dialects.responses)
  for (const path of ['/v1/responses', '/responses']) {
    app.post(path, { config }, handler)
    app.get(path, { config, exposeHeadRoute: false }, (request) => refuseGet(request, path))

    app.get(`${path}/:id`, { config }, (request: ById) => stored(request).response)
    app.delete(`${path}/:id`, { config }, (request: ById) => {
      const { id } = request.params
      if (!deps.responses.remove(id)) throw notStored()
      return { id, object: 'response', deleted: true }
    })
    app.get(`${path}/:id/input_items`, { config }, (request: ById) => {
      const data = stored(request).input
      return {
        object: 'list',
        data,
        first_id: data[0]?.['id'] ?? null,
        last_id: data.at(-1)?.['id'] ?? null,
        has_more: false,
      }
    })
  }

  function stored(request: ById): StoredResponse {
    const found = deps.responses.get(request.params.id)
    if (found === undefined) throw notStored()
    return found
  }
}

/** A WebSocket client falls back to HTTP on 426, and on nothing else without complaint. */
function refuseGet(request: FastifyRequest, path: string): never {
  if (request.headers.upgrade?.toLowerCase() === 'websocket') throw new Fault({ kind: 'upgrade_refused' })
  throw new Fault({ kind: 'method_not_allowed', method: 'GET', path, allow: ['POST'] })
}

function notStored(): Fault {
  return new Fault({ kind: 'not_stored' })
}
