import { isObject, type JsonObject } from '../../../json/json.ts'
import {
  describe,
  descriptionOf,
  mapNested,
  MAX_DEPTH,
  pick,
  textsOf,
  type Removed,
  type SchemaNotes,
} from './keywords.ts'
import { toObjectSchema } from './root.ts'

/** Keywords that limit values, in the order in which a description states them. */
const LIMITS = (
  'contentEncoding contentMediaType not minLength maxLength pattern format minimum maximum multipleOf ' +
  'exclusiveMinimum exclusiveMaximum patternProperties minItems maxItems uniqueItems unevaluatedProperties ' +
  'propertyNames minProperties maxProperties unevaluatedItems contains minContains maxContains if then else ' +
  'dependentRequired dependentSchemas'
).split(' ')

/** What becomes of a value that JSON Schema 2020-12 does not allow for its keyword. */
interface Repair {
  /** The nearest valid value. Absent: the keyword is left out. */
  readonly value?: unknown
  readonly outcome?: 'described' | 'lost'
}

/** Undefined for a valid value. */
type Check = (value: unknown) => Repair | undefined

const DESCRIBED: Repair = { outcome: 'described' }
const LEFT_OUT: Repair = {}

const isText: Check = (value) => (typeof value === 'string' ? undefined : DESCRIBED)
const isFlag: Check = (value) => (typeof value === 'boolean' ? undefined : DESCRIBED)
const isMap: Check = (value) => (isObject(value) ? undefined : DESCRIBED)
const isSchema: Check = (value) => (isObject(value) || typeof value === 'boolean' ? undefined : DESCRIBED)
const isSchemaList: Check = (value) => {
  if (Array.isArray(value) && value.length > 0) return undefined
  return isObject(value) ? { value: [value] } : DESCRIBED
}

/**
 * The valid values of each keyword. Upstreams refuse others, and `null`, which stands for an absent keyword here.
 * Source: JSON Schema 2020-12, meta-schemas.
 */
const checks: ReadonlyMap<string, Check | 'limit'> = new Map<string, Check | 'limit'>([
  ...LIMITS.map((keyword): [string, 'limit'] => [keyword, 'limit']),
  ['type', fitType],
  ['enum', (value) => (Array.isArray(value) ? undefined : isObject(value) ? DESCRIBED : { value: [value] })],
  ['required', fitRequired],
  ['properties', isMap],
  ['$defs', isMap],
  ['definitions', isMap],
  ['dependencies', isMap],
  ['items', fitItems],
  ['additionalProperties', isSchema],
  ['contentSchema', isSchema],
  ['anyOf', isSchemaList],
  ['oneOf', isSchemaList],
  ['allOf', isSchemaList],
  ['prefixItems', isSchemaList],
  ['title', isText],
  ['description', (value) => (typeof value === 'string' ? undefined : { value: JSON.stringify(value) })],
  ['$ref', isText],
  ['$schema', isText],
  ['$id', isText],
  ['$anchor', isText],
  ['$comment', isText],
  ['examples', (value) => (Array.isArray(value) ? undefined : DESCRIBED)],
  ['deprecated', isFlag],
  ['readOnly', isFlag],
  ['writeOnly', isFlag],
])

const order: ReadonlyMap<string, number> = new Map(LIMITS.map((keyword, at) => [keyword, at]))

/** The rules that every model needs. Source: GitHub's Copilot CLI 1.0.102 (docs/copilot-wire.md, "Tool schemas"). */
export function fitCommon(parameters: unknown, notes: SchemaNotes): JsonObject {
  const { schema, removed } = toObjectSchema(parameters, notes)
  return fitSchemaNode(schema, notes, 0, removed)
}

function fitSchemaNode(
  schema: JsonObject,
  notes: SchemaNotes,
  depth: number,
  alreadyRemoved: readonly Removed[] = [],
): JsonObject {
  const fitted = fitKeywords(schema, notes, alreadyRemoved)
  return mapNested(fitted, (nested, keyword) => fitNested(nested, keyword, notes, depth + 1))
}

