import type { CallerHeaders } from '../dialect.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isFilled } from '../parts/wire-json.ts'
import { digest } from '../prepare/digest.ts'
import { shortName } from '../prepare/short-name.ts'
import { isUserMessage } from './item-types.ts'

/** OpenAI takes no longer `prompt_cache_key`. Characters. Source: OpenAI API reference, responses, 2026-11. */
const LONGEST_KEY = 64

/** Codex CLI's names for its conversation, the present one first. Source: openai/codex, codex-rs/core/src/client.rs. */
const sessionHeaders = ['session-id', 'session_id', 'thread-id', 'conversation_id']

/** A name for a conversation is a line; what is longer is somebody's mistake. Characters. */
const longestHeader = 512

/** What the caller's headers name its conversation by; undefined where they do not. */
export function sessionIdOf(headers: CallerHeaders): string | undefined {
  return sessionHeaders
    .map((name) => headers[name])
    .filter(isFilled)
    .find((value) => value.length <= longestHeader)
}

/** A cache key as OpenAI takes it. */
export function shortKey(key: string): string {
  return key.length <= LONGEST_KEY ? key : shortName(key, LONGEST_KEY)
}

export interface Session {
  /** For `prompt_cache_key`. */
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * How the ChatGPT backend is told which conversation a request is of: what keeps its prompt cache warm
 * (docs/codex-wire.md, "Request headers"). A caller that does not say is known by how its conversation begins.
 *
 * @param named by the caller, `prompt_cache_key` first
 */
export function sessionOf(named: string | undefined, body: JsonObject): Session {
  const key = shortKey(isFilled(named) ? named : derivedKey(body))
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
  const opening = isObject(first) ? textOf(first['content']) : ''
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
