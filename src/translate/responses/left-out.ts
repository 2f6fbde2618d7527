import { isObject } from '../parts/is-object.ts'
import type { Warning } from '../warning.ts'
import type { ResponsesRequest } from './wire-request.ts'

/** Members that `decode-turn.ts` reads, or that were settled before it. */
const READ = [
  'model',
  'input',
  'instructions',
  'stream',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_output_tokens',
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'top_logprobs',
  'reasoning',
  'text',
  'previous_response_id',
  'background',
  'conversation',
  'prompt',
  'include',
]

/** Members whose loss changes no answer: labels, what is kept, and how the reply is delivered. */
const HARMLESS = [
  'user',
  'client_metadata',
  'store',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'stream_options',
]

const known = new Set([...READ, ...HARMLESS])

/** Settings of the kind "as usual". */
const USUAL: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['service_tier', ['auto', 'default']],
  ['truncation', ['disabled']],
  ['reasoning.context', ['auto']],
  ['reasoning.mode', ['standard']],
])

function isUsual(field: string, setting: unknown): boolean {
  // The reply repeats it, but it labels nothing upstream.
  if (field === 'metadata') return isObject(setting) && Object.keys(setting).length === 0
  return USUAL.get(field)?.includes(setting) === true
}

/** Values of `include` that are answered: reasoning always comes in a form that can be handed back. */
const INCLUDED: ReadonlySet<string> = new Set(['reasoning.encrypted_content', 'message.output_text.logprobs'])

/** More would not fit a header. */
const mostWarnings = 32

/** A warning for each member of the request that has no place in a Turn. */
export function leftOut(value: ResponsesRequest): readonly Warning[] {
  const members = Object.entries(value).filter(([key]) => !known.has(key))
  const { context, mode } = value.reasoning ?? {}
  const lost = [...members, ['reasoning.context', context] as const, ['reasoning.mode', mode] as const].filter(
    ([field, setting]) => setting !== undefined && setting !== null && !isUsual(field, setting),
  )
  const fields = lost.map(([field]) => field)
  if (value.include?.some((what) => !INCLUDED.has(what)) === true) fields.push('include')
  return fields.slice(0, mostWarnings).map((field) => ({ code: 'dropped', field: nameable(field) }))
}

/** A caller may name its members anything; a header may not say everything. */
export function nameable(field: string): string {
  return /^[\w.-]{1,64}$/.test(field) ? field : 'unknown member'
}
