import { mintId } from '../../parts/ids.ts'
import { isSealed, sealOpaque } from '../../parts/opaque-envelope.ts'
import { isFilled } from '../../parts/json.ts'
import { isUsableId, mintItemId } from '../items.ts'
import { type ItemSnapshot, type PartSnapshot, toPart } from '../snapshot.ts'
import { kindOfItem, textKinds } from '../text-events.ts'
import type { WireEvent, WireObject } from '../wire.ts'
import { closeParts, emitRemainder, emitTextDone } from './texts.ts'
import { type Frame, type ResponseWriter, emit, insert, isIndex, settle } from './writer.ts'

/** Members without which clients do not read an item. */
const opening: ReadonlyMap<string, WireObject> = new Map<string, WireObject>([
  ['message', { status: 'in_progress', role: 'assistant', content: [] }],
  ['reasoning', { summary: [] }],
  ['function_call', { status: 'in_progress', arguments: '' }],
  ['custom_tool_call', { status: 'in_progress', input: '' }],
  ['web_search_call', { status: 'in_progress' }],
])

/** Adds an item with upstream's own event. */
export function addItem(
  writer: ResponseWriter,
  index: number,
  event: WireEvent,
  item: WireObject,
  rawText: string | undefined,
  out: Frame[],
): void {
  const isUnchanged = [
    settle(event, 'output_index', index),
    // Before `identify`: the envelope holds the id that upstream wrote beside the ciphertext.
    wrapCiphertext(writer, item),
    identify(writer, index, item),
    emptyItem(item),
  ].every(Boolean)
  writer.lastIndex = index
  emit(writer, out, 'response.output_item.added', event, isUnchanged ? rawText : undefined)
}

/** Adds an item that upstream did not add; `item` is what is known of it. */
export function insertItem(writer: ResponseWriter, index: number, item: WireObject, out: Frame[]): ItemSnapshot {
  const added: WireObject = { ...item }
  identify(writer, index, added)
  emptyItem(added)
  // `output_item.done` states the ciphertext.
  if (added['encrypted_content'] !== undefined)
    added['encrypted_content'] = added.type === 'compaction' ? '' : undefined
  if (added['status'] !== undefined) added['status'] = 'in_progress'
  writer.lastIndex = index
  insert(writer, out, 'response.output_item.added', { output_index: index, item: added })
  const snapshot = writer.snapshot.items.get(index)
  if (snapshot === undefined) throw new Error('the snapshot lacks an item that was added')
  return snapshot
}

/** The item that an event belongs to, added if upstream did not. Undefined if the event does not fit. */
export function itemFor(
  writer: ResponseWriter,
  event: WireEvent,
  type: string,
  out: Frame[],
): ItemSnapshot | undefined {
  const index = indexOf(writer, event)
  const item = writer.snapshot.items.get(index)
  if (item === undefined) {
    // A call cannot be added without its name: `output_item.done` states it whole.
    return isCall(type) ? undefined : insertItem(writer, index, { type, id: event.item_id }, out)
  }
  return item.type === type && !item.isDone ? item : undefined
}

/** Items are told apart by `output_index`: their ids change from event to event. */
export function indexOf(writer: ResponseWriter, { output_index: index }: WireEvent): number {
  return isIndex(index) ? index : writer.lastIndex
}

export function isCall(type: unknown): boolean {
  return type === 'function_call' || type === 'custom_tool_call'
}

/** Settles the ids that an item keeps from here on. Returns whether it had them already. */
function identify({ seed, itemIds, callIds }: ResponseWriter, index: number, item: WireObject): boolean {
  const { id, type } = item
  const usableId = isUsableId(id) && !itemIds.has(id) ? id : mintItemId(String(type), seed.id, index)
  itemIds.add(usableId)
  const hasId = settle(item, 'id', usableId)
  if (!isCall(type)) return hasId
  const { call_id: callId } = item
  const usableCallId = isFilled(callId) && !callIds.has(callId) ? callId : mintId('call_cpx', seed.id, index)
  callIds.set(usableCallId, index)
  return settle(item, 'call_id', usableCallId) && hasId
}

/** Empties an item that is added: its content would be streamed twice. Returns whether it was empty. */
function emptyItem(item: WireObject): boolean {
  let isEmpty = true
  for (const [key, value] of Object.entries(opening.get(String(item.type)) ?? {})) {
    if (isOpening(key, item[key])) continue
    item[key] = value
    isEmpty = false
  }
  // Few upstreams have readable reasoning beside the summary, so it may be absent.
  const { type, content } = item
  if (type !== 'reasoning' || content === undefined || isOpening('content', content)) return isEmpty
  item['content'] = []
  return false
}

