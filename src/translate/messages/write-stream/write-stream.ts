import { encodeJsonEvent } from '../../../sse/encode.ts'
import type { ReplySeed, TurnFold, TurnStream } from '../../dialect.ts'
import { mintId } from '../../engine/ids.ts'
import { stringify } from '../../../json/json.ts'
import type { Opaque, TurnEvent, TurnStop, Usage } from '../../turn.ts'
import { foldEvent, startFold, toMessage } from '../fold.ts'
import { orderSearchResults } from '../search-results.ts'
import { toDeltaUsage, toStartUsage } from '../usage.ts'
import type { MessageEnd, MessagesEvent, RefusalCategory, RefusalDetails, StopReason } from '../wire.ts'
import { closeBlock, writeCitedPages, writeEvent } from './block-writer.ts'
import { messagesNotesIn } from '../decode-turn.ts'
import type { BlockWriter, PartEvent } from './block-writer.ts'

/** Writes a turn as Messages events, each with its `event:` line, which Anthropic's client requires. */
export function createMessagesTurnStream(seed: ReplySeed): TurnStream {
  let text = ''
  const encoder = startEncoder(seed, (event) => {
    text += encodeJsonEvent(event.type, stringify(event))
  })
  return {
    push(event) {
      text = ''
      encodeStep(encoder, event)
      return text
    },
  }
}

/** Writes the events of `createMessagesTurnStream` as one body, with the result of each search after its call. */
export function createMessagesTurnFold(seed: ReplySeed): TurnFold {
  const fold = startFold()
  const encoder = startEncoder(seed, (event) => foldEvent(fold, event))
  return {
    push: (event) => encodeStep(encoder, event),
    body: () => orderSearchResults(toMessage(fold)),
  }
}

/** Owned by one reply, updated in place. */
interface Encoder {
  readonly seed: ReplySeed
  readonly writer: BlockWriter
  /**
   * By slot, in order of appearance. Parts may interleave in a turn, but a Messages stream has one open block. So only
   * the first part is written, and the others wait.
   */
  readonly parts: Map<number, Part>
  first: Part | undefined
  /** Undefined if the caller asked for thinking. */
  readonly deferral: ThoughtDeferral | undefined
  /** `message_start` was written; until then a failure is still a status. */
  started: boolean
  done: boolean
  startUsage: Usage | undefined
  usage: Usage | undefined
}

function startEncoder(seed: ReplySeed, emit: (event: MessagesEvent) => void): Encoder {
  const { hidesThinking, asksForThinking } = messagesNotesIn(seed)
  return {
    seed,
    writer: {
      emit,
      hidesThinking,
      next: 0,
      open: undefined,
      endsWithText: false,
      late: [],
      calls: 0,
      searches: 0,
      citedSearch: undefined,
      refused: false,
    },
    parts: new Map(),
    first: undefined,
    deferral: asksForThinking ? undefined : { shown: new Set(), held: [] },
    started: false,
    done: false,
    startUsage: undefined,
    usage: undefined,
  }
}

/** A part of the reply that is not completely written. */
interface Part {
  readonly slot: number
  /** Events that arrived while another part was the first. */
  readonly waiting: PartEvent[]
  signature: Opaque | undefined
  closed: boolean
}

/**
 * Holds back thinking from callers that did not ask for it. Upstreams of other dialects send an opaque value unasked
 * and without text. A thinking block before the text would break programs that read `content[0].text`. The thinking is
 * written before the next tool call, which needs it to continue, and otherwise left out.
 */
interface ThoughtDeferral {
  /** Slots of thinking with text. This thinking is written. */
  readonly shown: Set<number>
  readonly held: Extract<TurnEvent, { readonly type: 'think.sign' | 'part.close' }>[]
}

function encodeStep(encoder: Encoder, event: TurnEvent): void {
  const { deferral } = encoder
  if (deferral !== undefined) {
    if (isDeferred(deferral, event)) return
    if (event.type === 'tool.open' || event.type === 'search.open') {
      for (const due of deferral.held.splice(0)) encodeTurnEvent(encoder, due)
    }
  }
  encodeTurnEvent(encoder, event)
}

function isDeferred({ shown, held }: ThoughtDeferral, event: TurnEvent): boolean {
  if (event.type === 'think.delta' && event.text !== '') shown.add(event.slot)
  const isHeld = event.type === 'part.close' && held.some(({ slot }) => slot === event.slot)
  if (!isHeld && (event.type !== 'think.sign' || shown.has(event.slot))) return false
  held.push(event)
  return true
}

