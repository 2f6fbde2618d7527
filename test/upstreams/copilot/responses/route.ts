import { lacksReplay } from '../../answer/conversation.ts'
import { openaiFailure } from '../failures.ts'
import { answerInference } from '../../inference.ts'
import type { Checks, InferenceCall, InferenceRoute } from '../../inference.ts'
import type { Outcome } from '../../http/outcome.ts'
import { responsesConversation, responsesRequest } from './request.ts'
import type { ResponsesRequest } from './request.ts'
import { encodeOddResponses } from './stream.ts'

/**
 * The refusal of `/responses` for a request without the reasoning that `[demo:replay]` requires; undefined for any
 * other request.
 */
export function missingReplay(
  { include = [] }: ResponsesRequest,
  conversation: Parameters<typeof lacksReplay>[0],
): string | undefined {
  return include.includes('reasoning.encrypted_content') && lacksReplay(conversation)
    ? "An item of an earlier answer was provided without its required 'reasoning' item."
    : undefined
}

const RESPONSES: InferenceRoute<ResponsesRequest> = {
  path: '/responses',
  done: '',
  schema: responsesRequest,
  conversation: responsesConversation,
  // Real upstreams require the reasoning only if calls are replayed. The marker always requires it.
  refuse: ({ request, conversation }) => {
    const message = missingReplay(request, conversation)
    return message === undefined ? undefined : openaiFailure({ message, code: 'invalid_request_body', param: 'input' })
  },
  encode: encodeOddResponses,
}

/** `POST /responses` (docs/copilot-wire.md, "Responses requests"). */
export function answerResponses(call: InferenceCall, checks: Checks<ResponsesRequest>): Outcome {
  return answerInference(RESPONSES, call, checks)
}
