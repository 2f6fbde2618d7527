import { Fault } from '../../errors.ts'
import type { SseEvent } from '../../sse/decode.ts'
import { scanArguments, startArgumentScan, type ArgumentScan } from '../parts/argument-scan.ts'
import type { ReplySeed } from '../dialect.ts'
import type { EventTemplates } from '../parts/event-template.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { mintId } from '../parts/mint-id.ts'
import { isFilled, isObject, stringify } from '../parts/wire-json.ts'
import { blockForDelta, fitsBlock, isForBlock, isReadableDelta, refuseLateArguments } from './deltas.ts'
import { isEndMark, readRepeatedEvent, startEventTemplates } from './read-event.ts'
import { runawayFault } from './runaway.ts'
import { noteUsage, startUsageCounts, type UsageCounts } from './usage.ts'
import type { LooseBlockDelta, LooseEvent, WireEvent } from './wire-event.ts'

/** One event for the caller. */
export interface Frame {
  readonly name: string
  /**
   * Undefined for what is no part of the message: pings, and events that are not known here. To be read before the next
   * event is.
   */
  readonly event: LooseEvent | undefined
  /** Upstream's own data, where nothing had to be mended. */
  readonly text: string | undefined
}

/** Where one reply is. Owned by one stream, updated in place. */
export interface MendState {
  readonly seed: ReplySeed
  started: boolean
  /** The caller's index of the next block. */
  nextIndex: number
  open: OpenBlock | undefined
  /** Indexes of the tool calls so far, as upstream counts. */
  readonly calls: Set<unknown>
  /** What `message_delta` said of the end; undefined until it named a reason. */
  end: JsonObject | undefined
  readonly usage: UsageCounts
  done: boolean
  skipped: number
  /** What the deltas look like. */
  readonly templates: EventTemplates
}

interface OpenBlock {
  /** As upstream counts. */
  readonly wireIndex: unknown
  /** As the caller counts. */
  readonly index: number
  readonly type: unknown
  readonly scan: ArgumentScan
  /** A call's whole input, where the block began with it. */
  input: JsonObject | undefined
}

const nothing: readonly Frame[] = []

export function startMend(seed: ReplySeed): MendState {
  return {
    seed,
    started: false,
    nextIndex: 0,
    open: undefined,
    calls: new Set(),
    end: undefined,
    usage: startUsageCounts(),
    done: false,
    skipped: 0,
    templates: startEventTemplates(),
  }
}

/**
 * One upstream event to the events it adds to the reply. Mends what docs/copilot-wire.md, "Messages stream" lists and
 * nothing else: an event that is right keeps its text, unknown members stay, unknown events pass. Once `state.done` is
 * true, later events add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for an error in the stream, `upstream_truncated` for an end mark
 * before the end, `upstream_unusable` for what is not JSON and for endless whitespace
 */
export function stepMend(state: MendState, sse: SseEvent): readonly Frame[] {
  const { data } = sse
  if (state.done || data === '') return nothing
  if (isEndMark(data)) return endMend(state)
  const event = readRepeatedEvent(state.templates, sse, state.seed.redact)
  if (event === undefined) {
    state.skipped += 1
    return nothing
  }
  if (isPlain(state, event)) return [{ name: event.type, event, text: data }]
  const out: Frame[] = []
  mendEvent(state, event, data, out)
  return out
}

/**
 * Upstream closed the stream. It may leave out its last event, but not the reason it stopped.
 * @throws Fault `upstream_truncated` without a reason
 */
export function endMend(state: MendState): readonly Frame[] {
  if (state.done) return nothing
  if (state.end === undefined) throw new Fault({ kind: 'upstream_truncated' })
  const out: Frame[] = []
  finish(state, undefined, undefined, out)
  return out
}

/** The hot path: a piece of text or thought for the block that is open. Arguments have to be watched. */
function isPlain({ open }: MendState, event: WireEvent): event is LooseBlockDelta {
  if (open === undefined || event.type !== 'content_block_delta') return false
  const { index, delta } = event
  if (index !== open.index || index !== open.wireIndex || !isReadableDelta(delta)) return false
  const { type } = delta
  return type !== 'input_json_delta' && fitsBlock(type, open.type)
}

