import type { ReplySeed, TurnDecoder } from '../../dialect.ts'
import { makerOf } from '../../engine/opaque-envelope.ts'
import { isFilled, isObject, objectOf } from '../../../json/json.ts'
import type { Citation, Opaque, TurnEvent, TurnStop, Usage } from '../../turn.ts'
import { type PartContainer, partEvents, textKinds } from '../text-events.ts'
import { copilotUsageOf, toUsage } from '../usage.ts'
import type { WireEvent, WireObject } from '../wire.ts'
import type { Frame } from '../write-stream/writer.ts'
import { requireFinalEvent } from './lifecycle.ts'
import { normaliseEvent } from './normalise.ts'
import { startNormaliser } from './state.ts'

/** Decodes the normalised events: each item is added, streamed and done once. */
export function createResponsesDecoder(seed: ReplySeed): TurnDecoder {
  const normaliser = startNormaliser(seed, { fillsCalls: false, wrapsCiphertext: false })
  const state: DecodeState = {
    origin: makerOf(seed.traits),
    items: new Map(),
    slots: 0,
    searches: 0,
    calls: 0,
    unknown: 0,
  }
  return {
    push(event) {
      const out: TurnEvent[] = []
      for (const frame of normaliseEvent(normaliser, event)) decodeFrame(state, frame, out)
      return out
    },
    end() {
      requireFinalEvent(normaliser)
      return []
    },
    skipped: () => normaliser.skipped + state.unknown,
  }
}

interface DecodeState {
  /** Who made the opaque values. */
  readonly origin: ReturnType<typeof makerOf>
  readonly items: Map<number, ItemSlots>
  /** The next slot. */
  slots: number
  searches: number
  calls: number
  unknown: number
}

/** The slots of one item. */
interface ItemSlots {
  /** By `content_index`; calls and reasoning have one slot, at 0. */
  readonly slots: number[]
  /** The latest part of reasoning. */
  part: string
}

type Decode = (state: DecodeState, event: WireEvent, out: TurnEvent[], frame: Frame) => void

const decoders: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  [textKinds.text.delta, decodeText],
  [textKinds.refusal.delta, decodeRefusal],
  [textKinds.summary.delta, (state, event, out) => decodeThought(state, event, 'summary', out)],
  [textKinds.reasoning.delta, (state, event, out) => decodeThought(state, event, 'content', out)],
  [textKinds.arguments.delta, decodeArguments],
  [textKinds.input.delta, decodeArguments],
  ['response.output_text.annotation.added', decodeAnnotation],
  ['response.output_item.added', decodeAdded],
  ['response.output_item.done', decodeDone],
  ['response.created', decodeCreated],
  ['response.completed', decodeEnd],
  ['response.incomplete', decodeEnd],
])

/** Events that repeat the content of other events. */
const silent = new Set<string>([
  'response.queued',
  'response.in_progress',
  partEvents.content.added,
  partEvents.content.done,
  partEvents.summary.added,
  partEvents.summary.done,
  'response.web_search_call.in_progress',
  'response.web_search_call.searching',
  'response.web_search_call.completed',
  'response.compaction.compacting',
  'keepalive',
  ...Object.values(textKinds).map(({ done }) => done),
])

function decodeFrame(state: DecodeState, frame: Frame, out: TurnEvent[]): void {
  const decode = decoders.get(frame.type)
  if (decode !== undefined) decode(state, frame.event, out, frame)
  else if (!silent.has(frame.type)) state.unknown += 1
}

function decodeCreated(_state: DecodeState, { response }: WireEvent, out: TurnEvent[]): void {
  const model = isObject(response) && isFilled(response['model']) ? response['model'] : undefined
  out.push({ type: 'start', ...(model !== undefined && { model }) })
}

function decodeText(state: DecodeState, event: WireEvent, out: TurnEvent[]): void {
  const { delta, logprobs } = event
  if (!isFilled(delta)) return
  const hasLogprobs = Array.isArray(logprobs) && logprobs.length > 0
  out.push({ type: 'text.delta', slot: contentSlot(state, event), text: delta, ...(hasLogprobs && { logprobs }) })
}

function decodeRefusal(state: DecodeState, event: WireEvent, out: TurnEvent[]): void {
  if (isFilled(event.delta)) out.push({ type: 'refusal.delta', slot: contentSlot(state, event), text: event.delta })
}

function contentSlot(state: DecodeState, event: WireEvent): number {
  return slotOf(state, itemOf(state, event), positionOf(event, 'content'))
}

/** All parts of one reasoning item are one thought, because its ciphertext covers all of them. */
function decodeThought(state: DecodeState, event: WireEvent, container: PartContainer, out: TurnEvent[]): void {
  if (!isFilled(event.delta)) return
  const item = itemOf(state, event)
  const slot = slotOf(state, item, 0)
  const part = `${container} ${positionOf(event, container)}`
  const isNext = item.part !== '' && item.part !== part
  item.part = part
  out.push({ type: 'think.delta', slot, text: isNext ? `\n\n${event.delta}` : event.delta })
}

function decodeArguments(state: DecodeState, event: WireEvent, out: TurnEvent[]): void {
  const { delta } = event
  if (isFilled(delta)) out.push({ type: 'tool.args', slot: slotOf(state, itemOf(state, event), 0), text: delta })
}

