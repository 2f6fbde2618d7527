import { Fault } from '../../../errors.ts'
import type { ReplySeed, TurnFold, TurnStream } from '../../dialect.ts'
import { sealOpaque } from '../../engine/opaque-envelope.ts'
import { objectsOf } from '../../../json/json.ts'
import type { ReplyMemory } from '../../reply-memory.ts'
import type { Citation, ToolName, TurnEvent, TurnStop, Usage } from '../../turn.ts'
import { OPEN_ARGUMENTS, toolKey } from '../agent-messages.ts'
import { encodeSummary } from '../compaction.ts'
import { encodeResponsesFailure } from '../error.ts'
import { mintItemId, mintResponseId } from '../items/item.ts'
import { responsesNotesIn } from '../decode-turn.ts'
import type { ResponsesNotes } from '../notes.ts'
import { toResponseObject } from '../response-object.ts'
import { type ItemSnapshot, type PartSnapshot, itemsOf, outputOf, toBody, toItem, toPart } from '../snapshot.ts'
import { kindOfItem, textKinds } from '../text-events.ts'
import { toResponseUsage } from '../usage.ts'
import type {
  LogProb,
  OutputItem,
  OutputText,
  Refusal,
  ResponseObject,
  ResponseState,
  SummaryText,
  UrlCitation,
  WireEvent,
  WireObject,
} from '../wire.ts'
import { closeItem, insertItem } from './write-items.ts'
import { addSearchArguments, isToolSearch, settleSearchArguments, toSearchCall } from '../tool-search.ts'
import { type TextTarget, closePart, emitAnnotation, emitTextDone, openPart } from './write-texts.ts'
import { type Frame, type ResponseWriter, beginFrames, encodeFrames, insert, startWriter } from './writer.ts'

interface EncodeState extends ResponseWriter {
  model: string
  usage: Usage | undefined
  /** The response object of the final event, once it is emitted. */
  final: ResponseObject | undefined
  hasFailed: boolean
  /** Open items, by slot. */
  readonly open: Map<number, ItemSnapshot>
  /**
   * An item whose content is complete, but whose `done` event is not sent yet. Only `stop` states whether the answer
   * was cut; the last item then has the status `incomplete`.
   */
  closing: ItemSnapshot | undefined
  readonly notes: ResponsesNotes
  /** The text of a compaction item so far. */
  summary: string
}

/** Encodes a reply as OpenAI's API does. The stream has no end mark after its final event. */
export function createResponsesTurnStream(seed: ReplySeed): TurnStream {
  const state = startEncode(seed)
  return {
    push: (event) => encodeFrames(encodeTurnEvent(state, event)),
    fail(error, requestId) {
      if (state.final !== undefined || state.hasFailed) return ''
      beginFrames(state)
      openResponse(state)
      state.hasFailed = true
      return (
        encodeFrames(state.frames) + encodeResponsesFailure(error, requestId, unfinishedResponse(state), state.next)
      )
    },
    remember: (memory) => remember(state, memory),
  }
}

export function createResponsesTurnFold(seed: ReplySeed): TurnFold {
  const state = startEncode(seed)
  return {
    push(event) {
      encodeTurnEvent(state, event)
    },
    body: () => toBody(state.snapshot),
    remember: (memory) => remember(state, memory),
  }
}

function startEncode(seed: ReplySeed): EncodeState {
  return {
    ...startWriter(seed, { fillsCalls: false, wrapsCiphertext: false }),
    notes: responsesNotesIn(seed),
    model: seed.model,
    usage: undefined,
    final: undefined,
    hasFailed: false,
    open: new Map(),
    closing: undefined,
    summary: '',
  }
}

function remember({ id, final, notes: { storedInput } }: EncodeState, { responses }: ReplyMemory): void {
  if (final !== undefined && storedInput !== undefined) responses.put(id, { response: final, ...storedInput })
}

/** No event follows the final event. */
function encodeTurnEvent(state: EncodeState, event: TurnEvent): readonly Frame[] {
  beginFrames(state)
  if (state.final !== undefined || state.hasFailed) return state.frames
  if (event.type === 'start') {
    state.model = event.model ?? state.model
    state.usage = event.usage
  } else if (event.type === 'usage') state.usage = event.usage
  else if (state.notes.isCompaction === true) encodeCompactionEvent(state, event)
  else encodeContentEvent(state, event)
  return state.frames
}

