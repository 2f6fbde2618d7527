import { Fault } from '../../../errors.ts'
import { toUpstreamMessage } from '../../../upstream-errors/message.ts'
import { isFilled, isObject, objectsOf } from '../../../json/json.ts'
import { isUsableId, mintResponseId } from '../items/item.ts'
import { completeResponse } from '../response-object.ts'
import { type ItemSnapshot, itemsOf, outputOf, toItem } from '../snapshot.ts'
import { completeUsage, copilotUsageOf } from '../usage.ts'
import type { ResponseState, WireEvent, WireObject } from '../wire.ts'
import { closeItem, insertItem, isCall } from '../write-stream/write-items.ts'
import { type Frame, beginFrames, emit, insert, settle } from '../write-stream/writer.ts'
import type { NormaliserState } from './state.ts'

/** `response.created`, `response.queued`, `response.in_progress`. */
export function normaliseProgress(state: NormaliserState, type: string, event: WireEvent): void {
  const isOpening = type === 'response.created'
  if (isOpening && state.id !== '') return
  const response = responseOf(state, event)
  if (!isOpening) open(state, response)
  normaliseResponse(state, response, 'in_progress')
  if (!isEmpty(response['output'])) settle(state, response, 'output', [])
  emit(state, type, event)
}

/** Opens the response if upstream did not. */
export function ensureOpen(state: NormaliserState): void {
  if (state.id !== '') return
  open(state, {})
  insert(state, 'response.in_progress', { response: { ...state.snapshot.response } })
}

/** `response.completed`, `response.incomplete`. First closes every item and adds the items that appear only here. */
export function normaliseEnd(state: NormaliserState, type: string, event: WireEvent): void {
  const response = responseOf(state, event)
  open(state, response)
  const status = type === 'response.completed' ? 'completed' : 'incomplete'
  finishItems(state, objectsOf(response['output']), status)
  const { usage } = response
  normaliseResponse(state, response, status)
  normaliseOutput(state, response)
  if (isObject(usage)) {
    if (completeUsage(usage)) state.isChanged = true
    state.usage = usage
  }
  state.copilotUsage = copilotUsageOf(event)
  emit(state, type, event)
  state.done = true
}

/** Ends a started reply with upstream's own `response.failed`; returns nothing if upstream sent none. */
export function endFailed(state: NormaliserState): readonly Frame[] {
  const { failed: event, failedText } = state
  beginFrames(state, event, failedText)
  if (event === undefined) return []
  ensureOpen(state)
  const response = responseOf(state, event)
  const { error } = response
  // If upstream never opened the response, its id was generated, and upstream's own id replaces it.
  if (state.isIdMadeUp && isUsableId(response.id)) state.id = response.id
  normaliseResponse(state, response, 'failed')
  // An empty output means that no item is worth keeping.
  if (!isEmpty(response['output'])) normaliseOutput(state, response)
  if (isObject(error) && isFilled(error['message'])) {
    settle(state, error, 'message', toUpstreamMessage(error['message'], state.seed.redact))
  }
  emit(state, 'response.failed', event)
  return state.frames
}

/** The response object of a reply that failed, with the items so far. */
export function unfinishedResponse({ snapshot }: NormaliserState): WireObject {
  return { ...snapshot.response, error: null, incomplete_details: null, output: outputOf(snapshot) }
}

/** Completes a reply before upstream's final event. */
export function endEarly(state: NormaliserState): void {
  const type = 'response.completed'
  normaliseEnd(state, type, { type, sequence_number: 0, response: { ...state.snapshot.response, status: 'completed' } })
}

/** @throws Fault `upstream_truncated` before upstream's final event */
export function requireFinalEvent({ done }: NormaliserState): void {
  if (!done) throw new Fault({ kind: 'upstream_truncated' })
}

/**
 * Emits `response.created` if upstream did not.
 * @param known the members of the response in upstream's first event
 */