function encodeTurnEvent(encoder: Encoder, event: TurnEvent): void {
  if (encoder.done) return
  switch (event.type) {
    case 'start':
      encoder.startUsage = event.usage
      return
    case 'usage':
      encoder.usage = event.usage
      return
    case 'part.close':
      return closePart(encoder, event.slot)
    case 'think.sign':
      startMessage(encoder)
      partOf(encoder, event.slot).signature = event.opaque
      return
    case 'stop':
      return finish(encoder, event)
    default:
      return takePart(encoder, event)
  }
}

function takePart(encoder: Encoder, event: PartEvent): void {
  if ('text' in event && event.text === '') return
  startMessage(encoder)
  const part = partOf(encoder, event.slot)
  if (part === encoder.first) writeEvent(encoder.writer, event)
  else part.waiting.push(event)
}

/** Returns the part of a slot. Adds a part if there is none. */
function partOf(encoder: Encoder, slot: number): Part {
  // Usually parts do not interleave.
  if (encoder.first?.slot === slot) return encoder.first
  const known = encoder.parts.get(slot)
  if (known !== undefined) return known
  const part: Part = { slot, waiting: [], signature: undefined, closed: false }
  encoder.parts.set(slot, part)
  encoder.first ??= part
  return part
}

function closePart(encoder: Encoder, slot: number): void {
  const part = encoder.parts.get(slot)
  if (part === undefined) return
  part.closed = true
  while (encoder.first?.closed) closeFirst(encoder, encoder.first)
}

/** Ends the first part, then writes the waiting events of the next one. */
function closeFirst(encoder: Encoder, { slot, signature }: Part): void {
  const { writer, parts } = encoder
  closeBlock(writer, signature)
  parts.delete(slot)
  encoder.first = parts.values().next().value
  for (const event of encoder.first?.waiting ?? []) writeEvent(writer, event)
}

function finish(encoder: Encoder, stop: Extract<TurnEvent, { type: 'stop' }>): void {
  const { writer } = encoder
  while (encoder.first !== undefined) closeFirst(encoder, encoder.first)
  startMessage(encoder)
  writeCitedPages(writer)
  const usage = toDeltaUsage(encoder.usage, writer.searches)
  writer.emit({ type: 'message_delta', delta: endOf(encoder, stop), usage })
  writer.emit({ type: 'message_stop' })
  encoder.done = true
}

function endOf(
  { seed, writer }: Encoder,
  { reason, stopSequence, detail }: Extract<TurnEvent, { type: 'stop' }>,
): MessageEnd {
  // A `refusal` part becomes a normal answer, unless the caller would parse it as JSON.
  const isRefusal = reason === 'end' && writer.refused && messagesNotesIn(seed).hasFormat
  const stop = isRefusal ? 'content_filter' : reason
  return {
    stop_reason: stopReasons[stop === 'tool_calls' && writer.calls === 0 ? 'end' : stop],
    stop_sequence: stop === 'stop_sequence' ? (stopSequence ?? null) : null,
    stop_details: stop === 'content_filter' ? toRefusalDetails(detail?.category, detail?.explanation) : null,
    container: null,
  }
}

const stopReasons: Readonly<Record<TurnStop, StopReason>> = {
  end: 'end_turn',
  stop_sequence: 'stop_sequence',
  tool_calls: 'tool_use',
  max_tokens: 'max_tokens',
  context_full: 'model_context_window_exceeded',
  content_filter: 'refusal',
  pause: 'pause_turn',
  // `compaction` belongs to a beta that translated callers have not requested.
  compaction: 'end_turn',
}

const categories: readonly RefusalCategory[] = ['cyber', 'bio', 'frontier_llm', 'reasoning_extraction', 'general_harms']

function toRefusalDetails(category?: string, explanation: string | null = null): RefusalDetails {
  return { type: 'refusal', category: categories.find((known) => known === category) ?? null, explanation }
}

function startMessage(encoder: Encoder): void {
  if (encoder.started) return
  encoder.started = true
  const { seed } = encoder
  encoder.writer.emit({
    type: 'message_start',
    message: {
      id: mintId('msg', seed.id, 0),
      type: 'message',
      role: 'assistant',
      // Claude Code compares it with the name it requested.
      model: seed.requestedModel,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: toStartUsage(encoder.startUsage),
    },
  })
}
