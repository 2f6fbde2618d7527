import { expect } from 'vitest'

/** Expects what `mismatchOf` describes. */
export function expectMatch(actual: unknown, expected: unknown): void {
  expect(mismatchOf(actual, expected)).toBeUndefined()
}

/**
 * Where `actual` is not what `expected` shows, as a path and both values; undefined where it is. An object may have more
 * members than expected, a list must have the same length, and `$name` matches any string, always the same one.
 */
export function mismatchOf(
  actual: unknown,
  expected: unknown,
  path = '$',
  bound = new Map<string, unknown>(),
): string | undefined {
  if (typeof expected === 'string' && expected.startsWith('$')) {
    if (!bound.has(expected)) bound.set(expected, actual)
    return bound.get(expected) === actual && actual !== undefined
      ? undefined
      : `${path}: ${String(actual)} is not the ${expected} it was before`
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${path}: not a list but ${show(actual)}`
    if (actual.length !== expected.length)
      return `${path}: ${actual.length} instead of ${expected.length}: ${show(actual)}`
    return first(expected.map((item, at) => () => mismatchOf(actual[at], item, `${path}[${at}]`, bound)))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return `${path}: not an object but ${show(actual)}`
    return first(
      Object.entries(expected).map(
        ([key, value]) =>
          () =>
            mismatchOf(Reflect.get(actual, key), value, `${path}.${key}`, bound),
      ),
    )
  }
  return Object.is(actual, expected) ? undefined : `${path}: ${show(actual)} instead of ${show(expected)}`
}

function first(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const found = check()
    if (found !== undefined) return found
  }
  return undefined
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}