function open(state: NormaliserState, known: WireObject): void {
  if (state.id !== '') return
  state.isIdMadeUp = !isUsableId(known.id)
  const response = { ...known, ...unfinished }
  normaliseResponse(state, response, 'in_progress')
  insert(state, 'response.created', { response })
}

const unfinished = {
  status: 'in_progress',
  completed_at: null,
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
} as const

function responseOf(state: NormaliserState, event: WireEvent): WireObject {
  if (isObject(event.response)) return event.response
  const response: WireObject = {}
  settle(state, event, 'response', response)
  return response
}

/** Sets the response's id, which is the same in every event, and adds missing members. */
function normaliseResponse(state: NormaliserState, response: WireObject, status: ResponseState['status']): void {
  const { seed } = state
  if (state.id === '') state.id = isUsableId(response.id) ? response.id : mintResponseId(seed.id)
  settle(state, response, 'id', state.id)
  if (status !== 'in_progress') settle(state, response, 'status', status)
  if (completeResponse(seed, state.echo, response, { id: state.id, model: seed.model, status })) state.isChanged = true
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0
}

/** Gives the final event the emitted output, if upstream states a different one. */
function normaliseOutput(state: NormaliserState, response: WireObject): void {
  const emitted = outputOf(state.snapshot)
  const stated = response['output']
  const isStated =
    !state.hasChangedItems &&
    Array.isArray(stated) &&
    stated.length === emitted.length &&
    emitted.every((item, at) => isSame(item, stated[at]))
  if (!isStated) settle(state, response, 'output', emitted)
}

/**
 * Compares items without ids and ciphertext, because upstream changes these between an item and its copy in the final
 * event. It is not known to change lists.
 */
function isSame(emitted: WireObject, stated: unknown): boolean {
  if (!isObject(stated)) return false
  const keys = Object.keys(emitted)
  return (
    keys.length === Object.keys(stated).length &&
    keys.every(
      (key) => emitted[key] === stated[key] || (typeof emitted[key] === 'object' && typeof stated[key] === 'object'),
    )
  )
}

/** Closes the items that upstream did not close, and adds those that only the final event has. */
function finishItems(state: NormaliserState, stated: readonly WireObject[], status: ResponseState['status']): void {
  const known = itemsOf(state.snapshot)
  // The final event's copies of the items. Calls are identified by their id.
  const waiting = Map.groupBy(known.toReversed(), ({ type, item }) => keyOf(type, item))
  const finals = new Map<ItemSnapshot, WireObject>()
  const added: WireObject[] = []
  for (const final of stated) {
    if (!isFilled(final.type)) continue
    const item = waiting.get(keyOf(final.type, final))?.pop()
    if (item === undefined) added.push(final)
    else finals.set(item, final)
  }
  for (const item of known) {
    if (!item.isDone) finishItem(state, item, finals.get(item) ?? toItem(item, statusOf(item, status)))
  }
  const next = (known.at(-1)?.index ?? -1) + 1
  for (const [nth, final] of added.entries()) finishItem(state, insertItem(state, next + nth, final), final)
}

/** Closes the item with a copy: `normaliseOutput` compares the final event as upstream sent it. */
function finishItem(state: NormaliserState, item: ItemSnapshot, stated: WireObject): void {
  const final = { ...stated }
  state.scans.delete(item.index)
  closeItem(
    state,
    item,
    { type: 'response.output_item.done', sequence_number: 0, output_index: item.index, item: final },
    final,
  )
}

function keyOf(type: string, item: WireObject): string {
  const { call_id: id } = item
  return isCall(type) ? `${type} ${isFilled(id) ? id : ''}` : type
}

/** A call whose arguments do not parse is incomplete, whatever the status of the response. */
function statusOf({ type, call }: ItemSnapshot, status: string): string {
  return type === 'function_call' && status === 'completed' && !isCompleteJson(call.text) ? 'incomplete' : status
}

/** Empty arguments belong to a call without arguments. */
export function isCompleteJson(text: string): boolean {
  if (text.trim() === '') return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
