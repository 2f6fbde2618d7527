import { isObject, type JsonObject } from '../../../json/json.ts'

/** Keywords that OpenAI's strict mode refuses at any depth. Source: OpenAI structured outputs guide, 2026-11. */
const REFUSED_IF_STRICT = [
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

/** Strict mode requires one of these keywords in every schema. */
const TYPE_KEYWORDS = ['type', 'anyOf', '$ref', 'enum', 'const'] as const

/**
 * Whether OpenAI takes the schema with `strict: true`: it must be an object, and at every level require all properties and
 * allow no others. False in case of doubt: OpenAI refuses a schema that is not strict with 400.
 */
export function isStrictSchema(schema: unknown): boolean {
  return isObject(schema) && schema['type'] === 'object' && isStrict(schema)
}

function isStrict(schema: unknown): boolean {
  if (!isObject(schema) || REFUSED_IF_STRICT.some((keyword) => schema[keyword] !== undefined)) return false
  if (!TYPE_KEYWORDS.some((keyword) => schema[keyword] !== undefined)) return false
  const { type, items, anyOf, $defs, definitions } = schema
  if (items === undefined && (type === 'array' || (Array.isArray(type) && type.includes('array')))) return false
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

/** @param schemas a map of names to schemas, or undefined */
function areStrict(schemas: unknown): boolean {
  return schemas === undefined || (isObject(schemas) && Object.values(schemas).every(isStrict))
}
