import { isObject, type JsonObject } from './is-object.ts'

/** Keywords that OpenAI's strict mode refuses wherever they stand. Source: OpenAI structured outputs guide, 2026-11. */
const REFUSED = [
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedProperties',
] as const

/** One of these says what a value may be; a schema without any is refused. */
const SAYS_WHAT = ['type', 'anyOf', '$ref', 'enum', 'const'] as const

/**
 * Whether OpenAI takes the schema with `strict: true`: an object at the top, every property required, no others
 * allowed, all the way down. A schema that only looks strict is refused with 400, so doubt counts as no.
 */
export function isStrictSchema(schema: unknown): boolean {
  return isObject(schema) && schema['type'] === 'object' && isStrict(schema)
}

function isStrict(schema: unknown): boolean {
  if (!isObject(schema) || REFUSED.some((keyword) => schema[keyword] !== undefined)) return false
  if (!SAYS_WHAT.some((keyword) => schema[keyword] !== undefined)) return false
  const { items, anyOf, $defs, definitions } = schema
  return (
    isStrictObject(schema) &&
    (items === undefined || isStrict(items)) &&
    (anyOf === undefined || (Array.isArray(anyOf) && anyOf.every(isStrict))) &&
    areStrict($defs) &&
    areStrict(definitions)
  )
}

function isStrictObject(schema: JsonObject): boolean {
  const { type, properties, required, additionalProperties } = schema
  const mayBeObject = type === 'object' || (Array.isArray(type) && type.includes('object'))
  if (!mayBeObject) return properties === undefined
  if (additionalProperties !== false || !isObject(properties)) return false
  const names = new Set<unknown>(Array.isArray(required) ? required : [])
  return Object.keys(properties).every((name) => names.has(name)) && areStrict(properties)
}

/** A map of names to schemas, or none. */
function areStrict(schemas: unknown): boolean {
  return schemas === undefined || (isObject(schemas) && Object.values(schemas).every(isStrict))
}
