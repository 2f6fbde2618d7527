import { Fault } from '../../../errors.ts'
import type { EncodedRequest, ReplySeed, TurnDecoder } from '../../dialect.ts'
import type { JsonObject } from '../../parts/json.ts'
import { makerOf } from '../../parts/opaque-envelope.ts'
import { isFilled, isObject, objectsOf, parseObject } from '../../parts/json.ts'
import type { Opaque, TurnEvent, TurnStop, Usage } from '../../turn.ts'
import { foldDelta, startBlockFold, toBlock, type BlockFold } from '../fold.ts'
import { addUsage } from '../../usage.ts'
import { toUsage } from '../usage.ts'
import { normaliseEnd, normaliseEvent, startNormaliser, type NormalisedEvent, type Normaliser } from './normalise.ts'
import { continueRequest } from './sent-request.ts'

/** Reads Anthropic's native stream, normalised as for a caller of the same dialect. */
export function createMessagesDecoder(seed: ReplySeed): TurnDecoder {
  const state: DecodeState = {
    seed,
    maker: makerOf(seed.traits),
    normaliser: startNormaliser(seed),
    started: false,
    nextSlot: 0,
    open: undefined,
    calls: 0,
    earlierUsage: undefined,
    blocks: seed.sent === undefined ? undefined : [],
    skipped: 0,
  }
  return {
    push: (event) => decodeEvents(state, normaliseEvent(state.normaliser, event)),
    end: () => decodeEvents(state, normaliseEnd(state.normaliser)),
    skipped: () => state.skipped + state.normaliser.skipped,
    continuation: (sent) => continueAnswer(state, sent),
  }
}

/** Owned by one answer, which may take several streams. Updated in place. */
interface DecodeState {
  readonly seed: ReplySeed
  readonly maker: Pick<Opaque, 'vendor' | 'provider' | 'family'>
  /** Of the current stream. */
  normaliser: Normaliser
  /** `start` was emitted. */
  started: boolean
  nextSlot: number
  open: OpenBlock | undefined
  /** Calls of the caller's tools. */
  calls: number
  /** Of earlier streams. */
  earlierUsage: Usage | undefined
  /** Blocks of the current stream, to be sent back if the answer is paused; undefined if it is not continued here. */
  blocks: BlockFold[] | undefined
  /** Events, blocks and deltas that a turn cannot hold. */
  skipped: number
}

/** A slot is taken with the first event, so that an empty block takes none. */
type OpenBlock =
  | { readonly kind: 'text'; slot: number | undefined }
  | { readonly kind: 'thinking' | 'redacted'; slot: number | undefined; signature: string }
  | { readonly kind: 'tool'; readonly slot: number }
  | { readonly kind: 'search'; slot: number | undefined; readonly id: string; json: string }
  /** Left out: results of searches, upstream's own tools, unknown blocks. */
  | { readonly kind: 'other'; readonly slot: undefined }

/** A query is a line or two. Characters. */
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
      // The normaliser keeps its reason and its usage.
      case 'message_delta':
    }
  }
  return out
}

function start(state: DecodeState, out: TurnEvent[]): void {
  if (state.started) return
  state.started = true
  const { model, usage } = state.normaliser
  out.push({ type: 'start', model, usage: toUsage(usage) })
}

function openBlock(state: DecodeState, block: JsonObject, out: TurnEvent[]): void {
  state.blocks?.push(startBlockFold(block))
  switch (block['type']) {
    case 'text':
      state.open = { kind: 'text', slot: undefined }
      pushText(state, state.open, block['text'], out)
      for (const citation of objectsOf(block['citations'])) pushCitation(state, state.open, citation, out)
      return
    case 'thinking':
      state.open = { kind: 'thinking', slot: undefined, signature: textOf(block['signature']) }
      pushThought(state, state.open, block['thinking'], out)
      return
    case 'redacted_thinking':
      state.open = { kind: 'redacted', slot: undefined, signature: textOf(block['data']) }
      return
    case 'tool_use':
      return openCall(state, block, out)
    case 'server_tool_use':
      if (block['name'] !== 'web_search') break
      state.open = { kind: 'search', slot: undefined, id: textOf(block['id']), json: '' }
      return
    // The text that quotes the pages of a search names them again.
    case 'web_search_tool_result':
      state.open = { kind: 'other', slot: undefined }
      return
  }
  state.skipped += 1
  state.open = { kind: 'other', slot: undefined }
}

function openCall(state: DecodeState, { id, name }: JsonObject, out: TurnEvent[]): void {
  if (!isFilled(name)) throw new Fault({ kind: 'upstream_unusable', detail: 'it called a tool without naming it' })
  const slot = takeSlot(state)
  state.open = { kind: 'tool', slot }
  state.calls += 1
  out.push({ type: 'tool.open', slot, id: textOf(id), name, kind: 'function' })
}