function mendEvent(state: MendState, event: WireEvent, text: string, out: Frame[]): void {
  switch (event.type) {
    case 'message_start':
      // Anthropic's client fails on a second one.
      if (!state.started) start(state, event, text, out)
      return
    case 'content_block_start':
      return openBlock(state, event, text, out)
    case 'content_block_delta':
      return mendDelta(state, event, text, out)
    case 'content_block_stop':
      if (state.open !== undefined && isForBlock(state.open.wireIndex, event.index)) closeBlock(state, event, text, out)
      return
    case 'message_delta':
      return mendEnd(state, event, text, out)
    case 'message_stop':
      return finish(state, event, text, out)
    default:
      if (isEventName(event.type)) out.push({ name: event.type, event: undefined, text })
      else state.skipped += 1
  }
}

function start(state: MendState, event: WireEvent | undefined, text: string | undefined, out: Frame[]): void {
  state.started = true
  const sent = event?.message
  const message = isObject(sent) ? sent : {}
  noteUsage(state.usage, message['usage'])
  const mended = mendMessage(state.seed, message)
  write(out, { ...event, type: 'message_start', message: mended }, mended === sent ? text : undefined)
}

/** What clients read of the message at its start, and the model's name as the caller knows it. */
function mendMessage(seed: ReplySeed, message: JsonObject): JsonObject {
  const { id, type, role, model, content, usage } = message
  const isRight = isFilled(id) && type === 'message' && role === 'assistant' && model === seed.requestedModel
  if (isRight && Array.isArray(content) && content.length === 0 && isObject(usage)) return message
  return {
    ...message,
    id: isFilled(id) ? id : mintId('msg', seed.id, 0),
    type: 'message',
    role: 'assistant',
    model: seed.requestedModel,
    content: [],
    stop_reason: message['stop_reason'] ?? null,
    stop_sequence: message['stop_sequence'] ?? null,
    usage: isObject(usage) ? usage : { input_tokens: 0, output_tokens: 0 },
  }
}

function openBlock(state: MendState, event: WireEvent, text: string, out: Frame[]): void {
  const sent = event.content_block
  if (!isObject(sent) || !isFilled(sent['type'])) {
    state.skipped += 1
    return
  }
  prepareBlock(state, out)
  const index = state.nextIndex
  const input = wholeInput(sent)
  const lacksId = sent['type'] === 'tool_use' && !isFilled(sent['id'])
  const content_block = {
    ...sent,
    // Claude Code reads the input from deltas only, which is where Anthropic has it.
    ...(input && { input: {} }),
    ...(lacksId && { id: mintId('toolu', state.seed.id, index) }),
  }
  const isRight = event.index === index && input === undefined && !lacksId
  write(out, { ...event, type: 'content_block_start', index, content_block }, isRight ? text : undefined)
  setOpen(state, event.index, sent['type'], input)
}

/** Closes what upstream left open: one block at a time is what clients expect. */
function prepareBlock(state: MendState, out: Frame[]): void {
  if (!state.started) start(state, undefined, undefined, out)
  if (state.open !== undefined) closeBlock(state, undefined, undefined, out)
}

function setOpen(state: MendState, wireIndex: unknown, type: unknown, input: JsonObject | undefined): void {
  state.open = { wireIndex, index: state.nextIndex, type, scan: startArgumentScan(), input }
  state.nextIndex += 1
  if (type === 'tool_use') state.calls.add(wireIndex)
}

function wholeInput({ type, input }: JsonObject): JsonObject | undefined {
  if (type !== 'tool_use' && type !== 'server_tool_use') return undefined
  return isObject(input) && Object.keys(input).length > 0 ? input : undefined
}

