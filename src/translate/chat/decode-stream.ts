import type { SseEvent } from '../../sse/decode.ts'
import type { ReplySeed, TurnDecoder } from '../dialect.ts'
import { mintId } from '../parts/mint-id.ts'
import { makerOf } from '../parts/opaque-envelope.ts'
import { isFilled, isObject, objectsOf } from '../parts/wire-json.ts'
import type { Opaque, TurnEvent, TurnStop } from '../turn.ts'
import type { FinishReason } from './completion.ts'
import { isFinishReason } from './completion.ts'
import { startMend } from './mend/mend-state.ts'
import type { Frame, MendState } from './mend/mend-state.ts'
import { endMend, stepMend } from './mend/mend.ts'
import { decodeUsage } from './usage.ts'
import type { WireChoice, WireDelta, WireToolCall } from './wire-chunk.ts'

/** Where one reply is. Owned by one decoder, updated in place. */
interface DecodeState {
  readonly seed: ReplySeed
  readonly mend: MendState
  started: boolean
  nextSlot: number
  /** The slot that text or thinking goes on in; undefined once another slot was opened, or it was closed. */
  open: { readonly kind: 'text' | 'refusal' | 'think'; readonly slot: number } | undefined
  /** Calls that are not closed, by the index they have in the mended chunks. */
  readonly tools: Map<number, OpenCall>
  /** The index of the call that was opened last. */
  lastCall: number | undefined
  /** The slot of a call in the way that came before tools. */
  legacyCall: number | undefined
  /** The last opaque value: some backends repeat it on every chunk. */
  signed: string | undefined
  /** One that came amid text, which it must not cut in two. */
  waitingSign: string | undefined
  stop: TurnStop
}

interface OpenCall {
  readonly slot: number
  hasArguments: boolean
}

/** Copilot's chat stream, its quirks mended, as the steps of a reply. */
export function createChatDecoder(seed: ReplySeed): TurnDecoder {
  const mend = startMend(seed, true)
  const state: DecodeState = {
    seed,
    mend,
    started: false,
    nextSlot: 0,
    open: undefined,
    tools: new Map(),
    lastCall: undefined,
    legacyCall: undefined,
    signed: undefined,
    waitingSign: undefined,
    stop: 'end',
  }
  return {
    push: (event: SseEvent) => (mend.done ? [] : decodeFrames(state, stepMend(mend, event))),
    end: () => (mend.done ? [] : decodeFrames(state, endMend(mend))),
    skipped: () => mend.skipped,
  }
}

