import { Fault } from '../../../errors.ts'
import type { SseEvent } from '../../../sse/decode.ts'
import type { ReplySeed } from '../../dialect.ts'
import { scanArguments, startArgumentScan, type ArgumentScan } from '../../parts/argument-scan.ts'
import type { EventTemplates } from '../../parts/event-template.ts'
import type { JsonObject } from '../../parts/json.ts'
import { mintId } from '../../parts/ids.ts'
import { isFilled, isObject, stringify } from '../../parts/json.ts'
import { deltasOfBlock } from '../fold.ts'
import { noteUsage, startUsageCounts, type UsageCounts } from '../usage.ts'
import type { ContentBlock, LooseBlockDelta, LooseEvent, WireEvent } from '../wire.ts'
import { isEndMark, readRepeatedEvent, startEventTemplates } from './read-event.ts'

/**
 * One event in Anthropic's grammar: a `message_start`, blocks one at a time with indexes from 0, a `message_delta`, a
 * `message_stop`.
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
  started: boolean
  /** As upstream calls it; the caller reads the name it asked for. */
  model: string | undefined
  /** Index of the next block, as the caller counts. */
  nextIndex: number
  open: OpenBlock | undefined
  /** Indexes of the tool calls so far, as upstream counts. */
  readonly calls: Set<unknown>
  /** `message_delta.delta`; undefined until one has a `stop_reason`. */
  end: JsonObject | undefined
  readonly usage: UsageCounts
  done: boolean
  skipped: number
  readonly templates: EventTemplates
}

interface OpenBlock {
  /** As upstream counts. */
  readonly wireIndex: unknown
  /** As the caller counts. */
  readonly index: number
  readonly type: unknown
  readonly scan: ArgumentScan
  /** The complete input of a call whose `content_block_start` has it, until a delta replaces it. */
  input: JsonObject | undefined
}

const nothing: readonly NormalisedEvent[] = []

