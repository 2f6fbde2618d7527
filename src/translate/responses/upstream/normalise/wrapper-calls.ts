import { Fault } from '../../../../errors.ts'
import { type ArgumentScan, scanArguments, startArgumentScan } from '../../../parts/argument-scan.ts'
import type { JsonObject } from '../../../parts/json.ts'
import { isFilled, isObject, objectsOf, parseObject } from '../../../parts/json.ts'
import { shortCallId } from '../../items.ts'
import { type TextKind, textKinds } from '../../text-events.ts'
import type { WireEvent, WireObject } from '../../wire.ts'
import { LITE_NAMESPACE } from '../lite.ts'
import { offeredTools } from '../pass-tools.ts'

// Gives calls the names of the caller's own tools, before the rest of the normaliser reads them: removes a namespace that
// only the upstream request had, and expands a wrapper call into the calls that it holds.

/** Names of the wrapper for several calls. No request declares it; models are trained to it (docs/codex-wire.md, "Request body"). */
const wrapperNames: ReadonlySet<unknown> = new Set(['parallel', 'multi_tool_use.parallel'])

const none: ReadonlySet<string> = new Set()

/** What names the calls of a reply as the request did. */
export interface CallNotes {
  /** Tools that had no namespace and that the request put into `functions`, by name: their calls lose it again. */
  readonly grouped: ReadonlySet<string>
  /** The caller has a tool of the name that models give a wrapper for several calls: calls of it are left alone. */
  readonly hasWrapper: boolean
}

/**
 * What the reply has to know of the request to name its calls; undefined if their names are the caller's already.
 * @param grouped as in `CallNotes`
 */
export function callNotes({ tools, input }: JsonObject, grouped: ReadonlySet<string> = none): CallNotes | undefined {
  const hasWrapper = offeredTools(tools, input).some(({ name }) => wrapperNames.has(name))
  return hasWrapper || grouped.size > 0 ? { grouped, hasWrapper } : undefined
}

/** Updated in place. */
export interface WrapperState {
  readonly notes: CallNotes | undefined
  /** Wrappers that are not done, by upstream's index. */
  readonly buffered: Map<number, BufferedWrapper>
  /** The caller's index of every item, by upstream's, once a wrapper has been expanded; empty before. */
  readonly indices: Map<number, number>
}

interface BufferedWrapper {
  readonly item: WireObject
  readonly scan: ArgumentScan
  text: string
}

export function startWrappers(notes: CallNotes | undefined): WrapperState {
  return { notes, buffered: new Map(), indices: new Map() }
}

/**
 * Buffers a wrapper's arguments until they are complete. Returns whether the event was one of them.
 * @throws Fault `upstream_unusable` for endless whitespace
 */
export function bufferArguments({ buffered }: WrapperState, kind: TextKind, event: WireEvent): boolean {
  if (buffered.size === 0 || kind !== textKinds.arguments) return false
  const { output_index: index, delta } = event
  const wrapper = typeof index === 'number' ? buffered.get(index) : undefined
  if (wrapper === undefined) return false
  if (typeof delta !== 'string') return true
  if (scanArguments(wrapper.scan, delta) < delta.length) refuseWhitespace()
  wrapper.text += delta
  return true
}

export function refuseWhitespace(): never {
  throw new Fault({
    kind: 'upstream_unusable',
    detail: 'it filled the arguments of a tool call with endless whitespace',
  })
}

/**
 * Gives the event the caller's index of its item. Returns whether that is upstream's.
 * @param taken the caller's indices so far
 */
export function remapIndex({ indices }: WrapperState, event: WireEvent, taken: Iterable<number>): boolean {
  const { output_index: index } = event
  if (indices.size === 0 || typeof index !== 'number') return true
  const known = indices.get(index)
  const remapped = known ?? nextIndex(indices, taken)
  if (known === undefined) indices.set(index, remapped)
  event.output_index = remapped
  return remapped === index
}

function nextIndex(indices: ReadonlyMap<number, number>, taken: Iterable<number>): number {
  let last = -1
  for (const index of indices.values()) last = Math.max(last, index)
  for (const index of taken) last = Math.max(last, index)
  return last + 1
}

