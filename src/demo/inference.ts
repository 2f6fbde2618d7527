import type { z } from 'zod'
import { composeAnswer } from './answer.ts'
import type { Answer } from './answer.ts'
import type { Frames } from './frames.ts'
import { promptOf } from './conversation.ts'
import type { Conversation } from './conversation.ts'
import { failureOfStatus, invalidBody, modelNotSupported, promptTooLong, wrongEndpoint } from './failures.ts'
import { markerNumber, parseMarkers } from './markers.ts'
import type { Markers } from './markers.ts'
import { findModel } from './models.ts'
import type { DemoModel } from './models.ts'
import { htmlReply, streamReply } from './outcome.ts'
import type { HeaderMap, Outcome, StreamReply } from './outcome.ts'
import type { PreparedFrames } from './prepared-frames.ts'
import { quotaHeaders } from './usage.ts'

/** A route that answers prompts. */
export type InferencePath = '/chat/completions' | '/responses' | '/v1/messages'

/** How fast answers are sent. */
export interface Pace {
  /** Wait between the events of an answer, unless a `[demo:slow]` marker says otherwise. */
  readonly eventDelayMs: number
  /** Events joined into one write: 1 shows every event as a chunk of its own, more is cheaper. */
  readonly eventsPerWrite: number
}

/** One request to a route that answers prompts. */
export interface InferenceCall {
  readonly bodyText: string
  readonly header: (name: string) => string | undefined
  /** Counts the requests of the route from 1. */
  readonly number: number
  readonly nowMs: number
  readonly pace: Pace
  readonly prepared: PreparedFrames
}

/** The refusals of a stricter upstream. The demo has none: it answers whatever it can read. */
export interface Checks<Request> {
  /** The error reply for a body that does not match the schema. */
  readonly wrongShape: (issues: readonly z.core.$ZodIssue[], body: unknown) => Outcome
  /** Judges a request whose shape is right. */
  readonly refuse: (subject: InferenceSubject<Request>) => Outcome | undefined
}

/** A route with its dialect: reads a request and writes answers. */
export interface InferenceRoute<Request> {
  readonly path: InferencePath
  /** What every stream ends with; '' for nothing. */
  readonly done: string
  readonly schema: z.ZodType<Request>
  readonly conversation: (request: Request, model: DemoModel) => Conversation
  /** The refusals that a marker of the prompt asks for. */
  readonly refuse: (subject: InferenceSubject<Request>) => Outcome | undefined
  /** Answers are always streamed, as the proxy always asks for. */
  readonly encode: (answer: Answer, subject: InferenceSubject<Request>) => Frames
}

/** Everything known of a request before it is answered. */
export interface InferenceSubject<Request> {
  readonly call: InferenceCall
  readonly request: Request
  readonly model: DemoModel
  readonly conversation: Conversation
  readonly markers: Markers
}

/** An answer in the way of route and model, broken where the markers of the prompt ask for it. */
export function answerInference<Request extends { readonly model: string }>(
  route: InferenceRoute<Request>,
  call: InferenceCall,
  checks?: Checks<Request>,
): Outcome {
  const parsed = parseRequest(route.schema, call.bodyText, checks)
  if (!parsed.ok) return parsed.refusal
  const request = parsed.value
  const served = servingModel(request.model, route.path, { apiVersion: call.header('x-github-api-version') ?? '' })
  if (!served.ok) return served.refusal
  const model = served.value
  const conversation = route.conversation(request, model)
  const markers = parseMarkers(promptOf(conversation))
  const subject = { call, request, model, conversation, markers }
  return (
    checks?.refuse(subject) ??
    route.refuse(subject) ??
    failAtOnce(subject, route.path === '/v1/messages') ??
    prepared(route, subject) ??
    answer(route, subject)
  )
}

/** Schema of a member that may be null or absent: both mean undefined here. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional()
}

export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Outcome }

/** The body in its schema's type, or a 400. */
export function parseRequest<Request>(
  schema: z.ZodType<Request>,
  bodyText: string,
  checks: Pick<Checks<Request>, 'wrongShape'> | undefined,
): Parsed<Request> {
  let body: unknown
  try {
    body = JSON.parse(bodyText)
  } catch {
    return { ok: false, refusal: invalidBody('failed to parse request body') }
  }
  const parsed = schema.safeParse(body)
  if (parsed.success) return { ok: true, value: parsed.data }
  const { issues } = parsed.error
  return { ok: false, refusal: checks?.wrongShape(issues, body) ?? invalidBody(describeIssue(issues)) }
}

