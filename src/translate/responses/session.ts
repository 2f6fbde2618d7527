import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isFilled } from '../parts/wire-json.ts'
import { digest } from '../prepare/digest.ts'
import { shortName } from '../prepare/short-name.ts'
import { isUserMessage } from './item-types.ts'

/** OpenAI takes no longer `prompt_cache_key`. Characters. Source: OpenAI API reference, responses, 2026-11. */
const LONGEST_KEY = 64

export interface Session {
  /** For `prompt_cache_key`. */
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * How the ChatGPT backend is told which conversation a request is of (docs/codex-wire.md, "Request headers"), and by its
 * key alone any other Responses upstream: the key is what keeps a prompt cache warm (docs/copilot-wire.md, "Prompt
 * caching"). A caller that does not say is known by how its conversation begins.
 *
 * @param named by the caller, `prompt_cache_key` first
 */
export function sessionOf(named: string | undefined, body: JsonObject): Session {
  const name = isFilled(named) ? named : derivedKey(body)
  const key = name.length <= LONGEST_KEY ? name : shortName(name, LONGEST_KEY)
  // A header takes less than JSON does.
  const id = shortName(key, LONGEST_KEY)
  return { key, headers: { 'session-id': id, 'thread-id': id } }
}

/** Enough to tell conversations apart, little enough to read on every request. Characters. */
const longestRead = 65_536

/** The same on every turn of a conversation, and in every process. */
function derivedKey({ instructions, input }: JsonObject): string {
  const first: unknown = Array.isArray(input)
    ? input.find((item: unknown) => isObject(item) && isUserMessage(item))
    : undefined
  const opening = textOf(isObject(first) ? first['content'] : input)
  return `cpx-${digest(JSON.stringify([headOf(instructions), opening.slice(0, longestRead)]), 32)}`
}

function headOf(instructions: unknown): string {
  return typeof instructions === 'string' ? instructions.slice(0, longestRead) : ''
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => (isObject(part) && isFilled(part['text']) ? part['text'] : '')).join('\n')
}
