import type { z } from 'zod'
import { composeAnswer } from './answer/answer.ts'
import type { Answer } from './answer/answer.ts'
import type { Frames } from './answer/frames.ts'
import { promptOf } from './answer/conversation.ts'
import type { Conversation } from './answer/conversation.ts'
import { copilotFailure, invalidBody, modelNotSupported, OVERFLOW, wrongEndpoint } from './copilot/failures.ts'
import type { FailureWish } from './copilot/failures.ts'
import { markerNumber, parseMarkers } from './answer/markers.ts'
import type { Markers } from './answer/markers.ts'
import type { DemoModel, DemoModels } from './copilot/catalogue-models.ts'
import { scriptStep } from './answer/script-step.ts'
import { htmlReply, streamReply } from './http/outcome.ts'
import type { HeaderMap, Outcome, StreamReply } from './http/outcome.ts'
import { quotaHeaders } from './copilot/usage.ts'

/** A route that answers prompts. */
export type InferencePath = '/chat/completions' | '/responses' | '/v1/messages'

/** How fast answers are sent. */
export interface Pace {
  /** Number of events joined into one write. 1 writes each event as its own chunk; more is cheaper. */
  readonly eventsPerWrite: number
}

/** Sends every event at once, each as its own chunk. */
export const DEFAULT_PACE: Pace = { eventsPerWrite: 1 }

/** One request to a route that answers prompts. */
export interface InferenceCall {
  readonly bodyText: string
  readonly header: (name: string) => string | undefined
  /** Counts the requests of the route from 1. */
  readonly number: number
  readonly nowMs: number
  readonly pace: Pace
  readonly models: DemoModels
}

/** How the upstream refuses requests, and what it does beyond its route. */
export interface Checks<Request> {
  /** The error reply for a body that does not match the schema. */
  readonly wrongShape?: (issues: readonly z.core.$ZodIssue[], body: unknown) => Outcome
  /** Returns a refusal for a request with a valid shape. */
  readonly refuse?: (subject: InferenceSubject<Request>) => Outcome | undefined
  /** Encodes the answer in place of the route. */
  readonly encode?: InferenceRoute<Request>['encode']
  /** Names of additional markers. */
  readonly markers?: readonly string[]
}

/** A route with its dialect: reads a request and writes answers. */
export interface InferenceRoute<Request> {
  readonly path: InferencePath
  /** The last frame of every stream; '' for none. */
  readonly done: string
  readonly schema: z.ZodType<Request>
  readonly conversation: (request: Request, model: DemoModel) => Conversation
  /** Returns the refusal that `[demo:replay]` asks for. */
  readonly refuse: (subject: InferenceSubject<Request>) => Outcome | undefined
  /** Encodes an answer. Answers are always streamed, because the proxy always asks for a stream. */
  readonly encode: (answer: Answer, subject: InferenceSubject<Request>) => Frames
}

/** Everything that is known of a request before it is answered. */
export interface InferenceSubject<Request> {
  readonly call: InferenceCall
  readonly request: Request
  readonly model: DemoModel
  readonly conversation: Conversation
  readonly markers: Markers
}

