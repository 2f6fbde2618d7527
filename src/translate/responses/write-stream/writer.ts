import { encodeEvent, encodeJsonEvent } from '../../../sse/encode.ts'
import type { ReplySeed } from '../../dialect.ts'
import { makerOf } from '../../engine/opaque-envelope.ts'
import { stringify } from '../../../json/json.ts'
import { type ResponseSnapshot, foldEvent, startSnapshot } from '../snapshot.ts'
import type { WireEvent } from '../wire.ts'

// Writes a response as OpenAI's API does: each item is added, streamed and done once, under one id, and events are
// numbered without gaps. It has two callers: `read-stream/` repairs the events of a Responses upstream,
// `write-stream.ts` writes the events of a translated reply.

/** One event for the caller. */
export interface Frame {
  readonly type: string
  readonly event: WireEvent
  /** Upstream's own text, if the event is unchanged. */
  readonly rawText: string | undefined
  /** For `output_item.done`: the id that upstream sent there. The ciphertext beside it belongs to that id. */
  readonly upstreamId?: string | undefined
}

interface WriterOptions {
  /** A function call without arguments gets `{}`. Other dialects write an empty call in their own form. */
  readonly fillsCalls: boolean
  /** The caller receives the ciphertext itself, and may later send it to a model of another provider. */
  readonly wrapsCiphertext: boolean
}

/** Owned by one reply, updated in place. */
export interface ResponseWriter {
  readonly seed: ReplySeed
  readonly fillsCalls: boolean
  /** The maker of the ciphertext, for its envelope; undefined if the ciphertext is forwarded unchanged. */
  readonly ciphertextOrigin: ReturnType<typeof makerOf> | undefined
  /** The fold of all emitted events. */
  readonly snapshot: ResponseSnapshot
  /** The response's id for the caller; '' until `response.created` is emitted. */
  id: string
  /** Item ids in use. */
  readonly itemIds: Set<string>
  /** The item's index, by the id of its call. */
  readonly callIds: Map<string, number>
  /** The next `sequence_number`. */
  next: number
  /** Index of the latest item, for events that name none. */
  lastIndex: number
  /** An emitted `output_item.done` differs from upstream's event. */
  hasChangedItems: boolean
  /** The frames that the current event adds to the reply. */
  frames: Frame[]
  /** Upstream's event that is being normalised, and its text. */
  event: WireEvent | undefined
  rawText: string | undefined
  /** The event was changed, so its original text is outdated. */
  isChanged: boolean
}

export function startWriter(seed: ReplySeed, { fillsCalls, wrapsCiphertext }: WriterOptions): ResponseWriter {
  return {
    seed,
    fillsCalls,
    ciphertextOrigin: wrapsCiphertext ? makerOf(seed.traits) : undefined,
    snapshot: startSnapshot(),
    id: '',
    itemIds: new Set(),
    callIds: new Map(),
    next: 0,
    lastIndex: 0,
    hasChangedItems: false,
    frames: [],
    event: undefined,
    rawText: undefined,
    isChanged: false,
  }
}

/** Begins the frames of the next event. @param rawText absent if the event is not as upstream wrote it */
export function beginFrames(writer: ResponseWriter, event?: WireEvent, rawText?: string): void {
  writer.frames = []
  writer.event = event
  writer.rawText = rawText
  writer.isChanged = false
}

/** Emits an event and adds it to the snapshot. */
export function emit(writer: ResponseWriter, type: string, event: WireEvent, upstreamId?: string): void {
  foldEvent(writer.snapshot, type, event)
  send(writer, type, event, upstreamId)
}

/** Emits an event that the snapshot already holds. */
export function send(writer: ResponseWriter, type: string, event: WireEvent, upstreamId?: string): void {
  const isSame = event === writer.event && !writer.isChanged && event.sequence_number === writer.next
  const rawText = isSame ? writer.rawText : undefined
  event.sequence_number = writer.next
  writer.next += 1
  // Drop the obfuscation, because it pads the event to a length that has changed.
  if (rawText === undefined && event.obfuscation !== undefined) event.obfuscation = undefined
  writer.frames.push({ type, event, rawText, upstreamId })
}

/** Emits an event that upstream did not send. */
export function insert(writer: ResponseWriter, type: string, members: WireEvent): void {
  emit(writer, type, { type, sequence_number: 0, ...members })
}

/** Sets a member of upstream's event, or of an object in it. */
export function settle(writer: ResponseWriter, object: WireEvent, key: string, value: unknown): void {
  if (object[key] === value) return
  object[key] = value
  writer.isChanged = true
}

export function encodeFrames(frames: readonly Frame[]): string {
  let text = ''
  for (const { type, event, rawText } of frames) {
    text += rawText === undefined ? encodeJsonEvent(type, stringify(event)) : encodeEvent(type, rawText)
  }
  return text
}

export function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
