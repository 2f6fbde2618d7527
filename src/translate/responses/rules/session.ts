import { isFilled, isObject, type JsonObject } from '../../../json/json.ts'
import { OMITTED_IMAGE } from '../../engine/media/images.ts'
import { digest, shortName } from '../../engine/ids.ts'
import { toInstructions } from './breakpoints.ts'
import { isUserMessage } from '../items/item.ts'

/** OpenAI takes no longer `prompt_cache_key`. Characters. Source: OpenAI API reference, responses, 2026-11. */
const LONGEST_KEY = 64

export interface Session {
  /** For `prompt_cache_key`. */
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Names the conversation of a request. The key keeps upstream's prompt cache warm (docs/copilot-wire.md, "Prompt
 * caching"). The ChatGPT backend also requires the headers (docs/codex-wire.md, "Request headers"). Without a name from
 * the caller, the key is derived from the beginning of the conversation.
 *
 * @param named the caller's name, `prompt_cache_key` first
 */
export function sessionOf(named: string | undefined, body: JsonObject): Session {
  const name = isFilled(named) ? named : derivedKey(body)
  const key = name.length <= LONGEST_KEY ? name : shortName(name, LONGEST_KEY)
  // A header allows fewer characters than JSON.
  const id = shortName(key, LONGEST_KEY)
  return { key, headers: { 'session-id': id, 'thread-id': id } }
}

/** Long enough to distinguish conversations, and cheap to hash on every request. Characters. */
const longestRead = 65_536

/** The key is the same on every turn of a conversation, and in every process. */
function derivedKey({ instructions, input }: JsonObject): string {
  const first: unknown = Array.isArray(input)
    ? input.find((item: unknown) => isObject(item) && isUserMessage(item))
    : undefined
  const opening = textOf(isObject(first) ? first['content'] : input)
  // An encoder writes a system prompt with breakpoints into the input.
  const system = instructions ?? toInstructions({ input })?.instructions
  return `cpx-${digest(JSON.stringify([headOf(system), opening.slice(0, longestRead)]), 32)}`
}

function headOf(instructions: unknown): string {
  return typeof instructions === 'string' ? instructions.slice(0, longestRead) : ''
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => (isObject(part) ? textOfPart(part) : '')).join('\n')
}

/** An image counts as no text, also where it was left out: a later turn may leave out more images than an earlier one. */
function textOfPart({ text }: JsonObject): string {
  return isFilled(text) && text !== OMITTED_IMAGE ? text : ''
}
