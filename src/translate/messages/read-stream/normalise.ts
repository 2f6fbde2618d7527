import { Fault } from '../../../errors.ts'
import type { SseEvent } from '../../../sse/decode.ts'
import type { ReplySeed } from '../../dialect.ts'
import { scanArguments, startArgumentScan, type ArgumentScan } from '../../engine/reply/argument-scan.ts'
import { type JsonObject, isFilled, isObject, stringify, parseObject } from '../../../json/json.ts'
import { mintId } from '../../engine/ids.ts'
import { deltasOfBlock } from '../fold.ts'
import { noteUsage, type UsageCounts } from '../usage.ts'
import type { ContentBlock, LooseBlockDelta, LooseEvent, WireEvent } from '../wire.ts'
import { refuseDamaged, toStreamFault } from '../../engine/reply/stream-fault.ts'

/**
 * A normalised event. A reply has one `message_start`, blocks one at a time with indexes from 0, one `message_delta`
 * and one `message_stop`.
 */
export interface NormalisedEvent {
  readonly name: string
  /** Undefined for pings and unknown events, which pass. Valid until the next event is normalised. */
  readonly event: LooseEvent | undefined
  /** Upstream's own data; undefined if the event was changed or added. */
  readonly rawText: string | undefined
}

/** Owned by one stream, updated in place. */
export interface Normaliser {
  readonly seed: ReplySeed
  /** The events that replace the current upstream event. */
  out: NormalisedEvent[]
  started: boolean
  /** Upstream's name of the model. The caller reads the name that it requested. */
  model: string | undefined
  /** Index of the next block in the caller's numbering. */
  nextIndex: number
  open: OpenBlock | undefined
  /** Upstream's indexes of the tool calls so far. */
  readonly calls: Set<unknown>
  /** `message_delta.delta`; undefined until one has a `stop_reason`. */
  end: JsonObject | undefined
  readonly usage: UsageCounts
  done: boolean
  skipped: number
}

interface OpenBlock {
  /** Upstream's index of the block. */
  readonly wireIndex: unknown
  /** The caller's index of the block. */
  readonly index: number
  readonly type: unknown
  readonly scan: ArgumentScan
  /** The complete input of a call whose `content_block_start` has it, until a delta replaces it. */
  input: JsonObject | undefined
}

/** An event as upstream sent it. */
interface Sent {
  readonly event: WireEvent
  readonly rawText: string
}

const nothing: readonly NormalisedEvent[] = []

export function startNormaliser(seed: ReplySeed): Normaliser {
  return {
    seed,
    out: [],
    started: false,
    model: undefined,
    nextIndex: 0,
    open: undefined,
    calls: new Set(),
    end: undefined,
    usage: {},
    done: false,
    skipped: 0,
  }
}

/**
 * Repairs the quirks in docs/copilot-wire.md, "Messages stream". A correct event keeps its text, unknown members stay,
 * unknown events pass. Once `state.done` is true, later events add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for an error in the stream, `upstream_truncated` for an end mark
 * before the end, `upstream_unusable` for data that is not JSON and for runaway whitespace
 */
export function normaliseEvent(state: Normaliser, sse: SseEvent): readonly NormalisedEvent[] {
  const { data: rawText } = sse
  if (state.done || rawText === '') return nothing
  if (isEndMark(rawText)) return normaliseEnd(state)
  state.out = []
  const event = readEvent(sse, state.seed.redact)
  if (event === undefined) {
    state.skipped += 1
    return state.out
  }
  if (event.type === 'content_block_delta') readDelta(state, { event, rawText })
  else normaliseOther(state, { event, rawText })
  return state.out
}

/**
 * Ends the reply when upstream has closed the stream. Upstream may omit `message_stop`, but not the stop reason.
 * @throws Fault `upstream_truncated` without a stop reason
 */
export function normaliseEnd(state: Normaliser): readonly NormalisedEvent[] {
  if (state.done) return nothing
  if (state.end === undefined) throw new Fault({ kind: 'upstream_truncated' })
  state.out = []
  finish(state)
  return state.out
}

function normaliseOther(state: Normaliser, sent: Sent): void {
  const { type, index } = sent.event
  switch (type) {
    case 'message_start':
      // Anthropic's client fails on a second `message_start`.
      if (!state.started) startMessage(state, sent)
      return
    case 'content_block_start':
      return openBlock(state, sent)
    case 'content_block_stop':
      if (state.open !== undefined && isForBlock(state.open, index)) closeBlock(state, sent)
      return
    case 'message_delta':
      return readMessageDelta(state, sent.event, sent)
    case 'message_stop':
      return finish(state, sent)
    default:
      // A line end in an event name would start another line of the stream.
      if (/^[\w.-]{1,64}$/.test(type)) state.out.push({ name: type, event: undefined, rawText: sent.rawText })
      else state.skipped += 1
  }
}

/** Replaces some members of the upstream event. If nothing changes, the event keeps its original text. */
function write(state: Normaliser, event: LooseEvent, sent?: Sent, isCorrect = true): void {
  const rawText = isCorrect ? sent?.rawText : undefined
  state.out.push({ name: event.type, event: { ...sent?.event, ...event }, rawText })
}

