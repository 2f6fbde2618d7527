import { composeAnswer } from '../answer/answer.ts'
import type { Answer } from '../answer/answer.ts'
import { promptOf } from '../answer/conversation.ts'
import { failInTransit, failureOf, streamFrames } from '../inference.ts'
import type { Parsed } from '../inference.ts'
import { parseMarkers } from '../answer/markers.ts'
import type { HeaderMap, Outcome } from '../http/outcome.ts'
import { responsesConversation } from '../copilot/responses/request.ts'
import { missingReplay } from '../copilot/responses/route.ts'
import { detail, failWithLimits, openaiError } from './failures.ts'
import { rateLimitHeaders } from './limits.ts'
import { modelsEtag, modelsOfPlan } from './models.ts'
import type { CodexModel } from './catalogue.ts'
import { contextOf, parseCodexRequest, parseMembers } from './request.ts'
import type { CodexCall, CodexChecks, CodexSubject } from './request.ts'
import { encodeCodex } from './stream.ts'

/** `POST /responses` of the ChatGPT backend. Markers in the prompt can break the answer. */
export function answerCodex(call: CodexCall, checks: CodexChecks): Outcome {
  const read = readPrompt(call, modelsOfPlan(call.person.plan), checks)
  return read.ok ? (failAtOnce(read.value) ?? answer(read.value)) : read.refusal
}

/** Returns the parsed prompt for one of these models, or its refusal. */
export function readPrompt(call: CodexCall, models: readonly CodexModel[], checks: CodexChecks): Parsed<CodexSubject> {
  const parsed = parseMembers(call.bodyText, checks)
  if (!parsed.ok) return parsed
  const members = parsed.value
  const early = checks.refuseMembers(members, call)
  if (early !== undefined) return { ok: false, refusal: early }
  const model = models.find(({ slug }) => slug === members.model)
  if (model === undefined) return { ok: false, refusal: notInPlan(members.model) }
  const typed = parseCodexRequest(members, checks)
  if (!typed.ok) return typed
  const request = typed.value
  const conversation = responsesConversation(request, model)
  const asked = parseMarkers(promptOf(conversation), ['sparse'])
  const markers = checks.amendMarkers(asked)
  const subject: CodexSubject = { call, members, request, model, conversation, markers }
  const refusal = checks.refuse(subject) ?? refuseReplay(subject)
  return refusal === undefined ? { ok: true, value: subject } : { ok: false, refusal }
}

/** The reply for a model that the plan, a rollout or an old `client_version` excludes. */
function notInPlan(model: string): Outcome {
  return detail(400, `The '${model}' model is not supported when using Codex with a ChatGPT account.`)
}

function refuseReplay({ request, conversation }: CodexSubject): Outcome | undefined {
  const message = missingReplay(request, conversation)
  if (message === undefined) return undefined
  return openaiError(400, { message, code: 'invalid_request_body', param: 'input' })
}

function failAtOnce(subject: CodexSubject): Outcome | undefined {
  const { call, markers } = subject
  const early = failInTransit(markers)
  const wish = failureOf(markers)
  return early ?? (wish && failWithLimits(wish, contextOf(subject), call.settings))
}

function answer(subject: CodexSubject): Outcome {
  const { call, model } = subject
  const { person, settings, number, nowMs } = call
  // Sources: docs/codex-wire.md, "Models" and "Event stream".
  return streamAnswer(subject, {
    ...rateLimitHeaders(person.plan, settings, nowMs),
    'openai-model': model.slug,
    'x-models-etag': modelsEtag(person),
    'x-reasoning-included': 'true',
    'x-codex-turn-state': `ts_demo_${number}`,
  })
}

export function streamAnswer(subject: CodexSubject, headers: HeaderMap): Outcome {
  const { call, markers } = subject
  const frames = encodeCodex(composeCodexAnswer(subject), subject)
  return streamFrames(frames, { done: '', markers, pace: call.settings, headers })
}

function composeCodexAnswer({ call, model, conversation, markers }: CodexSubject): Answer {
  const { bodyText, number } = call
  return composeAnswer({ conversation, bodyText, model: { id: model.slug, profile: 'gpt-5' }, markers, number })
}
