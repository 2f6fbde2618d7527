import { composeAnswer } from '../answer.ts'
import { bend, delayOf, joined } from '../bend.ts'
import { promptOf } from '../conversation.ts'
import { markerNumber, parseMarkers } from '../markers.ts'
import type { Markers } from '../markers.ts'
import { htmlReply, jsonReply, streamReply } from '../outcome.ts'
import type { HeaderMap, Outcome } from '../outcome.ts'
import { responsesConversation } from '../responses/request.ts'
import { refuseChatgptMembers, refusePublicMembers, refuseRequest } from './body-checks.ts'
import { codexFailure, modelNotInPlan, noSuchModel } from './failures.ts'
import type { FailureWish } from './failures.ts'
import { keyLimitHeaders, rateLimitHeaders } from './limits.ts'
import { findCodexModel, findKeyModel, modelsEtag } from './models.ts'
import { parseMembers, parseRequest } from './request.ts'
import type { CodexCall, CodexSubject } from './request.ts'
import { encodeCodex, wholeCodexResponse } from './stream.ts'

/** `POST /responses` of either upstream: checks, then an answer, bent by the markers of the prompt. */
export function answerCodex(call: CodexCall): Outcome {
  const { profile, person, settings } = call
  const isChatgpt = profile === 'chatgpt'
  const parsed = parseMembers(call.bodyText)
  if (!parsed.ok) return parsed.refusal
  const members = parsed.value
  const early = isChatgpt
    ? refuseChatgptMembers(members, settings.acceptsEmptyInstructions || call.isLite)
    : refusePublicMembers(members)
  if (early !== undefined) return early
  const model = isChatgpt ? findCodexModel(members.model, person.plan) : findKeyModel(members.model)
  if (model === undefined) return isChatgpt ? modelNotInPlan(members.model) : noSuchModel(members.model)
  const typed = parseRequest(members)
  if (!typed.ok) return typed.refusal
  const request = typed.value
  const conversation = responsesConversation(request, model)
  const markers = withFailure(parseMarkers(promptOf(conversation)), settings.failure)
  const subject: CodexSubject = { call, members, request, model, conversation, markers }
  return refuseRequest(subject) ?? failAtOnce(subject) ?? answer(subject)
}

/** A failure inside a 200 that was configured is one that a marker asks for. */
function withFailure(markers: Markers, failure: FailureWish | undefined): Markers {
  if (failure?.status !== 200) return markers
  return {
    ...markers,
    asked: new Map([...markers.asked, ['failed', failure.code === undefined ? [] : [failure.code]]]),
  }
}

/** The window is used up. */
const SPENT = 'usage_limit_reached'

function failAtOnce({ call, model, markers }: CodexSubject): Outcome | undefined {
  const { profile, nowMs, person, settings } = call
  const { asked } = markers
  if (asked.has('silent')) return { kind: 'silent' }
  if (asked.has('html')) return htmlReply(200, 'Sign in to the network')
  const configured = settings.failure?.status === 200 ? undefined : settings.failure
  const wish = wishOf(markers) ?? configured
  if (wish === undefined) return undefined
  const reply = codexFailure(wish, { profile, nowMs, model: model.slug, plan: person.plan })
  const isSpent = wish.status === 429 && (wish.code ?? SPENT) === SPENT
  const shown = isSpent ? { ...call, settings: { ...settings, primaryUsedPercent: 100 } } : call
  return { ...reply, headers: { ...limitHeaders(shown), ...reply.headers } }
}

/** What `[demo:overflow]` and `[demo:error STATUS SECONDS|CODE]` ask for. */
function wishOf(markers: Markers): FailureWish | undefined {
  if (markers.asked.has('overflow')) return { status: 400, code: 'context_length_exceeded' }
  const given = markers.asked.get('error')
  if (given === undefined) return undefined
  const seconds = markerNumber(markers, 'error', -1, 1)
  const isCode = seconds < 0 && given[1] !== undefined
  return {
    status: markerNumber(markers, 'error', 500),
    code: isCode ? given[1] : undefined,
    retryAfterSeconds: seconds < 0 ? undefined : seconds,
  }
}

function answer(subject: CodexSubject): Outcome {
  const { call, request, model, conversation, markers } = subject
  const { number, bodyText, settings } = call
  const source = { conversation, bodyText, model: { id: model.slug, habit: 'gpt-5' as const }, markers, number }
  const composed = composeAnswer(source)
  const headers = { ...limitHeaders(call), ...turnHeaders(subject) }
  if (request.stream !== true) return jsonReply(200, wholeCodexResponse(composed, subject), headers)
  const { frames, ending } = bend(encodeCodex(composed, subject), '', markers)
  return streamReply(joined(frames, settings.eventsPerWrite), {
    headers,
    ending,
    delayMs: delayOf(markers, settings.eventDelayMs),
  })
}

function limitHeaders({ profile, person, settings, nowMs }: CodexCall): HeaderMap {
  return profile === 'chatgpt' ? rateLimitHeaders(person, settings, nowMs) : keyLimitHeaders()
}

/** Of a reply with an answer (docs/codex-wire.md, "Models" and "Event stream"). */
function turnHeaders({ call: { profile, person, settings, number }, model }: CodexSubject): HeaderMap {
  if (profile === 'api-key') return { 'openai-processing-ms': '12' }
  return {
    'openai-model': model.slug,
    'x-models-etag': modelsEtag(person, settings.catalogueRevision),
    'x-reasoning-included': 'true',
    'x-codex-turn-state': `ts_demo_${number}`,
  }
}