function startMessage(state: Normaliser, sent?: Sent): void {
  state.started = true
  const message = isObject(sent?.event.message) ? sent.event.message : {}
  const { id, type, role, model, content, usage } = message
  if (isFilled(model)) state.model = model
  noteUsage(state.usage, usage)
  const { requestedModel, id: seedId } = state.seed
  const isNamed = isFilled(id) && type === 'message' && role === 'assistant' && model === requestedModel
  const isCorrect = isNamed && Array.isArray(content) && content.length === 0 && isObject(usage)
  // The members that clients read.
  const corrected = {
    ...message,
    id: isFilled(id) ? id : mintId('msg', seedId, 0),
    type: 'message',
    role: 'assistant',
    model: requestedModel,
    content: [],
    stop_reason: message['stop_reason'] ?? null,
    stop_sequence: message['stop_sequence'] ?? null,
    usage: isObject(usage) ? usage : { input_tokens: 0, output_tokens: 0 },
  }
  write(state, { type: 'message_start', message: isCorrect ? message : corrected }, sent, isCorrect)
}

function openBlock(state: Normaliser, sent: Sent): void {
  const { content_block: block, index: wireIndex } = sent.event
  if (!isObject(block) || !isFilled(block['type'])) {
    state.skipped += 1
    return
  }
  prepareBlock(state)
  const index = state.nextIndex
  const input = completeInput(block)
  const lacksId = block['type'] === 'tool_use' && !isFilled(block['id'])
  const content_block = {
    ...block,
    // Claude Code reads the input from deltas only, and Anthropic sends it there.
    ...(input && { input: {} }),
    ...(lacksId && { id: mintId('toolu', state.seed.id, index) }),
  }
  const isCorrect = wireIndex === index && input === undefined && !lacksId
  write(state, { type: 'content_block_start', index, content_block }, sent, isCorrect)
  setOpen(state, wireIndex, block['type'], input)
}

/** Closes the block that upstream left open, because clients expect one open block at a time. */
function prepareBlock(state: Normaliser): void {
  if (!state.started) startMessage(state)
  closeBlock(state)
}

function setOpen(state: Normaliser, wireIndex: unknown, type: unknown, input?: JsonObject): OpenBlock {
  const open = { wireIndex, index: state.nextIndex, type, scan: startArgumentScan(), input }
  state.open = open
  state.nextIndex += 1
  if (type === 'tool_use') state.calls.add(wireIndex)
  return open
}

function completeInput({ type, input }: JsonObject): JsonObject | undefined {
  if (type !== 'tool_use' && type !== 'server_tool_use') return undefined
  return isObject(input) && Object.keys(input).length > 0 ? input : undefined
}

/** The hot path: a delta of the open block that clients can read unchanged. */
function readDelta(state: Normaliser, { event, rawText }: Sent): void {
  const { delta, index: wireIndex } = event
  if (!isReadableDelta(delta)) {
    state.skipped += 1
    return
  }
  const open = blockOf(state, wireIndex, delta['type'])
  if (open === undefined || !fitsBlock(delta['type'], open.type)) {
    if (open === undefined) refuseLateArguments(delta, wireIndex, state.calls)
    state.skipped += 1
    return
  }
  const { index } = open
  const kept = keptArguments(open, delta)
  const type = 'content_block_delta'
  if (kept !== undefined) return cutArguments(state, open, { ...event, type, index, delta }, kept)
  // Not copied, because most events are correct deltas.
  if (isIndexed(event, index)) state.out.push({ name: type, event, rawText })
  else write(state, { ...event, type, index, delta })
}

function isIndexed(event: WireEvent, index: number): event is LooseBlockDelta {
  return event.type === 'content_block_delta' && event.index === index && isObject(event.delta)
}

/**
 * Returns the block of a delta. If upstream never started the block, it is started here, provided that the delta shows
 * its type.
 */
function blockOf(state: Normaliser, wireIndex: unknown, deltaType: unknown): OpenBlock | undefined {
  if (state.open !== undefined && isForBlock(state.open, wireIndex)) return state.open
  const content_block = blockForDelta(deltaType)
  if (content_block === undefined) return undefined
  prepareBlock(state)
  write(state, { type: 'content_block_start', index: state.nextIndex, content_block })
  return setOpen(state, wireIndex, content_block.type)
}

/** If either index is not a number, only the open block can be meant. */
function isForBlock({ wireIndex }: OpenBlock, index: unknown): boolean {
  return index === wireIndex || typeof index !== 'number' || typeof wireIndex !== 'number'
}

/** The arguments without their runaway whitespace; undefined if the delta has none. */
function keptArguments(open: OpenBlock, { type, partial_json: piece }: JsonObject): string | undefined {
  if (type !== 'input_json_delta' || !isFilled(piece)) return undefined
  open.input = undefined
  const kept = scanArguments(open.scan, piece)
  return kept === piece.length ? undefined : piece.slice(0, kept)
}

