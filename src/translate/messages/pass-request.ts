import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { changedMembers, spliceMembers } from '../../json/json-members.ts'
import { applyRules } from '../engine/apply-rules.ts'
import { rules } from './rules/rules.ts'
import { targetOf } from './rules/target.ts'
import { encodeHeaders, isSentBody, withContinuation } from './sent-request.ts'
import { parseObjectBytes } from '../engine/request/json-body.ts'
import { messagesBodyOf } from './wire.ts'
import type { MessagesBody } from './wire.ts'

/**
 * Returns the body for Copilot's native Messages: the caller's text with only the necessary changes. A long
 * conversation without cache marks gets some. The body always asks for a stream, because replies are made from events.
 * @throws Fault `invalid_request`
 */
export function passMessagesRequest(request: CallerRequest, context: EncodeContext): EncodedRequest {
  const source = messagesBodyOf(request)
  const target = { ...targetOf(context.model, context.learnedRefusals), marksCache: isWorthCaching(source) }
  const draft = { body: source.value, headers: encodeHeaders(source.betas) }
  const { body, headers, warnings, effects } = applyRules(draft, rules, target)
  const passed = { body: spliceMembers(source, changedMembers(source.value, body)), headers, warnings, effects }
  // A caller that gets its reply as events cannot continue it itself, because it does not get all blocks.
  return effects === undefined ? passed : withContinuation(passed)
}

/** A continuation, which is written for upstream, adapts to a refusal by the same rules as a caller's request. */
export function encodableAgain(request: EncodedRequest): EncodedRequest {
  return {
    ...request,
    encodeAgain({ model, learnedRefusals }) {
      const source = parseObjectBytes(request.body)
      if (source === undefined || !isSentBody(source.value)) return request
      const draft = { body: source.value, headers: request.headers ?? {} }
      const { body, headers, warnings } = applyRules(draft, rules, targetOf(model, learnedRefusals))
      return { ...request, body: spliceMembers(source, changedMembers(draft.body, body)), headers, warnings }
    },
  }
}

/** Bytes. Claude caches no prompt of fewer than 1024 tokens. Source: Anthropic documentation, prompt caching, 2026-11. */
const LEAST_CACHED = 4096

/**
 * Whether later requests will probably repeat the prompt: it has tools or an assistant message. Writing to the cache
 * costs more than other input, so a mark does not pay for a single question.
 */
function isWorthCaching({ bytes, value }: MessagesBody): boolean {
  if (bytes.length < LEAST_CACHED || value['cache_control']) return false
  return Boolean(value.tools?.length) || value.messages.some(({ role }) => role === 'assistant')
}
