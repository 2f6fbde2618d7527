import type { SseEvent } from '../../../sse/decode.ts'
import type { ReplySeed, TurnDecoder } from '../../dialect.ts'
import { mintId } from '../../engine/ids.ts'
import { makerOf } from '../../engine/opaque-envelope.ts'
import { isFilled, isObject, type JsonObject, objectsOf, objectOf } from '../../../json/json.ts'
import type { Opaque, TurnEvent, TurnStop } from '../../turn.ts'
import { type FinishReason, isFinishReason, type WireChoice, type WireDelta, type WireToolCall } from '../wire.ts'
import { decodeUsage } from '../usage.ts'
import { normaliseEnd, normaliseEvent } from './normaliser.ts'
import { startNormaliser } from './state.ts'
import type { NormalisedChunk, NormaliserState } from './state.ts'
import { hasClosedArguments } from './tool-calls.ts'

/** Owned by one decoder, updated in place. */
interface DecodeState {
  readonly seed: ReplySeed
  readonly normaliser: NormaliserState
  started: boolean
  nextSlot: number
  /** The slot of the current run of text or thinking. */
  open: { readonly kind: 'text' | 'refusal' | 'think'; readonly slot: number } | undefined
  /** Calls that are not closed, by index. */
  readonly tools: Map<number, OpenCall>
  lastCall: number | undefined
  /** The last opaque value: some backends repeat it on every chunk. */
  lastOpaque: string | undefined
  /** An opaque value that came amid text. It waits, because it must not split the text. */
  pendingOpaque: string | undefined
  stop: TurnStop
}

interface OpenCall {
  readonly slot: number
  hasArguments: boolean
}

/** Decodes Copilot's normalised chat stream into the events of a reply. */
export function createChatDecoder(seed: ReplySeed): TurnDecoder {
  const normaliser = startNormaliser(seed, true)
  const state: DecodeState = {
    seed,
    normaliser,
    started: false,
    nextSlot: 0,
    open: undefined,
    tools: new Map(),
    lastCall: undefined,
    lastOpaque: undefined,
    pendingOpaque: undefined,
    stop: 'end',
  }
  return {
    push: (event: SseEvent) => (normaliser.done ? [] : decodeChunks(state, normaliseEvent(normaliser, event))),
    end: () => (normaliser.done ? [] : decodeChunks(state, normaliseEnd(normaliser))),
    skipped: () => normaliser.skipped,
  }
}

function decodeChunks(state: DecodeState, chunks: readonly NormalisedChunk[]): readonly TurnEvent[] {
  const events: TurnEvent[] = []
  for (const { chunk } of chunks) {
    if (!state.started) {
      state.started = true
      events.push({ type: 'start', ...(isFilled(chunk.model) && { model: chunk.model }) })
    }
    for (const choice of objectsOf(chunk.choices)) decodeChoice(state, choice, events)
  }
  if (state.normaliser.done) {
    closeAll(state, events)
    const { usage, copilotUsage } = state.normaliser
    if (usage !== undefined) events.push({ type: 'usage', usage: decodeUsage(usage, copilotUsage) })
    events.push({ type: 'stop', reason: state.stop })
  }
  return events
}

function decodeChoice(
  state: DecodeState,
  { delta, finish_reason: reason, logprobs }: WireChoice,
  events: TurnEvent[],
): void {
  if (isObject(delta)) decodeDelta(state, delta, logprobs, events)
  if (isFinishReason(reason)) state.stop = stopOf[reason]
}

const stopOf: Readonly<Record<FinishReason, TurnStop>> = {
  stop: 'end',
  length: 'max_tokens',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
}

function decodeDelta(state: DecodeState, delta: WireDelta, logprobs: unknown, events: TurnEvent[]): void {
  // In one chunk, thinking and its opaque value belong before text and calls.
  const thought = thoughtOf(delta)
  if (thought !== undefined) events.push({ type: 'think.delta', slot: openSlot(state, 'think', events), text: thought })
  const opaque = delta['reasoning_opaque']
  if (isFilled(opaque)) sign(state, opaque, events)
  const text = textOf(delta.content)
  if (text !== '') {
    const slot = openSlot(state, 'text', events)
    const content = isObject(logprobs) ? logprobs['content'] : undefined
    events.push({ type: 'text.delta', slot, text, ...(Array.isArray(content) && { logprobs: content }) })
  }
  const { refusal } = delta
  if (isFilled(refusal)) {
    events.push({ type: 'refusal.delta', slot: openSlot(state, 'refusal', events), text: refusal })
  }
  if (Array.isArray(delta.tool_calls)) {
    for (const call of objectsOf(delta.tool_calls)) decodeCall(state, call, events)
  }
  if (isObject(delta.function_call)) decodeLegacyCall(state, delta.function_call, events)
}