function decodeFrames(state: DecodeState, frames: readonly Frame[]): readonly TurnEvent[] {
  const events: TurnEvent[] = []
  for (const { chunk } of frames) {
    if (!state.started) {
      state.started = true
      events.push({ type: 'start', ...(isFilled(chunk.model) && { model: chunk.model }) })
    }
    for (const choice of objectsOf(chunk.choices)) decodeChoice(state, choice, events)
  }
  if (state.mend.done) {
    closeAll(state, events)
    const { usage, copilotUsage } = state.mend
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
  // Thinking first, and what signs it: where one chunk has both and more, they belong before it.
  if (isObject(delta)) decodeDelta(state, delta, logprobs, events)
  // The mended stream has one finish, which the precedence of reasons went into.
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

/** Names of readable thinking, by backend; where a chunk has several they say the same (docs/copilot-wire.md, quirk 11). */
const thoughtKeys = ['reasoning_text', 'reasoning_content', 'reasoning', 'thinking', 'cot_summary'] as const

function thoughtOf(delta: WireDelta): string | undefined {
  for (const key of thoughtKeys) {
    const value = delta[key]
    if (isFilled(value)) return value
  }
  return undefined
}

/** The text of a delta. Of content in parts, whatever of them is text: a Turn has no place for the rest. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return objectsOf(content)
    .map(({ text }) => text)
    .filter(isFilled)
    .join('')
}

/** The slot that a piece goes to: the last one while it is of its kind, else a new one. */
function openSlot(state: DecodeState, kind: 'text' | 'refusal' | 'think', events: TurnEvent[]): number {
  if (state.open?.kind === kind) return state.open.slot
  const slot = newSlot(state, events)
  state.open = { kind, slot }
  return slot
}

/** Nothing more comes for what stood open, so that encoders need not wait for the end. */
function newSlot(state: DecodeState, events: TurnEvent[]): number {
  closeText(state, events)
  closeWholeCall(state, events)
  const slot = state.nextSlot
  state.nextSlot += 1
  return slot
}

function closeText(state: DecodeState, events: TurnEvent[]): void {
  if (state.open !== undefined) events.push({ type: 'part.close', slot: state.open.slot })
  state.open = undefined
  const value = state.waitingSign
  if (value === undefined) return
  state.waitingSign = undefined
  signNow(state, value, events)
}

/** Calls may interleave, but one whose arguments are a whole object gets no more of them. */
function closeWholeCall({ tools, lastCall, mend }: DecodeState, events: TurnEvent[]): void {
  if (lastCall === undefined) return
  const open = tools.get(lastCall)
  const call = mend.calls.seen.findLast(({ index }) => index === lastCall)
  if (open === undefined || call?.kind !== 'function' || !call.scan.closed) return
  events.push({ type: 'part.close', slot: open.slot })
  tools.delete(lastCall)
}

/**
 * Claude signs at the very end, when text has closed the thought. No reader could be kept waiting for that, so the value
 * gets a slot of its own, once the text is over.
 */
function sign(state: DecodeState, value: string, events: TurnEvent[]): void {
  if (state.signed === value) return
  state.signed = value
  if (state.open === undefined || state.open.kind === 'think') signNow(state, value, events)
  else state.waitingSign = value
}

function signNow(state: DecodeState, value: string, events: TurnEvent[]): void {
  const slot = openSlot(state, 'think', events)
  events.push({ type: 'think.sign', slot, opaque: toOpaque(state.seed, value) })
  closeText(state, events)
}

function toOpaque({ traits }: ReplySeed, value: string): Opaque {
  return { ...makerOf(traits), form: 'reasoning_opaque', value }
}

/** A mended call: index, id, type and name once, then index and pieces. */
function decodeCall(state: DecodeState, call: WireToolCall, events: TurnEvent[]): void {
  const { index, id, custom, function: called } = call
  if (typeof index !== 'number') return
  const isCustom = isObject(custom)
  const body = isCustom ? custom : isObject(called) ? called : {}
  if (isFilled(id) && isFilled(body['name'])) {
    const slot = newSlot(state, events)
    state.tools.set(index, { slot, hasArguments: false })
    state.lastCall = index
    events.push({ type: 'tool.open', slot, id, name: body['name'], kind: isCustom ? 'custom' : 'function' })
  }
  // Undefined for one that is closed: after a whole object only white space comes.
  const open = state.tools.get(index)
  const piece = body[isCustom ? 'input' : 'arguments']
  if (open === undefined || !isFilled(piece)) return
  if (!isCustom && !open.hasArguments && isEmptyArguments(piece)) return
  open.hasArguments = true
  events.push({ type: 'tool.args', slot: open.slot, text: piece })
}

/** No arguments are told by no piece: callers whose dialect has no word for them get none. */
function isEmptyArguments(piece: string): boolean {
  const text = piece.trim()
  return text === '' || text === '{}'
}

function decodeLegacyCall(
  state: DecodeState,
  { name, arguments: piece }: Record<string, unknown>,
  events: TurnEvent[],
): void {
  if (state.legacyCall === undefined) {
    if (!isFilled(name)) return
    const slot = newSlot(state, events)
    state.legacyCall = slot
    events.push({ type: 'tool.open', slot, id: mintId('call', state.seed.id, 0), name, kind: 'function' })
  }
  if (isFilled(piece)) events.push({ type: 'tool.args', slot: state.legacyCall, text: piece })
}

/** What is over at the end. A call that was cut is never whole: it stays open. */
function closeAll(state: DecodeState, events: TurnEvent[]): void {
  closeText(state, events)
  if (state.stop !== 'tool_calls') return
  for (const { slot } of state.tools.values()) events.push({ type: 'part.close', slot })
  state.tools.clear()
  if (state.legacyCall !== undefined) events.push({ type: 'part.close', slot: state.legacyCall })
  state.legacyCall = undefined
}
