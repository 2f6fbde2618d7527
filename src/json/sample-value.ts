import { isObject } from './json.ts'

type Schema = Readonly<Record<string, unknown>>

/** Limit for deep or recursive schemas. */
const MAX_DEPTH = 8

/**
 * Returns a value that fits a JSON schema, always the same one: the required properties, the first allowed value, the
 * smallest array. For simulated models: tool arguments and structured output. Ignores unusual keywords.
 */
export function sampleValue(schema: unknown): unknown {
  return sample(schema, { root: isSchema(schema) ? schema : {}, name: 'value', depth: 0 })
}

interface Position {
  readonly root: Schema
  /** Name of the property, for readable strings. */
  readonly name: string
  readonly depth: number
}

function sample(schema: unknown, position: Position): unknown {
  if (!isSchema(schema) || position.depth > MAX_DEPTH) return null
  const below = { ...position, depth: position.depth + 1 }
  const reference = schema['$ref']
  if (typeof reference === 'string') return sample(resolve(reference, position.root), below)
  if ('const' in schema) return schema['const']
  if ('default' in schema) return schema['default']
  if (isList(schema['enum'])) return schema['enum'][0] ?? null
  const branches = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']
  if (isList(branches)) return sample(branches.find((branch) => !isNullSchema(branch)) ?? branches[0], below)
  switch (typeOf(schema)) {
    case 'object':
      return sampleObject(schema, below)
    case 'array':
      return Array.from({ length: atLeast(schema['minItems'], 0) }, () => sample(schema['items'], below))
    case 'integer':
    case 'number':
      return atLeast(schema['minimum'], 1)
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return `example ${position.name}`
  }
}

function sampleObject(schema: Schema, position: Position): Record<string, unknown> {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  const required = isList(schema['required']) ? schema['required'].map(String) : Object.keys(properties).slice(0, 1)
  return Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {}, { ...position, name })]))
}

/** The first type that is not null. If the schema states no type, its keywords decide. */
function typeOf(schema: Schema): unknown {
  const { type } = schema
  if (isList(type)) return type.find((each) => each !== 'null') ?? 'null'
  return type ?? (isSchema(schema['properties']) ? 'object' : undefined)
}

/** A reference within the schema itself, e.g. `#/$defs/Point`. */
function resolve(reference: string, root: Schema): unknown {
  let target: unknown = root
  for (const key of reference.split('/').slice(1)) target = isSchema(target) ? target[key] : undefined
  return target
}

/** The schema's own minimum, if it is reasonably small. */
function atLeast(minimum: unknown, fallback: number): number {
  return typeof minimum === 'number' && minimum < 1000 ? minimum : fallback
}

function isNullSchema(schema: unknown): boolean {
  return isSchema(schema) && schema['type'] === 'null'
}

function isSchema(value: unknown): value is Schema {
  return isObject(value)
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}
