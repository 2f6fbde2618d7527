import { isObject } from './json.ts'
import type { JsonObject } from './json.ts'

/** An object of ours as HTTP clients get it: every key in snake_case. */
export function snakeKeys(value: object): JsonObject {
  return mapKeys(value, (key) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

/** The reverse of `snakeKeys`. */
export function camelKeys(value: object): JsonObject {
  return mapKeys(value, (key) => key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()))
}

function mapKeys(value: object, map: (key: string) => string): JsonObject {
  const mapValue = (member: unknown): unknown => {
    if (Array.isArray(member)) return member.map(mapValue)
    return isObject(member) ? mapKeys(member, map) : member
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [map(key), mapValue(member)]))
}
