import type { CallerRequest, ReplySeed, TwoSidedDialect } from '../dialect.ts'
import type { ReplyMemory } from '../reply-memory.ts'
import { responsesNotes } from './decode-turn.ts'
import { responsesDialect } from './dialect.ts'
import { ResponsesBody, responsesBodyOf } from './wire.ts'
import { createResponsesTurnStream } from './write-stream/write-stream.ts'

/**
 * Callers of OpenAI Responses over a WebSocket. Every reply is remembered, also with `store: false`: the next request of the
 * connection continues it.
 */
export const responsesSocketDialect: TwoSidedDialect = {
  ...responsesDialect,
  decodeRequest: (...args) => keepReply(responsesDialect.decodeRequest(...args)),
}

function keepReply(request: CallerRequest): CallerRequest {
  const { bytes, value, members, chain, continues } = responsesBodyOf(request)
  return { ...request, body: new ResponsesBody(bytes, value, members, { ...chain, keep: true }, continues) }
}

/** Whether the caller wants the reply of this request stored beyond its connection. */
export function isStored(request: CallerRequest): boolean {
  return responsesBodyOf(request).value.store !== false
}

const noUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }

/** The events of a reply without output, as SSE text. The reply is remembered, so that the next request can continue it. */
export function answerNothing(
  request: CallerRequest,
  memory: ReplyMemory,
  seed: Omit<ReplySeed, 'model' | 'requestedModel' | 'traits' | 'notes'>,
): string {
  const { model } = request
  const stream = createResponsesTurnStream({
    ...seed,
    model,
    requestedModel: model,
    traits: { id: model, family: model, supports: {} },
    notes: { tools: new Map(), stop: [], caller: responsesNotes(request) },
  })
  const text =
    stream.push({ type: 'start', model }) +
    stream.push({ type: 'usage', usage: noUsage }) +
    stream.push({ type: 'stop', reason: 'end' })
  stream.remember?.(memory)
  return text
}
