import { isFilled, isObject, type JsonObject } from '../../../json/json.ts'

/** Collects the keywords that the fitting of one tool's parameters removed. */
export interface SchemaNotes {
  /** Their values are now in a description, so that the model still reads them. */
  readonly described: Set<string>
  /** Nothing is left of their values. */
  readonly lost: Set<string>
  /** The parameters have a reference. */
  hasReference: boolean
}

/** A removed keyword and its value. */
export type Removed = readonly [keyword: string, value: unknown]

/** Schemas nested more deeply are cut. Request bodies have at most 500 levels of JSON. */
export const MAX_DEPTH = 600

/** How the value of a keyword holds schemas: it is one, a list of them, or an object whose values are schemas. */
const holders: ReadonlyMap<string, 'schema' | 'list' | 'map'> = new Map([
  ['items', 'schema'],
  ['additionalProperties', 'schema'],
  ['additionalItems', 'schema'],
  ['contentSchema', 'schema'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['allOf', 'list'],
  ['prefixItems', 'list'],
  ['properties', 'map'],
  ['$defs', 'map'],
  ['definitions', 'map'],
  ['dependencies', 'map'],
])

export function holderOf(keyword: string): 'schema' | 'list' | 'map' | undefined {
  return holders.get(keyword)
}

/** Maps each value that stands in the place of a schema. Returns the same object if nothing changes. */
export function mapNested(schema: JsonObject, fit: (nested: unknown, keyword: string) => unknown): JsonObject {
  let copy: { [keyword: string]: unknown } | undefined
  for (const keyword in schema) {
    const holder = holders.get(keyword)
    if (holder === undefined) continue
    const value = schema[keyword]
    const fitted = holder === 'schema' ? fit(value, keyword) : mapHeld(value, holder, fit, keyword)
    if (fitted === value) continue
    copy ??= { ...schema }
    copy[keyword] = fitted
  }
  return copy ?? schema
}

function mapHeld(
  value: unknown,
  holder: 'list' | 'map',
  fit: (nested: unknown, keyword: string) => unknown,
  keyword: string,
): unknown {
  if (holder === 'list') {
    if (!Array.isArray(value)) return value
    const list: readonly unknown[] = value
    const fitted = list.map((nested) => fit(nested, keyword))
    return fitted.every((nested, at) => nested === list[at]) ? value : fitted
  }
  if (!isObject(value)) return value
  let copy: { [name: string]: unknown } | undefined
  for (const name of Object.keys(value)) {
    const fitted = fit(value[name], keyword)
    if (fitted === value[name]) continue
    // The copy has the name as its own property, so that the assignment is safe for `__proto__` too.
    copy ??= { ...value }
    copy[name] = fitted
  }
  return copy ?? value
}

export function without(schema: JsonObject, keywords: ReadonlySet<string>): JsonObject {
  return pick(
    schema,
    Object.keys(schema).filter((keyword) => !keywords.has(keyword)),
  )
}

/**
 * Returns a copy that has some of the keywords. It is built from the kept ones, because `delete` makes an object slow. It leaves out
 * `__proto__`, which would set the prototype.
 */
export function pick(schema: JsonObject, keywords: readonly string[]): { [keyword: string]: unknown } {
  const picked: { [keyword: string]: unknown } = {}
  for (const keyword of keywords) if (keyword !== '__proto__') picked[keyword] = schema[keyword]
  return picked
}

/** Moves keywords into the description of the schema. Returns the same object if there are none. */
export function describe(schema: JsonObject, removed: readonly Removed[], notes: SchemaNotes): JsonObject {
  if (removed.length === 0) return schema
  for (const [keyword] of removed) notes.described.add(keyword)
  const { description } = schema
  const block = descriptionOf(removed)
  return { ...schema, description: isFilled(description) ? `${description}\n\n${block}` : block }
}

/** `{minLength: 1, pattern: "^a"}` */
export function descriptionOf(removed: readonly Removed[]): string {
  return `{${removed.map(([keyword, value]) => `${keyword}: ${sortedJson(value)}`).join(', ')}}`
}

/** Levels of JSON that a description holds. */
const MAX_DESCRIBED_DEPTH = 1000

/** Compact JSON with the keys of objects in alphabetical order. */
export function sortedJson(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (depth > MAX_DESCRIBED_DEPTH) return '"…"'
  if (Array.isArray(value)) return `[${value.map((each: unknown) => sortedJson(each, depth + 1)).join(',')}]`
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, each]) => `${JSON.stringify(key)}:${sortedJson(each, depth + 1)}`).join(',')}}`
}

/** The array, if every element is a string. */
export function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((each: unknown) => typeof each === 'string') ? value : undefined
}

export function isObjectOrNull(types: readonly string[]): boolean {
  return types.length === 2 && types.includes('object') && types.includes('null')
}

/** Whether a schema is absent or allows every value. */
export function isEmptySchema(schema: unknown): boolean {
  return schema === undefined || (isObject(schema) && Object.keys(schema).length === 0)
}