/** What is wrong with a body, e.g. `messages: Invalid input: expected array, received undefined`. */
export function describeIssue([issue]: readonly z.core.$ZodIssue[]): string {
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`
}

interface ServingOptions {
  readonly apiVersion?: string | undefined
  /** The path that a refusal names. */
  readonly shownPath?: string
}

/** The chat model with this id, where it serves the path. */
export function servingModel(
  id: string,
  path: InferencePath,
  { apiVersion, shownPath = path }: ServingOptions,
): Parsed<DemoModel> {
  const model = findModel(id, apiVersion)
  if (model === undefined || !model.isEnabled || model.type !== 'chat') {
    return { ok: false, refusal: modelNotSupported() }
  }
  return model.endpoints.includes(path)
    ? { ok: true, value: model }
    : { ok: false, refusal: wrongEndpoint(model, shownPath) }
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

/** Events of a reply of a measuring model whose prompt names no number. */
const DEFAULT_PREPARED = 100

function prepared<Request>(
  { path }: InferenceRoute<Request>,
  { call, model, markers }: InferenceSubject<Request>,
): Outcome | undefined {
  if (!model.isBench && !markers.asked.has('frames')) return undefined
  const count = markerNumber(markers, 'frames', DEFAULT_PREPARED)
  const perWrite = markerNumber(markers, 'frames', call.pace.eventsPerWrite, 1)
  return streamReply(call.prepared.pieces(path, count, perWrite), {
    headers: quotaHeaders(call.nowMs),
    delayMs: delayOf(markers, call.pace),
  })
}

function answer<Request>(route: InferenceRoute<Request>, subject: InferenceSubject<Request>): Outcome {
  const { call, model, conversation, markers } = subject
  const { number, nowMs, bodyText, pace } = call
  const composed = composeAnswer({ conversation, bodyText, model, markers, number })
  const headers = { ...quotaHeaders(nowMs), ...familyHeaders(model, number) }
  return streamFrames(route.encode(composed, subject), { done: route.done, markers, pace, headers })
}

/** What leaks through from behind the real service on Claude (docs/copilot-wire.md, "Response headers"). */
function familyHeaders({ profile }: DemoModel, number: number): HeaderMap {
  if (profile !== 'claude') return {}
  return { 'request-id': `req_vrtx_demo_${number}`, 'anthropic-ratelimit-requests-remaining': '999', via: '1.1 google' }
}

interface StreamOptions {
  /** The last frame; '' for none. */
  readonly done: string
  readonly markers: Markers
  readonly pace: Pace
  readonly headers: HeaderMap
}

/** The frames as a reply that is slow, or breaks, where a marker asks for it. */
export function streamFrames(frames: Frames, { done, markers, pace, headers }: StreamOptions): Outcome {
  const { sent, ending } = breakStream(frames, done, markers)
  return streamReply(joined(sent, pace.eventsPerWrite), { headers, ending, delayMs: delayOf(markers, pace) })
}

interface BrokenStream {
  readonly sent: readonly string[]
  readonly ending: StreamReply['ending']
}

function breakStream(
  { leadCount = 0, content, closing, error }: Frames,
  done: string,
  { asked }: Markers,
): BrokenStream {
  const half = content.slice(0, Math.ceil(content.length / 2))
  const failed = asked.get('failed')
  if (failed !== undefined) {
    const [code, form] = failed
    const failure = error({ sent: leadCount, code, isBare: form === 'event' })
    return { sent: [...content.slice(0, leadCount), failure], ending: 'end' }
  }
  if (asked.has('hang')) return { sent: [], ending: 'hold' }
  if (asked.has('stall')) return { sent: half, ending: 'hold' }
  if (asked.has('cut')) return { sent: half, ending: 'cut' }
  if (asked.has('eof')) return { sent: half, ending: 'end' }
  for (const name of ['error-mid', 'error-event'] as const) {
    const given = asked.get(name)
    if (given === undefined) continue
    const failure = error({ sent: half.length, code: given[0], isBare: name === 'error-event' })
    return { sent: [...half, failure], ending: 'end' }
  }
  const end = done === '' || asked.has('no-done') ? [] : [done]
  return { sent: [...content, ...closing, ...end], ending: 'end' }
}

/** The frames as writes of so many each. */
function joined(frames: readonly string[], perWrite: number): readonly string[] {
  if (perWrite <= 1) return frames
  const pieces: string[] = []
  for (let at = 0; at < frames.length; at += perWrite) pieces.push(frames.slice(at, at + perWrite).join(''))
  return pieces
}

/** Longest wait between two events that a marker may ask for. */
const MAX_DELAY_MS = 60_000

function delayOf(markers: Markers, { eventDelayMs }: Pace): number {
  return Math.min(markerNumber(markers, 'slow', eventDelayMs), MAX_DELAY_MS)
}