/** Each slot becomes one item. */
function encodeContentEvent(state: EncodeState, event: TurnEvent): void {
  switch (event.type) {
    case 'text.delta':
      return encodeText(state, event.slot, textKinds.text, event.text, toLogProbs(event.logprobs))
    case 'refusal.delta':
      return encodeText(state, event.slot, textKinds.refusal, event.text)
    case 'citation': {
      const item = itemAt(state, event.slot, 'message')
      const part = partOf(state, item, textKinds.text)
      return emitAnnotation(state, item, part, toUrlCitation(event.citation, part.text.length))
    }
    case 'think.delta':
      if (state.notes.hidesThinking !== true) encodeText(state, event.slot, textKinds.summary, event.text)
      return
    case 'think.sign': {
      const item = itemAt(state, event.slot, 'reasoning')
      item.item = { ...item.item, encrypted_content: sealOpaque(event.opaque) }
      return
    }
    case 'tool.open': {
      const { slot, kind, id: call_id, name, namespace } = event
      if (isToolSearch(event)) {
        openSlot(state, slot, toSearchCall(call_id))
        return
      }
      const call = { call_id, name, ...(namespace !== undefined && { namespace }) }
      const item: OutputItem =
        kind === 'function'
          ? {
              type: 'function_call',
              id: '',
              ...call,
              arguments: '',
              ...openArguments(state, event),
              status: 'in_progress',
            }
          : { type: 'custom_tool_call', id: '', ...call, input: '', status: 'in_progress' }
      openSlot(state, slot, item)
      return
    }
    case 'tool.args': {
      const item = state.open.get(event.slot)
      if (item !== undefined && addSearchArguments(item, event.text)) return
      const kind = item && kindOfItem(item.type)
      if (event.text !== '' && item && kind) emitDelta(state, { item, kind, text: item.call }, event.text)
      return
    }
    case 'search':
    case 'search.result':
      return encodeSearch(state, event.query)
    case 'part.close':
      return closeSlot(state, event.slot)
    case 'stop':
      return endResponse(state, event.reason)
    // A search is written as a whole, after it has ended.
    case 'search.open':
    case 'start':
    case 'usage':
  }
}

/** No argument of a translated model is encrypted. */
function openArguments({ notes }: EncodeState, tool: ToolName): typeof OPEN_ARGUMENTS | undefined {
  return notes.opened?.has(toolKey(tool)) === true ? OPEN_ARGUMENTS : undefined
}

function encodeText(state: EncodeState, slot: number, kind: PartKind, text: string, logprobs?: LogProb[]): void {
  if (text === '') return
  const item = itemAt(state, slot, kind.item)
  const part = partOf(state, item, kind)
  const emitted = part.part['logprobs']
  if (logprobs !== undefined && Array.isArray(emitted)) emitted.push(...logprobs)
  emitDelta(state, { item, kind, text: part }, text, logprobs)
}

/**
 * Encodes a reply that is one compaction item. Its summary is the text of the model, which was asked for a summary.
 * @throws Fault `upstream_unusable` if the text is empty: the caller would replace its history with nothing
 */
function encodeCompactionEvent(state: EncodeState, event: TurnEvent): void {
  if (event.type === 'text.delta') {
    openResponse(state)
    state.summary += event.text
  }
  if (event.type !== 'stop') return
  if (state.summary.trim() === '') {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it returned no summary' })
  }
  const summary: OutputItem = { type: 'compaction', id: '', encrypted_content: encodeSummary(state.summary) }
  finishItem(state, addItem(state, summary), summary)
  emitFinal(state, event.reason)
}

/** Emits a search that has ended. */
function encodeSearch(state: EncodeState, query: string): void {
  openResponse(state)
  finishClosing(state, 'completed')
  const search: OutputItem = {
    type: 'web_search_call',
    id: '',
    status: 'completed',
    action: { type: 'search', query },
  }
  const item = addItem(state, search)
  const location = { item_id: item.id, output_index: item.index }
  for (const step of ['in_progress', 'searching', 'completed']) {
    insert(state, `response.web_search_call.${step}`, location)
  }
  finishItem(state, item, search)
}

