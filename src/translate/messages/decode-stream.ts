import { Fault } from '../../errors.ts'
import type { SseEvent } from '../../sse/decode.ts'
import type { EncodedRequest, ReplySeed, TurnDecoder } from '../dialect.ts'
import type { EventTemplates } from '../parts/event-template.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { isFilled, isObject } from '../parts/wire-json.ts'
import type { TurnEvent, TurnStop, Usage } from '../turn.ts'
import { continueRequest } from './continue-request.ts'
import {
  closeBlock,
  hasWholeArguments,
  openBlock,
  readDelta,
  startBlockReader,
  type BlockReader,
} from './decode-block.ts'
import { blockForDelta, fitsBlock, isForBlock, isReadableDelta, refuseLateArguments } from './deltas.ts'
import { foldDelta, startBlockFold, toBlock, type BlockFold } from './fold-block.ts'
import { isEndMark, readRepeatedEvent, startEventTemplates } from './read-event.ts'
import { runawayFault } from './runaway.ts'
import { toTurnStop } from './stop-reason.ts'
import { addUsage, noteUsage, startUsageCounts, toUsage, type UsageCounts } from './usage.ts'
import type { WireEvent } from './wire-event.ts'

/** Anthropic's native stream, as Copilot passes it on, to a turn. */
export function createMessagesDecoder(seed: ReplySeed): TurnDecoder {
  const state: DecodeState = {
    announced: false,
    started: false,
    blocks: startBlockReader(seed),
    calls: new Set(),
    end: undefined,
    usage: startUsageCounts(),
    spent: undefined,
    said: seed.sent === undefined ? undefined : [],
    done: false,
    skipped: 0,
    templates: startEventTemplates(),
    redact: seed.redact,
  }
  return {
    push: (event) => stepDecode(state, event),
    end: () => endDecode(state),
    skipped: () => state.skipped + state.blocks.skipped,
    continuation: (sent) => continueAnswer(state, sent),
  }
}

/** Where one reply is. Owned by one stream, updated in place. */
interface DecodeState {
  /** `start` was told. */
  announced: boolean
  /** This stream has begun; an answer that is paused goes on in another one. */
  started: boolean
  readonly blocks: BlockReader
  /** Indexes of the tool calls so far, as upstream counts. */
  readonly calls: Set<unknown>
  /** What `message_delta` said of the end; undefined until it named a reason. */
  end: JsonObject | undefined
  usage: UsageCounts
  /** In earlier streams of the answer. */
  spent: Usage | undefined
  /** Blocks as they came, to be sent back should the answer be paused; undefined where it is not continued here. */
  said: BlockFold[] | undefined
  done: boolean
  /** Events that could not be read. */
  skipped: number
  /** What the deltas look like. */
  readonly templates: EventTemplates
  readonly redact: ReplySeed['redact']
}

const nothing: readonly TurnEvent[] = []

/**
 * @throws Fault `upstream_failed`, `upstream_status` for an error in the stream, `upstream_truncated` for an end mark
 * before the end, `upstream_unusable` for what is not JSON, for a call without a name or with endless whitespace
 */
function stepDecode(state: DecodeState, sse: SseEvent): readonly TurnEvent[] {
  const { data } = sse
  if (state.done || data === '') return nothing
  if (isEndMark(data)) return endDecode(state)
  const event = readRepeatedEvent(state.templates, sse, state.redact)
  if (event === undefined) {
    state.skipped += 1
    return nothing
  }
  const out: TurnEvent[] = []
  decodeEvent(state, event, out)
  return out
}

/** @throws Fault `upstream_truncated` when upstream has not said why it stopped */
function endDecode(state: DecodeState): readonly TurnEvent[] {
  if (state.done) return nothing
  if (state.end === undefined) throw new Fault({ kind: 'upstream_truncated' })
  const out: TurnEvent[] = []
  finish(state, out)
  return out
}

