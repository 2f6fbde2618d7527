import { Fault } from '../../../errors.ts'
import type { CallNotes } from '../../dialect.ts'
import { scanArguments, startArgumentScan } from '../../parts/argument-scan.ts'
import type { ArgumentScan } from '../../parts/argument-scan.ts'
import { isFilled, isObject, objectsOf, parseObject } from '../../parts/wire-json.ts'
import { isWrapperName } from '../call-notes.ts'
import { shortCallId } from '../known-ids.ts'
import { LITE_NAMESPACE } from '../lite.ts'
import { textKinds } from '../text-events.ts'
import type { TextKind } from '../text-events.ts'
import type { WireEvent, WireObject } from '../wire-event.ts'

// Calls as the caller knows its tools: without a namespace that only upstream was told of, and with a wrapper that stands
// for several calls taken apart. It happens before the events are mended, so that what follows sees calls like any other.

/** Updated in place. */
export interface CallState {
  readonly notes: CallNotes | undefined
  /** Wrappers that are not done, by upstream's index. */
  readonly held: Map<number, HeldWrapper>
  /** Upstream's index to the caller's, for every item, once a wrapper has been taken apart; empty before. */
  readonly places: Map<number, number>
}

interface HeldWrapper {
  readonly item: WireObject
  readonly scan: ArgumentScan
  text: string
}

export function startCalls(notes: CallNotes | undefined): CallState {
  return { notes, held: new Map(), places: new Map() }
}

/**
 * Whether the event tells of a wrapper's arguments, which are kept back until they are whole.
 * @throws Fault `upstream_unusable` for endless whitespace
 */
export function isHeldBack({ held }: CallState, kind: TextKind, event: WireEvent): boolean {
  if (held.size === 0 || kind !== textKinds.arguments) return false
  const { output_index: index, delta } = event
  const wrapper = typeof index === 'number' ? held.get(index) : undefined
  if (wrapper === undefined) return false
  if (typeof delta !== 'string') return true
  if (scanArguments(wrapper.scan, delta) < delta.length) {
    throw new Fault({
      kind: 'upstream_unusable',
      detail: 'it filled the arguments of a tool call with endless whitespace',
    })
  }
  wrapper.text += delta
  return true
}

/**
 * Moves the event to where the caller has its item. Returns whether it was there.
 * @param taken the caller's indices so far
 */
export function moveEvent({ places }: CallState, event: WireEvent, taken: Iterable<number>): boolean {
  const { output_index: index } = event
  if (places.size === 0 || typeof index !== 'number') return true
  const known = places.get(index)
  const at = known ?? nextPlace(places, taken)
  if (known === undefined) places.set(index, at)
  event.output_index = at
  return at === index
}

function nextPlace(places: ReadonlyMap<number, number>, taken: Iterable<number>): number {
  let last = -1
  for (const at of places.values()) last = Math.max(last, at)
  for (const at of taken) last = Math.max(last, at)
  return last + 1
}

/** Whether the item that is added is a wrapper: it is then told of once it is whole. */
export function holdWrapper(state: CallState, { item, output_index: index }: WireEvent): boolean {
  if (!isObject(item) || typeof index !== 'number' || !isWrapper(state, item)) return false
  state.held.set(index, { item, scan: startArgumentScan(), text: '' })
  return true
}

/**
 * The events of the calls that a wrapper which is done stands for, the first in its place; undefined for an item that
 * stands for itself.
 *
 * @param taken the caller's indices so far
 */
