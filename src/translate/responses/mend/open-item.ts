import { isFilled } from '../../parts/wire-json.ts'
import { mintId } from '../../parts/mint-id.ts'
import type { DraftItem } from '../fold.ts'
import { isUsableId, mintItemId } from '../item-ids.ts'
import type { WireEvent, WireObject } from '../wire-event.ts'
import { emit, insert, settle } from './mend-state.ts'
import type { Frame, MendState } from './mend-state.ts'
import { sealItem } from './seal-item.ts'

/** Members without which clients do not read an item. */
const opening: ReadonlyMap<string, WireObject> = new Map<string, WireObject>([
  ['message', { status: 'in_progress', role: 'assistant', content: [] }],
  ['reasoning', { summary: [] }],
  ['function_call', { status: 'in_progress', arguments: '' }],
  ['custom_tool_call', { status: 'in_progress', input: '' }],
  ['web_search_call', { status: 'in_progress' }],
])

/** Opens an item as upstream did. */
export function addItem(
  state: MendState,
  index: number,
  event: WireEvent,
  item: WireObject,
  text: string | undefined,
  out: Frame[],
): void {
  const right = [
    settle(event, 'output_index', index),
    // With the id that stands beside it, which may change after.
    sealItem(state, item),
    identify(state, index, item),
    empty(item),
  ].every(Boolean)
  state.lastIndex = index
  emit(state, out, 'response.output_item.added', event, right ? text : undefined)
}

/** Opens an item that upstream did not; `item` is what is known of it. */
export function insertItem(state: MendState, index: number, item: WireObject, out: Frame[]): DraftItem | undefined {
  const added: WireObject = { ...item }
  identify(state, index, added)
  empty(added)
  // Its ciphertext is stated once it is done.
  if (added['encrypted_content'] !== undefined)
    added['encrypted_content'] = added.type === 'compaction' ? '' : undefined
  if (added['status'] !== undefined) added['status'] = 'in_progress'
  state.lastIndex = index
  insert(state, out, 'response.output_item.added', { output_index: index, item: added })
  return state.draft.items.get(index)
}

/** The item an event tells of, opened where upstream did not; undefined where the event cannot be of it. */
export function itemFor(state: MendState, event: WireEvent, type: string, out: Frame[]): DraftItem | undefined {
  const index = indexOf(state, event)
  const item = state.draft.items.get(index)
  if (item === undefined) {
    // A call cannot be opened without its name: `output_item.done` tells it whole.
    return isCall(type) ? undefined : insertItem(state, index, { type, id: event.item_id }, out)
  }
  return item.type === type && !item.isDone ? item : undefined
}

/** Items are told apart by `output_index`: their ids change from event to event. */
export function indexOf(state: MendState, { output_index: index }: WireEvent): number {
  return isIndex(index) ? index : state.lastIndex
}

export function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

export function isCall(type: unknown): boolean {
  return type === 'function_call' || type === 'custom_tool_call'
}

/** Settles the ids an item has from here on. Returns whether they were right. */
function identify({ seed, itemIds, callIds }: MendState, index: number, item: WireObject): boolean {
  const { id, type } = item
  const own = isUsableId(id) && !itemIds.has(id) ? id : mintItemId(String(type), seed.id, index)
  itemIds.add(own)
  const hasId = settle(item, 'id', own)
  if (!isCall(type)) return hasId
  const { call_id: callId } = item
  const ownCallId = isFilled(callId) && !callIds.has(callId) ? callId : mintId('call_cpx', seed.id, index)
  callIds.set(ownCallId, index)
  return settle(item, 'call_id', ownCallId) && hasId
}

/** Content is told by the events that follow; what is there already would be told twice. */
function empty(item: WireObject): boolean {
  let right = true
  for (const [key, value] of Object.entries(opening.get(String(item.type)) ?? {})) {
    if (isOpening(key, item[key])) continue
    item[key] = value
    right = false
  }
  // Few upstreams have readable reasoning beside the summary, so its absence is right.
  const { type, content } = item
  return (
    (type !== 'reasoning' || content === undefined || isOpening('content', content) || settle(item, 'content', [])) &&
    right
  )
}

function isOpening(key: string, value: unknown): boolean {
  if (key === 'status' || key === 'role') return isFilled(value)
  return value === '' || (Array.isArray(value) && value.length === 0)
}
