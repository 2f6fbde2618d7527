import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { createRateLimit } from '../../../src/http/access/rate-limit.ts'

/** A limit with a manual clock; `ask` returns the seconds to wait, or 0. */
function limitAt(perMinute: number, most?: number) {
  let now = 1000
  const limit = createRateLimit(() => now, most)
  return {
    pass: (ms: number) => {
      now += ms
    },
    ask: (caller = 'one', allowed = perMinute): number => {
      try {
        limit.count(caller, { perMinute: allowed, setting: 'server.max-requests-per-minute' })
        return 0
      } catch (error) {
        expect(error).toMatchObject({ error: { kind: 'rate_limited', perMinute: allowed } })
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Proof: the line above.
        return (error as { error: { retryAfterSeconds: number } }).error.retryAfterSeconds
      }
    },
  }
}

const times = (count: number, ask: () => number): readonly number[] => Array.from({ length: count }, () => ask())

test('accepts as many requests at once as a minute allows, then sends retry-after', () => {
  const { ask, pass } = limitAt(6)
  expect(times(6, ask)).toEqual([0, 0, 0, 0, 0, 0])
  expect(ask()).toBe(10)
  pass(4000)
  expect(ask()).toBe(6)
  pass(6000)
  expect(times(2, ask)).toEqual([0, 10])
})

test('a refused request does not count towards the limit', () => {
  const { ask, pass } = limitAt(1)
  expect(ask()).toBe(0)
  times(1000, ask)
  pass(60_000)
  expect(ask()).toBe(0)
})

test('each caller has a limit of its own', () => {
  const { ask } = limitAt(1)
  expect([ask('one'), ask('one'), ask('two'), ask('two')]).toEqual([0, 60, 0, 60])
})

test('a changed limit applies to the next request and keeps the used part', () => {
  const { ask } = limitAt(2)
  expect([ask('one', 2), ask('one', 1), ask('one', 4), ask('one', 4), ask('one', 4)]).toEqual([0, 30, 0, 0, 15])
})

test('forgets idle callers, and the least recent of too many', () => {
  const { ask, pass } = limitAt(1, 3)
  for (const caller of ['a', 'b', 'c', 'd']) expect(ask(caller)).toBe(0)
  expect(['d', 'c', 'b', 'a'].map((caller) => ask(caller))).toEqual([60, 60, 60, 0])
  pass(60_000)
  expect(['a', 'b', 'c', 'd'].map((caller) => ask(caller))).toEqual([0, 0, 0, 0])
})

test('no caller exceeds the limit plus the refill, and a caller that waits for retry-after is served', () => {
  const limits = fc.integer({ min: 1, max: 200 })
  fc.assert(
    fc.property(limits, fc.array(fc.nat(20_000), { maxLength: 30 }), (perMinute, waits) => {
      const { ask, pass } = limitAt(perMinute)
      let served = 0
      let passedMs = 0
      const wait = (ms: number): void => {
        pass(ms)
        passedMs += ms
      }
      for (const ms of waits) {
        wait(ms)
        let seconds = ask()
        for (; seconds === 0; seconds = ask()) served += 1
        expect(served).toBeLessThanOrEqual(perMinute + (passedMs / 60_000) * perMinute + 1e-6)
        wait(seconds * 1000)
        expect(ask()).toBe(0)
        served += 1
      }
    }),
  )
})
