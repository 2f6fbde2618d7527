import { statusOf, type FileConflict, type ProxyError } from '../../errors.ts'
import { overflowOf, wordError } from './error-wording.ts'

/** The error envelope of OpenAI's APIs. Source: OpenAI API reference, error object, 2026-08. */
export interface OpenAiErrorBody {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string | null
    /** Of an undo that does not fit. */
    readonly conflicts?: readonly FileConflict[]
  }
}

/** The body of an error reply. */
export function toOpenAiError(error: ProxyError, requestId: string): OpenAiErrorBody {
  const { message, type, param, code } = wordError(error, requestId)
  const conflicts = 'conflicts' in error ? { conflicts: error.conflicts } : {}
  return { error: { message, type, param: param || null, code: code || null, ...conflicts } }
}

/**
 * HTTP status of an error reply. A prompt that is too long is a 400 whatever upstream's status, because clients look
 * for the code `context_length_exceeded` there. Anthropic's status for an overload is 529, OpenAI's is 503.
 */
export function openAiErrorStatus(error: ProxyError): number {
  if (overflowOf(error) !== undefined) return 400
  const status = statusOf(error)
  return status === 529 ? 503 : status
}
