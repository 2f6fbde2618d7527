import { encodeJsonEvent } from '../../../sse/encode.ts'
import type { ReplySeed, TurnFold, TurnStream } from '../../dialect.ts'
import { mintId } from '../../parts/ids.ts'
import { stringify } from '../../parts/json.ts'
import type { Opaque, TurnEvent, TurnStop, Usage } from '../../turn.ts'
import { foldEvent, startFold, toMessage } from '../fold.ts'
import { orderSearchResults } from '../search-results.ts'
import { toDeltaUsage, toStartUsage } from '../usage.ts'
import type { MessageEnd, MessagesEvent, RefusalCategory, RefusalDetails, StopReason } from '../wire.ts'
import { closeBlock, writeCitedPages, writeEvent } from './block-writer.ts'
import { replyNotesOf } from './decode-turn.ts'
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

/** The events of `createMessagesTurnStream` as one body, with the result of each search after its call. */
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
  readonly queue: PartQueue
  /** Undefined if the caller asked for thinking. */
  readonly deferral: ThoughtDeferral | undefined
  /** `message_start` was written; until then a failure is still a status. */
  started: boolean
  done: boolean
  startUsage: Usage | undefined
  usage: Usage | undefined
}

function startEncoder(seed: ReplySeed, emit: (event: MessagesEvent) => void): Encoder {
  const { hidesThinking, asksForThinking } = replyNotesOf(seed)
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
    queue: startPartQueue(),
    deferral: asksForThinking ? undefined : startThoughtDeferral(),
    started: false,
    done: false,
    startUsage: undefined,
    usage: undefined,
  }
}

function encodeStep(encoder: Encoder, event: TurnEvent): void {
  const { deferral } = encoder
  if (deferral === undefined) encodeTurnEvent(encoder, event)
  else for (const due of deferThoughts(deferral, event)) encodeTurnEvent(encoder, due)
}

/**
 * Holds back thinking from callers that did not ask for it. Upstreams of other dialects send an opaque value unasked,
 * without text; a thinking block before the text would break programs that read `content[0].text`. It is written
 * before the next tool call, which needs it to continue, and otherwise left out.
 */
interface ThoughtDeferral {
  /** Slots of thinking with text, which is shown. */
  readonly shown: Set<number>
  readonly waiting: Set<number>
  readonly held: TurnEvent[]
}

const nothing: readonly TurnEvent[] = []

function startThoughtDeferral(): ThoughtDeferral {
  return { shown: new Set(), waiting: new Set(), held: [] }
}

function deferThoughts({ shown, waiting, held }: ThoughtDeferral, event: TurnEvent): readonly TurnEvent[] {
  switch (event.type) {
    case 'think.delta':
      if (event.text !== '') shown.add(event.slot)
      return [event]
    case 'think.sign':
      if (shown.has(event.slot)) return [event]
      waiting.add(event.slot)
      held.push(event)
      return nothing
    case 'part.close':
      if (!waiting.has(event.slot)) return [event]
      held.push(event)
      return nothing
    case 'tool.open':
    case 'search.open':
      return [...held.splice(0), event]
    case 'start':
    case 'text.delta':
    case 'refusal.delta':
    case 'tool.args':
    case 'citation':
    case 'search':
    case 'search.result':
    case 'usage':
    case 'stop':
      return [event]
  }
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
      partOf(encoder.queue, event.slot).signature = event.opaque
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
  const { queue, writer } = encoder
  const part = partOf(queue, event.slot)
  if (part === queue.first) writeEvent(writer, event)
  else part.waiting.push(event)
}

function closePart({ queue, writer }: Encoder, slot: number): void {
  const part = queue.bySlot.get(slot)
  if (part === undefined) return
  part.closed = true
  while (queue.first?.closed) closeFirst(writer, queue, queue.first)
}

/** Ends the first part and writes the waiting events of the next one. */
function closeFirst(writer: BlockWriter, queue: PartQueue, first: Part): void {
  closeBlock(writer, first.signature)
  const next = nextPart(queue)
  if (next === undefined) return
  for (const event of next.waiting) writeEvent(writer, event)
  next.waiting = []
}

function finish(encoder: Encoder, stop: Extract<TurnEvent, { type: 'stop' }>): void {
  const { queue, writer } = encoder
  const { emit } = writer
  while (queue.first !== undefined) closeFirst(writer, queue, queue.first)
  startMessage(encoder)
  writeCitedPages(writer)
  emit({ type: 'message_delta', delta: endOf(encoder, stop), usage: toDeltaUsage(encoder.usage, writer.searches) })
  emit({ type: 'message_stop' })
  encoder.done = true
}

function endOf(
  { seed, writer }: Encoder,
  { reason, stopSequence, detail }: Extract<TurnEvent, { type: 'stop' }>,
): MessageEnd {
  // A refusal in words is a normal answer, unless the caller would parse it as JSON.
  const isRefusal = reason === 'end' && writer.refused && replyNotesOf(seed).hasFormat
  const stop = isRefusal ? 'content_filter' : reason
  return {
    stop_reason: toStopReason(stop === 'tool_calls' && writer.calls === 0 ? 'end' : stop),
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
  // `compaction` is a reason of a beta that translated callers have not asked for.
  compaction: 'end_turn',
}

function toStopReason(stop: TurnStop): StopReason {
  return stopReasons[stop]
}

const categories: ReadonlySet<string | undefined> = new Set<RefusalCategory>([
  'cyber',
  'bio',
  'frontier_llm',
  'reasoning_extraction',
  'general_harms',
])

function toRefusalDetails(category?: string, explanation?: string): RefusalDetails {
  return { type: 'refusal', category: isCategory(category) ? category : null, explanation: explanation ?? null }
}

function isCategory(category: string | undefined): category is RefusalCategory {
  return categories.has(category)
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

/** A part of a reply that is not completely written. */
interface Part {
  readonly slot: number
  /** Events that came before the part was the first. */
  waiting: PartEvent[]
  signature: Opaque | undefined
  closed: boolean
  next: Part | undefined
}

/**
 * The parts of a reply in the order they were first seen. Parts may interleave in a turn, but a Messages stream has
 * one open block: only the first part is written, the others wait. Updated in place.
 */
interface PartQueue {
  readonly bySlot: Map<number, Part>
  first: Part | undefined
  last: Part | undefined
}

function startPartQueue(): PartQueue {
  return { bySlot: new Map(), first: undefined, last: undefined }
}

/** Returns the part of a slot, and queues a new one. */
function partOf(queue: PartQueue, slot: number): Part {
  // The common case: parts do not interleave.
  if (queue.first?.slot === slot) return queue.first
  const known = queue.bySlot.get(slot)
  if (known !== undefined) return known
  const part: Part = { slot, waiting: [], signature: undefined, closed: false, next: undefined }
  if (queue.last === undefined) queue.first = part
  else queue.last.next = part
  queue.last = part
  queue.bySlot.set(slot, part)
  return part
}

/** Removes the first part and returns the next. */
function nextPart(queue: PartQueue): Part | undefined {
  const { first } = queue
  if (first === undefined) return undefined
  queue.bySlot.delete(first.slot)
  queue.first = first.next
  if (queue.first === undefined) queue.last = undefined
  return queue.first
}
