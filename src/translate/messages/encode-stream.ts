import { encodeJsonEvent } from '../../sse/encode.ts'
import type { ReplySeed, TurnFold, TurnStream } from '../dialect.ts'
import { mintId } from '../parts/mint-id.ts'
import { stringify } from '../parts/wire-json.ts'
import type { TurnEvent, Usage } from '../turn.ts'
import { closeBlock, writeCitedPages, writeEvent, type BlockWriter, type PartEvent } from './block-writer.ts'
import { deferThoughts, startThoughtDeferral, type ThoughtDeferral } from './defer-thoughts.ts'
import { foldEvent, startFold, toMessage } from './fold.ts'
import { nextPart, partOf, startPartQueue, type Part, type PartQueue } from './part-queue.ts'
import { placeSearchResults } from './search-results.ts'
import { toRefusalDetails, toStopReason } from './stop-reason.ts'
import { toDeltaUsage, toStartUsage } from './usage.ts'
import type { MessageEnd, MessagesEvent } from './wire-event.ts'

/** A turn as the events of a Messages stream, each with its `event:` line, which Anthropic's client demands. */
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

/** The events a streaming caller would have got, as one body, in which the result of each search is behind its call. */
export function createMessagesTurnFold(seed: ReplySeed): TurnFold {
  const fold = startFold()
  const encoder = startEncoder(seed, (event) => foldEvent(fold, event))
  return {
    push: (event) => encodeStep(encoder, event),
    body: () => placeSearchResults(toMessage(fold)),
  }
}

/** Where one reply is. Owned by one stream, updated in place. */
interface Encoder {
  readonly seed: ReplySeed
  readonly writer: BlockWriter
  readonly queue: PartQueue
  /** Undefined where the caller asked for thinking. */
  readonly deferral: ThoughtDeferral | undefined
  /** `message_start` was written; until then a failure is still a status. */
  started: boolean
  done: boolean
  startUsage: Usage | undefined
  usage: Usage | undefined
}

function startEncoder(seed: ReplySeed, emit: (event: MessagesEvent) => void): Encoder {
  const { hidesThinking, asksForThinking } = seed.notes
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

/** Ends the first part; what the next one has been waiting with follows. */
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
  // Words of refusal are an answer like any other, unless JSON was asked for: then the caller must not parse them.
  const isRefusal = reason === 'end' && writer.refused && seed.notes.hasFormat
  const stop = isRefusal ? 'content_filter' : reason
  return {
    stop_reason: toStopReason(stop === 'tool_calls' && writer.calls === 0 ? 'end' : stop),
    stop_sequence: stop === 'stop_sequence' ? (stopSequence ?? null) : null,
    stop_details: stop === 'content_filter' ? toRefusalDetails(detail?.category, detail?.explanation) : null,
    container: null,
  }
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
      // Claude Code compares it with the name it asked for.
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
