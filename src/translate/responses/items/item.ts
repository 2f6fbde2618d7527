import type { Provider } from '../../model-traits.ts'
import { type JsonObject, isObject } from '../../../json/json.ts'
import { mintId, shortName } from '../../engine/ids.ts'

/**
 * The type of an input item. Without a `type`, `{role, content}` is a message (opencode 1.18 and pi 0.87 write it so,
 * test/fixtures/responses-requests) and `{id}` a reference. Undefined for anything else. Source: OpenAI API reference, responses, input items, 2026-11.
 */
export function itemTypeOf(item: JsonObject): string | undefined {
  const { type, role, id } = item
  if (typeof type === 'string') return type
  if (type !== undefined && type !== null) return undefined
  if (role !== undefined) return 'message'
  return typeof id === 'string' ? 'item_reference' : undefined
}

/** Items that configure the request and are not part of the conversation. */
const SETTINGS = new Set(['additional_tools', 'configuration_update'])

export function conversationOf(items: readonly JsonObject[]): readonly JsonObject[] {
  return items.filter((item) => !SETTINGS.has(itemTypeOf(item) ?? ''))
}

/** Items that the model, a tool or the program that runs tools has written. */
export function isFromAgent(item: JsonObject): boolean {
  const { role } = item
  return itemTypeOf(item) !== 'message' || (role !== 'user' && role !== 'system' && role !== 'developer')
}

export function isUserMessage(item: JsonObject): boolean {
  return itemTypeOf(item) === 'message' && item['role'] === 'user'
}

/** Returns the item with each part of its content and its output mapped. Returns the same object if nothing changes. */
export function mapParts(item: JsonObject, map: (part: JsonObject) => JsonObject): JsonObject {
  const changes = ['content', 'output'].flatMap((member) => {
    const parts = item[member]
    if (!Array.isArray(parts)) return []
    const mapped = parts.map((part: unknown) => (isObject(part) ? map(part) : part))
    return mapped.some((part, at) => part !== parts[at]) ? [[member, mapped] as const] : []
  })
  return changes.length === 0 ? item : { ...item, ...Object.fromEntries(changes) }
}

/** Prefixes of generated item ids. Requests drop such ids, because no upstream knows them. */
const prefixes: ReadonlyMap<string, string> = new Map([
  ['message', 'msg_cpx'],
  ['reasoning', 'rs_cpx'],
  ['function_call', 'fc_cpx'],
  ['custom_tool_call', 'ctc_cpx'],
  ['web_search_call', 'ws_cpx'],
  ['compaction', 'cmp_cpx'],
])

/** @param index the item's position in the output */
export function mintItemId(type: string, seedId: string, index: number): string {
  return mintId(prefixes.get(type) ?? 'item_cpx', seedId, index)
}

/**
 * The provider of a ciphertext without an envelope, by the id of its item. Only Copilot's ciphertext is forwarded
 * without an envelope. Its item has a generated id if Copilot's own id is not usable. Undefined for any other id.
 */
export function makerOfId(id: unknown): Provider | undefined {
  return typeof id === 'string' && MINTED.test(id) ? 'copilot' : undefined
}

export function mintResponseId(seedId: string): string {
  return mintId('resp', seedId, 0)
}

const control = /\p{Cc}/u

/**
 * Whether callers can keep the id and send it back. A delta whose id has an unescaped control character is not JSON,
 * and could still match an event template, so such ids are refused.
 */
export function isUsableId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= LONGEST_ID && !control.test(id)
}

/** Characters in an `id` or `call_id`. A longer one gets 400 `string_above_max_length` (anomalyco/opencode#17933). */
const LONGEST_ID = 64

/** Matches the ids of `mintItemId`: `rs_cpx…`, `msg_cpx…`. */
const MINTED = /^[a-z]{1,8}_cpx/

/** Whether upstream may know the id. */
export function mayBeUpstreams(id: unknown): boolean {
  return typeof id === 'string' && id.length <= LONGEST_ID && !MINTED.test(id)
}

/** Shortens an id to the same id in a call and its output, on every turn. */
export function shortCallId(id: string): string {
  return id.length <= LONGEST_ID ? id : shortName(id, LONGEST_ID)
}
