import { encodeEmbeddingsBodies, encodeEmbeddingsReply } from '../translate/embeddings.ts'
import type { EmbeddingsReply, EmbeddingsRequest } from '../translate/embeddings.ts'
import type { PipelineState } from './pipeline-state.ts'
import { routeModel } from './route-model.ts'
import type { MeteredOptions } from './run-turn.ts'

const upstreamPath = '/embeddings'

export interface EmbeddingsCall extends MeteredOptions {
  /** Called after admission. */
  readonly request: () => Promise<EmbeddingsRequest>
  readonly onRouted: (routed: { readonly route: string }) => void
}

/** @throws Fault; the signal's reason on abort */
export async function embed(state: PipelineState, call: EmbeddingsCall): Promise<EmbeddingsReply> {
  const { id, signal, meter } = call
  meter.admitted(await state.admission.enter(call.flow ?? '', signal))
  const request = await call.request()
  meter.asked(request.model)
  const { model } = await routeModel(state, request.model, upstreamPath, { signal, key: call.key })
  const route = `${model.provider}/embeddings`
  meter.routed(model, route)
  call.onRouted({ route })
  const executor = state.executorOf(model.provider)
  const replies: unknown[] = []
  // Sequential, because upstream's abuse limits detect bursts of parallel requests.
  for (const body of encodeEmbeddingsBodies(request, model)) {
    const upstreamCall = { path: upstreamPath, body, initiator: 'user', hasImage: false, requestId: id } as const
    replies.push(await executor.json(upstreamCall, { signal }))
  }
  const answer = encodeEmbeddingsReply(request, model, replies)
  meter.used({ inputTokens: answer.usage.prompt_tokens, outputTokens: 0, cachedInputTokens: 0 })
  return answer
}
