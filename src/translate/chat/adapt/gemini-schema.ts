import { isObject, type JsonObject } from '../../parts/is-object.ts'

export interface StrippedSchema {
  readonly schema: JsonObject
  /** Keywords that were taken out, each once. */
  readonly removed: readonly string[]
  /** A keyword that constrains values is gone, so that the model may call with more than the schema allowed. */
  readonly loosened: boolean
}

/** Keywords Gemini refuses (docs/copilot-wire.md, "Parameters by model"), and whether one constrains values. */
const REFUSED: Readonly<Record<string, boolean>> = {
  $schema: false,
  $comment: false,
  enumDescriptions: false,
  additionalProperties: true,
  propertyNames: true,
}

/** Keywords whose value is one schema or a list of them. */
const SCHEMA_KEYWORDS = new Set([
  'items',
  'prefixItems',
  'contains',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
])
/** Keywords whose value maps names to schemas: the names are the tool author's, not keywords. */
const MAP_KEYWORDS = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

/**
 * A copy of a tool's parameters without the keywords Gemini refuses; `const` becomes an `enum` of one. Everything that
 * is not a schema (`default`, `enum`, `examples`) and everything unknown is left alone.
 */
export function stripSchema(parameters: JsonObject): StrippedSchema {
  const removed = new Set<string>()
  let loosened = false

  const strip = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(strip)
    return isObject(schema) ? stripObject(schema) : schema
  }
  const stripObject = (schema: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
        const constrains = Object.hasOwn(REFUSED, keyword) ? REFUSED[keyword] : undefined
        if (constrains !== undefined) {
          removed.add(keyword)
          // `additionalProperties: true` allows what its absence allows.
          loosened ||= constrains && value !== true
          return []
        }
        if (keyword === 'const') {
          removed.add(keyword)
          return [['enum', [value]]]
        }
        if (keyword === 'enum' && Object.hasOwn(schema, 'const')) return []
        if (SCHEMA_KEYWORDS.has(keyword)) return [[keyword, strip(value)]]
        if (MAP_KEYWORDS.has(keyword) && isObject(value)) {
          return [[keyword, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, strip(inner)]))]]
        }
        return [[keyword, value]]
      }),
    )

  return { schema: stripObject(parameters), removed: [...removed], loosened }
}