export function takeApart(
  state: CallState,
  event: WireEvent,
  taken: Iterable<number>,
): readonly WireEvent[] | undefined {
  const { item, output_index: index } = event
  if (!isObject(item)) return undefined
  const wrapper = typeof index === 'number' ? state.held.get(index) : undefined
  if (typeof index === 'number') state.held.delete(index)
  // The pieces were not told, so that the whole has to say it all.
  if (wrapper !== undefined && !isFilled(item['arguments'])) item['arguments'] = wrapper.text
  const calls = callsOf(state, item)
  if (calls === undefined) return undefined
  const used = [...taken]
  if (state.places.size === 0) {
    for (const at of used) state.places.set(at, at)
    if (typeof index === 'number') state.places.set(index, index)
  }
  moveEvent(state, event, used)
  const first = event.output_index
  return calls.map((call, nth): WireEvent => {
    const at = nth === 0 ? first : nextPlace(state.places, used)
    if (typeof at === 'number') used.push(at)
    return { type: event.type, sequence_number: event.sequence_number, output_index: at, item: call }
  })
}

/**
 * The wrappers upstream neither closed nor states in its final event, as the events that would have closed them.
 * @param output of the final event
 */
export function closeHeld(state: CallState, output: unknown): readonly WireEvent[] {
  if (state.held.size === 0) return []
  const stated = new Set(objectsOf(output).map((item) => item['call_id']))
  return [...state.held].flatMap(([index, { item, text }]) =>
    stated.has(item['call_id'])
      ? []
      : [{ type: 'response.output_item.done', output_index: index, item: { ...item, arguments: text } }],
  )
}

/** Gives the calls of a final event their names, and takes wrappers apart. Returns whether all was right. */
export function fitOutput(state: CallState, response: WireObject): boolean {
  const { output } = response
  if (!Array.isArray(output)) return true
  let right = true
  const fitted = output.flatMap((item: unknown): readonly unknown[] => {
    if (!isObject(item)) return [item]
    if (!fitNamespace(state, item)) right = false
    const calls = callsOf(state, item)
    if (calls === undefined) return [item]
    right = false
    return calls
  })
  if (!right) response['output'] = fitted
  return right
}

/** Takes away the namespace that the request did not have. Returns whether there was none. */
export function fitNamespace({ notes }: CallState, item: unknown): boolean {
  if (notes === undefined || !isObject(item) || item['namespace'] !== LITE_NAMESPACE) return true
  const { name } = item
  if (!isFilled(name) || !notes.grouped.has(name)) return true
  delete item['namespace']
  return false
}

function isWrapper({ notes }: CallState, { type, name, namespace }: WireObject): boolean {
  if (type !== 'function_call' || notes?.hasWrapper === true || !isWrapperName(name)) return false
  return !isFilled(namespace) || namespace === 'multi_tool_use' || namespace === LITE_NAMESPACE
}

/** Models call a handful of tools at once; a list beyond this is something else. */
const mostCalls = 128

/** The calls a wrapper stands for; undefined for any other item, and for arguments of another shape. */
function callsOf(state: CallState, item: WireObject): readonly WireObject[] | undefined {
  if (!isWrapper(state, item)) return undefined
  const args = item['arguments']
  const uses = typeof args === 'string' ? parseObject(args)?.['tool_uses'] : undefined
  if (!Array.isArray(uses) || uses.length === 0 || uses.length > mostCalls) return undefined
  const calls = uses.map((use: unknown, nth) => toCall(item, use, nth))
  return calls.every((call) => call !== undefined) ? calls : undefined
}

function toCall(wrapper: WireObject, use: unknown, nth: number): WireObject | undefined {
  if (!isObject(use) || !isFilled(use['recipient_name'])) return undefined
  const { recipient_name: recipient, parameters = {} } = use
  if (!isObject(parameters)) return undefined
  const { id, namespace: _namespace, call_id: callId, ...rest } = wrapper
  const at = recipient.lastIndexOf('.')
  const namespace = recipient.slice(0, Math.max(at, 0))
  return {
    ...rest,
    // One id cannot be that of several items.
    ...(nth === 0 && id !== undefined && { id }),
    call_id: nth === 0 || !isFilled(callId) ? callId : shortCallId(`${callId}__${nth + 1}`),
    name: recipient.slice(at + 1),
    ...(namespace !== '' && namespace !== LITE_NAMESPACE && { namespace }),
    arguments: JSON.stringify(parameters),
  }
}
