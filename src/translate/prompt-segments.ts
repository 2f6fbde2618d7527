import { isObject, type JsonObject, objectsOf, parseObject } from './parts/json.ts'
import { digest } from './parts/ids.ts'

/** One piece of a prompt, in the order in which upstream caches it. */
export interface PromptSegment {
  /** `model`, `tools`, `system[1]`, `messages[4]`. */
  readonly name: string
  /** A digest of the content, from which the prompt cannot be read. */
  readonly hash: string
}

export interface PromptSegments {
  readonly segments: readonly PromptSegment[]
  /** Hash of the first user message, which stays the same throughout a conversation. */
  readonly begins: string
}

/** Segments beyond this number are not compared. */
const maxSegments = 2000

/** Members that affect how upstream reads the prompt: a change of one may invalidate the cache of all messages. */
const settings = [
  'tool_choice',
  'thinking',
  'reasoning',
  'reasoning_effort',
  'output_config',
  'response_format',
  'text',
]

/** Hashes the pieces of an upstream request in any dialect. Ignores cache marks, which move with every request. */
export function promptSegments(sent: Buffer): PromptSegments {
  const body = parseObject(sent.toString('utf8')) ?? {}
  const segments = (['model', 'prompt_cache_key', 'tools'] as const).map((name) => segment(name, body[name]))
  segments.push(
    segment(
      'settings',
      settings.map((name) => body[name]),
    ),
    ...listed('system', body['system']),
    ...listed('instructions', body['instructions']),
    ...listed('messages', body['messages']),
    ...listed('input', body['input']),
  )
  const first = objectsOf(body['messages'] ?? body['input']).find(({ role }) => role === 'user')
  return { segments: segments.slice(0, maxSegments), begins: segment('', first).hash }
}

function listed(name: string, value: unknown): readonly PromptSegment[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) return [segment(name, value)]
  return value.slice(0, maxSegments).map((element: unknown, at) => segment(`${name}[${at}]`, element))
}

function segment(name: string, value: unknown): PromptSegment {
  // Upstream reads an absent member as an empty list.
  return { name, hash: digest(JSON.stringify(value ?? [], withoutMarks), 12) }
}

const marks: ReadonlySet<string> = new Set(['cache_control', 'copilot_cache_control', 'prompt_cache_breakpoint'])

function withoutMarks(this: unknown, key: string, value: unknown): unknown {
  return marks.has(key) && isMark(value) ? undefined : value
}

/** Distinguishes a cache mark from a tool parameter of the same name. */
function isMark(value: unknown): value is JsonObject {
  return isObject(value) && (typeof value['mode'] === 'string' || value['type'] === 'ephemeral')
}
