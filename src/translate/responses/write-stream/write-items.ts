import { mintId } from '../../engine/ids.ts'
import { isSealed, sealOpaque } from '../../engine/opaque-envelope.ts'
import { isFilled } from '../../../json/json.ts'
import { isUsableId, mintItemId } from '../items/item.ts'
import { type ItemSnapshot, type PartSnapshot, toPart } from '../snapshot.ts'
import { type PartContainer, kindOfItem, textKinds } from '../text-events.ts'
import type { WireEvent, WireObject } from '../wire.ts'
import { closeParts, emitRemainder, emitTextDone } from './write-texts.ts'
import { type ResponseWriter, emit, insert, isIndex, settle } from './writer.ts'

/** Members that clients require to read an item. */
const opening: ReadonlyMap<string, WireObject> = new Map<string, WireObject>([
  ['message', { status: 'in_progress', role: 'assistant', content: [] }],
  ['reasoning', { summary: [] }],
  ['function_call', { status: 'in_progress', arguments: '' }],
  ['custom_tool_call', { status: 'in_progress', input: '' }],
  ['web_search_call', { status: 'in_progress' }],
])

/** Adds an item with upstream's own event. */
export function addItem(writer: ResponseWriter, index: number, event: WireEvent, item: WireObject): void {
  settle(writer, event, 'output_index', index)
  // Before `identify`, because the envelope contains the id that upstream sent beside the ciphertext.
  wrapCiphertext(writer, item)
  identify(writer, index, item)
  emptyItem(writer, item)
  writer.lastIndex = index
  emit(writer, 'response.output_item.added', event)
}

/** Adds an item that upstream did not add. `item` has the known members. */
export function insertItem(writer: ResponseWriter, index: number, item: WireObject): ItemSnapshot {
  const added: WireObject = { ...item }
  identify(writer, index, added)
  emptyItem(writer, added)
  // `output_item.done` will contain the ciphertext.
  if (added['encrypted_content'] !== undefined)
    added['encrypted_content'] = added.type === 'compaction' ? '' : undefined
  if (added['status'] !== undefined) added['status'] = 'in_progress'
  writer.lastIndex = index
  insert(writer, 'response.output_item.added', { output_index: index, item: added })
  const snapshot = writer.snapshot.items.get(index)
  if (snapshot === undefined) throw new Error('the snapshot lacks an item that was added')
  return snapshot
}

/** The item of an event. It is added if upstream did not add it. Undefined if the event does not fit. */
export function itemFor(writer: ResponseWriter, event: WireEvent, type: string): ItemSnapshot | undefined {
  const index = indexOf(writer, event)
  const item = writer.snapshot.items.get(index)
  if (item === undefined) {
    // A call cannot be added without its name. `output_item.done` will contain the complete call.
    return isCall(type) ? undefined : insertItem(writer, index, { type, id: event.item_id })
  }
  return item.type === type && !item.isDone ? item : undefined
}

/** Finds an item by its `output_index`, because item ids change from event to event. */
export function indexOf(writer: ResponseWriter, { output_index: index }: WireEvent): number {
  return isIndex(index) ? index : writer.lastIndex
}

export function isCall(type: unknown): boolean {
  return type === 'function_call' || type === 'custom_tool_call'
}

/** Sets the ids that the item has in all later events. */
function identify(writer: ResponseWriter, index: number, item: WireObject): void {
  const { seed, itemIds, callIds } = writer
  const { id, type, call_id: callId } = item
  const usableId = isUsableId(id) && !itemIds.has(id) ? id : mintItemId(String(type), seed.id, index)
  itemIds.add(usableId)
  settle(writer, item, 'id', usableId)
  if (!isCall(type)) return
  const usableCallId = isFilled(callId) && !callIds.has(callId) ? callId : mintId('call_cpx', seed.id, index)
  callIds.set(usableCallId, index)
  settle(writer, item, 'call_id', usableCallId)
}

/** Empties an item when it is added, because its content would be streamed twice. */
function emptyItem(writer: ResponseWriter, item: WireObject): void {
  const { type, content } = item
  for (const [key, value] of Object.entries(opening.get(String(type)) ?? {})) {
    if (!isOpening(key, item[key])) settle(writer, item, key, value)
  }
  // Few upstreams send readable reasoning beside the summary, so the member may be absent.
  if (type === 'reasoning' && content !== undefined && !isOpening('content', content)) {
    settle(writer, item, 'content', [])
  }
}

