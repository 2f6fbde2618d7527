import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../errors.ts'
import type { ModelRegistry } from '../models/registry.ts'
import { renderModel, renderModelList } from '../models/render.ts'

/** `GET /v1/models` and `/v1/models/{id}`, also without `/v1`. */
export function registerModelRoutes(app: FastifyInstance, registry: ModelRegistry): void {
  for (const path of ['/v1/models', '/models']) {
    app.get(path, () => renderModelList(registry.list()))

    // Not `:id`: ids such as `copilot/gpt-5-mini` hold a slash.
    app.get(`${path}/*`, (request: FastifyRequest<{ Params: { '*': string } }>) => {
      const found = registry.resolve(request.params['*'])
      if (!found.ok) throw new Fault(found.error)
      return renderModel(found.value)
    })
  }
}
