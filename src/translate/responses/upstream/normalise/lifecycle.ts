import { Fault } from '../../../../errors.ts'
import { toUpstreamMessage } from '../../../../upstream-errors/message.ts'
import { isFilled, isObject, objectsOf } from '../../../parts/json.ts'
import { isUsableId, mintResponseId } from '../../items.ts'
import { completeResponse } from '../../response-object.ts'
import { type ItemSnapshot, itemsOf, outputOf, toItem } from '../../snapshot.ts'
import { completeUsage, copilotUsageOf } from '../../usage.ts'
import type { ResponseState, WireEvent, WireObject } from '../../wire.ts'
import { closeItem, insertItem, isCall } from '../../writer/items.ts'
import { type Frame, emit, insert, settle } from '../../writer/writer.ts'
import type { NormaliserState } from './state.ts'

/** `response.created`, `response.queued`, `response.in_progress`. */
export function normaliseProgress(
  state: NormaliserState,
  type: string,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const isOpening = type === 'response.created'
  if (isOpening && state.id !== '') return
  const response = responseOf(event)
  if (!isOpening) open(state, response, out)
  const hasNoOutput = isEmpty(response['output']) || settle(response, 'output', [])
  const isUnchanged = normaliseResponse(state, response, 'in_progress') && hasNoOutput
  emit(state, out, type, event, isUnchanged ? rawText : undefined)
}

/** Opens the response if upstream has begun without it. */
export function ensureOpen(state: NormaliserState, out: Frame[]): void {
  if (state.id !== '') return
  open(state, {}, out)
  insert(state, out, 'response.in_progress', { response: { ...state.snapshot.response } })
}

/** `response.completed`, `response.incomplete`. First closes every item, and adds those that appear here only. */
export function normaliseEnd(
  state: NormaliserState,
  type: string,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const response = responseOf(event)
  open(state, response, out)
  const status = type === 'response.completed' ? 'completed' : 'incomplete'
  finishItems(state, objectsOf(response['output']), status, out)
  const { usage } = response
  const isUnchanged = [
    normaliseResponse(state, response, status),
    normaliseOutput(state, response),
    !isObject(usage) || !completeUsage(usage),
  ].every(Boolean)
  if (isObject(usage)) state.usage = usage
  state.copilotUsage = copilotUsageOf(event)
  emit(state, out, type, event, isUnchanged ? rawText : undefined)
  state.done = true
}

/** Upstream's own `response.failed`, as the end of a reply that has begun; nothing if upstream sent none. */
export function endFailed(state: NormaliserState): readonly Frame[] {
  const { failed: event, failedText: rawText } = state
  if (event === undefined) return []
  const out: Frame[] = []
  ensureOpen(state, out)
  const response = responseOf(event)
  // If upstream never opened the response, its id is made up, and upstream's own id replaces it.
  if (state.isIdMadeUp && isUsableId(response.id)) state.id = response.id
  const isUnchanged = [
    normaliseResponse(state, response, 'failed'),
    // An empty output says that there is nothing worth keeping.
    isEmpty(response['output']) || normaliseOutput(state, response),
    redactMessage(state, response['error']),
  ].every(Boolean)
  emit(state, out, 'response.failed', event, isUnchanged ? rawText : undefined)
  return out
}

/** Returns whether the message is unchanged. */
function redactMessage({ seed }: NormaliserState, error: unknown): boolean {
  if (!isObject(error) || !isFilled(error['message'])) return true
  return settle(error, 'message', toUpstreamMessage(error['message'], seed.redact))
}

/** The response object of a reply that cannot go on, with the items so far. */
export function unfinishedResponse({ snapshot }: NormaliserState): WireObject {
  return { ...snapshot.response, error: null, incomplete_details: null, output: outputOf(snapshot) }
}

/** Completes a reply before upstream's final event. */
export function endEarly(state: NormaliserState, out: Frame[]): void {
  const response = { ...state.snapshot.response, status: 'completed' }
  normaliseEnd(
    state,
    'response.completed',
    { type: 'response.completed', sequence_number: 0, response },
    undefined,
    out,
  )
}

