import { isObject, type JsonObject } from '../parts/is-object.ts'

/**
 * The type of an input item: the one it states, else the one its members show. `{role, content}` is a message (so
 * written by opencode 1.18 and pi 0.87, test/fixtures/responses-requests), `{id}` a reference. Undefined where neither
 * tells. Source: OpenAI API reference, responses, input items, 2026-11.
 */
export function itemTypeOf(item: JsonObject): string | undefined {
  const { type, role, id } = item
  if (typeof type === 'string') return type
  if (type !== undefined && type !== null) return undefined
  if (role !== undefined) return 'message'
  return typeof id === 'string' ? 'item_reference' : undefined
}

/** Items that configure the request and are no part of the conversation. */
const SETTINGS = new Set(['additional_tools', 'configuration_update'])

/** The conversation's own items, in order. */
export function conversationOf(items: readonly JsonObject[]): readonly JsonObject[] {
  return items.filter((item) => !SETTINGS.has(itemTypeOf(item) ?? ''))
}

/** Written by the model, a tool or the program that runs them: not by the user, and no instruction. */
export function isFromAgent(item: JsonObject): boolean {
  const { role } = item
  return itemTypeOf(item) !== 'message' || (role !== 'user' && role !== 'system' && role !== 'developer')
}

export function isUserMessage(item: JsonObject): boolean {
  return itemTypeOf(item) === 'message' && item['role'] === 'user'
}

/** Images in the spellings of Responses, Chat Completions and Messages; callers mix them, and unknown parts pass. */
const IMAGE_TYPES = new Set(['input_image', 'image_url', 'image', 'computer_screenshot'])

/** An image is among a message's content or a tool's output. */
export function holdsImage(item: JsonObject): boolean {
  return hasImagePart(item['content']) || hasImagePart(item['output'])
}

function hasImagePart(content: unknown): boolean {
  return Array.isArray(content) ? content.some(isImagePart) : isImagePart(content)
}

function isImagePart(part: unknown): boolean {
  return isObject(part) && typeof part['type'] === 'string' && IMAGE_TYPES.has(part['type'])
}
