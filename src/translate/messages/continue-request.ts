import type { EncodedRequest } from '../dialect.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { isFilled } from '../parts/wire-json.ts'
import { contentBlocks, isBlank } from './reminder.ts'
import { parseSent } from './sent-body.ts'
import type { MessagesBlock, MessagesMessage } from './wire-request.ts'

/**
 * The request that has upstream go on with an answer it paused: the one it answered, with what it has said so far as the
 * last words of the assistant, blocks as they came. Source: Anthropic API reference, "Handling stop reasons", `pause_turn`,
 * 2026-11. Undefined where it has said nothing that could go back to it.
 * @param said blocks of the answer so far
 */
export function continueRequest(sent: EncodedRequest, said: readonly JsonObject[]): EncodedRequest | undefined {
  const body = parseSent(sent)
  const blocks = said.filter(isReplayable)
  if (body === undefined || blocks.length === 0) return undefined
  const text = JSON.stringify({ ...body, messages: withLastWords(body.messages, blocks) })
  return { ...sent, body: Buffer.from(text) }
}

/** What an answer may hold and a request may not: text of no words, and thoughts that nobody signed. */
function isReplayable(block: JsonObject): block is MessagesBlock {
  const { type, text, signature } = block
  if (type === 'text') return typeof text === 'string' && !isBlank(text)
  return isFilled(type) && (type !== 'thinking' || isFilled(signature))
}

/** An answer that is paused again, or that went on from words it was given, stays one message. */
function withLastWords(
  messages: readonly MessagesMessage[],
  blocks: readonly MessagesBlock[],
): readonly MessagesMessage[] {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return [...messages, { role: 'assistant', content: blocks }]
  return [...messages.slice(0, -1), { ...last, content: [...contentBlocks(last.content), ...blocks] }]
}
