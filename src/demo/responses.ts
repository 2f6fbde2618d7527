import { answerInference } from './inference.ts'
import type { InferenceCall, InferenceRoute } from './inference.ts'
import { jsonReply } from './outcome.ts'
import type { Outcome } from './outcome.ts'
import { refuseResponses } from './responses/checks.ts'
import { parseResponsesRequest, responsesConversation } from './responses/request.ts'
import type { ResponsesRequest } from './responses/request.ts'
import { encodeResponses, wholeResponse } from './responses/stream.ts'

const RESPONSES: InferenceRoute<ResponsesRequest> = {
  path: '/responses',
  done: '',
  parse: ({ bodyText }) => parseResponsesRequest(bodyText),
  modelId: (request) => request.model,
  isStream: (request) => request.stream === true,
  conversation: responsesConversation,
  refuse: refuseResponses,
  encode: encodeResponses,
  whole: (answer, subject, headers) => jsonReply(200, wholeResponse(answer, subject), headers),
}

/** `POST /responses` (docs/copilot-wire.md, "Responses requests"). */
export function answerResponses(call: InferenceCall): Outcome {
  return answerInference(RESPONSES, call)
}
