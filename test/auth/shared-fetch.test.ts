import { expect, test } from 'vitest'
import { createSharedFetch } from '../../src/auth/shared-fetch.ts'

const never = new AbortController().signal

/** A fetch that brings a number more with each call, or fails, when the test says so; and a clock. */
function setUp() {
  const calls: PromiseWithResolvers<number>[] = []
  const clock = { ms: 0 }
  const shared = createSharedFetch({
    fetch: () => {
      const call = Promise.withResolvers<number>()
      calls.push(call)
      return call.promise
    },
    monotonicMs: () => clock.ms,
    keepMs: 60,
    keepFailureMs: 5,
  })
  return { calls, clock, shared }
}

test('all who ask wait for one fetch, which none of them ends; it is kept for a while', async () => {
  const { calls, clock, shared } = setUp()
  const leaving = new AbortController()
  const first = shared.get(leaving.signal)
  const second = shared.get(never)
  leaving.abort(new Error('left'))
  await expect(first).rejects.toThrow('left')
  calls[0]?.resolve(1)
  expect(await second).toBe(1)
  clock.ms = 59
  expect(await shared.get(never)).toBe(1)
  clock.ms = 60
  const third = shared.get(never)
  calls[1]?.resolve(2)
  expect(await third).toBe(2)
  expect(calls).toHaveLength(2)
})

test('a failure is kept too, not as long', async () => {
  const { calls, clock, shared } = setUp()
  const first = shared.get(never)
  calls[0]?.reject(new Error('no'))
  await expect(first).rejects.toThrow('no')
  clock.ms = 4
  await expect(shared.get(never)).rejects.toThrow('no')
  clock.ms = 5
  const second = shared.get(never)
  calls[1]?.resolve(2)
  expect(await second).toBe(2)
})

test('what is forgotten is for those who asked before', async () => {
  const { calls, shared } = setUp()
  const before = shared.get(never)
  shared.forget()
  const after = shared.get(never)
  calls[1]?.resolve(2)
  expect(await after).toBe(2)
  calls[0]?.resolve(1)
  expect(await before).toBe(1)
  expect(await shared.get(never)).toBe(2)
})
