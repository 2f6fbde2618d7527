import { estimateTokenCount } from 'tokenx'
import { isAutoModel } from '../models/auto-model.ts'
import type { CallerRequest } from '../translate/dialect.ts'
import { dialectOfPath, upstreamDialects } from '../translate/dialects.ts'
import { countRequestBody, textsOfMessages } from '../translate/messages/count-tokens.ts'
import { encodeContext, isStatus } from './ask-upstream.ts'
import type { PipelineState } from './pipeline.ts'
import type { RequestMeter } from './request-meter.ts'
import { routeChosen, routeModel } from './route-model.ts'
import type { CallOptions } from './run-turn.ts'

export interface CountCall extends CallOptions {
  readonly meter: RequestMeter
  /** Called after admission. */
  readonly request: () => Promise<CallerRequest>
  readonly onRouted: (routed: { readonly route: string }) => void
}

export interface TokenCount {
  readonly inputTokens: number
  readonly source: 'upstream' | 'estimate'
}

/** The most that an image costs. Source: Anthropic documentation, vision, 2026-11: (width × height) / 750, up to 1.15 MP. */
const tokensPerImage = 1600

/** Roles and separators, in every format. */
const tokensPerText = 4

/** Statuses that mean upstream cannot count for the model. Any other failure is thrown. */
const notCountable = [400, 404, 405, 501]

/**
 * Counts the tokens of a Messages request: upstream's own count for models with native Messages, otherwise an estimate.
 * @throws Fault; the signal's reason on abort
 */
export async function countTokens(state: PipelineState, call: CountCall): Promise<TokenCount> {
  const { id, signal, meter } = call
  const leave = await state.admission.enter(call.flow ?? '', signal)
  try {
    const request = await call.request()
    meter.asked(request.model)
    const { path: upstreamPath } = upstreamDialects.messages
    const routed = await routeModel(state, request.model, upstreamPath, { signal, keyName: call.keyName })
    // A token count does not make upstream choose a model; without a cached choice it is an estimate.
    const chosen = isAutoModel(routed.model) ? state.autoChoices.cached(request)?.model : routed.model
    const { model, path } = chosen === undefined ? routed : routeChosen(state, chosen, upstreamPath)
    const route = `${model.provider}/${dialectOfPath(path)?.id ?? 'chat'}`
    meter.routed(model, route)
    call.onRouted({ route })
    const isNative = path === upstreamPath && chosen !== undefined
    const counted = isNative ? await countUpstream(state, call, request, { model, route }) : undefined
    const source = counted === undefined ? 'estimate' : 'upstream'
    const inputTokens = counted ?? estimate(request)
    const key = call.keyName
    const line = { requestId: id, ...meter.facts(), status: 200, tokenCount: source, ...(key !== undefined && { key }) }
    state.log.info(line, 'request served')
    meter.record(line)
    meter.end(200)
    return { inputTokens, source }
  } finally {
    leave()
  }
}

async function countUpstream(
  state: PipelineState,
  { id, signal }: CountCall,
  request: CallerRequest,
  target: Parameters<typeof encodeContext>[1],
): Promise<number | undefined> {
  const { body, headers } = countRequestBody(request, encodeContext(state, target))
  const upstreamCall = {
    path: `${upstreamDialects.messages.path}/count_tokens`,
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

/**
 * Estimates by rules instead of a tokeniser. The models behind Copilot use several tokenisers, one of them unpublished,
 * and their tables would be larger than the program. Within 6 % of OpenAI's o200k for prose, code and JSON; too low for
 * hashes.
 */
function estimate(request: CallerRequest): number {
  const { texts, images } = textsOfMessages(request)
  const textTokens = texts.reduce((sum, text) => sum + estimateTokenCount(text) + tokensPerText, 0)
  // Upstream never answers 0.
  return Math.max(1, textTokens + images * tokensPerImage)
}
