import { isObject, type JsonObject } from '../parts/is-object.ts'

/** Upstreams take these inside a schema but not at its top, where a tool's parameters must be a plain object. */
const REFUSED_AT_TOP = ['oneOf', 'anyOf', 'allOf', 'not', 'enum'] as const

export interface NormalSchema {
  readonly schema: JsonObject
  /** Keywords that were taken out and would have constrained the call. */
  readonly removed: readonly string[]
}

/** The parameters of a tool as every upstream takes them: an object schema with `properties`. Never changes its input. */
export function normaliseSchema(parameters: unknown): NormalSchema {
  if (!isObject(parameters)) return { schema: { type: 'object', properties: {} }, removed: [] }
  const removed = REFUSED_AT_TOP.filter((keyword) => parameters[keyword] !== undefined)
  const kept = Object.entries(parameters).filter(
    ([key, value]) =>
      key !== '$schema' && !(key === 'required' && value === null) && !removed.some((keyword) => keyword === key),
  )
  const schema = new Map<string, unknown>(kept)
  if (schema.get('type') !== 'object') schema.set('type', 'object')
  if (!isObject(schema.get('properties'))) schema.set('properties', {})
  return { schema: Object.fromEntries(schema), removed }
}
