import { statusOf, type ProxyError } from '../../errors.ts'
import { encodeJsonEvent } from '../../sse/encode.ts'
import { outputOverflowOf, promptCountsOf } from '../../upstream-errors/full-context.ts'
import { overflowOf, wordError } from '../engine/error-wording.ts'

/** Anthropic's error envelope. Source: Anthropic API reference, errors, 2026-11. */
export interface MessagesErrorBody {
  readonly type: 'error'
  readonly error: {
    readonly type: string
    readonly message: string
    readonly details?: Readonly<Record<string, unknown>>
  }
  readonly request_id: string
}

/** The body of an error reply, and of the error event inside a stream. */
export function toMessagesError(error: ProxyError, requestId: string): MessagesErrorBody {
  const status = messagesErrorStatus(error)
  const type = typesOfStatus.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const message = messageOf(error, requestId)
  const details = error.kind === 'invalid_request' ? error.details : undefined
  return { type: 'error', error: { type, message, ...(details && { details }) }, request_id: requestId }
}

/** Ends a started stream. No `message_stop` follows, so that no client treats the answer as complete. */
export function encodeMessagesErrorEvent(error: ProxyError, requestId: string): string {
  return encodeJsonEvent('error', JSON.stringify(toMessagesError(error, requestId)))
}

/** As `statusOf`, with the statuses that Anthropic's API and Claude Code expect for a full context and an overload. */
export function messagesErrorStatus(error: ProxyError): number {
  // Claude Code shortens the conversation on a 400 and on nothing else.
  if (overflowOf(error) !== undefined) return 400
  // 529 is Anthropic's "overloaded". The proxy's own 503 stays, because upstream is not overloaded.
  if (error.kind === 'upstream_status' && error.status === 503) return 529
  return statusOf(error)
}

const typesOfStatus: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

function messageOf(error: ProxyError, requestId: string): string {
  const overflow = overflowOf(error)
  if (overflow !== undefined) return tooLong(overflow)
  // Anthropic's exact wording.
  if (error.kind === 'invalid_request' && error.code === 'assistant_prefill') return error.detail
  return wordError(error, requestId).message
}

const ANTHROPICS_WORDS = /prompt is too long/i

/** Claude Code recognises a full context by `prompt is too long: 210194 tokens > 200000 maximum`. */
function tooLong(message: string): string {
  // Claude Code reads the numbers of the sentence about prompt and output together.
  if (ANTHROPICS_WORDS.test(message) || outputOverflowOf(message) !== undefined) return message
  const counts = promptCountsOf(message)
  return counts === undefined
    ? `prompt is too long: ${message}`
    : `prompt is too long: ${counts.tokens} tokens > ${counts.maximum} maximum`
}
