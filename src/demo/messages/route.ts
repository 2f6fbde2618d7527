import { lacksReplay } from '../conversation.ts'
import { anthropicFailure, failure, invalidBody } from '../failures.ts'
import { answerInference, parseRequest, servingModel } from '../inference.ts'
import type { Checks, InferenceCall, InferenceRoute, InferenceSubject } from '../inference.ts'
import { jsonReply } from '../outcome.ts'
import type { Outcome } from '../outcome.ts'
import { quotaHeaders } from '../usage.ts'
import { countTokens, messagesConversation, messagesRequest } from './request.ts'
import type { MessagesRequest } from './request.ts'
import { encodeMessages } from './stream.ts'

const MESSAGES: InferenceRoute<MessagesRequest> = {
  path: '/v1/messages',
  done: 'data: [DONE]\n\n',
  schema: messagesRequest,
  conversation: messagesConversation,
  refuse: (subject) => refuseReplay(subject) ?? refuseOnVertex(subject),
  encode: encodeMessages,
}

function refuseReplay({ conversation }: InferenceSubject<MessagesRequest>): Outcome | undefined {
  return conversation.thinks !== 'never' && lacksReplay(conversation)
    ? anthropicFailure(400, 'invalid_request_error', 'messages: a thinking block of an earlier answer is missing')
    : undefined
}

/** `[demo:vertex]`: requests go to one of several backends, and Google's lacks some features. */
function refuseOnVertex({ request, markers }: InferenceSubject<MessagesRequest>): Outcome | undefined {
  if (!markers.asked.has('vertex')) return undefined
  const { context_management: management, output_config: config, tools = [] } = request
  if (management !== undefined) return invalidBody('context_management: Extra inputs are not permitted')
  const strict = tools.findIndex((tool) => tool['strict'] !== undefined)
  if (strict >= 0) return invalidBody(`tools.${strict}.custom.strict: Extra inputs are not permitted`)
  return config?.format === undefined
    ? undefined
    : failure(400, {
        message: 'Constraint constraints/vertexai.allowedPartnerModelFeatures violated: structured_outputs',
        code: 'FAILED_PRECONDITION',
      })
}

/** `POST /v1/messages` (docs/copilot-wire.md, "Messages requests"). */
export function answerMessages(call: InferenceCall, checks?: Checks<MessagesRequest>): Outcome {
  return answerInference(MESSAGES, call, checks)
}

/** `POST /v1/messages/count_tokens`: takes bodies that are refused when they are to be answered. */
export function answerCountTokens(
  { bodyText, nowMs }: Pick<InferenceCall, 'bodyText' | 'nowMs'>,
  checks?: Pick<Checks<MessagesRequest>, 'wrongShape'>,
): Outcome {
  const parsed = parseRequest(messagesRequest, bodyText, checks)
  if (!parsed.ok) return parsed.refusal
  const served = servingModel(parsed.value.model, MESSAGES.path, { shownPath: '/v1/messages/count_tokens' })
  if (!served.ok) return served.refusal
  return jsonReply(200, { input_tokens: countTokens(parsed.value) }, quotaHeaders(nowMs))
}
