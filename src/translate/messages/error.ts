import { statusOf, type ProxyError } from '../../errors.ts'
import { encodeJsonEvent } from '../../sse/encode.ts'
import { isPromptTooLong, wordError } from '../parts/error-wording.ts'

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
  const type = typeOfStatus(messagesErrorStatus(error))
  const message = messageOf(error, requestId)
  const details = error.kind === 'invalid_request' ? error.details : undefined
  return { type: 'error', error: { type, message, ...(details && { details }) }, request_id: requestId }
}

/** Ends a started stream. No `message_stop` follows, so that no client takes the answer for complete. */
export function encodeMessagesErrorEvent(error: ProxyError, requestId: string): string {
  return encodeJsonEvent('error', JSON.stringify(toMessagesError(error, requestId)))
}

/** The HTTP status where Anthropic's API has one of its own. */
export function messagesErrorStatus(error: ProxyError): number {
  // Claude Code shortens the conversation on a 400 and on nothing else.
  if (overflowOf(error) !== undefined) return 400
  // 529 is Anthropic's "overloaded". The proxy's own 503 stays: upstream is not busy.
  if (error.kind === 'upstream_status' && error.status === 503) return 529
  return statusOf(error)
}

function typeOfStatus(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error'
    case 402:
      return 'billing_error'
    case 403:
      return 'permission_error'
    case 404:
      return 'not_found_error'
    case 408:
    case 504:
      return 'timeout_error'
    case 409:
      return 'conflict_error'
    case 413:
      return 'request_too_large'
    case 429:
      return 'rate_limit_error'
    case 529:
      return 'overloaded_error'
    default:
      return status < 500 ? 'invalid_request_error' : 'api_error'
  }
}

/** Refusals whose message is Anthropic's, word for word. */
const VERBATIM: ReadonlySet<string> = new Set(['assistant_prefill'])

function messageOf(error: ProxyError, requestId: string): string {
  const overflow = overflowOf(error)
  if (overflow !== undefined) return tooLong(overflow)
  if (error.kind === 'invalid_request' && VERBATIM.has(error.code ?? '')) return error.detail
  return wordError(error, requestId).message
}

/** Upstream's message about a prompt that is too long; undefined for any other error. */
function overflowOf(error: ProxyError): string | undefined {
  if (error.kind !== 'upstream_status' && error.kind !== 'upstream_failed') return undefined
  return isPromptTooLong(error) ? error.message : undefined
}

const ANTHROPICS_WORDS = /prompt is too long/i
/** How other backends state the two counts (docs/copilot-wire.md, "Errors"; OpenAI's `context_length_exceeded`). */
const COUNTS = [
  /token count of (?<tokens>\d+) exceeds the limit of (?<maximum>\d+)/i,
  /(?:context length is|limit of) (?<maximum>\d+) tokens\D{1,80}(?<tokens>\d+) tokens/i,
]

/** Claude Code recognises a full context by `prompt is too long: 210194 tokens > 200000 maximum`. */
function tooLong(message: string): string {
  if (ANTHROPICS_WORDS.test(message)) return message
  for (const pattern of COUNTS) {
    const counts = pattern.exec(message)?.groups
    if (counts) return `prompt is too long: ${counts['tokens']} tokens > ${counts['maximum']} maximum`
  }
  return `prompt is too long: ${message}`
}
