import { composeAnswer, isAfterTool, lastUserText } from './answer.ts'
import { estimateTokens, parseChatRequest } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import { refuseChat } from './checks.ts'
import { failureOfStatus, modelNotSupported } from './failures.ts'
import { encodeClaude } from './habits/claude.ts'
import { encodeGemini25, encodeGemini3 } from './habits/gemini.ts'
import { encodeGpt4, encodeGpt5 } from './habits/gpt.ts'
import { encodeGrok } from './habits/grok.ts'
import type { Frames, Habit, HabitSeed } from './habits/habit.ts'
import { markerNumber, parseMarkers } from './markers.ts'
import type { Markers } from './markers.ts'
import { BENCH_MODEL } from './catalogue.ts'
import type { HabitId } from './catalogue.ts'
import { findModel } from './models.ts'
import type { DemoModel } from './models.ts'
import { htmlReply, streamReply } from './outcome.ts'
import type { HeaderMap, Outcome, StreamReply } from './outcome.ts'
import type { PreparedFrames } from './prepared-frames.ts'
import type { DemoSettings } from './settings.ts'
import { quotaHeaders } from './usage.ts'
import { wholeReply } from './whole-reply.ts'

export interface ChatCall {
  readonly bodyText: string
  readonly hasVisionHeader: boolean
  /** Counts the requests of the route from 1. */
  readonly number: number
  readonly nowMs: number
  readonly settings: DemoSettings
  readonly prepared: PreparedFrames
}

const HABITS: Readonly<Record<HabitId, Habit>> = {
  'gpt-4': encodeGpt4,
  'gpt-5': encodeGpt5,
  claude: encodeClaude,
  'gemini-2.5': encodeGemini25,
  'gemini-3': encodeGemini3,
  grok: encodeGrok,
}

/** Events of a reply of the measuring model whose prompt names no number. */
const DEFAULT_PREPARED = 100

const DONE = 'data: [DONE]\n\n'

/** `POST /chat/completions`: checks, then an answer in the habits of the model's family, bent by the markers. */
export function answerChat(call: ChatCall): Outcome {
  const parsed = parseChatRequest(call.bodyText)
  if (!parsed.ok) return parsed.refusal
  const request = parsed.value
  const model = findModel(request.model)
  if (model === undefined) return modelNotSupported()
  const refusal = refuseChat({ request, model, hasVisionHeader: call.hasVisionHeader })
  if (refusal !== undefined) return refusal

  const markers = parseMarkers(lastUserText(request))
  return failAtOnce(markers, call) ?? prepared(model, markers, call) ?? answer(request, model, markers, call)
}

function failAtOnce({ asked }: Markers, { nowMs }: ChatCall): Outcome | undefined {
  if (asked.has('silent')) return { kind: 'silent' }
  if (asked.has('html')) return htmlReply(200, 'Sign in to the network')
  const status = Number(asked.get('error')?.[0])
  return status >= 400 && status <= 599 ? failureOfStatus(status, nowMs) : undefined
}

function prepared(model: DemoModel, markers: Markers, call: ChatCall): Outcome | undefined {
  if (model.id !== BENCH_MODEL && !markers.asked.has('frames')) return undefined
  const count = markerNumber(markers, 'frames', DEFAULT_PREPARED)
  const perWrite = markerNumber(markers, 'frames', call.settings.eventsPerWrite, 1)
  return streamReply(call.prepared.pieces(count, perWrite), {
    headers: quotaHeaders(call.nowMs),
    delayMs: delayOf(markers, call),
  })
}

function answer(request: ChatRequest, model: DemoModel, markers: Markers, call: ChatCall): Outcome {
  const { number, nowMs, bodyText, settings } = call
  const composed = composeAnswer({ request, bodyText, model, markers, number })
  const seed: HabitSeed = {
    number,
    createdSeconds: Math.floor(nowMs / 1000),
    model: model.id,
    promptTokens: estimateTokens(request),
    isAfterTool: isAfterTool(request),
  }
  const headers = { ...quotaHeaders(nowMs), ...familyHeaders(model, number) }
  if (request.stream !== true) return wholeReply(composed, seed, model, headers)
  const { frames, ending } = bend(HABITS[model.habit](composed, seed), markers)
  return streamReply(joined(frames, settings.eventsPerWrite), { headers, ending, delayMs: delayOf(markers, call) })
}

/** Breaks a stream where a marker asks for it. */
function bend(
  { content, closing, error }: Frames,
  { asked }: Markers,
): { readonly frames: readonly string[]; readonly ending: StreamReply['ending'] } {
  const half = content.slice(0, Math.ceil(content.length / 2))
  if (asked.has('hang')) return { frames: [], ending: 'hold' }
  if (asked.has('cut')) return { frames: half, ending: 'cut' }
  if (asked.has('eof')) return { frames: half, ending: 'end' }
  if (asked.has('error-mid')) return { frames: [...half, error], ending: 'end' }
  if (asked.has('no-done')) return { frames: [...content, ...closing], ending: 'end' }
  return { frames: [...content, ...closing, DONE], ending: 'end' }
}

function joined(frames: readonly string[], perWrite: number): readonly string[] {
  if (perWrite <= 1) return frames
  const pieces: string[] = []
  for (let at = 0; at < frames.length; at += perWrite) pieces.push(frames.slice(at, at + perWrite).join(''))
  return pieces
}

/** Longest wait between two events that a marker may ask for. */
const MAX_DELAY_MS = 60_000

function delayOf(markers: Markers, { settings }: ChatCall): number {
  return Math.min(markerNumber(markers, 'slow', settings.eventDelayMs), MAX_DELAY_MS)
}

/** What leaks through from behind the real service on Claude (docs/copilot-wire.md, "Response headers"). */
function familyHeaders({ habit }: DemoModel, number: number): HeaderMap {
  if (habit !== 'claude') return {}
  return { 'request-id': `req_vrtx_demo_${number}`, 'anthropic-ratelimit-requests-remaining': '999', via: '1.1 google' }
}
