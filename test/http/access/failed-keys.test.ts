import { expect, test } from 'vitest'
import { createFailedKeys } from '../../../src/http/access/failed-keys.ts'
import type { FailedKeys } from '../../../src/http/access/failed-keys.ts'

const minuteMs = 60_000

function opened() {
  let nowMs = 0
  const failedKeys = createFailedKeys(() => nowMs)
  return { failedKeys, pass: (ms: number) => (nowMs += ms) }
}

/** The delays of so many wrong keys. */
function delays({ count }: FailedKeys, source: string, times: number): readonly number[] {
  return Array.from({ length: times }, () => count(source))
}

const free = Array.from({ length: 10 }, () => 0)

test('ten wrong keys are answered at once, further ones with growing delays of up to two seconds', () => {
  const { failedKeys } = opened()
  expect(delays(failedKeys, 'a', 17)).toEqual([...free, 100, 200, 400, 800, 1600, 2000, 2000])
})

test('wrong keys are forgotten after minutes without one, however many there were', () => {
  const { failedKeys, pass } = opened()
  delays(failedKeys, 'a', 1000)
  pass(minuteMs)
  expect(delays(failedKeys, 'a', 2)).toEqual([100, 200])
  pass(2 * minuteMs)
  expect(delays(failedKeys, 'a', 11)).toEqual([...free, 100])
})

test('one source does not slow another', () => {
  const { failedKeys } = opened()
  delays(failedKeys, 'a', 50)
  expect(delays(failedKeys, 'b', 10)).toEqual(free)
})

test('many sources together are slowed as one', () => {
  const { failedKeys } = opened()
  for (let n = 0; n < 100; n += 1) expect(delays(failedKeys, `source ${n}`, 1)).toEqual([0])
  expect(delays(failedKeys, 'yet another', 3)).toEqual([100, 200, 400])
})

test('at most eight answers to one source wait, and an ended one makes room', () => {
  const { failedKeys, pass } = opened()
  delays(failedKeys, 'a', 10)
  for (let n = 0; n < 8; n += 1) {
    expect(failedKeys.isCrowded('a')).toBe(false)
    failedKeys.count('a')
  }
  expect([failedKeys.isCrowded('a'), failedKeys.isCrowded('b')]).toEqual([true, false])
  pass(99)
  expect(failedKeys.isCrowded('a')).toBe(true)
  // The first of them waited for 100 ms.
  pass(1)
  expect(failedKeys.isCrowded('a')).toBe(false)
  failedKeys.count('a')
  expect(failedKeys.isCrowded('a')).toBe(true)
  pass(2000)
  expect(failedKeys.isCrowded('a')).toBe(false)
})

test('at most 64 answers wait in total', () => {
  const { failedKeys, pass } = opened()
  for (let n = 0; n < 164; n += 1) {
    expect(failedKeys.isCrowded(`source ${n}`)).toBe(false)
    failedKeys.count(`source ${n}`)
  }
  expect(failedKeys.isCrowded('yet another')).toBe(true)
  pass(2000)
  expect(failedKeys.isCrowded('yet another')).toBe(false)
})

test.each([
  [999, [0, 100, 200]],
  [1000, [0, 0, 0]],
])(
  'a thousand sources are remembered, and the least recent is forgotten first: after %i others',
  (others, expected) => {
    const { failedKeys, pass } = opened()
    delays(failedKeys, 'a', 20)
    for (let n = 0; n < others; n += 1) failedKeys.count(`source ${n}`)
    // What all of them together have earned is over by then, what one source has earned is not.
    pass(1.05 * minuteMs)
    expect(delays(failedKeys, 'a', 3)).toEqual(expected)
  },
)