function decodeEvent(state: DecodeState, event: WireEvent, out: TurnEvent[]): void {
  const { blocks } = state
  switch (event.type) {
    case 'content_block_delta':
      return decodeDelta(state, event, out)
    case 'content_block_start':
      start(state, undefined, out)
      if (isObject(event.content_block) && event.content_block['type'] === 'tool_use') state.calls.add(event.index)
      return beginBlock(state, event.index, isObject(event.content_block) ? event.content_block : {}, out)
    case 'content_block_stop':
      if (isForOpen(blocks, event)) closeBlock(blocks, out)
      return
    case 'message_start':
      return start(state, event.message, out)
    case 'message_delta':
      noteUsage(state.usage, event.usage, event.copilot_usage)
      if (isObject(event.delta) && isFilled(event.delta['stop_reason'])) state.end = event.delta
      return
    case 'message_stop':
      return finish(state, out)
    case 'ping':
      return
    default:
      state.skipped += 1
  }
}

function start(state: DecodeState, message: unknown, out: TurnEvent[]): void {
  if (state.started) return
  state.started = true
  const { model, usage } = isObject(message) ? message : {}
  noteUsage(state.usage, usage)
  if (state.announced) return
  state.announced = true
  out.push({ type: 'start', model: isFilled(model) ? model : undefined, usage: toUsage(state.usage) })
}

function beginBlock({ blocks, said }: DecodeState, index: unknown, block: JsonObject, out: TurnEvent[]): void {
  said?.push(startBlockFold(block))
  openBlock(blocks, index, block, out)
}

function decodeDelta(state: DecodeState, event: WireEvent, out: TurnEvent[]): void {
  const { delta, index } = event
  const { blocks } = state
  if (!isReadableDelta(delta)) {
    state.skipped += 1
    return
  }
  if (!isForOpen(blocks, event)) {
    // A block that was never begun is begun here, where the delta tells what it is.
    const block = blockForDelta(delta['type'])
    if (block === undefined) {
      refuseLateArguments(delta, index, state.calls)
      state.skipped += 1
      return
    }
    start(state, undefined, out)
    beginBlock(state, index, block, out)
  }
  switch (readDelta(blocks, delta, out)) {
    case 'read':
      noteSaid(state, delta)
      return
    case 'unfit':
      state.skipped += 1
      return
    case 'runaway':
      if (!hasWholeArguments(blocks)) throw runawayFault()
      finish(state, out)
  }
}

function noteSaid({ said }: DecodeState, delta: JsonObject): void {
  const last = said?.at(-1)
  if (last !== undefined && fitsBlock(delta['type'], last.start['type'])) foldDelta(last, delta)
}

function isForOpen({ open }: BlockReader, { index }: WireEvent): boolean {
  return open !== undefined && isForBlock(open.wireIndex, index)
}

function finish(state: DecodeState, out: TurnEvent[]): void {
  const { blocks, end = {} } = state
  start(state, undefined, out)
  closeBlock(blocks, out)
  const usage = addUsage(state.spent, toUsage(state.usage))
  if (usage !== undefined) out.push({ type: 'usage', usage })
  const { stop_reason: reason, stop_sequence: sequence, stop_details: details } = end
  out.push({
    type: 'stop',
    reason: toReason(state, reason),
    ...(isFilled(sequence) && { stopSequence: sequence }),
    ...(isObject(details) && { detail: toDetail(details) }),
  })
  state.done = true
}

function toReason({ blocks, said }: DecodeState, reason: unknown): TurnStop {
  const stop = toTurnStop(reason, blocks.calls)
  // The caller has to answer its calls before upstream can go on.
  return stop === 'pause' && said !== undefined && blocks.calls > 0 ? 'tool_calls' : stop
}

/** Makes the decoder ready for the rest of the answer. */
function continueAnswer(state: DecodeState, sent: EncodedRequest): EncodedRequest | undefined {
  const request = continueRequest(sent, (state.said ?? []).map(toBlock))
  if (request === undefined) return undefined
  state.started = false
  state.end = undefined
  state.spent = addUsage(state.spent, toUsage(state.usage))
  state.usage = startUsageCounts()
  state.said = []
  state.done = false
  return request
}

function toDetail({ category, explanation }: JsonObject) {
  return {
    ...(isFilled(category) && { category }),
    ...(isFilled(explanation) && { explanation }),
  }
}
