import { Fault } from '../../errors.ts'
import { scanMembers } from './json-members.ts'

// How upstream's JSON is looked at: nothing about it is promised.

/** Any JSON object. Lets the field types above be read safely: all of them are `unknown`. */
export function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Levels of arrays and objects that are read. What walks or writes a value later bears some thousands. */
const deepest = 1000

/** Nested so deeply that nothing is made of it. `JSON.parse` takes seconds for megabytes of brackets. */
export function isTooDeep(text: string): boolean {
  // A level takes two characters at least, so that the events of an ordinary stream are not looked through.
  if (text.length <= 2 * deepest) return false
  return !scanMembers(text, { maxDepth: deepest, maxMembers: Infinity, maxValues: Infinity }).ok
}

/** The text as a JSON object; undefined where it is not JSON, not an object, or too deep. */
export function parseObject(text: string): { [key: string]: unknown } | undefined {
  if (isTooDeep(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The objects of an array; none where there is no array. */
export function objectsOf(value: unknown): { [key: string]: unknown }[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** A token count; 0 where upstream gives none. */
export function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** @throws Fault `upstream_unusable` for a value nested more deeply than the runtime can write */
export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent an event that is nested too deeply' }, { cause })
  }
}