/** @throws Fault `upstream_truncated` before upstream's final event */
export function requireFinalEvent({ done }: NormaliserState): void {
  if (!done) throw new Fault({ kind: 'upstream_truncated' })
}

/**
 * Emits `response.created` if upstream has not sent it.
 * @param known what the first event that upstream did send says of the response
 */
function open(state: NormaliserState, known: WireObject, out: Frame[]): void {
  if (state.id !== '') return
  state.isIdMadeUp = !isUsableId(known.id)
  const response = { ...known, ...unfinished }
  normaliseResponse(state, response, 'in_progress')
  insert(state, out, 'response.created', { response })
}

const unfinished = {
  status: 'in_progress',
  completed_at: null,
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
} as const

function responseOf(event: WireEvent): WireObject {
  const { response } = event
  if (isObject(response)) return response
  const empty: WireObject = {}
  event.response = empty
  return empty
}

/** Gives the response its one id and the members that are missing. Returns whether it is unchanged. */
function normaliseResponse(state: NormaliserState, response: WireObject, status: ResponseState['status']): boolean {
  const { seed } = state
  if (state.id === '') state.id = isUsableId(response.id) ? response.id : mintResponseId(seed.id)
  const hasId = settle(response, 'id', state.id)
  const isUnchanged = (status === 'in_progress' || settle(response, 'status', status)) && hasId
  return !completeResponse(seed, state.echo, response, { id: state.id, model: seed.model, status }) && isUnchanged
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0
}

/** Gives the final event the output that was emitted. Returns whether upstream states the same. */
function normaliseOutput({ snapshot, hasChangedItems }: NormaliserState, response: WireObject): boolean {
  const emitted = outputOf(snapshot)
  const stated = response['output']
  if (
    !hasChangedItems &&
    Array.isArray(stated) &&
    stated.length === emitted.length &&
    emitted.every((item, at) => isSame(item, stated[at]))
  )
    return true
  response['output'] = emitted
  return false
}

/** Upstream is known to change ids and ciphertext between an item and its copy in the final event, and no lists. */
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
function finishItems(
  state: NormaliserState,
  stated: readonly WireObject[],
  status: ResponseState['status'],
  out: Frame[],
): void {
  const known = itemsOf(state.snapshot)
  const [finals, added] = match(known, stated)
  for (const item of known) {
    if (!item.isDone) finishItem(state, item, finals.get(item) ?? toItem(item, statusOf(item, status)), out)
  }
  let index = (known.at(-1)?.index ?? -1) + 1
  for (const final of added) {
    if (!isFilled(final.type)) continue
    finishItem(state, insertItem(state, index, final, out), final, out)
    index += 1
  }
}

/** Closes the item with a copy: `normaliseOutput` compares the final event as upstream sent it. */
function finishItem(state: NormaliserState, item: ItemSnapshot, stated: WireObject, out: Frame[]): void {
  const final = { ...stated }
  const event = { type: 'response.output_item.done', sequence_number: 0, output_index: item.index, item: final }
  state.scans.delete(item.index)
  closeItem(state, item, event, final, undefined, out)
}

/** The final event's copy of each item, and its items that are new. Calls are told apart by their id. */
function match(known: readonly ItemSnapshot[], stated: readonly WireObject[]) {
  const waiting = Map.groupBy(known.toReversed(), ({ type, item }) => keyOf(type, item))
  const finals = new Map<ItemSnapshot, WireObject>()
  const added: WireObject[] = []
  for (const final of stated) {
    const item = isFilled(final.type) ? waiting.get(keyOf(final.type, final))?.pop() : undefined
    if (item === undefined) added.push(final)
    else finals.set(item, final)
  }
  return [finals, added] as const
}

function keyOf(type: string, item: WireObject): string {
  const { call_id: id } = item
  return isCall(type) ? `${type} ${isFilled(id) ? id : ''}` : type
}

/** A call whose arguments do not parse is a fragment, whatever status the response has. */
function statusOf({ type, call }: ItemSnapshot, status: string): string {
  return type === 'function_call' && status === 'completed' && !isCompleteJson(call.text) ? 'incomplete' : status
}

/** Empty arguments are those of a call without any. */
export function isCompleteJson(text: string): boolean {
  if (text.trim() === '') return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
