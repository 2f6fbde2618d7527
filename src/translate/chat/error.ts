import type { ProxyError } from '../../errors.ts'
import { encodeData } from '../../sse/encode.ts'
import { toOpenAiError } from '../engine/openai-error.ts'

/**
 * Ends a started stream: an event without `choices`, and neither a finish chunk nor `[DONE]` after it, so that no
 * client treats the answer as complete.
 */
export function encodeChatErrorEvent(error: ProxyError, requestId: string): string {
  return encodeData(JSON.stringify(toOpenAiError(error, requestId)))
}
