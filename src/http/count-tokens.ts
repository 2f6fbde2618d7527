import type { FastifyReply, FastifyRequest } from 'fastify'
import { estimateTokenCount } from 'tokenx'
import { Fault } from '../errors.ts'
import { isAutoModel } from '../models/auto-model.ts'
import { dialectOfPath, dialects } from '../translate/dialects.ts'
import type { CallerRequest } from '../translate/dialect.ts'
import { countRequestBody } from '../translate/messages/count-request.ts'
import { decodeCountRequest } from '../translate/messages/decode-request.ts'
import { textsOfMessages } from '../translate/messages/estimate-tokens.ts'
import type { Admitted } from './admit.ts'
import { encodeContext } from './open-upstream.ts'
import { routeChosen, routeModel } from './route-model.ts'
import type { ServeDeps } from './serve-deps.ts'

/** How the count was made; a caller that budgets by it should know. */
const SOURCE_HEADER = 'x-copilot-proxy-token-count'

/** What an image costs at most. Source: Anthropic documentation, vision, 2026-11: (width × height) / 750, up to 1.15 MP. */
const tokensPerImage = 1600

/** Roles and separators, in every format. */
const tokensPerText = 4

/** Statuses of an upstream that has no count for the model; any other failure is the answer. */
const uncounted: ReadonlySet<number> = new Set([400, 404, 405, 501])

/** `POST /v1/messages/count_tokens`: upstream's own count for models with native Messages, else an estimate. */
export async function countTokens(
  deps: ServeDeps,
  { readBody, signal, meter }: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { text, bytes } = await readBody()
  const call = decodeCountRequest(text, bytes, request.headers)
  const { upstreamPath } = dialects.messages
  const routed = await routeModel(deps, call.model, upstreamPath, signal)
  // A count is no reason to have a model chosen.
  const chosen = isAutoModel(routed.model) ? deps.autoChoices.kept(call)?.model : routed.model
  const { model, path } = chosen === undefined ? routed : routeChosen(deps, chosen, upstreamPath)
  const route = `${model.provider}/${dialectOfPath(path)?.id ?? 'chat'}`
  meter.routed(model, route)
  reply.header('x-copilot-proxy-route', route)
  const counted = path === upstreamPath && chosen !== undefined ? await countUpstream() : undefined
  const source = counted === undefined ? 'estimate' : 'upstream'
  const inputTokens = counted ?? estimate(call)
  reply.header(SOURCE_HEADER, source)
  deps.log.info(
    {
      requestId: request.id,
      ...meter.facts(),
      status: 200,
      tokenCount: source,
      ...(request.keyName !== undefined && { key: request.keyName }),
    },
    'request served',
  )
  return { input_tokens: inputTokens }

  async function countUpstream(): Promise<number | undefined> {
    const { body, headers } = countRequestBody(call, encodeContext(deps, model, route))
    try {
      const answer = await deps.executorOf(model.provider).json(
        {
          path: `${upstreamPath}/count_tokens`,
          body,
          headers,
          // Counting is never a premium request of the user's.
          initiator: 'agent',
          hasImage: call.hasImage,
          requestId: request.id,
        },
        { signal },
      )
      const count = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'input_tokens') : undefined
      return typeof count === 'number' ? count : undefined
    } catch (error) {
      const status = error instanceof Fault && error.error.kind === 'upstream_status' ? error.error.status : undefined
      if (status !== undefined && uncounted.has(status)) return undefined
      throw error
    }
  }
}

/**
 * By rules, not by a tokeniser: the models behind Copilot use several, one of them secret, and their tables would cost
 * more than the program. Seen to be within 6 % of OpenAI's o200k for prose, code and JSON; hashes count too low.
 */
function estimate(call: CallerRequest): number {
  const { texts, images } = textsOfMessages(call)
  const textTokens = texts.reduce((sum, text) => sum + estimateTokenCount(text) + tokensPerText, 0)
  // Upstream never answers 0.
  return Math.max(1, textTokens + images * tokensPerImage)
}