function endResponse(state: EncodeState, reason: TurnStop): void {
  openResponse(state)
  // The cut affects the open items. If no item is open, it affects the last one.
  const isCut = cuts[reason] !== undefined
  const status = isCut ? 'incomplete' : 'completed'
  finishClosing(state, isCut && state.open.size === 0 ? status : 'completed')
  for (const item of state.open.values()) {
    closeContent(state, item, isCut)
    finishItem(state, item, toItem(item, status))
  }
  state.open.clear()
  emitFinal(state, reason)
}

/** Source: OpenAI API reference, `incomplete_details`, 2026-11. */
type Cut = NonNullable<ResponseState['incomplete_details']>['reason'] | undefined

/** Why the answer was cut; undefined for a complete answer. */
const cuts: Readonly<Record<TurnStop, Cut>> = {
  end: undefined,
  stop_sequence: undefined,
  tool_calls: undefined,
  // The caller cannot continue this answer.
  pause: 'max_output_tokens',
  compaction: undefined,
  max_tokens: 'max_output_tokens',
  context_full: 'max_output_tokens',
  content_filter: 'content_filter',
}

function emitFinal(state: EncodeState, reason: TurnStop): void {
  const cut = cuts[reason]
  const status = cut === undefined ? 'completed' : 'incomplete'
  const incomplete_details = cut === undefined ? null : { reason: cut }
  const response = responseOf(state, { status, incomplete_details, output: outputOf(state.snapshot) })
  state.final = response
  insert(state, `response.${status}`, { response })
}

/** The response object of a reply that failed, with the items so far. */
function unfinishedResponse(state: EncodeState): ResponseObject {
  const output = itemsOf(state.snapshot).map((item) => {
    if (item.isDone) return item.item
    return toItem(item, item === state.closing ? 'completed' : 'incomplete')
  })
  return responseOf(state, { status: 'in_progress', output })
}

interface Stated {
  readonly status: ResponseState['status']
  readonly incomplete_details?: ResponseState['incomplete_details']
  readonly output: readonly WireObject[]
}

function responseOf({ seed, notes, id, model, usage }: EncodeState, { output, ...stated }: Stated): ResponseObject {
  return toResponseObject(seed, notes.echo, {
    id,
    model,
    ...stated,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every item was added as an `OutputItem`
    output: output as OutputItem[],
    // Null if upstream stated no usage, because the proxy never invents counts.
    usage: usage === undefined ? null : toResponseUsage(usage),
  })
}

/** The reply starts with the first content, so that an early failure can still be a status. */
function openResponse(state: EncodeState): void {
  if (state.id !== '') return
  state.id = mintResponseId(state.seed.id)
  const { seed, notes, id, model } = state
  const response = toResponseObject(seed, notes.echo, { id, model, status: 'in_progress' })
  insert(state, 'response.created', { response })
  insert(state, 'response.in_progress', { response })
}

/** The open item of a slot. */
function itemAt(state: EncodeState, slot: number, type: 'message' | 'reasoning'): ItemSnapshot {
  const item = state.open.get(slot)
  if (item?.type === type) return item
  const status = 'in_progress'
  const opened: OutputItem =
    type === 'message'
      ? { type, id: '', status, role: 'assistant', content: [] }
      : { type, id: '', summary: [], status }
  return openSlot(state, slot, opened)
}

function openSlot(state: EncodeState, slot: number, item: OutputItem): ItemSnapshot {
  openResponse(state)
  closeSlot(state, slot)
  finishClosing(state, 'completed')
  const added = addItem(state, item)
  state.open.set(slot, added)
  return added
}

function addItem(state: EncodeState, item: OutputItem): ItemSnapshot {
  const index = state.snapshot.items.size
  return insertItem(state, index, { ...item, id: mintItemId(item.type, state.seed.id, index) })
}

