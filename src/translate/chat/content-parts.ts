import { isObject } from '../parts/is-object.ts'
import type { ChatMessage } from './wire-request.ts'

/** Names of the part types we know; each has its payload in a member of the same name. */
export const PART_TYPES = ['text', 'image_url', 'input_audio', 'file', 'refusal'] as const
export type PartType = (typeof PART_TYPES)[number]

export function isPartType(type: unknown): type is PartType {
  return PART_TYPES.some((known) => known === type)
}

/**
 * The type of a part: the one it states, else the one its payload shows. Open WebUI sends image parts without `type`
 * and text parts with `image_url: null` (caozhiyuan/copilot-api#176). `undefined` where neither tells.
 */
export function partTypeOf(part: Readonly<Record<string, unknown>>): string | undefined {
  const { type } = part
  if (typeof type === 'string') return type
  return PART_TYPES.find((known) => part[known] !== undefined && part[known] !== null)
}

/** Images in the spellings of Chat Completions, Messages and Responses; callers mix them, and unknown parts pass. */
const IMAGE_TYPES = new Set(['image_url', 'image', 'input_image'])

/** The part is an image or holds one, as a `tool_result` of the Messages API does. */
export function isImagePart(part: unknown): boolean {
  if (!isObject(part)) return false
  if (IMAGE_TYPES.has(partTypeOf(part) ?? '')) return true
  return Array.isArray(part['content']) && part['content'].some(isImagePart)
}

/** Nothing to read: no content, no parts, or a string of white space. */
export function isBlankContent(content: string | readonly unknown[] | null | undefined): boolean {
  return typeof content === 'string' ? content.trim() === '' : !content || content.length === 0
}

/** Tool results may be empty; reasoning that must be handed back is not nothing (docs/copilot-wire.md, quirk 12). */
export function isEmptyMessage(message: ChatMessage): boolean {
  if (message.role === 'tool' || message.tool_calls || message['reasoning_opaque']) return false
  return isBlankContent(message.content)
}
