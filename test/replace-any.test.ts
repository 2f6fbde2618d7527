import { array, assert, constantFrom, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createReplacer } from '../src/replace-any.ts'

describe('every needle in a text is replaced', () => {
  test.each([
    ['alone', 'needle-1', '#'],
    ['at both ends', 'needle-1 and needle-2', '# and #'],
    ['in the middle', 'a needle-1 b', 'a # b'],
    ['one right after the other', 'needle-1needle-2', '##'],
    ['the longest where one begins with the other', 'needle-2-long needle-2', '# #'],
    ['one that begins before another and ends behind it', 'a needle-1-embraced-needle-2 b', 'a # b'],
    ['overlapping ones together', 'needle-10verlap9', '#'],
    ['one inside another with it', 'the-longest-needle-1-of-all', '#'],
    ['none where there is none', 'needle-3 needle-', 'needle-3 needle-'],
    ['none in nothing', '', ''],
  ])('%s', (_what, text, expected) => {
    const replace = createReplacer(
      [
        'needle-1',
        'needle-2',
        'needle-2-long',
        '10verlap9',
        'the-longest-needle-1-of-all',
        'needle-1-embraced-needle-2',
      ],
      '#',
    )
    expect(replace(text)).toBe(expected)
  })

  test('none are looked for', () => {
    expect(createReplacer([], '#')('needle-1')).toBe('needle-1')
  })

  /** Few letters, so that needles meet and overlap, with one outside Latin-1. */
  const letters = constantFrom('a', 'b', 'é', '€')
  const needles = array(string({ unit: letters, minLength: 8, maxLength: 12 }), { minLength: 1, maxLength: 30 })
  const pieces = array(string({ unit: letters, maxLength: 12 }))

  test('as by looking for each of them at each place', () => {
    assert(
      property(needles, pieces, (wanted, between) => {
        const text = between.map((piece, i) => piece + (wanted[i % wanted.length] ?? '')).join('')
        expect(createReplacer(wanted, '#')(text)).toBe(replacedOneByOne(text, wanted))
      }),
    )
  })
})

function replacedOneByOne(text: string, needles: readonly string[]): string {
  const spans = Array.from({ length: text.length }, (_, start) => start).flatMap((start) =>
    needles.filter((needle) => text.startsWith(needle, start)).map((needle) => [start, start + needle.length] as const),
  )
  const merged: [number, number][] = []
  for (const [start, end] of spans) {
    const last = merged.at(-1)
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  const ends = [0, ...merged.map(([, end]) => end)]
  const starts = [...merged.map(([start]) => start), text.length]
  return starts.map((start, i) => text.slice(ends[i], start)).join('#')
}