function closeSlot(state: EncodeState, slot: number): void {
  const item = state.open.get(slot)
  if (item === undefined) return
  finishClosing(state, 'completed')
  closeContent(state, item, false)
  state.open.delete(slot)
  state.closing = item
}

function finishClosing(state: EncodeState, status: 'completed' | 'incomplete'): void {
  const item = state.closing
  if (item === undefined) return
  state.closing = undefined
  finishItem(state, item, toItem(item, status))
}

function finishItem(state: EncodeState, item: ItemSnapshot, final: WireObject): void {
  const event = { type: 'response.output_item.done', sequence_number: 0, output_index: item.index, item: final }
  closeItem(state, item, event, final)
}

/** @param isCut the answer ended within the item; a call without arguments is then dropped */
function closeContent(state: EncodeState, item: ItemSnapshot, isCut: boolean): void {
  settleSearchArguments(item)
  const kind = kindOfItem(item.type)
  if (kind === undefined) return closeLastPart(state, item)
  const isBlank = item.call.text.trim() === ''
  if (kind === textKinds.arguments && isBlank && !isCut) emitDelta(state, { item, kind, text: item.call }, '{}')
  emitTextDone(state, { item, kind, text: item.call }, undefined)
}

function closeLastPart(state: EncodeState, item: ItemSnapshot): void {
  for (const container of ['summary', 'content'] as const) {
    const part = item[container].at(-1)
    if (part !== undefined) closePart(state, item, part, toPart(part))
  }
}

/** Returns the open part of this kind. First closes any other part of the item. */
function partOf(state: EncodeState, item: ItemSnapshot, kind: PartKind): PartSnapshot {
  const parts = item[kind.container]
  const last = parts.at(-1)
  if (last?.kind === kind) return last
  closeLastPart(state, item)
  const part = openPart(state, item, kind.container, parts.length, emptyParts[kind.part]())
  // Keep the emitted event's list separate and empty.
  if (kind === textKinds.text) part.part = { ...part.part, logprobs: [] }
  return part
}

type PartKind = (typeof textKinds)['text' | 'refusal' | 'summary']

const emptyParts = {
  output_text: (): OutputText => ({ type: 'output_text', text: '', annotations: [], logprobs: [] }),
  refusal: (): Refusal => ({ type: 'refusal', refusal: '' }),
  summary_text: (): SummaryText => ({ type: 'summary_text', text: '' }),
}

function emitDelta(state: EncodeState, target: TextTarget, delta: string, logprobs?: readonly LogProb[]): void {
  const event = toDelta(state.next, target, delta, logprobs)
  target.text.text += delta
  state.next += 1
  state.frames.push({ type: target.kind.delta, event, rawText: undefined, upstreamId: undefined })
}

/** Writes each event as one literal, because every token passes here. */
function toDelta(
  sequence_number: number,
  { item: { id: item_id, index: output_index }, kind: { delta: type, container }, text: { index } }: TextTarget,
  delta: string,
  logprobs: readonly LogProb[] | undefined,
): WireEvent {
  switch (container) {
    case 'content':
      return { type, sequence_number, item_id, output_index, content_index: index, delta, logprobs }
    case 'summary':
      return { type, sequence_number, item_id, output_index, summary_index: index, delta }
    case 'item':
      return { type, sequence_number, item_id, output_index, delta }
  }
}

/** @param length of the text so far; replaces an offset that upstream does not state */
function toUrlCitation({ url, title, start = 0, end }: Citation, length: number): UrlCitation {
  return { type: 'url_citation', url, title, start_index: start, end_index: end ?? length }
}

/** Converts token log probabilities. Chat Completions has the same members, but its `bytes` can be null. */
function toLogProbs(stated: unknown): LogProb[] {
  return objectsOf(stated).flatMap(({ top_logprobs: top, ...entry }) => {
    const token = toToken(entry)
    return token ? [{ ...token, top_logprobs: objectsOf(top).flatMap((one) => toToken(one) ?? []) }] : []
  })
}

function toToken({ token, logprob, bytes }: WireObject): Omit<LogProb, 'top_logprobs'> | undefined {
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined
  return { token, logprob, bytes: Array.isArray(bytes) ? bytes.filter((byte) => typeof byte === 'number') : [] }
}
