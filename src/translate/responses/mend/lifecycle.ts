import { Fault } from '../../../errors.ts'
import { toUpstreamMessage } from '../../../upstream-message.ts'
import { isFilled, isObject, objectsOf } from '../../parts/wire-json.ts'
import { itemsOf, outputOf, toItem } from '../fold.ts'
import type { DraftItem } from '../fold.ts'
import { isUsableId, mintResponseId } from '../item-ids.ts'
import { completeResponse } from '../response-object.ts'
import { completeUsage, copilotUsageOf } from '../usage.ts'
import type { ResponseState, WireEvent, WireObject } from '../wire-event.ts'
import { closeItem } from './close-item.ts'
import { emit, insert, settle } from './mend-state.ts'
import type { Frame, MendState } from './mend-state.ts'
import { insertItem, isCall } from './open-item.ts'

/** `response.created`, `response.queued`, `response.in_progress`. */
export function mendProgress(
  state: MendState,
  type: string,
  event: WireEvent,
  text: string | undefined,
  out: Frame[],
): void {
  const isOpening = type === 'response.created'
  if (isOpening && state.id !== '') return
  const response = responseOf(event)
  if (!isOpening) open(state, response, out)
  const hasNoOutput = isEmpty(response['output']) || settle(response, 'output', [])
  const right = mendResponse(state, response, 'in_progress') && hasNoOutput
  emit(state, out, type, event, right ? text : undefined)
}

/** Opens the response where upstream has begun without it. */
export function ensureOpen(state: MendState, out: Frame[]): void {
  if (state.id !== '') return
  open(state, {}, out)
  insert(state, out, 'response.in_progress', { response: { ...state.draft.response } })
}

/** `response.completed`, `response.incomplete`. Closes every item first, and tells those that appear here alone. */
export function mendEnd(
  state: MendState,
  type: string,
  event: WireEvent,
  text: string | undefined,
  out: Frame[],
): void {
  const response = responseOf(event)
  open(state, response, out)
  const status = type === 'response.completed' ? 'completed' : 'incomplete'
  finishItems(state, objectsOf(response['output']), status, out)
  const { usage } = response
  const right = [
    mendResponse(state, response, status),
    mendOutput(state, response),
    !isObject(usage) || !completeUsage(usage),
  ].every(Boolean)
  if (isObject(usage)) state.usage = usage
  state.copilotUsage = copilotUsageOf(event)
  emit(state, out, type, event, right ? text : undefined)
  state.done = true
}

/** Upstream's own `response.failed`, as the end of a reply that has begun; nothing where it sent none. */
export function endFailed(state: MendState): readonly Frame[] {
  const { failed: event, failedText: text } = state
  if (event === undefined) return []
  const out: Frame[] = []
  ensureOpen(state, out)
  const response = responseOf(event)
  // A response that upstream never opened has a made-up id, which is no reason to change upstream's own words.
  if (state.isIdMadeUp && isUsableId(response.id)) state.id = response.id
  const right = [
    mendResponse(state, response, 'failed'),
    // An empty output says that there is nothing worth keeping.
    isEmpty(response['output']) || mendOutput(state, response),
    mendWords(state, response['error']),
  ].every(Boolean)
  emit(state, out, 'response.failed', event, right ? text : undefined)
  return out
}

/** Upstream's words go the way of every message of upstream's. Returns whether they could stay as they were. */
function mendWords({ seed }: MendState, error: unknown): boolean {
  if (!isObject(error) || !isFilled(error['message'])) return true
  return settle(error, 'message', toUpstreamMessage(error['message'], seed.redact))
}

/** The response object of a reply that cannot go on, with what came so far. */
export function unfinishedResponse({ draft }: MendState): WireObject {
  return { ...draft.response, error: null, incomplete_details: null, output: outputOf(draft) }
}

/** Ends a reply whose upstream is no longer worth listening to. */
export function endEarly(state: MendState, out: Frame[]): void {
  const response = { ...state.draft.response, status: 'completed' }
  mendEnd(state, 'response.completed', { type: 'response.completed', sequence_number: 0, response }, undefined, out)
}

