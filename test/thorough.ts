/**
 * `TEST_THOROUGH=1 npm test` runs each property and each table of many combinations as a whole. `npm test` runs a part of them, the
 * same part each time, so that it ends within minutes.
 */
export const isThorough = process.env['TEST_THOROUGH'] === '1'

/** Every `nth` of the cases, beginning with the case at `first`. All of them in a thorough run. */
export function some<Case>(cases: readonly Case[], nth: number, first = 0): readonly Case[] {
  return isThorough ? cases : cases.filter((_, at) => (at + nth - (first % nth)) % nth === 0)
}

/** A number of repetitions: a fifth outside of a thorough run. */
export function times(count: number): number {
  return isThorough ? count : Math.ceil(count / 5)
}
