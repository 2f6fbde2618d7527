import { isObject, objectOf } from '../../../json/json.ts'
import type { JsonObject } from '../../../json/json.ts'
import type { MessagesBlock } from '../wire.ts'

/**
 * Keywords that Claude's structured outputs do not support. Source: Anthropic documentation, structured outputs,
 * "JSON Schema limitations", 2026-11.
 */
const UNKNOWN_KEYWORDS = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'contains',
  'minContains',
  'maxContains',
  'prefixItems',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'dependentRequired',
  'dependentSchemas',
  'if',
  'then',
  'else',
  'not',
])

/** String formats that Claude's structured outputs support. */
const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'])

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const SCHEMA = new Set(['items'])
const SCHEMAS = new Set(['anyOf', 'allOf', 'oneOf'])
const NAMED_SCHEMAS = new Set(['properties', '$defs', 'definitions'])

export interface FormatSchema {
  readonly schema: JsonObject
  /** Removed keywords that constrained the answer, without duplicates. */
  readonly removed: readonly string[]
}

/** Nested schemas below this depth are not changed. */
const MAX_DEPTH = 100

/** Fits a schema to Claude's structured outputs. Never changes its input. */
export function toFormatSchema(schema: JsonObject): FormatSchema {
  const removed = new Set<string>()
  const fitted = fit(schema, removed, 0)
  return { schema: objectOf(fitted), removed: [...removed] }
}

function fit(schema: unknown, removed: Set<string>, depth: number): unknown {
  // `true` and `false` are schemas too.
  if (!isObject(schema) || depth > MAX_DEPTH) return schema
  const fitted = new Map<string, unknown>()
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === '$schema') continue
    if (isRefused(keyword, value)) removed.add(keyword)
    else if (SCHEMA.has(keyword)) fitted.set(keyword, fit(value, removed, depth + 1))
    else if (SCHEMAS.has(keyword) && Array.isArray(value)) {
      const branches = value.map((branch: unknown) => fit(branch, removed, depth + 1))
      // Claude has `anyOf`, but no `oneOf`.
      fitted.set(keyword === 'oneOf' ? 'anyOf' : keyword, branches)
    } else if (NAMED_SCHEMAS.has(keyword) && isObject(value)) {
      const entries = Object.entries(value).map(([name, inner]) => [name, fit(inner, removed, depth + 1)])
      fitted.set(keyword, Object.fromEntries(entries))
    } else fitted.set(keyword, value)
  }
  // Claude requires closed objects.
  if (isObject(schema['properties']) || schema['type'] === 'object') {
    const additional = schema['additionalProperties']
    if (additional !== undefined && additional !== false) removed.add('additionalProperties')
    fitted.set('additionalProperties', false)
  }
  return Object.fromEntries(fitted)
}

function isRefused(keyword: string, value: unknown): boolean {
  if (keyword === 'format') return typeof value !== 'string' || !FORMATS.has(value)
  // Claude supports only "at least one".
  if (keyword === 'minItems') return value !== 0 && value !== 1
  return UNKNOWN_KEYWORDS.has(keyword)
}

type System = string | readonly MessagesBlock[]

/** Appends a request for JSON to the system text, for models without `output_config.format`. */
export function withJsonHint(system: System | undefined, schema: JsonObject | undefined): readonly MessagesBlock[] {
  return [...systemBlocks(system), { type: 'text', text: jsonHint(schema) }]
}

export function jsonHint(schema: JsonObject | undefined): string {
  return schema === undefined
    ? 'Reply with one JSON object and nothing else.'
    : `Reply with JSON that matches this schema, and with nothing else:\n${JSON.stringify(schema)}`
}

export function systemBlocks(system: System | undefined): readonly MessagesBlock[] {
  if (system === undefined) return []
  return typeof system === 'string' ? [{ type: 'text', text: system }] : system
}
