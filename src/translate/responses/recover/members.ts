import { isObject, type JsonObject } from '../../parts/is-object.ts'
import { fieldLesson } from '../lessons.ts'
import { removeField } from '../remove-field.ts'
import type { Outcome } from './outcome.ts'

/** `Unknown parameter: 'input[0].x'.`, `Unsupported parameter: metadata`, `Unrecognized request argument supplied: x`. */
export const MEMBER =
  /(?:unsupported|unknown|unrecognized)(?: request)? (?:parameter|argument)(?: supplied)?: ["'`]?([\w$[\]-]{1,64}(?:\.[\w$[\]-]{1,64}){0,8})/i

export const UNSUPPORTED_VALUE = /unsupported value: ["'`]([^"'`]{1,64})["'`]/i

export const MEMBER_CODES: ReadonlySet<string> = new Set([
  'unsupported_parameter',
  'unknown_parameter',
  'unsupported_value',
])

/** Without these a request is another one, or none. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'store',
  'stream',
  'include',
])

/** Inside of the others, the members that carry what is said. */
const ESSENTIAL_INSIDE: ReadonlySet<string> = new Set([
  'type',
  'role',
  'content',
  'text',
  'refusal',
  'call_id',
  'name',
  'namespace',
  'arguments',
  'input',
  'output',
  'tools',
  'parameters',
  'format',
  'schema',
  'encrypted_content',
  'image_url',
  'file_data',
  'file_url',
])

/** @param path as upstream names it: `reasoning.summary`, `input[0].phase` */
export function withoutMember(body: JsonObject, path: string): Outcome | undefined {
  const everywhere = path.replaceAll(/\[\d*\]/g, '[]')
  const leaf = everywhere.split('.').at(-1) ?? ''
  if (leaf === everywhere ? ESSENTIAL.has(leaf) : ESSENTIAL_INSIDE.has(leaf) || leaf.endsWith(']')) return undefined
  const kept = removeField(body, everywhere)
  if (kept === body) return undefined
  return { body: kept, lesson: fieldLesson(everywhere), warnings: [{ code: 'refused_upstream', field: everywhere }] }
}

/** Members whose value is a word, any of which a model may not know. */
const WORDS: readonly (readonly [string, string])[] = [
  ['reasoning', 'summary'],
  ['text', 'verbosity'],
]

/** `Unsupported value: 'x'` quotes the value, or the name of the member where the value is a number. */
export function withoutValue(body: JsonObject, quoted: string): Outcome | undefined {
  for (const [member, inner] of WORDS) {
    const outer = body[member]
    if (isObject(outer) && outer[inner] === quoted) return withoutMember(body, `${member}.${inner}`)
  }
  if (body['truncation'] === quoted) return withoutMember(body, 'truncation')
  return withoutMember(body, quoted)
}
