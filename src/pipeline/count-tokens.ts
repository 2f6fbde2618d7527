import { autoTierOf, isAutoModel } from '../models/auto-model.ts'
import type { CallerRequest, EncodeContext, EncodedRequest } from '../translate/dialect.ts'
import { dialectOfPath } from '../translate/dialects.ts'
import { encodeContext, isStatus } from './ask-upstream.ts'
import type { PipelineState } from './pipeline-state.ts'
import { routeChosen, routeModel } from './route-model.ts'
import type { MeteredOptions } from './run-turn.ts'

/** Counts the tokens of requests in one dialect. */
interface TokenCounter {
  /** The path of upstreams of the dialect, which count below it at `/count_tokens`. */
  readonly path: string
  readonly encode: (request: CallerRequest, context: EncodeContext) => Pick<EncodedRequest, 'body' | 'headers'>
  readonly estimate: (request: CallerRequest) => number
}

export interface CountCall extends MeteredOptions {
  /** Called after admission. */
  readonly request: () => Promise<CallerRequest>
  readonly counter: TokenCounter
  readonly onRouted: (routed: { readonly route: string }) => void
}

export interface TokenCount {
  readonly inputTokens: number
  readonly source: 'upstream' | 'estimate'
}

/** Statuses that mean upstream cannot count for the model. Any other failure is thrown. */
const notCountable = [400, 404, 405, 501]

/**
 * Counts the tokens of a request: upstream's own count for models that speak its dialect, otherwise an estimate.
 * @throws Fault; the signal's reason on abort
 */
export async function countTokens(state: PipelineState, call: CountCall): Promise<TokenCount> {
  const { signal, meter, counter } = call
  meter.admitted(await state.admission.enter(call.flow ?? '', signal))
  const request = await call.request()
  meter.asked(request.model)
  const routed = await routeModel(state, request.model, counter.path, { signal, key: call.key })
  // A token count does not make upstream choose a model; without a cached choice it is an estimate.
  const chosen = isAutoModel(routed.model)
    ? state.autoChoices.cached({ ...request, keyId: call.key?.id, tier: autoTierOf(routed.model) })?.model
    : routed.model
  const { model, path } = chosen === undefined ? routed : routeChosen(state, chosen, counter.path)
  const route = `${model.provider}/${dialectOfPath(path)?.id ?? 'chat'}`
  meter.routed(model, route)
  call.onRouted({ route })
  const isNative = path === counter.path && chosen !== undefined
  const counted = isNative ? await countUpstream(state, call, request, { model, route }) : undefined
  const source = counted === undefined ? 'estimate' : 'upstream'
  return { inputTokens: counted ?? counter.estimate(request), source }
}

async function countUpstream(
  state: PipelineState,
  { id, signal, counter }: CountCall,
  request: CallerRequest,
  target: Parameters<typeof encodeContext>[1],
): Promise<number | undefined> {
  const { body, headers } = counter.encode(request, encodeContext(state, target))
  const upstreamCall = {
    path: `${counter.path}/count_tokens`,
    body,
    headers,
    // A count must not be billed as a premium request of the user.
    initiator: 'agent',
    hasImage: request.hasImage,
    requestId: id,
  } as const
  try {
    const answer = await state.executorOf(target.model.provider).json(upstreamCall, { signal })
    const count = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'input_tokens') : undefined
    return typeof count === 'number' ? count : undefined
  } catch (error) {
    if (isStatus(error, notCountable)) return undefined
    throw error
  }
}