/** Answers in the form of the route and the model, with the failures that markers in the prompt ask for. */
export function answerInference<Request extends { readonly model: string }>(
  route: InferenceRoute<Request>,
  call: InferenceCall,
  checks: Checks<Request>,
): Outcome {
  const parsed = parseRequest(route.schema, call.bodyText, checks)
  if (!parsed.ok) return parsed.refusal
  const request = parsed.value
  const served = servingModel(call.models, request.model, {
    path: route.path,
    apiVersion: call.header('x-github-api-version') ?? '',
  })
  if (!served.ok) return served.refusal
  const model = served.value
  const conversation = route.conversation(request, model)
  const markers = parseMarkers(promptOf(conversation), checks.markers)
  const subject = { call, request, model, conversation, markers }
  return (
    checks.refuse?.(subject) ??
    route.refuse(subject) ??
    failAtOnce(route, subject) ??
    answer(route, subject, checks.encode ?? route.encode)
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

/** Parses the body with the schema; the refusal is a 400. */
export function parseRequest<Request>(
  schema: z.ZodType<Request>,
  bodyText: string,
  checks: Pick<Checks<Request>, 'wrongShape'>,
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
  return { ok: false, refusal: checks.wrongShape?.(issues, body) ?? invalidBody(describeIssue(issues)) }
}

/** Describes an error in a body, e.g. `messages: Invalid input: expected array, received undefined`. */
function describeIssue([issue]: readonly z.core.$ZodIssue[]): string {
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`
}

interface Served {
  readonly path: InferencePath
  readonly apiVersion?: string
  /** The path that a refusal names. Default: `path`. */
  readonly shownPath?: string
}

/** Finds the chat model with this id, if it serves the path. */
export function servingModel(
  models: DemoModels,
  id: string,
  { path, apiVersion, shownPath = path }: Served,
): Parsed<DemoModel> {
  const model = models.find(id, apiVersion)
  if (model === undefined || !model.isEnabled || model.type !== 'chat') {
    return { ok: false, refusal: modelNotSupported() }
  }
  return model.endpoints.includes(path)
    ? { ok: true, value: model }
    : { ok: false, refusal: wrongEndpoint(model, shownPath) }
}

function failAtOnce<Request>(
  { path }: InferenceRoute<Request>,
  subject: InferenceSubject<Request>,
): Outcome | undefined {
  const { call, model, markers } = subject
  const early = failInTransit(markers)
  const wish = failureOf(markers) ?? scriptFailure(subject)
  if (early !== undefined || wish === undefined) return early
  return copilotFailure(wish, { model, nowMs: call.nowMs, isNative: path === '/v1/messages' })
}

/** Outcomes of `[demo:silent]` and `[demo:html]`, which simulate the network and not an upstream error. */
export function failInTransit({ asked }: Markers): Outcome | undefined {
  if (asked.has('silent')) return { kind: 'silent' }
  return asked.has('html') ? htmlReply(200, 'Sign in to the network') : undefined
}

/** The failure that `[demo:overflow]` or `[demo:error STATUS SECONDS|CODE]` asks for. */
export function failureOf(markers: Markers): FailureWish | undefined {
  if (markers.asked.has('overflow')) return { status: 400, code: OVERFLOW }
  const given = markers.asked.get('error')
  if (given === undefined) return undefined
  const seconds = markerNumber(markers, 'error', -1, 1)
  const status = markerNumber(markers, 'error', 500)
  return seconds < 0 ? { status, code: given[1] } : { status, retryAfterSeconds: seconds }
}

/** The failure of a `[demo:script]` step for this model. */
function scriptFailure<Request>({ conversation, model }: InferenceSubject<Request>): FailureWish | undefined {
  const error = scriptStep(conversation)?.error
  if (error === undefined || error.models?.includes(model.id) === false) return undefined
  return { status: error.status, code: error.code }
}

function answer<Request>(
  { done }: InferenceRoute<Request>,
  subject: InferenceSubject<Request>,
  encode: InferenceRoute<Request>['encode'],
): Outcome {
  const { call, model, conversation, markers } = subject
  const { number, bodyText, pace } = call
  const composed = composeAnswer({ conversation, bodyText, model, markers, number })
  return streamFrames(encode(composed, subject), {
    done,
    markers,
    pace,
    headers: { ...quotaHeaders(call.nowMs), ...familyHeaders(model, number) },
  })
}

/**
 * Returns the headers that the real service passes on from Claude's backend (docs/copilot-wire.md, "Response headers").
 */
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

/** Builds the reply from the frames; markers can delay or break it. */
export function streamFrames(frames: Frames, { done, markers, pace, headers }: StreamOptions): Outcome {
  const { sent, ending } = breakStream(frames, done, markers)
  return streamReply(joined(sent, pace.eventsPerWrite), { headers, ending, delayMs: delayOf(markers) })
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

/** Joins the frames into writes of `perWrite` frames each. */
function joined(frames: readonly string[], perWrite: number): readonly string[] {
  if (perWrite <= 1) return frames
  const pieces: string[] = []
  for (let at = 0; at < frames.length; at += perWrite) pieces.push(frames.slice(at, at + perWrite).join(''))
  return pieces
}

/** Maximum wait between two events that a marker may ask for. */
const MAX_DELAY_MS = 60_000

export function delayOf(markers: Markers): number {
  return Math.min(markerNumber(markers, 'slow', 0), MAX_DELAY_MS)
}
