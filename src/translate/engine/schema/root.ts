import { isObject, type JsonObject, isGiven } from '../../../json/json.ts'
import { sortedJson, textsOf, type Removed, type SchemaNotes } from './keywords.ts'
import { resolveReference } from './references.ts'

/** Keywords that upstreams refuse at the root and that GitHub's CLI drops there. */
const LOST_AT_ROOT = ['not', 'enum'] as const
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf'] as const
const combining = [...LOST_AT_ROOT, ...ALTERNATIVES, '$ref']

export interface Root {
  readonly schema: JsonObject
  /** Keywords that the root had. */
  readonly removed: readonly Removed[]
}

/**
 * Makes parameters an object schema with `properties` and without alternatives at the root, which every upstream takes.
 * The properties of alternatives become properties of the root. The same schema if nothing changes.
 * Source: GitHub's Copilot CLI 1.0.102 (docs/copilot-wire.md, "Tool schemas").
 */
export function toObjectSchema(parameters: unknown, notes: SchemaNotes): Root {
  if (!isObject(parameters)) return { schema: { type: 'object', properties: {} }, removed: [] }
  const { type, properties, required } = parameters
  if (type === 'object' && isObject(properties) && !combining.some((keyword) => isGiven(parameters[keyword]))) {
    return { schema: parameters, removed: [] }
  }
  const members = new Map<string, unknown>(Object.entries(parameters))
  const removed: Removed[] = []
  const collector = createCollector(parameters)
  const named = collector.named(parameters)
  members.set('type', 'object')
  members.set(
    'properties',
    hasSameNames(named.properties, properties) ? properties : Object.fromEntries(named.properties),
  )
  if (named.required.size > new Set(textsOf(required)).size) members.set('required', [...named.required])
  for (const keyword of LOST_AT_ROOT) {
    if (isGiven(parameters[keyword])) notes.lost.add(keyword)
    members.delete(keyword)
  }
  for (const keyword of ALTERNATIVES) {
    const value = parameters[keyword]
    if (isGiven(value) && !(keyword === 'allOf' && collector.isExact(listOf(value)))) removed.push([keyword, value])
    members.delete(keyword)
  }
  return { schema: isSameAs(parameters, members) ? parameters : Object.fromEntries(members), removed }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function hasSameNames(collected: ReadonlyMap<string, unknown>, properties: unknown): boolean {
  return isObject(properties) && Object.keys(properties).length === collected.size
}

function isSameAs(schema: JsonObject, members: ReadonlyMap<string, unknown>): boolean {
  return Object.keys(schema).length === members.size && [...members].every(([key, value]) => schema[key] === value)
}

interface Named {
  readonly properties: Map<string, unknown>
  readonly required: Set<string>
}

/** Levels of alternatives inside alternatives that are searched for properties. */
const MAX_LEVELS = 16
/** Names that are merged. Schemas that refer to each other can have many more; the description then has the others. */
const MAX_MERGED = 100_000

/** Collects the properties that a schema names: its own, those of its alternatives, and those of the schemas it refers to. */
function createCollector(root: JsonObject) {
  const known = new Map<JsonObject, Named>()
  let merged = 0
  const mayMerge = (): boolean => (merged += 1) <= MAX_MERGED

  function named(schema: unknown, level: number): Named {
    const result: Named = { properties: new Map(), required: new Set() }
    if (!isObject(schema) || level > MAX_LEVELS) return result
    const before = known.get(schema)
    if (before !== undefined) return before
    // Known at once: a schema that refers to itself adds nothing to itself.
    known.set(schema, result)
    const { properties, required, $ref } = schema
    const own = isObject(properties) ? Object.entries(properties) : []
    const names: readonly unknown[] = Array.isArray(required) ? required : []
    for (const name of names) if (typeof name === 'string') result.required.add(name)
    const parts = isGiven(schema['allOf']) ? [...listOf(schema['allOf'])] : []
    if (typeof $ref === 'string') parts.push(resolveReference(root, $ref))
    const inner = parts.map((part) => named(part, level + 1))
    const unions = ['anyOf', 'oneOf'].flatMap((keyword) =>
      isGiven(schema[keyword]) ? [unionOf(listOf(schema[keyword]).map((branch) => named(branch, level + 1)))] : [],
    )
    for (const [name, value] of own) result.properties.set(name, value)
    for (const part of inner) {
      for (const [name, value] of part.properties) {
        if (!mayMerge()) break
        result.properties.set(name, value)
      }
      for (const name of part.required) {
        if (!mayMerge()) break
        result.required.add(name)
      }
    }
    for (const union of unions) {
      for (const [name, value] of union) if (!result.properties.has(name)) result.properties.set(name, value)
    }
    for (const [name, value] of own) result.properties.set(name, value)
    return result
  }

  /**
   * A property of all alternatives keeps its schema, or gets those that differ as its own alternatives. A property of
   * some gets a schema that allows all.
   */
  function unionOf(branches: readonly Named[]): ReadonlyMap<string, unknown> {
    const schemas = new Map<string, unknown[]>()
    for (const { properties } of branches) {
      for (const [name, value] of properties) {
        if (!mayMerge()) break
        const list = schemas.get(name)
        if (list === undefined) schemas.set(name, [value])
        else list.push(value)
      }
    }
    return new Map([...schemas].map(([name, list]) => [name, list.length < branches.length ? {} : oneOf(list)]))
  }

  /** Whether `properties` and `required` of the parts say all that the parts say. */
  function isExact(parts: readonly unknown[]): boolean {
    const seen = new Map<string, string>(
      isObject(root['properties'])
        ? Object.entries(root['properties']).map(([name, value]) => [name, sortedJson(value)])
        : [],
    )
    const schemas = parts.map((part) => {
      const isReference = isObject(part) && typeof part['$ref'] === 'string' && Object.keys(part).length === 1
      return isReference ? resolveReference(root, String(part['$ref'])) : part
    })
    return [...new Set(schemas)].every((schema) => {
      if (!isObject(schema) || !Object.keys(schema).every((keyword) => plain.has(keyword))) return false
      const { type = 'object', properties = {}, required = [] } = schema
      if (type !== 'object' || !isObject(properties) || textsOf(required) === undefined) return false
      return Object.entries(properties).every(([name, value]) => {
        const text = sortedJson(value)
        const other = seen.get(name) ?? text
        seen.set(name, text)
        return other === text
      })
    })
  }

  return { named: (schema: JsonObject) => named(schema, 0), isExact }
}

const plain: ReadonlySet<string> = new Set(['type', 'properties', 'required'])

function oneOf(schemas: readonly unknown[]): unknown {
  const distinct = [...new Map([...new Set(schemas)].map((schema) => [sortedJson(schema), schema])).values()]
  return distinct.length === 1 ? distinct[0] : { anyOf: distinct }
}