/** @throws Fault `upstream_truncated` before upstream's final event */
export function endMend({ done }: MendState): void {
  if (!done) throw new Fault({ kind: 'upstream_truncated' })
}

/** @param known the response as a later event has it */
function open(state: MendState, known: WireObject, out: Frame[]): void {
  if (state.id !== '') return
  state.isIdMadeUp = !isUsableId(known.id)
  const response = { ...known, ...unfinished }
  mendResponse(state, response, 'in_progress')
  insert(state, out, 'response.created', { response })
}

/** What a response says of itself before there is anything to say. */
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

/** One id for the whole stream, and members that are missing. Returns whether all was right. */
function mendResponse(state: MendState, response: WireObject, status: ResponseState['status']): boolean {
  const { seed } = state
  if (state.id === '') state.id = isUsableId(response.id) ? response.id : mintResponseId(seed.id)
  const hasId = settle(response, 'id', state.id)
  const right = (status === 'in_progress' || settle(response, 'status', status)) && hasId
  return !completeResponse(seed, response, { id: state.id, model: seed.model, status }) && right
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0
}

/** The output that the caller was told. Returns whether upstream states just that. */
function mendOutput({ draft, hasMendedItems }: MendState, response: WireObject): boolean {
  const told = outputOf(draft)
  const stated = response['output']
  const isRight =
    !hasMendedItems &&
    Array.isArray(stated) &&
    stated.length === told.length &&
    told.every((item, i) => isSame(item, stated[i]))
  if (isRight) return true
  response['output'] = told
  return false
}

/** Upstream is known to change ids and ciphertext between an item and its copy in the final event, and no lists. */
function isSame(told: WireObject, stated: unknown): boolean {
  if (!isObject(stated)) return false
  const keys = Object.keys(told)
  return (
    keys.length === Object.keys(stated).length &&
    keys.every((key) => told[key] === stated[key] || (typeof told[key] === 'object' && typeof stated[key] === 'object'))
  )
}

/** Items that upstream did not close, and items that only its final event has. */
function finishItems(
  state: MendState,
  stated: readonly WireObject[],
  status: ResponseState['status'],
  out: Frame[],
): void {
  const known = itemsOf(state.draft)
  const [wholes, fresh] = match(known, stated)
  for (const item of known) {
    if (!item.isDone) finishItem(state, item, wholes.get(item) ?? toItem(item, statusOf(item, status)), out)
  }
  let index = (known.at(-1)?.index ?? -1) + 1
  for (const whole of fresh) {
    if (!isFilled(whole.type)) continue
    const item = insertItem(state, index, whole, out)
    index += 1
    if (item !== undefined) finishItem(state, item, whole, out)
  }
}

/** On a copy: whether the final event is right as it is will be seen by comparing it. */
function finishItem(state: MendState, item: DraftItem, stated: WireObject, out: Frame[]): void {
  const whole = { ...stated }
  const event = { type: 'response.output_item.done', sequence_number: 0, output_index: item.index, item: whole }
  closeItem(state, item, event, whole, undefined, out)
}

/** What the final event says of each item, and the items nothing was said of before. Calls are told apart by their id. */
function match(known: readonly DraftItem[], stated: readonly WireObject[]) {
  const waiting = Map.groupBy(known.toReversed(), ({ type, item }) => keyOf(type, item))
  const wholes = new Map<DraftItem, WireObject>()
  const fresh: WireObject[] = []
  for (const whole of stated) {
    const item = isFilled(whole.type) ? waiting.get(keyOf(whole.type, whole))?.pop() : undefined
    if (item === undefined) fresh.push(whole)
    else wholes.set(item, whole)
  }
  return [wholes, fresh] as const
}

function keyOf(type: string, item: WireObject): string {
  const { call_id: id } = item
  return isCall(type) ? `${type} ${isFilled(id) ? id : ''}` : type
}

/** A call that cannot be read is a fragment, whatever the response says of itself. */
function statusOf({ type, call }: DraftItem, status: string): string {
  return type === 'function_call' && status === 'completed' && !isWhole(call.text) ? 'incomplete' : status
}

/** Nothing at all is a call without arguments. */
export function isWhole(text: string): boolean {
  if (text.trim() === '') return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
