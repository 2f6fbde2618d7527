import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { imageEditsEndpoint, imagesEndpoint } from '../../models/endpoints.ts'
import { decodeImageEdit, decodeImageGeneration } from '../../translate/image-requests.ts'
import type { ImagesRequest } from '../../translate/image-requests.ts'
import { callModel, creditsHeader } from '../serve.ts'
import type { HttpCall, ModelRouteDeps } from '../serve.ts'

/** OpenAI's routes for images, also without `/v1`. */
export function registerImageRoutes(app: FastifyInstance, deps: ModelRouteDeps): void {
  const handle =
    (
      path: typeof imagesEndpoint | typeof imageEditsEndpoint,
      decode: (call: HttpCall, request: FastifyRequest) => Promise<ImagesRequest>,
    ) =>
    (request: FastifyRequest, reply: FastifyReply) =>
      callModel(deps, 'images', request, reply, async (call) => {
        const result = await deps.pipeline.makeImages({
          ...call.options,
          path,
          request: () => decode(call, request),
          onRouted: ({ route }) => void reply.header('x-copilot-proxy-route', route),
        })
        reply.headers(creditsHeader(call.options.meter))
        return { result }
      })
  const generate = handle(imagesEndpoint, async ({ readBody }) => decodeImageGeneration((await readBody()).text))
  const edit = handle(imageEditsEndpoint, async ({ readBytes }, { headers }) =>
    decodeImageEdit(await readBytes(), headers['content-type']),
  )
  for (const prefix of ['/v1', '']) app.post(`${prefix}/images/generations`, generate)
  // Other routes refuse forms, which a page of another origin can send without asking first.
  void app.register(async (forms) => {
    forms.addContentTypeParser('multipart/form-data', (_request, _payload, done) => done(null))
    for (const prefix of ['/v1', '']) forms.post(`${prefix}/images/edits`, edit)
  })
}
