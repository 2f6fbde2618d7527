import type { JsonObject } from '../parts/is-object.ts'
import type { MessagesBlock } from './wire-request.ts'

type System = string | readonly MessagesBlock[]

/** The system text with a demand for JSON at its end, for models that take no `output_config.format`. */
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
