import { composeAnswer } from '../answer.ts'
import type { Answer } from '../answer.ts'
import { promptOf } from '../conversation.ts'
import { streamFrames } from '../inference.ts'
import type { Parsed } from '../inference.ts'
import { markerNumber, parseMarkers } from '../markers.ts'
import type { Markers } from '../markers.ts'
import { htmlReply } from '../outcome.ts'
import type { HeaderMap, Outcome } from '../outcome.ts'
import { responsesConversation } from '../responses/request.ts'
import { missingReplay } from '../responses/route.ts'
import { codexFailure, contextOf, modelNotInPlan, openaiError } from './failures.ts'
import type { FailureRequest } from './failures.ts'
import { rateLimitHeaders } from './limits.ts'
import { modelsEtag, modelsOfPlan } from './models.ts'
import type { CodexModel } from './models.ts'
import { parseCodexRequest, parseMembers } from './request.ts'
import type { CodexCall, CodexChecks, CodexSubject } from './request.ts'
import { encodeCodex } from './stream.ts'

/** `POST /responses` of the ChatGPT backend: an answer, broken where the markers of the prompt ask for it. */
export function answerCodex(call: CodexCall, checks?: CodexChecks): Outcome {
  const read = readPrompt(call, modelsOfPlan(call.person.plan), checks)
  return read.ok ? (failAtOnce(read.value) ?? answer(read.value)) : read.refusal
}

/** The prompt for one of these models, or its refusal. */
export function readPrompt(
  call: CodexCall,
  models: readonly CodexModel[],
  checks: CodexChecks | undefined,
): Parsed<CodexSubject> {
  const parsed = parseMembers(call.bodyText, checks)
  if (!parsed.ok) return parsed
  const members = parsed.value
  const early = checks?.refuseMembers(members, call)
  if (early !== undefined) return { ok: false, refusal: early }
  const model = models.find(({ slug }) => slug === members.model)
  if (model === undefined) return { ok: false, refusal: modelNotInPlan(members.model) }
  const typed = parseCodexRequest(members, checks)
  if (!typed.ok) return typed
  const request = typed.value
  const conversation = responsesConversation(request, model)
  const asked = parseMarkers(promptOf(conversation))
  const markers = checks?.amendMarkers(asked) ?? asked
  const subject: CodexSubject = { call, members, request, model, conversation, markers }
  const refusal = checks?.refuse(subject) ?? refuseReplay(subject)
  return refusal === undefined ? { ok: true, value: subject } : { ok: false, refusal }
}

function refuseReplay({ request, conversation }: CodexSubject): Outcome | undefined {
  const message = missingReplay(request, conversation)
  if (message === undefined) return undefined
  return openaiError(400, { message, code: 'invalid_request_body', param: 'input' })
}

/** The window is used up. */
const SPENT = 'usage_limit_reached'

function failAtOnce(subject: CodexSubject): Outcome | undefined {
  const { call, markers } = subject
  if (markers.asked.has('silent')) return { kind: 'silent' }
  if (markers.asked.has('html')) return htmlReply(200, 'Sign in to the network')
  const failure = failureOf(markers)
  if (failure === undefined) return undefined
  const reply = codexFailure(failure, contextOf(subject))
  const isSpent = failure.status === 429 && (failure.code ?? SPENT) === SPENT
  const settings = isSpent ? { ...call.settings, primaryUsedPercent: 100 } : call.settings
  return { ...reply, headers: { ...rateLimitHeaders(call.person, settings, call.nowMs), ...reply.headers } }
}

/** What `[demo:overflow]` and `[demo:error STATUS SECONDS|CODE]` ask for. */
export function failureOf(markers: Markers): FailureRequest | undefined {
  if (markers.asked.has('overflow')) return { status: 400, code: 'context_length_exceeded' }
  const given = markers.asked.get('error')
  if (given === undefined) return undefined
  const seconds = markerNumber(markers, 'error', -1, 1)
  return {
    status: markerNumber(markers, 'error', 500),
    code: seconds < 0 ? given[1] : undefined,
    retryAfterSeconds: seconds < 0 ? undefined : seconds,
  }
}

function answer(subject: CodexSubject): Outcome {
  const { call, model } = subject
  const { person, settings, number, nowMs } = call
  // Sources: docs/codex-wire.md, "Models" and "Event stream".
  return streamAnswer(subject, {
    ...rateLimitHeaders(person, settings, nowMs),
    'openai-model': model.slug,
    'x-models-etag': modelsEtag(person, settings.catalogueRevision),
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
