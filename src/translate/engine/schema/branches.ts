import { isObject, objectsOf, type JsonObject, objectOf } from '../../../json/json.ts'
import { isEmptySchema, isObjectOrNull, sortedJson, textsOf, without, type Removed } from './keywords.ts'

/**
 * Bounds the copies of properties in branches, because nested alternatives would multiply them: a schema of 1 KB could
 * become gigabytes. Counted in values.
 */
export interface CopyBudget {
  left: number
}

const MAX_COPIES = 100_000

export function createCopyBudget(): CopyBudget {
  return { left: MAX_COPIES }
}

const MOVED: ReadonlySet<string> = new Set(['type', 'properties', 'required', 'items'])

/** Keywords beside `anyOf` that move into its branches. */
interface Outer {
  /** Undefined: any. */
  readonly types: readonly string[] | undefined
  readonly properties: JsonObject
  readonly required: readonly string[]
  readonly items: unknown
}

/** What the branches took, and what at least one of them could not take. */
interface Progress {
  readonly taken: Set<string>
  readonly refused: Set<string>
}

/** Moves `type`, `properties`, `required` and `items` beside `anyOf` into each branch. A branch of another type is dropped. */
export function moveIntoBranches(schema: JsonObject, removed: Removed[], budget: CopyBudget): JsonObject {
  const { anyOf, type, properties, required, items } = schema
  if (![type, properties, required, items].some((value) => value !== undefined)) return schema
  const types = typeof type === 'string' ? [type] : textsOf(type)
  const branches = objectsOf(anyOf)
  const fitting = branches.filter(({ type: own }) => isOfType(own, types))
  const outside = without(schema, MOVED)
  if (fitting.length === 0) {
    for (const keyword of MOVED) if (schema[keyword] !== undefined) removed.push([keyword, schema[keyword]])
    return outside
  }
  if (types !== undefined && types.length > 1 && !isObjectOrNull(types)) removed.push(['type', types])
  for (const value of [properties, required, items]) budget.left -= fitting.length * countValues(value, budget.left)
  const outer: Outer =
    budget.left < 0
      ? { types, properties: {}, required: [], items: undefined }
      : { types, properties: objectOf(properties), required: textsOf(required) ?? [], items }
  const names: Progress = { taken: new Set(), refused: new Set() }
  const keywords: Progress = { taken: new Set(), refused: new Set() }
  const moved = fitting.map((branch) => moveInto(branch, outer, names, keywords))
  const isLeft = (name: string, { taken, refused }: Progress): boolean => refused.has(name) || !taken.has(name)
  const left = Object.entries(objectOf(properties)).filter(([name]) => isLeft(name, names))
  if (left.length > 0) removed.push(['properties', Object.fromEntries(left)])
  if (textsOf(required)?.length && isLeft('required', keywords)) removed.push(['required', required])
  if (!isEmptySchema(items) && isLeft('items', keywords)) removed.push(['items', items])
  const allowsNull = types !== undefined && types.length > 1 && types.includes('null')
  const losesNull = allowsNull && fitting.some(({ type: own }) => own === undefined) && !fitting.some(isNull)
  return { ...outside, anyOf: losesNull ? [...moved, { type: 'null' }] : moved }
}

function isNull({ type }: JsonObject): boolean {
  return type === 'null' || (textsOf(type)?.includes('null') ?? false)
}

function isOfType(own: unknown, types: readonly string[] | undefined): boolean {
  const names = typeof own === 'string' ? [own] : textsOf(own)
  return types === undefined || names === undefined || names.some((name) => allowed(name, types) !== undefined)
}

/** The part of a branch's type that the outer types allow. */
function allowed(name: string, types: readonly string[]): string | undefined {
  if (types.includes(name) || (name === 'integer' && types.includes('number'))) return name
  return name === 'number' && types.includes('integer') ? 'integer' : undefined
}

function typeIn({ type: own, anyOf }: JsonObject, types: readonly string[] | undefined): unknown {
  if (types === undefined) return own
  // The branches of a branch may be null.
  const all = types.length === 1 ? types[0] : types
  if (own === undefined) return anyOf === undefined ? (types.find((name) => name !== 'null') ?? 'null') : all
  const names = typeof own === 'string' ? [own] : textsOf(own)
  if (names === undefined) return own
  const both = names.flatMap((name) => allowed(name, types) ?? [])
  return both.length === 1 ? both[0] : both
}

function mayBe(type: unknown, name: string): boolean {
  return type === undefined || type === name || (textsOf(type)?.includes(name) ?? false)
}

function moveInto(branch: JsonObject, outer: Outer, names: Progress, keywords: Progress): JsonObject {
  const type = typeIn(branch, outer.types)
  const result: { [keyword: string]: unknown } = type === branch['type'] ? { ...branch } : { ...branch, type }
  if (mayBe(type, 'object')) {
    const properties = propertiesIn(branch, outer, names)
    if (Object.keys(properties).length > 0) result['properties'] = properties
    const required = requiredIn(branch, outer, properties, keywords)
    if (required.length > 0) result['required'] = required
  }
  if (mayBe(type, 'array') && outer.items !== undefined) {
    const isFree = isEmptySchema(branch['items'])
    if (isFree) result['items'] = outer.items
    const isSame = isFree || sortedJson(branch['items']) === sortedJson(outer.items)
    ;(isSame ? keywords.taken : keywords.refused).add('items')
  }
  return result
}

function propertiesIn(branch: JsonObject, outer: Outer, { taken, refused }: Progress): JsonObject {
  const own = isObject(branch['properties']) ? branch['properties'] : {}
  // Gemini reads nothing beside a reference.
  const isClosed = branch['$ref'] !== undefined || branch['additionalProperties'] === false
  const added = Object.entries(outer.properties).filter(([name, value]) => {
    const isOwn = Object.hasOwn(own, name)
    const isTaken = isOwn ? sortedJson(own[name]) === sortedJson(value) : !isClosed
    ;(isTaken ? taken : refused).add(name)
    return isTaken && !isOwn
  })
  return added.length === 0 ? own : Object.fromEntries([...Object.entries(own), ...added])
}

function requiredIn(branch: JsonObject, outer: Outer, properties: JsonObject, keywords: Progress): readonly string[] {
  const own = textsOf(branch['required']) ?? []
  if (outer.required.length === 0) return own
  if (branch['$ref'] !== undefined) {
    keywords.refused.add('required')
    return own
  }
  keywords.taken.add('required')
  const isKeptOut = (name: string): boolean => Object.hasOwn(outer.properties, name) && !Object.hasOwn(properties, name)
  return [...new Set([...own, ...outer.required.filter((name) => !isKeptOut(name))])]
}

/** Counts the values of a JSON value, up to a limit. */
function countValues(value: unknown, limit: number): number {
  if (value === undefined) return 0
  let count = 0
  const waiting: unknown[] = [value]
  while (waiting.length > 0 && count <= limit) {
    const next = waiting.pop()
    count += 1
    if (typeof next !== 'object' || next === null) continue
    for (const nested of Object.values(next)) waiting.push(nested)
  }
  return count
}
