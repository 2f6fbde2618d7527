import { Fault } from '../errors.ts'
import { imageEditsEndpoint } from '../models/endpoints.ts'
import type { imagesEndpoint } from '../models/endpoints.ts'
import { readImagesReply } from '../translate/image-requests.ts'
import type { ImagesRequest } from '../translate/image-requests.ts'
import type { PipelineState } from './pipeline-state.ts'
import { keyRefusal, routeModel } from './route-model.ts'
import type { MeteredOptions } from './run-turn.ts'

export interface ImagesCall extends MeteredOptions {
  readonly path: typeof imagesEndpoint | typeof imageEditsEndpoint
  /** Called after admission. */
  readonly request: () => Promise<ImagesRequest>
  readonly onRouted: (routed: { readonly route: string }) => void
}

/** Makes or edits images; returns upstream's answer. @throws Fault; the signal's reason on abort */
export async function makeImages(state: PipelineState, call: ImagesCall): Promise<object> {
  const { id, signal, meter, path } = call
  meter.admitted(await state.admission.enter(call.flow ?? '', signal))
  const request = await call.request()
  const name = request.model ?? (await defaultModel(state, call))
  meter.asked(name)
  const { model } = await routeModel(state, name, path, { signal, key: call.key })
  const route = `${model.provider}/images`
  meter.routed(model, route)
  call.onRouted({ route })
  const initiator = call.initiator ?? 'agent'
  const encoded = await request.encode(model.id)
  const upstreamCall = { path, ...encoded, initiator, hasImage: path === imageEditsEndpoint, requestId: id }
  const reply = await state.executorOf(model.provider).json(upstreamCall, { signal })
  meter.accepted(initiator)
  const { body, usage } = readImagesReply(reply)
  meter.used(usage)
  return body
}

/** OpenAI's API has a default model; here it is the first that the account lists and the key may use. */
async function defaultModel(state: PipelineState, { path, key, signal }: ImagesCall): Promise<string> {
  const problem = await state.completeModels('', { retry: true, signal })
  const found = state.registry
    .listWith(path)
    .find((entry) => keyRefusal(state.config(), key?.name, entry.id, entry) === undefined)
  if (found !== undefined) return found.id
  if (problem !== undefined) throw new Fault(problem)
  const detail = `no model of the account ${path === imageEditsEndpoint ? 'edits' : 'makes'} images`
  throw new Fault({ kind: 'invalid_request', path: 'model', detail, code: 'unsupported_api_for_model' })
}