/** The normaliser passes unknown deltas of known blocks. */
function readDelta(state: DecodeState, delta: JsonObject, out: TurnEvent[]): void {
  const { open } = state
  const block = state.blocks?.at(-1)
  if (block !== undefined) foldDelta(block, delta)
  switch (open?.kind) {
    case 'text':
      if (delta['type'] === 'text_delta') return pushText(state, open, delta['text'], out)
      if (delta['type'] !== 'citations_delta') break
      if (isObject(delta['citation'])) pushCitation(state, open, delta['citation'], out)
      return
    case 'thinking':
      if (delta['type'] === 'thinking_delta') return pushThought(state, open, delta['thinking'], out)
      if (delta['type'] !== 'signature_delta') break
      open.signature = textOf(delta['signature'])
      return
    case 'tool':
      if (delta['type'] !== 'input_json_delta') break
      if (isFilled(delta['partial_json'])) out.push({ type: 'tool.args', slot: open.slot, text: delta['partial_json'] })
      return
    case 'search':
      if (delta['type'] !== 'input_json_delta') break
      if (open.json.length < longestQuery) open.json += textOf(delta['partial_json'])
      return
    case 'other':
      return
    case 'redacted':
    case undefined:
  }
  state.skipped += 1
}

function closeBlock(state: DecodeState, out: TurnEvent[]): void {
  const { open } = state
  if (open === undefined) return
  state.open = undefined
  switch (open.kind) {
    case 'thinking':
    case 'redacted':
      pushSignature(state, open, out)
      break
    case 'search': {
      const { query } = parseObject(open.json) ?? {}
      out.push({ type: 'search', slot: slotOf(state, open), id: open.id, query: textOf(query) })
      break
    }
    case 'text':
    case 'tool':
    case 'other':
  }
  if (open.slot !== undefined) out.push({ type: 'part.close', slot: open.slot })
}

type OpenText = Extract<OpenBlock, { kind: 'text' }>
type OpenThinking = Extract<OpenBlock, { kind: 'thinking' | 'redacted' }>

function pushText(state: DecodeState, open: OpenText, text: unknown, out: TurnEvent[]): void {
  if (isFilled(text)) out.push({ type: 'text.delta', slot: slotOf(state, open), text })
}

function pushThought(state: DecodeState, open: OpenThinking, text: unknown, out: TurnEvent[]): void {
  if (isFilled(text)) out.push({ type: 'think.delta', slot: slotOf(state, open), text })
}

function pushSignature(state: DecodeState, open: OpenThinking, out: TurnEvent[]): void {
  if (open.signature === '') return
  const form = open.kind === 'thinking' ? 'signature' : 'redacted'
  const opaque: Opaque = { ...state.maker, form, value: open.signature }
  out.push({ type: 'think.sign', slot: slotOf(state, open), opaque })
}

/** Only web pages have an address to pass on; locations in documents refer to the caller's own. */
function pushCitation(state: DecodeState, open: OpenText, { type, url, title }: JsonObject, out: TurnEvent[]): void {
  if (type !== 'web_search_result_location' || !isFilled(url)) return
  out.push({ type: 'citation', slot: slotOf(state, open), citation: { url, title: textOf(title) } })
}

function slotOf(state: DecodeState, open: { slot: number | undefined }): number {
  open.slot ??= takeSlot(state)
  return open.slot
}

function takeSlot(state: DecodeState): number {
  const slot = state.nextSlot
  state.nextSlot += 1
  return slot
}

function finish(state: DecodeState, out: TurnEvent[]): void {
  const { usage: counts, end = {} } = state.normaliser
  const usage = addUsage(state.earlierUsage, toUsage(counts))
  if (usage !== undefined) out.push({ type: 'usage', usage })
  const { stop_reason: reason, stop_sequence: sequence, stop_details: details } = end
  out.push({
    type: 'stop',
    reason: toReason(state, reason),
    ...(isFilled(sequence) && { stopSequence: sequence }),
    ...(isObject(details) && { detail: toDetail(details) }),
  })
}

function toReason({ calls, blocks }: DecodeState, reason: unknown): TurnStop {
  const stop = toTurnStop(reason, calls)
  // The caller has to answer its calls before upstream can continue.
  return stop === 'pause' && blocks !== undefined && calls > 0 ? 'tool_calls' : stop
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

/** An unknown reason is a plain end. Without a call of the caller's tools there is nothing to run, whatever the reason. */
function toTurnStop(reason: unknown, calls: number): TurnStop {
  const stop = turnStops.get(reason) ?? 'end'
  if (stop !== 'end' && stop !== 'tool_calls') return stop
  return calls > 0 ? 'tool_calls' : 'end'
}

function toDetail({ category, explanation }: JsonObject) {
  return {
    ...(isFilled(category) && { category }),
    ...(isFilled(explanation) && { explanation }),
  }
}

/** Makes the decoder ready for the stream that continues the answer. */
function continueAnswer(state: DecodeState, sent: EncodedRequest): EncodedRequest | undefined {
  const request = continueRequest(sent, (state.blocks ?? []).map(toBlock))
  if (request === undefined) return undefined
  state.earlierUsage = addUsage(state.earlierUsage, toUsage(state.normaliser.usage))
  state.skipped += state.normaliser.skipped
  state.normaliser = startNormaliser(state.seed)
  state.blocks = []
  return request
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
