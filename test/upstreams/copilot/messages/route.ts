import { lacksReplay } from '../../answer/conversation.ts'
import { anthropicFailure } from '../failures.ts'
import { answerInference, parseRequest, servingModel } from '../../inference.ts'
import type { Checks, InferenceCall, InferenceRoute } from '../../inference.ts'
import { jsonReply } from '../../http/outcome.ts'
import type { Outcome } from '../../http/outcome.ts'
import { quotaHeaders } from '../usage.ts'
import { countTokens, messagesConversation, messagesRequest } from './request.ts'
import type { MessagesRequest } from './request.ts'
import { encodeWithPause } from './pause.ts'

const MESSAGES: InferenceRoute<MessagesRequest> = {
  path: '/v1/messages',
  done: 'data: [DONE]\n\n',
  schema: messagesRequest,
  conversation: messagesConversation,
  refuse: ({ conversation }) =>
    conversation.thinks !== 'never' && lacksReplay(conversation)
      ? anthropicFailure(400, 'invalid_request_error', 'messages: a thinking block of an earlier answer is missing')
      : undefined,
  encode: encodeWithPause,
}

/** `POST /v1/messages` (docs/copilot-wire.md, "Messages requests"). */
export function answerMessages(call: InferenceCall, checks: Checks<MessagesRequest>): Outcome {
  return answerInference(MESSAGES, call, checks)
}

/** `POST /v1/messages/count_tokens`. It accepts bodies that `/v1/messages` refuses. */
export function answerCountTokens(
  { bodyText, nowMs, models }: Pick<InferenceCall, 'bodyText' | 'nowMs' | 'models'>,
  checks: Pick<Checks<MessagesRequest>, 'wrongShape'>,
): Outcome {
  const parsed = parseRequest(messagesRequest, bodyText, checks)
  if (!parsed.ok) return parsed.refusal
  const { path } = MESSAGES
  const served = servingModel(models, parsed.value.model, { path, shownPath: `${path}/count_tokens` })
  if (!served.ok) return served.refusal
  return jsonReply(200, { input_tokens: countTokens(parsed.value) }, quotaHeaders(nowMs))
}