export function startNormaliser(seed: ReplySeed): Normaliser {
  return {
    seed,
    started: false,
    model: undefined,
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
 * Repairs what docs/copilot-wire.md, "Messages stream", lists. A correct event keeps its text, unknown members stay,
 * unknown events pass. Once `state.done` is true, later events add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for an error in the stream, `upstream_truncated` for an end mark
 * before the end, `upstream_unusable` for data that is not JSON and for runaway whitespace
 */
export function normaliseEvent(state: Normaliser, sse: SseEvent): readonly NormalisedEvent[] {
  const { data } = sse
  if (state.done || data === '') return nothing
  if (isEndMark(data)) return normaliseEnd(state)
  const event = readRepeatedEvent(state.templates, sse, state.seed.redact)
  if (event === undefined) {
    state.skipped += 1
    return nothing
  }
  const { open } = state
  if (open !== undefined && isCorrectDelta(open, event)) {
    const kept = keptArguments(open, event.delta)
    if (kept === undefined) return [{ name: event.type, event, rawText: data }]
    return cutArguments(state, open, event, kept)
  }
  const out: NormalisedEvent[] = []
  readEvent(state, event, data, out)
  return out
}

/**
 * Upstream closed the stream. It may leave out `message_stop`, but not the stop reason.
 * @throws Fault `upstream_truncated` without a stop reason
 */
export function normaliseEnd(state: Normaliser): readonly NormalisedEvent[] {
  if (state.done) return nothing
  if (state.end === undefined) throw new Fault({ kind: 'upstream_truncated' })
  const out: NormalisedEvent[] = []
  finish(state, undefined, undefined, out)
  return out
}

/** The hot path: a delta of the open block that clients can read as it is. */
function isCorrectDelta(open: OpenBlock, event: WireEvent): event is LooseBlockDelta {
  if (event.type !== 'content_block_delta') return false
  const { index, delta } = event
  return (
    index === open.index && index === open.wireIndex && isReadableDelta(delta) && fitsBlock(delta['type'], open.type)
  )
}

function readEvent(state: Normaliser, event: WireEvent, rawText: string, out: NormalisedEvent[]): void {
  switch (event.type) {
    case 'message_start':
      // Anthropic's client fails on a second one.
      if (!state.started) startMessage(state, event, rawText, out)
      return
    case 'content_block_start':
      return openBlock(state, event, rawText, out)
    case 'content_block_delta':
      return readDelta(state, event, rawText, out)
    case 'content_block_stop':
      if (state.open !== undefined && isForBlock(state.open, event.index)) closeBlock(state, event, rawText, out)
      return
    case 'message_delta':
      return readMessageDelta(state, event, rawText, out)
    case 'message_stop':
      return finish(state, event, rawText, out)
    default:
      if (isEventName(event.type)) out.push({ name: event.type, event: undefined, rawText })
      else state.skipped += 1
  }
}

function startMessage(
  state: Normaliser,
  event: WireEvent | undefined,
  rawText: string | undefined,
  out: NormalisedEvent[],
): void {
  state.started = true
  const sent = event?.message
  const message = isObject(sent) ? sent : {}
  if (isFilled(message['model'])) state.model = message['model']
  noteUsage(state.usage, message['usage'])
  const normalised = normaliseMessage(state.seed, message)
  write(out, { ...event, type: 'message_start', message: normalised }, normalised === sent ? rawText : undefined)
}

/** The members that clients read of `message_start`, and the model's name as the caller knows it. */
function normaliseMessage(seed: ReplySeed, message: JsonObject): JsonObject {
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

function openBlock(state: Normaliser, event: WireEvent, rawText: string, out: NormalisedEvent[]): void {
  const sent = event.content_block
  if (!isObject(sent) || !isFilled(sent['type'])) {
    state.skipped += 1
    return
  }
  prepareBlock(state, out)
  const index = state.nextIndex
  const input = completeInput(sent)
  const lacksId = sent['type'] === 'tool_use' && !isFilled(sent['id'])
  const content_block = {
    ...sent,
    // Claude Code reads the input from deltas only, which is where Anthropic has it.
    ...(input && { input: {} }),
    ...(lacksId && { id: mintId('toolu', state.seed.id, index) }),
  }
  const isRight = event.index === index && input === undefined && !lacksId
  write(out, { ...event, type: 'content_block_start', index, content_block }, isRight ? rawText : undefined)
  setOpen(state, event.index, sent['type'], input)
}

/** Closes the block that upstream left open: clients expect one at a time. */
function prepareBlock(state: Normaliser, out: NormalisedEvent[]): void {
  if (!state.started) startMessage(state, undefined, undefined, out)
  if (state.open !== undefined) closeBlock(state, undefined, undefined, out)
}

function setOpen(state: Normaliser, wireIndex: unknown, type: unknown, input: JsonObject | undefined): void {
  state.open = { wireIndex, index: state.nextIndex, type, scan: startArgumentScan(), input }
  state.nextIndex += 1
  if (type === 'tool_use') state.calls.add(wireIndex)
}

function completeInput({ type, input }: JsonObject): JsonObject | undefined {
  if (type !== 'tool_use' && type !== 'server_tool_use') return undefined
  return isObject(input) && Object.keys(input).length > 0 ? input : undefined
}

function readDelta(state: Normaliser, event: WireEvent, rawText: string, out: NormalisedEvent[]): void {
  const { delta } = event
  const open = isReadableDelta(delta) ? blockOf(state, event, delta['type'], out) : undefined
  if (open === undefined || !isReadableDelta(delta) || !fitsBlock(delta['type'], open.type)) {
    if (open === undefined && isReadableDelta(delta)) refuseLateArguments(delta, event.index, state.calls)
    state.skipped += 1
    return
  }
  const { index } = open
  const kept = keptArguments(open, delta)
  const indexed = { ...event, type: 'content_block_delta', index, delta } as const
  if (kept === undefined) write(out, indexed, event.index === index ? rawText : undefined)
  else out.push(...cutArguments(state, open, indexed, kept))
}

/** The block of a delta. A block that upstream never started is started here, if the delta shows its type. */
function blockOf(
  state: Normaliser,
  { index }: WireEvent,
  deltaType: unknown,
  out: NormalisedEvent[],
): OpenBlock | undefined {
  if (state.open !== undefined && isForBlock(state.open, index)) return state.open
  const content_block = blockForDelta(deltaType)
  if (content_block === undefined) return undefined
  prepareBlock(state, out)
  write(out, { type: 'content_block_start', index: state.nextIndex, content_block }, undefined)
  setOpen(state, index, content_block.type, undefined)
  return state.open
}

/** If either index is not a number, only the open block can be meant. */
function isForBlock({ wireIndex }: OpenBlock, index: unknown): boolean {
  return index === wireIndex || typeof index !== 'number' || typeof wireIndex !== 'number'
}

/** Arguments without their runaway whitespace; undefined if the delta has none. */
function keptArguments(open: OpenBlock, { type, partial_json: piece }: JsonObject): string | undefined {
  if (type !== 'input_json_delta' || !isFilled(piece)) return undefined
  open.input = undefined
  const kept = scanArguments(open.scan, piece)
  return kept === piece.length ? undefined : piece.slice(0, kept)
}

/**
 * Runaway whitespace after complete arguments is the end of the answer; before that there is no answer.
 * @throws Fault `upstream_unusable`
 */
function cutArguments(
  state: Normaliser,
  open: OpenBlock,
  event: LooseBlockDelta,
  kept: string,
): readonly NormalisedEvent[] {
  if (!open.scan.closed) {
    const detail = 'it filled the arguments of a tool call with endless whitespace'
    throw new Fault({ kind: 'upstream_unusable', detail })
  }
  const out: NormalisedEvent[] = []
  write(out, { ...event, delta: { ...event.delta, partial_json: kept } }, undefined)
  const delta = { stop_reason: 'tool_use', stop_sequence: null }
  readMessageDelta(state, { type: 'message_delta', delta }, undefined, out)
  finish(state, undefined, undefined, out)
  return out
}

/**
 * The caller already has the call that late arguments belong to, without them, and would run it. Other deltas without a
 * block can be left out.
 * @throws Fault `upstream_unusable`
 */
function refuseLateArguments(
  { type, partial_json: piece }: JsonObject,
  index: unknown,
  calls: ReadonlySet<unknown>,
): void {
  if (type !== 'input_json_delta' || !isFilled(piece) || !calls.has(index)) return
  throw new Fault({ kind: 'upstream_unusable', detail: 'it sent arguments of a tool call that was over' })
}

function closeBlock(
  state: Normaliser,
  event: WireEvent | undefined,
  rawText: string | undefined,
  out: NormalisedEvent[],
): void {
  const { open } = state
  if (open === undefined) return
  const { index, input } = open
  if (input !== undefined) {
    const delta = { type: 'input_json_delta', partial_json: stringify(input) }
    write(out, { type: 'content_block_delta', index, delta }, undefined)
  }
  write(out, { ...event, type: 'content_block_stop', index }, event?.index === index ? rawText : undefined)
  state.open = undefined
}

function readMessageDelta(
  state: Normaliser,
  event: WireEvent,
  rawText: string | undefined,
  out: NormalisedEvent[],
): void {
  prepareBlock(state, out)
  noteUsage(state.usage, event.usage, event.copilot_usage)
  const sent = isObject(event.delta) ? event.delta : { stop_reason: null, stop_sequence: null }
  if (isFilled(sent['stop_reason'])) state.end = sent
  // Clients take the members of the last one: one that has only counts must not erase the reason.
  const delta = state.end === undefined || state.end === sent ? sent : { ...sent, ...state.end }
  const usage = normaliseUsage(event.usage, state.usage)
  const isRight = delta === event.delta && usage === event.usage
  write(out, { ...event, type: 'message_delta', delta, usage }, isRight ? rawText : undefined)
}

/** Clients read `output_tokens` without a check. */
function normaliseUsage(usage: unknown, { output = 0 }: UsageCounts): JsonObject {
  if (!isObject(usage)) return { output_tokens: output }
  return typeof usage['output_tokens'] === 'number' ? usage : { ...usage, output_tokens: output }
}

function finish(
  state: Normaliser,
  event: WireEvent | undefined,
  rawText: string | undefined,
  out: NormalisedEvent[],
): void {
  prepareBlock(state, out)
  write(out, { ...event, type: 'message_stop' }, rawText)
  state.done = true
}

/** An event name with a line end in it would be two lines of the stream. */
function isEventName(type: string): boolean {
  return /^[\w.-]{1,64}$/.test(type)
}

function write(out: NormalisedEvent[], event: LooseEvent, rawText: string | undefined): void {
  out.push({ name: event.type, event, rawText })
}

/** The member that holds the text of a delta. */
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

/** Undefined for deltas that do not show the type of their block. */
function blockForDelta(type: unknown): ContentBlock | undefined {
  switch (type) {
    case 'text_delta':
      return { type: 'text', text: '', citations: null }
    case 'thinking_delta':
      return { type: 'thinking', thinking: '', signature: '' }
    default:
      return undefined
  }
}