function isOpening(key: string, value: unknown): boolean {
  if (key === 'status' || key === 'role') return isFilled(value)
  return value === '' || (Array.isArray(value) && value.length === 0)
}

/**
 * Emits the remainder of an item and closes it, under the ids it was added with.
 * @param stated the final item
 * @param rawText upstream's own text of the event, if there is one
 */
export function closeItem(
  writer: ResponseWriter,
  item: ItemSnapshot,
  event: WireEvent,
  stated: WireObject,
  rawText: string | undefined,
  out: Frame[],
): void {
  const { id } = stated
  const isUnchanged = [
    settle(event, 'output_index', item.index),
    // Before the id: the envelope holds the id that upstream wrote beside the ciphertext.
    wrapCiphertext(writer, stated),
    settle(stated, 'id', item.id),
    !isCall(item.type) || completeNames(item, stated),
    completeStatus(item.type, stated),
    completeContent(item, stated),
    completeCall(writer, item, stated),
  ].every(Boolean)
  const kind = kindOfItem(item.type)
  if (kind !== undefined) {
    const target = { item, kind, text: item.call }
    emitRemainder(writer, target, stated[kind.key], out)
    emitTextDone(writer, target, stated[kind.key], out)
  }
  if (item.type === 'reasoning') closeParts(writer, item, 'summary', stated['summary'], out)
  if (item.type === 'reasoning' || item.type === 'message') closeParts(writer, item, 'content', stated['content'], out)
  writer.hasChangedItems ||= !isUnchanged
  const upstreamId = isFilled(id) ? id : undefined
  emit(writer, out, 'response.output_item.done', event, isUnchanged ? rawText : undefined, upstreamId)
}

/** Items that live by their `encrypted_content`. */
const opaqueItems: ReadonlySet<unknown> = new Set(['reasoning', 'compaction', 'compaction_summary'])

/**
 * Puts an item's ciphertext into an envelope that says who made it: without one, it would go to whichever upstream the
 * caller asks next. Open Responses (2026-04-24) has no null for it. Returns whether the item is unchanged.
 */
function wrapCiphertext({ ciphertextOrigin }: ResponseWriter, item: WireObject): boolean {
  const { type, id, encrypted_content: value } = item
  if (value === null && type === 'reasoning') {
    item['encrypted_content'] = undefined
    return false
  }
  if (ciphertextOrigin === undefined || !opaqueItems.has(type) || !isFilled(value) || isSealed(value)) return true
  item['encrypted_content'] = sealOpaque({
    ...ciphertextOrigin,
    form: 'encrypted_content',
    ...(isFilled(id) && { id }),
    value,
  })
  return false
}

/** A call keeps the names it was added with. */
function completeNames({ item }: ItemSnapshot, stated: WireObject): boolean {
  const hasName = isFilled(stated['name']) || settle(stated, 'name', item['name'])
  const hasNamespace = stated['namespace'] !== undefined || settle(stated, 'namespace', item['namespace'])
  return settle(stated, 'call_id', item['call_id']) && hasName && hasNamespace
}

/** `@ai-sdk/openai` 4 reads no call without a status. */
function completeStatus(type: string, stated: WireObject): boolean {
  return (!isCall(type) && type !== 'message') || isFilled(stated.status) || settle(stated, 'status', 'completed')
}

/** Restores content that was emitted and is missing from the final item, as an empty `summary` can be. */
function completeContent(item: ItemSnapshot, stated: WireObject): boolean {
  let isUnchanged = true
  if (item.type === 'message') isUnchanged = settle(stated, 'role', stated['role'] ?? 'assistant')
  if (item.type === 'message' || item.content.length > 0)
    isUnchanged = completeParts(item.content, stated, 'content') && isUnchanged
  return item.type === 'reasoning' ? completeParts(item.summary, stated, 'summary') && isUnchanged : isUnchanged
}

function completeParts(emitted: readonly PartSnapshot[], stated: WireObject, key: 'content' | 'summary'): boolean {
  const parts = stated[key]
  if (Array.isArray(parts) && parts.length >= emitted.length) return true
  stated[key] = emitted.map(toPart)
  return false
}

/** A call without arguments is a call with an empty object, unless it was cut. */
function completeCall({ fillsCalls }: ResponseWriter, { type, call }: ItemSnapshot, stated: WireObject): boolean {
  const kind = kindOfItem(type)
  if (kind === undefined) return true
  const text = stated[kind.key]
  const isJson = kind === textKinds.arguments
  // Any text is an input of a custom tool.
  if (typeof text === 'string' && (isJson ? text.trim() : text) !== '') return true
  const needsObject = isJson && fillsCalls && call.text.trim() === '' && stated.status !== 'incomplete'
  return settle(stated, kind.key, needsObject ? `${call.text}{}` : call.text)
}