/** Buffers an item that is a wrapper. Returns whether it is one. */
export function bufferWrapper(state: WrapperState, { item, output_index: index }: WireEvent): boolean {
  if (!isObject(item) || typeof index !== 'number' || !isWrapper(state, item)) return false
  state.buffered.set(index, { item, scan: startArgumentScan(), text: '' })
  return true
}

/**
 * The `output_item.done` events of the calls in a wrapper, the first at the wrapper's index; undefined for any other
 * item.
 * @param taken the caller's indices so far
 */
export function expandWrapper(
  state: WrapperState,
  event: WireEvent,
  taken: Iterable<number>,
): readonly WireEvent[] | undefined {
  const { item, output_index: index } = event
  if (!isObject(item)) return undefined
  const wrapper = typeof index === 'number' ? state.buffered.get(index) : undefined
  if (typeof index === 'number') state.buffered.delete(index)
  // The deltas were not emitted, so the final item has to state everything.
  if (wrapper !== undefined && !isFilled(item['arguments'])) item['arguments'] = wrapper.text
  const calls = callsOf(state, item)
  if (calls === undefined) return undefined
  const used = [...taken]
  if (state.indices.size === 0) {
    for (const known of used) state.indices.set(known, known)
    if (typeof index === 'number') state.indices.set(index, index)
  }
  remapIndex(state, event, used)
  const first = event.output_index
  return calls.map((call, nth): WireEvent => {
    const callIndex = nth === 0 ? first : nextIndex(state.indices, used)
    if (typeof callIndex === 'number') used.push(callIndex)
    return { type: event.type, sequence_number: event.sequence_number, output_index: callIndex, item: call }
  })
}

/**
 * `output_item.done` events for the wrappers that upstream neither closed nor states in its final event.
 * @param output of the final event
 */
export function closeBuffered(state: WrapperState, output: unknown): readonly WireEvent[] {
  if (state.buffered.size === 0) return []
  const stated = new Set(objectsOf(output).map((item) => item['call_id']))
  return [...state.buffered].flatMap(([index, { item, text }]) =>
    stated.has(item['call_id'])
      ? []
      : [{ type: 'response.output_item.done', output_index: index, item: { ...item, arguments: text } }],
  )
}

/** Restores the names of the calls in a final event, and expands wrappers. Returns whether the output is unchanged. */
export function restoreOutput(state: WrapperState, response: WireObject): boolean {
  const { output } = response
  if (!Array.isArray(output)) return true
  let isUnchanged = true
  const restored = output.flatMap((item: unknown): readonly unknown[] => {
    if (!isObject(item)) return [item]
    if (!restoreNamespace(state, item)) isUnchanged = false
    const calls = callsOf(state, item)
    if (calls === undefined) return [item]
    isUnchanged = false
    return calls
  })
  if (!isUnchanged) response['output'] = restored
  return isUnchanged
}

/** Removes a namespace that the caller's request did not have. Returns whether the item is unchanged. */
export function restoreNamespace({ notes }: WrapperState, item: unknown): boolean {
  if (notes === undefined || !isObject(item) || item['namespace'] !== LITE_NAMESPACE) return true
  const { name } = item
  if (!isFilled(name) || !notes.grouped.has(name)) return true
  delete item['namespace']
  return false
}

function isWrapper({ notes }: WrapperState, { type, name, namespace }: WireObject): boolean {
  if (type !== 'function_call' || notes?.hasWrapper === true || !wrapperNames.has(name)) return false
  return !isFilled(namespace) || namespace === 'multi_tool_use' || namespace === LITE_NAMESPACE
}

/** Models call a handful of tools at once; a longer list is something else. */
const mostCalls = 128

/** The calls in a wrapper; undefined for any other item, and for arguments of another shape. */
function callsOf(state: WrapperState, item: WireObject): readonly WireObject[] | undefined {
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
  const { id, namespace: _namespace, call_id: callId, ...members } = wrapper
  const dot = recipient.lastIndexOf('.')
  const namespace = recipient.slice(0, Math.max(dot, 0))
  return {
    ...members,
    // The first call keeps the wrapper's id: each item needs its own.
    ...(nth === 0 && id !== undefined && { id }),
    call_id: nth === 0 || !isFilled(callId) ? callId : shortCallId(`${callId}__${nth + 1}`),
    name: recipient.slice(dot + 1),
    ...(namespace !== '' && namespace !== LITE_NAMESPACE && { namespace }),
    arguments: JSON.stringify(parameters),
  }
}
