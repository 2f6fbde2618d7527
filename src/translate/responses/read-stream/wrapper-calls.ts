import { Fault } from '../../../errors.ts'
import type { ReplyEffects, ToolIdentity } from '../../engine/reply-effects.ts'
import { scanArguments, startArgumentScan } from '../../engine/reply/argument-scan.ts'
import type { JsonObject } from '../../../json/json.ts'
import { isFilled, isObject, objectsOf, parseObject, textOf } from '../../../json/json.ts'
import { shortCallId } from '../items/item.ts'
import { type TextKind, textKinds } from '../text-events.ts'
import type { WireEvent, WireObject } from '../wire.ts'
import { isCall } from '../write-stream/write-items.ts'
import { settle } from '../write-stream/writer.ts'
import { OPEN_ARGUMENTS, toolKey } from '../agent-messages.ts'
import { LITE_NAMESPACE } from '../rules/lite.ts'
import { offeredTools } from '../rules/tool-rules.ts'
import type { CallNotes } from '../notes.ts'
import type { NormaliserState } from './state.ts'

// Gives calls the names of the caller's own tools, before the other steps of the normaliser read them. Removes a
// namespace that only the upstream request had, expands a wrapper call into the calls that it contains, and turns the call
// of a function that replaces a freeform tool into a call of that tool. The last two are emitted when they are done.

/**
 * Names of the wrapper for several calls. No request declares it; models learn it in training (docs/codex-wire.md,
 * "Request body").
 */
const wrapperNames: ReadonlySet<unknown> = new Set(['parallel', 'multi_tool_use.parallel'])

/** Returns the facts for renaming the reply's calls; undefined if upstream's names are the caller's. */
export function callNotes({ tools, input }: JsonObject, effects: ReplyEffects | undefined): CallNotes | undefined {
  const hasWrapper = offeredTools(tools, input).some(({ name }) => wrapperNames.has(name))
  if (!hasWrapper && effects === undefined) return undefined
  return { grouped: effects?.grouped ?? new Set(), hasWrapper, tools: effects?.tools, opened: effects?.opened }
}

/**
 * Buffers a wrapper's arguments until they are complete. Returns whether the event was one of them.
 * @throws Fault `upstream_unusable` for runaway whitespace
 */
