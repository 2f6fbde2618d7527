import { Fault } from '../errors.ts'
import { scanMembers } from './json-members.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** A JSON object; neither null nor an array. */
export function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Levels of arrays and objects. Code that walks or writes a value recursively bears some thousands. */
const maxDepth = 1000

/** Whether a text is nested too deeply to be parsed: `JSON.parse` takes seconds for megabytes of brackets. */
export function isTooDeep(text: string): boolean {
  // Each level takes at least two characters, so the short events of an ordinary stream skip the scan.
  if (text.length <= 2 * maxDepth) return false
  return !scanMembers(text, { maxDepth, maxMembers: Infinity, maxValues: Infinity }).ok
}

/** Undefined for a text that is not JSON, not an object, or nested too deeply. */
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

/** The objects in an array; [] if the value is no array. */
export function objectsOf(value: unknown): { [key: string]: unknown }[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** A token count; 0 if upstream states none. */
export function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** @throws Fault `upstream_unusable` for a value nested more deeply than the runtime can write */
export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent a JSON event that is nested too deeply' }, { cause })
  }
}