function fitNested(nested: unknown, keyword: string, notes: SchemaNotes, depth: number): unknown {
  if (isObject(nested)) {
    if (depth <= MAX_DEPTH) return fitSchemaNode(nested, notes, depth)
    notes.lost.add('schemas nested too deeply')
    return {}
  }
  if (typeof nested === 'boolean' && keyword.startsWith('additional')) return nested
  if (keyword === 'dependencies' && Array.isArray(nested)) return nested
  if (nested === true || nested === null) return {}
  notes.described.add('schema')
  return { description: descriptionOf([['schema', nested]]) }
}

function fitKeywords(schema: JsonObject, notes: SchemaNotes, alreadyRemoved: readonly Removed[]): JsonObject {
  let removed: Removed[] | undefined
  let kept: { [keyword: string]: unknown } | undefined
  const keywords = Object.keys(schema)
  for (let at = 0; at < keywords.length; at += 1) {
    const keyword = keywords[at] ?? ''
    const value = schema[keyword]
    const check = checks.get(keyword)
    const repair =
      check === undefined ? undefined : value === null ? LEFT_OUT : check === 'limit' ? DESCRIBED : check(value)
    if (repair !== undefined) {
      kept ??= pick(schema, keywords.slice(0, at))
      if (repair.value !== undefined) kept[keyword] = repair.value
      if (repair.outcome === 'described') (removed ??= []).push([keyword, value])
      if (repair.outcome === 'lost') notes.lost.add(keyword)
    } else if (kept !== undefined && keyword !== '__proto__') kept[keyword] = value
    if (keyword === '$ref') notes.hasReference = true
  }
  const { type, items } = kept ?? schema
  if (items === undefined && (type === 'array' || (Array.isArray(type) && type.includes('array')))) {
    kept ??= { ...schema }
    kept['items'] = {}
  }
  if (removed === undefined && alreadyRemoved.length === 0) return kept ?? schema
  const sorted = removed?.toSorted(([a], [b]) => (order.get(a) ?? -1) - (order.get(b) ?? -1)) ?? []
  return describe(kept ?? schema, [...alreadyRemoved, ...sorted], notes)
}

/** A list of schemas is the form of older drafts for a tuple. */
function fitItems(value: unknown): Repair | undefined {
  if (!Array.isArray(value)) return isSchema(value) && { value: {}, outcome: 'described' }
  if (value.length < 2) return { value: value[0] ?? {} }
  return { value: { anyOf: value } }
}

/** Older drafts have `required: true` at a property. */
function fitRequired(value: unknown): Repair | undefined {
  const texts = textsOf(value)
  if (texts !== undefined) {
    const distinct = new Set(texts)
    return distinct.size === texts.length ? undefined : { value: [...distinct] }
  }
  const names = Array.isArray(value) ? value.filter((each: unknown) => typeof each === 'string') : []
  return names.length > 0 ? { value: [...new Set(names)], outcome: 'lost' } : { outcome: 'lost' }
}

const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

/** Types of other languages, by the type of JSON Schema. */
const aliases: ReadonlyMap<string, string> = new Map(
  [
    ['string', 'str text char varchar uuid date datetime timestamp url uri file bytes'],
    ['integer', 'int long short byte int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 bigint'],
    ['number', 'float double decimal numeric real float32 float64'],
    ['boolean', 'bool'],
    ['array', 'list tuple set sequence'],
    ['object', 'dict dictionary map mapping record struct hash json'],
    ['null', 'none nil void undefined'],
  ].flatMap(([type = '', names = '']) => [type, ...names.split(' ')].map((name): [string, string] => [name, type])),
)

/** Names that allow every value. */
const ANY: ReadonlySet<string> = new Set(['any', 'mixed', 'unknown'])

function fitType(type: unknown): Repair | undefined {
  if (TYPES.has(type)) return undefined
  const names: readonly unknown[] = Array.isArray(type) ? type : [type]
  if (
    Array.isArray(type) &&
    new Set(type).size === type.length &&
    type.length > 0 &&
    type.every((each) => TYPES.has(each))
  ) {
    return undefined
  }
  if (names.some((name) => typeof name === 'string' && ANY.has(name.toLowerCase()))) return {}
  const fitted = names.map((name) => (typeof name === 'string' ? aliases.get(name.toLowerCase()) : undefined))
  const known = [...new Set(fitted.filter((name) => name !== undefined))]
  const value = known.length === 0 ? undefined : Array.isArray(type) ? known : known[0]
  return { value, ...(known.length === 0 || fitted.includes(undefined) ? { outcome: 'described' } : {}) }
}
