import { statusOf } from '../../errors.ts'
import type { ProxyError } from '../../errors.ts'
import { encodeData } from '../../sse/encode.ts'
import { isPromptTooLong } from '../../upstream-errors/full-context.ts'
import { wordError } from '../engine/error-wording.ts'

/** OpenAI's error envelope. Source: OpenAI API reference, error object, 2026-08. */
export interface ChatErrorBody {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string | null
  }
}

/**
 * As `statusOf`, except that a prompt too long for the model is a 400 whatever upstream's status, and Anthropic's 529
 * for an overload is OpenAI's 503.
 */
export function chatErrorStatus(error: ProxyError): number {
  const isUpstreams = error.kind === 'upstream_status' || error.kind === 'upstream_failed'
  if (isUpstreams && isPromptTooLong(error)) return 400
  const status = statusOf(error)
  return status === 529 ? 503 : status
}

/** The body of an error reply, and of the error event inside a stream. */
export function toChatError(error: ProxyError, requestId: string): ChatErrorBody {
  const { message, type, param, code } = wordError(error, requestId)
  return { error: { message, type, param: param || null, code: code || null } }
}

/**
 * Ends a started stream: an event without `choices`, and neither a finish chunk nor `[DONE]` after it, so that no
 * client treats the answer as complete.
 */
export function encodeChatErrorEvent(error: ProxyError, requestId: string): string {
  return encodeData(JSON.stringify(toChatError(error, requestId)))
}