function mendDelta(state: MendState, event: WireEvent, text: string, out: Frame[]): void {
  const { delta } = event
  const open = isReadableDelta(delta) ? blockOf(state, event, delta['type'], out) : undefined
  if (open === undefined || !isReadableDelta(delta) || !fitsBlock(delta['type'], open.type)) {
    if (open === undefined && isReadableDelta(delta)) refuseLateArguments(delta, event.index, state.calls)
    state.skipped += 1
    return
  }
  const { index } = open
  const piece = delta['type'] === 'input_json_delta' ? delta['partial_json'] : undefined
  const kept = isFilled(piece) ? readPiece(open, piece) : piece
  const mended = kept === piece ? delta : { ...delta, partial_json: kept }
  if (mended === delta && event.index === index && isBlockDelta(event)) return write(out, event, text)
  write(out, { ...event, type: 'content_block_delta', index, delta: mended }, undefined)
  if (mended !== delta) endRunaway(state, open, out)
}

function isBlockDelta(event: WireEvent): event is LooseBlockDelta {
  return event.type === 'content_block_delta' && typeof event.index === 'number' && isObject(event.delta)
}

/** The block a delta is for. One that was never begun is begun here, where the delta tells what it is. */
function blockOf(state: MendState, event: WireEvent, deltaType: unknown, out: Frame[]): OpenBlock | undefined {
  if (state.open !== undefined && isForBlock(state.open.wireIndex, event.index)) return state.open
  const content_block = blockForDelta(deltaType)
  if (content_block === undefined) return undefined
  prepareBlock(state, out)
  write(out, { type: 'content_block_start', index: state.nextIndex, content_block }, undefined)
  setOpen(state, event.index, content_block.type, undefined)
  return state.open
}

/** Returns what is worth keeping of the next piece of arguments. */
function readPiece(open: OpenBlock, piece: string): string {
  // Where deltas come after all, they are the input.
  open.input = undefined
  return piece.slice(0, scanArguments(open.scan, piece))
}

/** Endless whitespace after the arguments are whole is the end of the answer; before that there is no answer. */
function endRunaway(state: MendState, { scan }: OpenBlock, out: Frame[]): void {
  if (!scan.closed) throw runawayFault()
  const delta = { stop_reason: 'tool_use', stop_sequence: null }
  mendEnd(state, { type: 'message_delta', delta }, undefined, out)
  finish(state, undefined, undefined, out)
}

function closeBlock(state: MendState, event: WireEvent | undefined, text: string | undefined, out: Frame[]): void {
  const { open } = state
  if (open === undefined) return
  const { index, input } = open
  if (input !== undefined) {
    const delta = { type: 'input_json_delta', partial_json: stringify(input) }
    write(out, { type: 'content_block_delta', index, delta }, undefined)
  }
  write(out, { ...event, type: 'content_block_stop', index }, event?.index === index ? text : undefined)
  state.open = undefined
}

function mendEnd(state: MendState, event: WireEvent, text: string | undefined, out: Frame[]): void {
  prepareBlock(state, out)
  noteUsage(state.usage, event.usage, event.copilot_usage)
  const sent = isObject(event.delta) ? event.delta : { stop_reason: null, stop_sequence: null }
  if (isFilled(sent['stop_reason'])) state.end = sent
  // A later one that has only counts must not erase the reason: clients take the members of the last.
  const delta = state.end === undefined || state.end === sent ? sent : { ...sent, ...state.end }
  const usage = mendUsage(event.usage, state.usage)
  const isRight = delta === event.delta && usage === event.usage
  write(out, { ...event, type: 'message_delta', delta, usage }, isRight ? text : undefined)
}

/** Clients read `output_tokens` without asking whether it is there. */
function mendUsage(usage: unknown, { output = 0 }: UsageCounts): JsonObject {
  if (!isObject(usage)) return { output_tokens: output }
  return typeof usage['output_tokens'] === 'number' ? usage : { ...usage, output_tokens: output }
}

function finish(state: MendState, event: WireEvent | undefined, text: string | undefined, out: Frame[]): void {
  prepareBlock(state, out)
  write(out, { ...event, type: 'message_stop' }, text)
  state.done = true
}

/** Names go onto a line of their own; one with a line end would be two lines. */
function isEventName(type: string): boolean {
  return /^[\w.-]{1,64}$/.test(type)
}

function write(out: Frame[], event: LooseEvent, text: string | undefined): void {
  out.push({ name: event.type, event, text })
}
