import { isObject, type JsonObject } from './parts/is-object.ts'
import { objectsOf, parseObject } from './parts/wire-json.ts'
import { digest } from './prepare/digest.ts'

/** One piece of a prompt, in the order in which upstream caches it. */
export interface PromptSegment {
  /** `model`, `tools`, `system[1]`, `messages[4]`. */
  readonly name: string
  /** Of its content: nothing of the prompt can be read from it. */
  readonly hash: string
}

export interface PromptSegments {
  readonly segments: readonly PromptSegment[]
  /** Hash of the first thing the user said: the same on every turn of a conversation. */
  readonly begins: string
}

/** Prompts that are longer are compared up to here. Segments. */
const mostSegments = 2000

/** Members that decide how a prompt is read, so that a change of one may cost the cache of all messages. */
const settings = [
  'tool_choice',
  'thinking',
  'reasoning',
  'reasoning_effort',
  'output_config',
  'response_format',
  'text',
]

/**
 * What was sent upstream, in any dialect, as hashes. Cache marks do not count: they move with every request and change
 * nothing of what is read.
 */
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
  return { segments: segments.slice(0, mostSegments), begins: segment('', first).hash }
}

function listed(name: string, value: unknown): readonly PromptSegment[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) return [segment(name, value)]
  return value.slice(0, mostSegments).map((element: unknown, at) => segment(`${name}[${at}]`, element))
}

function segment(name: string, value: unknown): PromptSegment {
  // Nothing at all reads like an empty list.
  return { name, hash: digest(JSON.stringify(value ?? [], withoutMarks), 12) }
}

const marks: ReadonlySet<string> = new Set(['cache_control', 'copilot_cache_control', 'prompt_cache_breakpoint'])

function withoutMarks(this: unknown, key: string, value: unknown): unknown {
  return marks.has(key) && isMark(value) ? undefined : value
}

/** A tool may have a parameter of that name. */
function isMark(value: unknown): value is JsonObject {
  return isObject(value) && (typeof value['mode'] === 'string' || value['type'] === 'ephemeral')
}
