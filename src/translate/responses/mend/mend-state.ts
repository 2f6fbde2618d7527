import type { ArgumentScan } from '../../parts/argument-scan.ts'
import type { ReplySeed } from '../../dialect.ts'
import { eventsLetGo, startTemplates } from '../../parts/event-template.ts'
import { makerOf } from '../../parts/opaque-envelope.ts'
import type { EventTemplates, Hole } from '../../parts/event-template.ts'
import { foldEvent, startDraft } from '../fold.ts'
import type { Draft, DraftItem, DraftText } from '../fold.ts'
import type { TextKind } from '../text-events.ts'
import type { WireEvent, WireObject } from '../wire-event.ts'
import { startCalls } from './calls.ts'
import type { CallState } from './calls.ts'

/** One event for the caller. */
export interface Frame {
  readonly type: string
  /** To be read before the next event is: where it repeats this one, the same object is used again. */
  readonly event: WireEvent
  /** Upstream's own text, where nothing had to be mended. */
  readonly text: string | undefined
  /** What `JSON.stringify` would make of the event, where that is at hand; never together with `text`. */
  readonly json: string | undefined
  /** Of `output_item.done`: the id that upstream wrote there, which belongs to the ciphertext beside it. */
  readonly upstreamId?: string | undefined
}

/** What a delta is a piece of. */
export interface DeltaSpot {
  readonly kind: TextKind
  readonly item: DraftItem
  readonly told: DraftText
}

/** Deltas of one shape: all are pieces of one text. */
export interface RepeatedDelta extends DeltaSpot {
  /** Holds what the last of them says. */
  readonly event: WireEvent
}

type Maker = ReturnType<typeof makerOf>

/** Where one reply is. Owned by one stream, updated in place. */
export interface MendState {
  readonly seed: ReplySeed
  /** A call without arguments gets `{}`. Other dialects have words of their own for none. */
  readonly fillsCalls: boolean
  /** Who made the ciphertext, where it goes into an envelope that says so; undefined where it stays as it came. */
  readonly sealedAs: Maker | undefined
  /** What the caller has been told. */
  readonly draft: Draft
  /** The response's id for the caller; '' until the response was opened for it. */
  id: string
  /** Upstream began without saying one. */
  isIdMadeUp: boolean
  /** Item ids that are taken. */
  readonly itemIds: Set<string>
  /** Which item has a call's id. */
  readonly callIds: Map<string, number>
  /** The number of the next event. */
  next: number
  /** Index of the item that was added last, for events that name none. */
  lastIndex: number
  readonly scans: Map<number, ArgumentScan>
  readonly calls: CallState
  /** Some item was told to be done in other words than upstream's. */
  hasMendedItems: boolean
  usage: WireObject | undefined
  copilotUsage: unknown
  /** Upstream's own `response.failed`, which the reply ends with. */
  failed: WireEvent | undefined
  failedText: string | undefined
  /** Upstream's own error, where it told of it in an event of that type. */
  error: unknown
  /** The final event was returned. */
  done: boolean
  /** It was a failure. */
  hasFailed: boolean
  skipped: number
  /** What the deltas look like. */
  readonly templates: EventTemplates
  /** Those that were told of last. */
  repeated: RepeatedDelta | undefined
}

/** What differs between the deltas of a text. */
const holes: readonly Hole[] = [
  { path: ['delta'], kind: 'text' },
  { path: ['item_id'], kind: 'mark' },
  { path: ['sequence_number'], kind: 'integer' },
  { path: ['obfuscation'], kind: 'text' },
]

interface MendOptions {
  readonly fillsCalls: boolean
  /** The caller gets the ciphertext itself, and may hand it to a model of another provider later. */
  readonly seals: boolean
}

export function startMend(seed: ReplySeed, options: MendOptions): MendState {
  return {
    seed,
    fillsCalls: options.fillsCalls,
    sealedAs: options.seals ? makerOf(seed.traits) : undefined,
    draft: startDraft(),
    id: '',
    isIdMadeUp: false,
    itemIds: new Set(),
    callIds: new Map(),
    next: 0,
    lastIndex: 0,
    scans: new Map(),
    calls: startCalls(seed.notes.calls),
    hasMendedItems: false,
    usage: undefined,
    copilotUsage: undefined,
    failed: undefined,
    failedText: undefined,
    error: undefined,
    done: false,
    hasFailed: false,
    skipped: 0,
    templates: startTemplates(holes, eventsLetGo),
    repeated: undefined,
  }
}

/**
 * Sends an event on and notes what it says.
 * @param text upstream's own, where the event is still as it came
 */
export function emit(
  state: MendState,
  out: Frame[],
  type: string,
  event: WireEvent,
  text: string | undefined,
  upstreamId?: string,
): void {
  foldEvent(state.draft, type, event)
  send(state, out, type, event, text, upstreamId)
}

/** Sends an event on that was noted, numbered: `sequence_number` counts every event from 0. */
export function send(
  state: MendState,
  out: Frame[],
  type: string,
  event: WireEvent,
  text: string | undefined,
  upstreamId?: string,
): void {
  const isRight = settle(event, 'sequence_number', state.next) && text !== undefined
  state.next += 1
  // It hides the length of an event whose length is another now.
  if (!isRight && event.obfuscation !== undefined) event.obfuscation = undefined
  out.push({ type, event, text: isRight ? text : undefined, json: undefined, upstreamId })
}

/** Sends an event that upstream left out. */
export function insert(state: MendState, out: Frame[], type: string, fields: WireEvent): void {
  emit(state, out, type, { type, sequence_number: 0, ...fields }, undefined)
}

/** Gives a member the value it should have. Returns whether it had it. */
export function settle(object: WireEvent, key: string, value: unknown): boolean {
  if (object[key] === value) return true
  object[key] = value
  return false
}
