import { isFilled } from '../../parts/wire-json.ts'
import { toPart } from '../fold.ts'
import type { DraftItem, DraftPart } from '../fold.ts'
import { kindOfItem, textKinds } from '../text-events.ts'
import type { WireEvent, WireObject } from '../wire-event.ts'
import { emit, settle } from './mend-state.ts'
import type { Frame, MendState } from './mend-state.ts'
import { isCall } from './open-item.ts'
import { sealItem } from './seal-item.ts'
import { tellParts, tellRest, tellText } from './tell.ts'

/**
 * Closes an item as upstream states it: tells what was not told of it before, and gives it the ids it was opened with.
 * @param text upstream's own text of the event, where it has one
 */
export function closeItem(
  state: MendState,
  item: DraftItem,
  event: WireEvent,
  whole: WireObject,
  text: string | undefined,
  out: Frame[],
): void {
  const { id } = whole
  const right = [
    settle(event, 'output_index', item.index),
    // With the id that stands beside it, which may change after.
    sealItem(state, whole),
    settle(whole, 'id', item.id),
    !isCall(item.type) || completeNames(item, whole),
    completeStatus(item.type, whole),
    completeContent(item, whole),
    completeCall(state, item, whole),
  ].every(Boolean)
  if (item.type === 'reasoning') tellParts(state, item, 'summary', whole['summary'], out)
  if (item.type === 'reasoning' || item.type === 'message') tellParts(state, item, 'content', whole['content'], out)
  tellCall(state, item, whole, out)
  state.scans.delete(item.index)
  state.hasMendedItems ||= !right
  const upstreamId = isFilled(id) ? id : undefined
  emit(state, out, 'response.output_item.done', event, right ? text : undefined, upstreamId)
}

/** What a call is named by does not change. */
function completeNames({ item }: DraftItem, whole: WireObject): boolean {
  const isNamed = isFilled(whole['name']) || settle(whole, 'name', item['name'])
  const hasPlace = whole['namespace'] !== undefined || settle(whole, 'namespace', item['namespace'])
  return settle(whole, 'call_id', item['call_id']) && isNamed && hasPlace
}

/** `@ai-sdk/openai` 4 reads no call without a status. */
function completeStatus(type: string, whole: WireObject): boolean {
  return (!isCall(type) && type !== 'message') || isFilled(whole.status) || settle(whole, 'status', 'completed')
}

/** Content that was told and is missing from the item, as an empty `summary` can be. */
function completeContent(item: DraftItem, whole: WireObject): boolean {
  let right = true
  if (item.type === 'message') right = settle(whole, 'role', whole['role'] ?? 'assistant')
  if (item.type === 'message' || item.content.length > 0) right = completeList(item.content, whole, 'content') && right
  return item.type === 'reasoning' ? completeList(item.summary, whole, 'summary') && right : right
}

function completeList(told: readonly DraftPart[], whole: WireObject, key: 'content' | 'summary'): boolean {
  const list = whole[key]
  if (Array.isArray(list) && list.length >= told.length) return true
  whole[key] = told.map(toPart)
  return false
}

/** A call without arguments is a call with an empty object, unless it was cut. */
function completeCall({ fillsCalls }: MendState, { type, call }: DraftItem, whole: WireObject): boolean {
  const kind = kindOfItem(type)
  if (kind === undefined) return true
  const stated = whole[kind.key]
  const isJson = kind === textKinds.arguments
  // Any text is an input of a custom tool.
  if (typeof stated === 'string' && (isJson ? stated.trim() : stated) !== '') return true
  const needsObject = isJson && fillsCalls && call.text.trim() === '' && whole.status !== 'incomplete'
  return settle(whole, kind.key, needsObject ? `${call.text}{}` : call.text)
}

function tellCall(state: MendState, item: DraftItem, whole: WireObject, out: Frame[]): void {
  const kind = kindOfItem(item.type)
  if (kind === undefined) return
  const spot = { item, kind, part: undefined }
  tellRest(state, spot, whole[kind.key], out)
  tellText(state, spot, whole[kind.key], out)
}
