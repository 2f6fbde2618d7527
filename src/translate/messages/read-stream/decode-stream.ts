import { Fault } from '../../../errors.ts'
import type { ReplySeed, TurnDecoder } from '../../dialect.ts'
import type { JsonObject } from '../../../json/json.ts'
import { makerOf } from '../../engine/opaque-envelope.ts'
import { isFilled, isObject, objectsOf, parseObject, textOf } from '../../../json/json.ts'
import type { Opaque, TurnEvent, TurnStop } from '../../turn.ts'
import { foldDelta, startBlockFold, toBlock, type BlockFold } from '../fold.ts'
import { toUsage } from '../usage.ts'
import { normaliseEnd, normaliseEvent, startNormaliser, type NormalisedEvent, type Normaliser } from './normalise.ts'
import { encodableAgain } from '../pass-request.ts'
import { continueRequest, requestToContinue } from '../sent-request.ts'

/** Decodes Anthropic's native stream. The events are normalised as for a caller of the same dialect. */
export function createMessagesDecoder(seed: ReplySeed): TurnDecoder {
  const sent = requestToContinue(seed)
  const blocks: BlockFold[] | undefined = sent && []
  const state: DecodeState = {
    maker: makerOf(seed.traits),
    normaliser: startNormaliser(seed),
    nextSlot: 0,
    open: undefined,
    calls: 0,
    blocks,
    skipped: 0,
  }
  return {
    push: (event) => decodeEvents(state, normaliseEvent(state.normaliser, event)),
    end: () => decodeEvents(state, normaliseEnd(state.normaliser)),
    skipped: () => state.skipped + state.normaliser.skipped,
    continuation:
      sent &&
      blocks &&
      (() => {
        const next = continueRequest(sent, blocks.map(toBlock))
        return next && encodableAgain(next)
      }),
  }
}

/** Owned by one stream. Updated in place. */
interface DecodeState {
  readonly maker: Pick<Opaque, 'vendor' | 'provider' | 'family'>
  readonly normaliser: Normaliser
  nextSlot: number
  open: OpenBlock | undefined
  /** Calls of the caller's tools. */
  calls: number
  /** They are sent back if the answer is paused. Undefined if the answer is not continued here. */
  readonly blocks: BlockFold[] | undefined
  /** Number of events, blocks and deltas that a turn cannot hold. */
  skipped: number
}

interface OpenBlock {
  /** `other` is left out: results of searches, upstream's own tools, unknown blocks. */
  readonly kind: 'text' | 'thinking' | 'redacted' | 'tool' | 'search' | 'other'
  /** Assigned at the first event, so that an empty block gets no slot. */
  slot: number | undefined
  readonly id: string
  /** The signature or ciphertext of thinking, or the input of a search. */
  data: string
}

const kinds: ReadonlyMap<unknown, OpenBlock['kind']> = new Map([
  ['text', 'text'],
  ['thinking', 'thinking'],
  ['redacted_thinking', 'redacted'],
  ['tool_use', 'tool'],
])

/** A query is a line or two long. Characters. */
const longestQuery = 64 * 1024

/** @throws Fault `upstream_unusable` for a call without a name */
function decodeEvents(state: DecodeState, events: readonly NormalisedEvent[]): readonly TurnEvent[] {
  const out: TurnEvent[] = []
  for (const { name, event } of events) {
    switch (event?.type) {
      case 'content_block_delta':
        readDelta(state, event.delta, out)
        break
      case 'message_start':
        start(state, out)
        break
      case 'content_block_start':
        openBlock(state, event.content_block, out)
        break
      case 'content_block_stop':
        closeBlock(state, out)
        break
      case 'message_stop':
        finish(state, out)
        break
      case undefined:
        if (name !== 'ping') state.skipped += 1
        break
      // The normaliser stores the event's reason and usage.
      case 'message_delta':
    }
  }
  return out
}

function start(state: DecodeState, out: TurnEvent[]): void {
  const { model, usage } = state.normaliser
  out.push({ type: 'start', model, usage: toUsage(usage) })
}

function openBlock(state: DecodeState, block: JsonObject, out: TurnEvent[]): void {
  state.blocks?.push(startBlockFold(block))
  const { type, id, name } = block
  const kind = type === 'server_tool_use' && name === 'web_search' ? 'search' : (kinds.get(type) ?? 'other')
  const open: OpenBlock = { kind, slot: undefined, id: textOf(id), data: textOf(block['signature'] ?? block['data']) }
  state.open = open
  switch (kind) {
    case 'text':
      pushText(state, open, 'text.delta', block['text'], out)
      return pushCitations(state, open, block['citations'], out)
    case 'thinking':
      return pushText(state, open, 'think.delta', block['thinking'], out)
    case 'tool':
      if (!isFilled(name)) throw new Fault({ kind: 'upstream_unusable', detail: 'it called a tool without a name' })
      state.calls += 1
      out.push({ type: 'tool.open', slot: slotOf(state, open), id: open.id, name, kind: 'function' })
      return
    case 'other':
      // The text that quotes the pages of a search repeats their addresses.
      if (type !== 'web_search_tool_result') state.skipped += 1
      return
    case 'redacted':
    case 'search':
  }
}