export function bufferArguments({ buffered }: NormaliserState, kind: TextKind, event: WireEvent): boolean {
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

/** Sets the caller's index of the event's item. */
export function remapIndex(state: NormaliserState, event: WireEvent): void {
  const { indices } = state
  const { output_index: index } = event
  if (indices.size === 0 || typeof index !== 'number') return
  const remapped = indices.get(index) ?? nextIndex(indices, state.snapshot.items.keys())
  indices.set(index, remapped)
  settle(state, event, 'output_index', remapped)
}

function nextIndex(indices: ReadonlyMap<number, number>, taken: Iterable<number>): number {
  let last = -1
  for (const index of [...indices.values(), ...taken]) last = Math.max(last, index)
  return last + 1
}

/** Buffers an item that becomes another one when it is done. Returns whether it does. */
export function bufferWrapper(state: NormaliserState, { item, output_index: index }: WireEvent): boolean {
  if (!isObject(item) || typeof index !== 'number') return false
  if (!isWrapper(state, item) && customOf(state, item) === undefined) return false
  state.buffered.set(index, { item, scan: startArgumentScan(), text: '' })
  return true
}

/**
 * Returns the `output_item.done` events of the calls that an item becomes, the first at the item's index. Undefined for an
 * item that stays.
 */
export function expandWrapper(state: NormaliserState, event: WireEvent): readonly WireEvent[] | undefined {
  const { buffered, indices } = state
  const { type, sequence_number, item, output_index: index } = event
  if (!isObject(item)) return undefined
  if (typeof index === 'number') {
    const wrapper = buffered.get(index)
    buffered.delete(index)
    // The deltas were not emitted, so the final item must contain all arguments.
    if (wrapper !== undefined && !isFilled(item['arguments'])) item['arguments'] = wrapper.text
  }
  const custom = toCustomCall(state, item)
  const calls = custom === undefined ? callsOf(state, item) : [custom]
  if (calls === undefined) return undefined
  const taken = [...state.snapshot.items.keys()]
  if (indices.size === 0) {
    for (const known of taken) indices.set(known, known)
    if (typeof index === 'number') indices.set(index, index)
  }
  remapIndex(state, event)
  const first = event.output_index
  return calls.map((call, nth): WireEvent => {
    const callIndex = nth === 0 ? first : nextIndex(indices, taken)
    if (typeof callIndex === 'number') taken.push(callIndex)
    return { type, sequence_number, output_index: callIndex, item: call }
  })
}

/**
 * Returns the `output_item.done` events for wrappers that upstream neither closed nor repeated in its final event.
 * @param output of the final event
 */
export function closeBuffered({ buffered }: NormaliserState, output: unknown): readonly WireEvent[] {
  if (buffered.size === 0) return []
  const stated = new Set(objectsOf(output).map((item) => item['call_id']))
  return [...buffered].flatMap(([index, { item, text }]) =>
    stated.has(item['call_id'])
      ? []
      : [{ type: 'response.output_item.done', output_index: index, item: { ...item, arguments: text } }],
  )
}

/** Restores the names of the calls in a final event, and expands wrappers. */
export function restoreOutput(state: NormaliserState, response: WireObject): void {
  const { output } = response
  if (!Array.isArray(output)) return
  const restored = output.flatMap((item: unknown): readonly unknown[] => {
    if (!isObject(item)) return [item]
    const custom = toCustomCall(state, item)
    if (custom !== undefined) return [custom]
    restoreName(state, item)
    return callsOf(state, item) ?? [item]
  })
  if (restored.some((item, at) => item !== output[at])) settle(state, response, 'output', restored)
}

/** Gives a call the caller's name of its tool, and removes a namespace that the caller's request did not have. */
export function restoreName(state: NormaliserState, item: unknown): void {
  const { calls } = state
  if (calls === undefined || !isObject(item) || !isFilled(item['name'])) return
  if (item['namespace'] === LITE_NAMESPACE && calls.grouped.has(item['name'])) {
    delete item['namespace']
    state.isChanged = true
  }
  if (!isCall(item['type'])) return
  const identity = calls.tools?.get(item['name'])
  if (identity !== undefined) {
    const { name, namespace } = identity
    Object.assign(item, { name, ...(namespace !== undefined && { namespace }) })
    state.isChanged = true
  }
  if (calls.opened?.has(toolKey({ name: item['name'], namespace: item['namespace'] })) !== true) return
  Object.assign(item, OPEN_ARGUMENTS)
  state.isChanged = true
}

/** The freeform tool that a function replaces. Undefined for a call of any other tool. */
function customOf({ calls }: NormaliserState, { type, name }: WireObject): ToolIdentity | undefined {
  const identity = type === 'function_call' && isFilled(name) ? calls?.tools?.get(name) : undefined
  return identity?.kind === 'custom' ? identity : undefined
}

function toCustomCall(state: NormaliserState, item: WireObject): WireObject | undefined {
  const identity = customOf(state, item)
  if (identity === undefined) return undefined
  const { arguments: json, ...members } = item
  const { name, namespace } = identity
  const text = textOf(json)
  const input = parseObject(text)?.['input']
  return {
    ...members,
    type: 'custom_tool_call',
    name,
    ...(namespace !== undefined && { namespace }),
    // Arguments of another form are the text.
    input: typeof input === 'string' ? input : text,
  }
}

function isWrapper({ calls }: NormaliserState, { type, name, namespace }: WireObject): boolean {
  if (type !== 'function_call' || calls?.hasWrapper === true || !wrapperNames.has(name)) return false
  return !isFilled(namespace) || namespace === 'multi_tool_use' || namespace === LITE_NAMESPACE
}

/** Models call a few tools at once. A longer list is not a wrapper. */
const mostCalls = 128

/** The calls in a wrapper; undefined for any other item, and for arguments of another form. */
function callsOf(state: NormaliserState, item: WireObject): readonly WireObject[] | undefined {
  if (!isWrapper(state, item)) return undefined
  const args = item['arguments']
  const uses = typeof args === 'string' ? parseObject(args)?.['tool_uses'] : undefined
  if (!Array.isArray(uses) || uses.length === 0 || uses.length > mostCalls) return undefined
  const calls = uses.map((use: unknown, nth) => toCall(item, use, nth))
  if (!calls.every((call) => call !== undefined)) return undefined
  return calls.map((call) => {
    const custom = toCustomCall(state, call)
    if (custom === undefined) restoreName(state, call)
    return custom ?? call
  })
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
