import { isObject } from '../../../../src/json/json.ts'
import type { JsonObject } from '../../../../src/json/json.ts'

/** Keywords of JSON Schema whose value is one schema, a list of schemas, or schemas by name. */
const ONE = [
  'items',
  'additionalItems',
  'additionalProperties',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
]
const LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']

export interface Subschema {
  readonly schema: JsonObject
  /** Keywords and names from the root, e.g. `['properties', 'list', 'items']`. */
  readonly path: readonly string[]
}

/** A schema and every schema in it, at any depth. Boolean schemas are left out. */
export function* subschemas(schema: unknown, path: readonly string[] = []): Generator<Subschema> {
  if (!isObject(schema)) return
  yield { schema, path }
  for (const keyword of ONE) yield* subschemas(schema[keyword], [...path, keyword])
  for (const keyword of LIST) {
    const list = schema[keyword]
    if (!Array.isArray(list)) continue
    for (const [at, each] of list.entries()) yield* subschemas(each, [...path, keyword, String(at)])
  }
  for (const keyword of NAMED) {
    const named = schema[keyword]
    if (!isObject(named)) continue
    for (const [name, each] of Object.entries(named)) yield* subschemas(each, [...path, keyword, name])
  }
}

/** The types that a schema names. */
export function typesOf({ type }: JsonObject): readonly unknown[] {
  if (type === undefined) return []
  return Array.isArray(type) ? type : [type]
}