/** The normaliser lets unknown deltas of known blocks pass. */
function readDelta(state: DecodeState, delta: JsonObject, out: TurnEvent[]): void {
  const { open } = state
  const block = state.blocks?.at(-1)
  if (block !== undefined) foldDelta(block, delta)
  if (open === undefined || open.kind === 'other') return
  const { kind } = open
  const { type } = delta
  if (kind === 'text' && type === 'text_delta') return pushText(state, open, 'text.delta', delta['text'], out)
  if (kind === 'thinking' && type === 'thinking_delta') {
    return pushText(state, open, 'think.delta', delta['thinking'], out)
  }
  if (kind === 'tool' && type === 'input_json_delta') {
    return pushText(state, open, 'tool.args', delta['partial_json'], out)
  }
  if (kind === 'text' && type === 'citations_delta') return pushCitations(state, open, [delta['citation']], out)
  if (kind === 'thinking' && type === 'signature_delta') open.data = textOf(delta['signature'])
  else if (kind === 'search' && type === 'input_json_delta') {
    if (open.data.length < longestQuery) open.data += textOf(delta['partial_json'])
  } else state.skipped += 1
}

function closeBlock(state: DecodeState, out: TurnEvent[]): void {
  const { open } = state
  if (open === undefined) return
  state.open = undefined
  const { kind, id, data } = open
  if (kind === 'search') {
    const query = textOf(parseObject(data)?.['query'])
    out.push({ type: 'search', slot: slotOf(state, open), id, query })
  } else if (data !== '' && (kind === 'thinking' || kind === 'redacted')) {
    const form = kind === 'thinking' ? 'signature' : 'redacted'
    out.push({ type: 'think.sign', slot: slotOf(state, open), opaque: { ...state.maker, form, value: data } })
  }
  if (open.slot !== undefined) out.push({ type: 'part.close', slot: open.slot })
}

type TextEvent = 'text.delta' | 'think.delta' | 'tool.args'

function pushText(state: DecodeState, open: OpenBlock, type: TextEvent, text: unknown, out: TurnEvent[]): void {
  if (isFilled(text)) out.push({ type, slot: slotOf(state, open), text })
}

/** Only web pages have an address to pass on. Locations in documents refer to the caller's own documents. */
function pushCitations(state: DecodeState, open: OpenBlock, citations: unknown, out: TurnEvent[]): void {
  for (const { type, url, title } of objectsOf(citations)) {
    if (type !== 'web_search_result_location' || !isFilled(url)) continue
    out.push({ type: 'citation', slot: slotOf(state, open), citation: { url, title: textOf(title) } })
  }
}

function slotOf(state: DecodeState, open: OpenBlock): number {
  open.slot ??= state.nextSlot++
  return open.slot
}

function finish(state: DecodeState, out: TurnEvent[]): void {
  const { usage: counts, end = {} } = state.normaliser
  const usage = toUsage(counts)
  if (usage !== undefined) out.push({ type: 'usage', usage })
  const { stop_reason: reason, stop_sequence: sequence, stop_details: details } = end
  out.push({
    type: 'stop',
    reason: toTurnStop(state, reason),
    ...(isFilled(sequence) && { stopSequence: sequence }),
    ...(isObject(details) && { detail: toDetail(details) }),
  })
}

/**
 * Maps a stop reason. An unknown reason is a normal end. If the answer calls none of the caller's tools, `tool_use` is
 * a normal end too.
 */
function toTurnStop({ calls, blocks }: DecodeState, reason: unknown): TurnStop {
  const stop = turnStops.get(reason) ?? 'end'
  // The caller has to return results of its calls before upstream can continue.
  if (stop === 'pause' && blocks !== undefined && calls > 0) return 'tool_calls'
  if (stop !== 'end' && stop !== 'tool_calls') return stop
  return calls > 0 ? 'tool_calls' : 'end'
}

/** Source: @anthropic-ai/sdk 1.11.0, StopReason and BetaStopReason, 2026-11-19. */
const turnStops: ReadonlyMap<unknown, TurnStop> = new Map([
  ['end_turn', 'end'],
  ['stop_sequence', 'stop_sequence'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'max_tokens'],
  ['model_context_window_exceeded', 'context_full'],
  ['refusal', 'content_filter'],
  ['pause_turn', 'pause'],
  ['compaction', 'compaction'],
])

function toDetail({ category, explanation }: JsonObject) {
  return {
    ...(isFilled(category) && { category }),
    ...(isFilled(explanation) && { explanation }),
  }
}
