import type { FastifyInstance } from 'fastify'

/** `GET /openapi.json`. The description is made at the first request: its schemas would cost time at each start. */
export function registerOpenApi(app: FastifyInstance, { version }: { readonly version: string }): void {
  let text: Promise<string> | undefined

  async function describe(): Promise<string> {
    const { describeRoutes } = await import('../../api/openapi.ts')
    return JSON.stringify(describeRoutes(version))
  }

  app.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(await (text ??= describe())),
  )
}
