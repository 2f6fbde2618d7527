import { composeAnswer } from './answer.ts'
import type { Answer } from './answer.ts'
import { bend, delayOf, joined } from './bend.ts'
import { promptOf } from './conversation.ts'
import type { Conversation } from './conversation.ts'
import { failureOfStatus, modelNotSupported, promptTooLong, wrongEndpoint } from './failures.ts'
import type { Frames } from './habits/habit.ts'
import { refuseImages } from './image-checks.ts'
import type { InferencePath } from './inference-path.ts'
import { markerNumber, parseMarkers } from './markers.ts'
import type { Markers } from './markers.ts'
import { findModel } from './models.ts'
import type { DemoModel } from './models.ts'
import { htmlReply, streamReply } from './outcome.ts'
import type { HeaderMap, Outcome } from './outcome.ts'
import type { PreparedFrames } from './prepared-frames.ts'
import type { DemoSettings } from './settings.ts'
import { quotaHeaders } from './usage.ts'

/** One request to a route that answers prompts. */
export interface InferenceCall {
  readonly bodyText: string
  /** `x-github-api-version` */
  readonly apiVersion: string
  readonly hasVisionHeader: boolean
  /** Judges what else its headers say of a model (editor, session token). */
  readonly refuseModel: (modelId: string) => Outcome | undefined
  /** Values of `anthropic-beta`. */
  readonly betas: readonly string[]
  /** Counts the requests of the route from 1. */
  readonly number: number
  readonly nowMs: number
  readonly settings: DemoSettings
  readonly prepared: PreparedFrames
}

/** A route with its dialect: reads a request, refuses it or not, and writes answers. */
export interface InferenceRoute<Request> {
  readonly path: InferencePath
  /** What every stream ends with; '' for nothing. */
  readonly done: string
  readonly parse: (call: InferenceCall) => { readonly ok: true; readonly value: Request } | Refused
  readonly modelId: (request: Request) => string
  readonly isStream: (request: Request) => boolean
  readonly conversation: (request: Request, model: DemoModel) => Conversation
  readonly refuse: (subject: InferenceSubject<Request>) => Outcome | undefined
  readonly encode: (answer: Answer, subject: InferenceSubject<Request>) => Frames
  /** The reply to a request without `stream: true`. */
  readonly whole: (answer: Answer, subject: InferenceSubject<Request>, headers: HeaderMap) => Outcome
}

interface Refused {
  readonly ok: false
  readonly refusal: Outcome
}

/** Everything known of a request before it is answered. */
export interface InferenceSubject<Request> {
  readonly call: InferenceCall
  readonly request: Request
  readonly model: DemoModel
  readonly conversation: Conversation
  readonly markers: Markers
}

/** Events of a reply of a measuring model whose prompt names no number. */
const DEFAULT_PREPARED = 100

/** Checks, then an answer in the habits of route and model, bent by the markers of the prompt. */
export function answerInference<Request>(route: InferenceRoute<Request>, call: InferenceCall): Outcome {
  const parsed = route.parse(call)
  if (!parsed.ok) return parsed.refusal
  const request = parsed.value
  const model = findModel(route.modelId(request), call.apiVersion)
  if (model === undefined || !model.isEnabled || model.type !== 'chat') return modelNotSupported()
  if (!model.endpoints.includes(route.path)) return wrongEndpoint(model, route.path)
  const refusal = call.refuseModel(model.id)
  if (refusal !== undefined) return refusal
  const conversation = route.conversation(request, model)
  const markers = parseMarkers(promptOf(conversation))
  const subject = { call, request, model, conversation, markers }
  return (
    route.refuse(subject) ??
    refuseImages(subject) ??
    failAtOnce(subject, route.path === '/v1/messages') ??
    prepared(route, subject) ??
    answer(route, subject)
  )
}

function failAtOnce<Request>(
  { call: { nowMs }, model, markers }: InferenceSubject<Request>,
  isNative: boolean,
): Outcome | undefined {
  const { asked } = markers
  if (asked.has('silent')) return { kind: 'silent' }
  if (asked.has('html')) return htmlReply(200, 'Sign in to the network')
  if (asked.has('overflow')) return promptTooLong(model, isNative)
  const status = markerNumber(markers, 'error', 0)
  if (status === 0) return undefined
  const seconds = markerNumber(markers, 'error', -1, 1)
  const name = seconds < 0 ? asked.get('error')?.[1] : undefined
  return failureOfStatus({ status, name, nowMs, retryAfterSeconds: seconds < 0 ? undefined : seconds, isNative })
}

function prepared<Request>(
  { path }: InferenceRoute<Request>,
  { call, model, markers }: InferenceSubject<Request>,
): Outcome | undefined {
  if (!model.isBench && !markers.asked.has('frames')) return undefined
  const count = markerNumber(markers, 'frames', DEFAULT_PREPARED)
  const perWrite = markerNumber(markers, 'frames', call.settings.eventsPerWrite, 1)
  return streamReply(call.prepared.pieces(path, count, perWrite), {
    headers: quotaHeaders(call.nowMs),
    delayMs: delayOf(markers, call.settings.eventDelayMs),
  })
}

function answer<Request>(route: InferenceRoute<Request>, subject: InferenceSubject<Request>): Outcome {
  const { call, request, model, conversation, markers } = subject
  const { number, nowMs, bodyText, settings } = call
  const composed = composeAnswer({ conversation, bodyText, model, markers, number })
  const headers = { ...quotaHeaders(nowMs), ...familyHeaders(model, number) }
  if (!route.isStream(request)) return route.whole(composed, subject, headers)
  const { frames, ending } = bend(route.encode(composed, subject), route.done, markers)
  return streamReply(joined(frames, settings.eventsPerWrite), {
    headers,
    ending,
    delayMs: delayOf(markers, settings.eventDelayMs),
  })
}

/** What leaks through from behind the real service on Claude (docs/copilot-wire.md, "Response headers"). */
function familyHeaders({ habit }: DemoModel, number: number): HeaderMap {
  if (habit !== 'claude') return {}
  return { 'request-id': `req_vrtx_demo_${number}`, 'anthropic-ratelimit-requests-remaining': '999', via: '1.1 google' }
}
