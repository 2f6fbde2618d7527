import type { EncodedRequest, ReplySeed } from '../dialect.ts'
import type { UpstreamRequest } from '../upstream-request.ts'
import type { JsonObject } from '../../json/json.ts'
import { isFilled, isObject, parseObject } from '../../json/json.ts'
import { contentBlocks, isBlank } from './content.ts'
import type { MessagesBlock, MessagesMessage, MessagesRequest } from './wire.ts'

/** Source: Anthropic API reference, versions, 2026-11. */
const ANTHROPIC_VERSION = '2023-06-01'

const BETA_HEADER = 'anthropic-beta'

/** Upstream refuses an empty list of betas. */
export function encodeHeaders(betas: readonly string[]): Readonly<Record<string, string>> {
  return { 'anthropic-version': ANTHROPIC_VERSION, ...(betas.length > 0 && { [BETA_HEADER]: betas.join(',') }) }
}

export function sentBetas(headers: Readonly<Record<string, string>> | undefined): readonly string[] {
  return headers?.[BETA_HEADER]?.split(',') ?? []
}

/** The members were checked when the request was decoded or encoded. */
export function isSentBody(value: unknown): value is MessagesRequest {
  return isObject(value) && Array.isArray(value['messages'])
}

/** Marks a request whose answer the proxy continues if upstream pauses it: its reply keeps the request. */
export function withContinuation(request: UpstreamRequest): EncodedRequest {
  return { ...request, replyNotes: { dialect: 'messages', request } }
}

/** Undefined if the caller continues a paused answer itself. */
export function requestToContinue({ notes: { upstream } }: ReplySeed): UpstreamRequest | undefined {
  return upstream?.dialect === 'messages' ? upstream.request : undefined
}

/**
 * Returns the request that continues a paused answer: the same request, with the answer's blocks so far as its last
 * assistant message. Undefined if no block can be sent back. Source: Anthropic API reference, "Handling stop reasons",
 * `pause_turn`, 2026-11.
 */
export function continueRequest(sent: UpstreamRequest, said: readonly JsonObject[]): EncodedRequest | undefined {
  const body = parseObject(sent.body.toString('utf8'))
  const blocks = said.filter(isReplayable)
  if (!isSentBody(body) || blocks.length === 0) return undefined
  const text = JSON.stringify({ ...body, messages: withLastWords(body.messages, blocks) })
  return withContinuation({ ...sent, body: Buffer.from(text) })
}

/** An answer may contain blank text and unsigned thinking, but a request may not. */
function isReplayable(block: JsonObject): block is MessagesBlock {
  const { type, text, signature } = block
  if (type === 'text') return typeof text === 'string' && !isBlank(text)
  return isFilled(type) && (type !== 'thinking' || isFilled(signature))
}

/** An answer that is paused again, or that continues a prefill, stays one message. */
function withLastWords(
  messages: readonly MessagesMessage[],
  blocks: readonly MessagesBlock[],
): readonly MessagesMessage[] {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return [...messages, { role: 'assistant', content: blocks }]
  return [...messages.slice(0, -1), { ...last, content: [...contentBlocks(last.content), ...blocks] }]
}