function isOpening(key: string, value: unknown): boolean {
  if (key === 'status' || key === 'role') return isFilled(value)
  return value === '' || (Array.isArray(value) && value.length === 0)
}

/**
 * Emits the remainder of an item and closes it, under the ids it was added with.
 * @param stated the final item
 */
export function closeItem(writer: ResponseWriter, item: ItemSnapshot, event: WireEvent, stated: WireObject): void {
  const { id } = stated
  const { isChanged } = writer
  writer.isChanged = false
  settle(writer, event, 'output_index', item.index)
  // Before the id, because the envelope contains the id that upstream sent beside the ciphertext.
  wrapCiphertext(writer, stated)
  completeItem(writer, item, stated)
  writer.hasChangedItems ||= writer.isChanged
  writer.isChanged ||= isChanged
  const kind = kindOfItem(item.type)
  if (kind !== undefined) {
    const target = { item, kind, text: item.call }
    emitRemainder(writer, target, stated[kind.key])
    emitTextDone(writer, target, stated[kind.key])
  }
  if (item.type === 'reasoning') closeParts(writer, item, 'summary', stated['summary'])
  if (item.type === 'reasoning' || item.type === 'message') closeParts(writer, item, 'content', stated['content'])
  emit(writer, 'response.output_item.done', event, isFilled(id) ? id : undefined)
}

/** Items that are useless without their `encrypted_content`. */
const opaqueItems: ReadonlySet<unknown> = new Set(['reasoning', 'compaction', 'compaction_summary'])

/**
 * Puts an item's ciphertext into an envelope that names its maker. Without an envelope, it would go to any upstream
 * that the caller asks next. Open Responses (2026-04-24) has no null for it.
 */
function wrapCiphertext(writer: ResponseWriter, item: WireObject): void {
  const { type, id, encrypted_content: value } = item
  const { ciphertextOrigin: origin } = writer
  if (value === null && type === 'reasoning') settle(writer, item, 'encrypted_content', undefined)
  if (origin === undefined || !opaqueItems.has(type) || !isFilled(value) || isSealed(value)) return
  const opaque = { ...origin, form: 'encrypted_content' as const, ...(isFilled(id) && { id }), value }
  settle(writer, item, 'encrypted_content', sealOpaque(opaque))
}

/** Gives a final item the ids that it was added with, and the members that clients require. */
function completeItem(writer: ResponseWriter, item: ItemSnapshot, stated: WireObject): void {
  const { type, call, content, summary } = item
  settle(writer, stated, 'id', item.id)
  if (isCall(type)) {
    settle(writer, stated, 'call_id', item.item['call_id'])
    if (!isFilled(stated['name'])) settle(writer, stated, 'name', item.item['name'])
    if (stated['namespace'] === undefined) settle(writer, stated, 'namespace', item.item['namespace'])
  }
  // `@ai-sdk/openai` 4 ignores a call without a status.
  if ((isCall(type) || type === 'message') && !isFilled(stated.status)) settle(writer, stated, 'status', 'completed')
  if (type === 'message') settle(writer, stated, 'role', stated['role'] ?? 'assistant')
  if (type === 'message' || content.length > 0) completeParts(writer, content, stated, 'content')
  if (type === 'reasoning') completeParts(writer, summary, stated, 'summary')
  const kind = kindOfItem(type)
  if (kind === undefined) return
  const text = stated[kind.key]
  const isJson = kind === textKinds.arguments
  // Any text is a valid input of a custom tool.
  if (typeof text === 'string' && (isJson ? text.trim() : text) !== '') return
  // A call without arguments gets an empty object, unless it was truncated.
  const needsObject = isJson && writer.fillsCalls && call.text.trim() === '' && stated.status !== 'incomplete'
  settle(writer, stated, kind.key, needsObject ? `${call.text}{}` : call.text)
}

/** Restores parts that were emitted and are missing from the final item, for example if its `summary` is empty. */
function completeParts(
  writer: ResponseWriter,
  emitted: readonly PartSnapshot[],
  stated: WireObject,
  key: PartContainer,
): void {
  const parts = stated[key]
  if (!Array.isArray(parts) || parts.length < emitted.length) settle(writer, stated, key, emitted.map(toPart))
}