/**
 * Runaway whitespace after complete arguments ends the answer. Before that, the answer is unusable.
 * @throws Fault `upstream_unusable`
 */
function cutArguments(state: Normaliser, open: OpenBlock, event: LooseBlockDelta, kept: string): void {
  if (!open.scan.closed) {
    const detail = 'it filled the arguments of a tool call with endless whitespace'
    throw new Fault({ kind: 'upstream_unusable', detail })
  }
  write(state, { ...event, delta: { ...event.delta, partial_json: kept } })
  readMessageDelta(state, { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null } })
  finish(state)
}

/**
 * Fails on late arguments of a call: the caller already has the call without them and would execute it. Other deltas
 * without a block can be left out.
 * @throws Fault `upstream_unusable`
 */
function refuseLateArguments(delta: JsonObject, wireIndex: unknown, calls: ReadonlySet<unknown>): void {
  if (delta['type'] !== 'input_json_delta' || !isFilled(delta['partial_json']) || !calls.has(wireIndex)) return
  throw new Fault({ kind: 'upstream_unusable', detail: 'it sent arguments for a tool call that had ended' })
}

function closeBlock(state: Normaliser, sent?: Sent): void {
  const { open } = state
  if (open === undefined) return
  const { index, input } = open
  if (input !== undefined) {
    const delta = { type: 'input_json_delta', partial_json: stringify(input) }
    write(state, { type: 'content_block_delta', index, delta })
  }
  write(state, { type: 'content_block_stop', index }, sent, sent?.event.index === index)
  state.open = undefined
}

function readMessageDelta(state: Normaliser, event: WireEvent, sent?: Sent): void {
  prepareBlock(state)
  noteUsage(state.usage, event.usage, event.copilot_usage)
  const stated = isObject(event.delta) ? event.delta : { stop_reason: null, stop_sequence: null }
  if (isFilled(stated['stop_reason'])) state.end = stated
  // Clients use the members of the last `message_delta`, so one that has only counts must not erase the reason.
  const delta = state.end === undefined || state.end === stated ? stated : { ...stated, ...state.end }
  const usage = normaliseUsage(event.usage, state.usage)
  write(state, { type: 'message_delta', delta, usage }, sent, delta === event.delta && usage === event.usage)
}

/** Clients read `output_tokens` without a check. */
function normaliseUsage(usage: unknown, { output = 0 }: UsageCounts): JsonObject {
  if (!isObject(usage)) return { output_tokens: output }
  return typeof usage['output_tokens'] === 'number' ? usage : { ...usage, output_tokens: output }
}

function finish(state: Normaliser, sent?: Sent): void {
  prepareBlock(state)
  write(state, { type: 'message_stop' }, sent)
  state.done = true
}

/** The member that contains the text of a delta. */
const textMembers: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'signature'],
  ['input_json_delta', 'partial_json'],
])

/** Clients append `undefined` to the block if the text is missing. */
function isReadableDelta(delta: unknown): delta is JsonObject {
  if (!isObject(delta)) return false
  const member = textMembers.get(delta['type'])
  if (member !== undefined) return typeof delta[member] === 'string'
  return delta['type'] === 'citations_delta' ? isObject(delta['citation']) : isFilled(delta['type'])
}

/** Some clients fail on a delta of another kind of block. Unknown deltas, and all deltas of unknown blocks, pass. */
function fitsBlock(deltaType: unknown, blockType: unknown): boolean {
  const isKnown = textMembers.has(deltaType) || deltaType === 'citations_delta'
  return !isKnown || (deltasOfBlock.get(blockType)?.has(deltaType) ?? true)
}

/** The type of a delta's block; undefined if the delta does not show it. */
function blockForDelta(type: unknown): ContentBlock | undefined {
  if (type === 'text_delta') return { type: 'text', text: '', citations: null }
  return type === 'thinking_delta' ? { type: 'thinking', thinking: '', signature: '' } : undefined
}

/** The end mark of OpenAI's streams, which Copilot may send after `message_stop`. */
function isEndMark(data: string): boolean {
  return data.startsWith('[DONE]')
}

/**
 * Reads the type from the data, because the `event:` line may be missing. Undefined for data without a type.
 * @throws Fault `upstream_failed`, `upstream_status` for an error, in any of the shapes of docs/copilot-wire.md,
 * "Messages stream"; `upstream_unusable` for data that is not JSON
 */
function readEvent({ event: name, data }: SseEvent, redact: ReplySeed['redact']): WireEvent | undefined {
  const value = parseObject(data)
  if (name === 'error') throw toStreamFault(value?.['error'] ?? value ?? data, redact)
  if (value === undefined) {
    refuseDamaged(data)
    return undefined
  }
  if (hasType(value)) {
    if (value.type === 'error') throw toStreamFault(value['error'] ?? value, redact)
    return value
  }
  if (value['error']) throw toStreamFault(value['error'], redact)
  // The oldest form of an error has only a message.
  if (isFilled(value['message'])) throw toStreamFault(value, redact)
  return undefined
}

function hasType(value: { readonly [key: string]: unknown }): value is WireEvent {
  return isFilled(value['type'])
}