/** Keys of readable thinking, by backend. If a chunk has several, they are copies (docs/copilot-wire.md, quirk 11). */
const thoughtKeys = ['reasoning_text', 'reasoning_content', 'reasoning', 'thinking', 'cot_summary'] as const

function thoughtOf(delta: WireDelta): string | undefined {
  for (const key of thoughtKeys) {
    const value = delta[key]
    if (isFilled(value)) return value
  }
  return undefined
}

/** The text of a delta. Parts other than text are dropped: a Turn cannot hold them. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map(({ text }) => text)
    .filter(isFilled)
    .join('')
}

/** The current slot if it is of this kind, otherwise a new one. */
function openSlot(state: DecodeState, kind: 'text' | 'refusal' | 'think', events: TurnEvent[]): number {
  if (state.open?.kind === kind) return state.open.slot
  const slot = newSlot(state, events)
  state.open = { kind, slot }
  return slot
}

/** Before it opens a slot, it closes slots that get no more pieces, so that encoders need not wait for the end. */
function newSlot(state: DecodeState, events: TurnEvent[]): number {
  closeText(state, events)
  closeCompleteCall(state, events)
  const slot = state.nextSlot
  state.nextSlot += 1
  return slot
}

function closeText(state: DecodeState, events: TurnEvent[]): void {
  if (state.open !== undefined) events.push({ type: 'part.close', slot: state.open.slot })
  state.open = undefined
  const value = state.pendingOpaque
  if (value === undefined) return
  state.pendingOpaque = undefined
  signNow(state, value, events)
}

/** Calls may interleave, but one whose arguments are a complete object gets no more pieces. */
function closeCompleteCall({ tools, lastCall, normaliser }: DecodeState, events: TurnEvent[]): void {
  if (lastCall === undefined) return
  const open = tools.get(lastCall)
  if (open === undefined || !hasClosedArguments(normaliser.calls, lastCall)) return
  events.push({ type: 'part.close', slot: open.slot })
  tools.delete(lastCall)
}

/**
 * Claude sends the opaque value at the very end, after the text. Holding the text back until then would stall the
 * caller, so the value gets its own slot after the text.
 */
function sign(state: DecodeState, value: string, events: TurnEvent[]): void {
  if (state.lastOpaque === value) return
  state.lastOpaque = value
  if (state.open === undefined || state.open.kind === 'think') signNow(state, value, events)
  else state.pendingOpaque = value
}

function signNow(state: DecodeState, value: string, events: TurnEvent[]): void {
  const slot = openSlot(state, 'think', events)
  events.push({ type: 'think.sign', slot, opaque: toOpaque(state.seed, value) })
  closeText(state, events)
}

function toOpaque({ traits }: ReplySeed, value: string): Opaque {
  return { ...makerOf(traits), form: 'reasoning_opaque', value }
}

function decodeCall(state: DecodeState, call: WireToolCall, events: TurnEvent[]): void {
  const { index, id, custom, function: called } = call
  if (typeof index !== 'number') return
  const isCustom = isObject(custom)
  const body = isCustom ? custom : objectOf(called)
  if (isFilled(id) && isFilled(body['name'])) {
    const slot = newSlot(state, events)
    state.tools.set(index, { slot, hasArguments: false })
    state.lastCall = index
    events.push({ type: 'tool.open', slot, id, name: body['name'], kind: isCustom ? 'custom' : 'function' })
  }
  // Undefined for a closed call, which gets only white space.
  const open = state.tools.get(index)
  const piece = body[isCustom ? 'input' : 'arguments']
  if (open === undefined || !isFilled(piece)) return
  if (!isCustom && !open.hasArguments && isEmptyArguments(piece)) return
  open.hasArguments = true
  events.push({ type: 'tool.args', slot: open.slot, text: piece })
}

/** A call without arguments has no `tool.args` event: each caller dialect writes it in its own form. */
function isEmptyArguments(piece: string): boolean {
  const text = piece.trim()
  return text === '' || text === '{}'
}

/** The index of a `function_call`, which OpenAI replaced by `tool_calls`. */
const LEGACY_INDEX = -1

function decodeLegacyCall(state: DecodeState, called: JsonObject, events: TurnEvent[]): void {
  const id = state.tools.has(LEGACY_INDEX) ? undefined : mintId('call', state.seed.id, 0)
  decodeCall(state, { index: LEGACY_INDEX, id, function: called }, events)
}

/** Closes all slots at the end. A truncated call stays open. */
function closeAll(state: DecodeState, events: TurnEvent[]): void {
  closeText(state, events)
  if (state.stop !== 'tool_calls') return
  for (const { slot } of state.tools.values()) events.push({ type: 'part.close', slot })
  state.tools.clear()
}