function decodeAnnotation(state: DecodeState, event: WireEvent, out: TurnEvent[]): void {
  const citation = toCitation(event.annotation)
  if (citation !== undefined) out.push({ type: 'citation', slot: contentSlot(state, event), citation })
}

/** Drops citations of files, because only upstream can resolve their ids. */
function toCitation(annotation: unknown): Citation | undefined {
  if (!isObject(annotation) || annotation['type'] !== 'url_citation' || !isFilled(annotation['url'])) return undefined
  const { url, title, start_index: start, end_index: end } = annotation
  return {
    url,
    title: isFilled(title) ? title : '',
    ...(typeof start === 'number' && { start }),
    ...(typeof end === 'number' && { end }),
  }
}

function decodeAdded(state: DecodeState, event: WireEvent, out: TurnEvent[]): void {
  const { item } = event
  if (!isObject(item)) return
  const { type, call_id: id, name, namespace } = item
  if (type !== 'function_call' && type !== 'custom_tool_call') return
  out.push({
    type: 'tool.open',
    slot: slotOf(state, itemOf(state, event), 0),
    id: String(id),
    name: String(name),
    ...(isFilled(namespace) && { namespace }),
    kind: type === 'function_call' ? 'function' : 'custom',
  })
}

function decodeDone(state: DecodeState, event: WireEvent, out: TurnEvent[], { upstreamId }: Frame): void {
  const { item } = event
  if (!isObject(item)) return
  const slots = itemOf(state, event)
  const { type, status } = item
  if (type === 'reasoning') decodeOpaque(state, slots, item, upstreamId, out)
  else if (type === 'web_search_call') decodeSearch(state, slots, item, out)
  // A truncated call is dropped.
  else if ((type === 'function_call' || type === 'custom_tool_call') && status !== 'incomplete') state.calls += 1
  for (const slot of slots.slots) if (slot !== undefined) out.push({ type: 'part.close', slot })
  if (typeof event.output_index === 'number') state.items.delete(event.output_index)
}

/** Upstream accepts only the ciphertext of `output_item.done`, with the id beside it. */
function decodeOpaque(
  state: DecodeState,
  slots: ItemSlots,
  { encrypted_content: value }: WireObject,
  id: string | undefined,
  out: TurnEvent[],
): void {
  if (!isFilled(value)) return
  const opaque: Opaque = { ...state.origin, form: 'encrypted_content', ...(id !== undefined && { id }), value }
  out.push({ type: 'think.sign', slot: slotOf(state, slots, 0), opaque })
}

/** Other actions open pages of a search that was already reported. */
function decodeSearch(state: DecodeState, slots: ItemSlots, { id, action }: WireObject, out: TurnEvent[]): void {
  const { type = 'search', query, queries } = objectOf(action)
  if (type !== 'search') return
  state.searches += 1
  const first: unknown = Array.isArray(queries) ? queries[0] : undefined
  const text = isFilled(query) ? query : isFilled(first) ? first : ''
  out.push({ type: 'search', slot: slotOf(state, slots, 0), id: String(id), query: text })
}

function decodeEnd(state: DecodeState, event: WireEvent, out: TurnEvent[]): void {
  const { type, response } = event
  const { usage, incomplete_details: details } = objectOf(response)
  const counted = toUsage(usage, copilotUsageOf(event))
  if (counted !== undefined) out.push({ type: 'usage', usage: withSearches(counted, state.searches) })
  const cut = type === 'response.incomplete' ? cutReason(details) : undefined
  out.push({ type: 'stop', reason: cut ?? (state.calls > 0 ? 'tool_calls' : 'end') })
}

function withSearches(usage: Usage, searches: number): Usage {
  return searches === 0 ? usage : { ...usage, searches }
}

/**
 * Reasons that cut an answer off. Policies have the names that errors use. Other reasons, such as `max_messages` and
 * `steered`, end it normally. Source: OpenAI API reference, `incomplete_details`, 2026-11; docs/codex-wire.md, "Event
 * stream".
 */
const cutReasons: ReadonlyMap<unknown, TurnStop> = new Map<unknown, TurnStop>([
  ['max_output_tokens', 'max_tokens'],
  ['content_filter', 'content_filter'],
  ['content_policy_violation', 'content_filter'],
  ['cyber_policy', 'content_filter'],
  ['bio_policy', 'content_filter'],
  ['misalignment_policy_violation', 'content_filter'],
])

function cutReason(details: unknown): TurnStop | undefined {
  return isObject(details) ? cutReasons.get(details['reason']) : undefined
}

function itemOf({ items }: DecodeState, { output_index: index }: WireEvent): ItemSlots {
  // Every normalised event of an item has a number here.
  const item = items.get(Number(index)) ?? { slots: [], part: '' }
  items.set(Number(index), item)
  return item
}

function positionOf(event: WireEvent, container: PartContainer): number {
  return Number(event[partEvents[container].index])
}

/** Slots are numbered in the order of their first event. */
function slotOf(state: DecodeState, { slots }: ItemSlots, position: number): number {
  const known = slots[position]
  if (known !== undefined) return known
  const slot = state.slots
  slots[position] = slot
  state.slots += 1
  return slot
}
