import { modelNotSupported, wrongEndpoint } from './failures.ts'
import { answerInference } from './inference.ts'
import type { InferenceCall, InferenceRoute } from './inference.ts'
import { refuseMessages } from './messages/checks.ts'
import { countTokens } from './messages/count-tokens.ts'
import { messagesConversation, parseMessagesRequest } from './messages/request.ts'
import type { MessagesRequest } from './messages/request.ts'
import { encodeMessages, wholeMessage } from './messages/stream.ts'
import { findModel } from './models.ts'
import { jsonReply } from './outcome.ts'
import type { Outcome } from './outcome.ts'
import { quotaHeaders } from './usage.ts'

const MESSAGES: InferenceRoute<MessagesRequest> = {
  path: '/v1/messages',
  done: 'data: [DONE]\n\n',
  parse: ({ bodyText }) => parseMessagesRequest(bodyText),
  modelId: (request) => request.model,
  isStream: (request) => request.stream === true,
  conversation: messagesConversation,
  refuse: refuseMessages,
  encode: encodeMessages,
  whole: (answer, subject, headers) => jsonReply(200, wholeMessage(answer, subject), headers),
}

/** `POST /v1/messages` (docs/copilot-wire.md, "Messages requests"). */
export function answerMessages(call: InferenceCall): Outcome {
  return answerInference(MESSAGES, call)
}

/** `POST /v1/messages/count_tokens`: takes bodies that are refused when they are to be answered. */
export function answerCountTokens({ bodyText, nowMs }: InferenceCall): Outcome {
  const parsed = parseMessagesRequest(bodyText)
  if (!parsed.ok) return parsed.refusal
  const model = findModel(parsed.value.model)
  if (model === undefined || !model.isEnabled || model.type !== 'chat') return modelNotSupported()
  if (!model.endpoints.includes(MESSAGES.path)) return wrongEndpoint(model, '/v1/messages/count_tokens')
  return jsonReply(200, { input_tokens: countTokens(parsed.value) }, quotaHeaders(nowMs))
}
