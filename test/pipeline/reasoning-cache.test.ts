import { expect, test } from 'vitest'
import { createReasoningCache } from '../../src/pipeline/reply-memory.ts'

function cache(limits: { maxAgeMs?: number; maxEntries?: number; maxChars?: number } = {}) {
  const clock = { now: 0 }
  const { keep, recall } = createReasoningCache(() => clock.now, {
    maxAgeMs: 1000,
    maxEntries: 3,
    maxChars: 1000,
    ...limits,
  })
  return {
    clock,
    keep: (opaque: string, ...callIds: readonly string[]) => keep({ callIds, opaque }),
    recalled: (...callIds: readonly string[]) => callIds.map((callId) => recall(callId)),
  }
}

test('gives back the value of the reply that made a call', () => {
  const { keep, recalled } = cache()
  keep('A', 'a1', 'a2')
  keep('B', 'b')
  expect(recalled('a2', 'b', 'a1', 'c', '__proto__')).toEqual(['A', 'B', 'A', undefined, undefined])
})

test('an id that comes again is of the later reply', () => {
  const { keep, recalled } = cache()
  keep('A', 'a')
  keep('B', 'a')
  expect(recalled('a')).toEqual(['B'])
})

test('a value lives as long as its age allows after its last use, to the millisecond', () => {
  const { keep, recalled, clock } = cache()
  keep('A', 'a', 'b')
  clock.now = 1000
  expect(recalled('a')).toEqual(['A'])
  clock.now = 1001
  expect(recalled('a', 'b')).toEqual(['A', undefined])
  clock.now = 2002
  expect(recalled('a')).toEqual([undefined])
})

test('the call that was used least recently goes first', () => {
  const { keep, recalled } = cache()
  keep('A', 'a', 'b', 'c')
  recalled('a')
  keep('D', 'd')
  expect(recalled('a', 'b', 'c', 'd')).toEqual(['A', undefined, 'A', 'D'])
})

test('a large value pushes out as many as it needs', () => {
  const { keep, recalled } = cache()
  keep('A'.repeat(299), 'a')
  keep('B'.repeat(299), 'b')
  keep('C'.repeat(699), 'c')
  expect(recalled('a', 'b', 'c').map((value) => value?.length)).toEqual([undefined, 299, 699])
})

test('what has gone makes room again', () => {
  const { keep, recalled, clock } = cache()
  keep('A'.repeat(899), 'a')
  clock.now = 1001
  recalled('a')
  keep('B'.repeat(499), 'b')
  keep('C'.repeat(499), 'c')
  expect(recalled('b', 'c').map((value) => value?.length)).toEqual([499, 499])
})

test('a value over the size limit is not kept and evicts nothing', () => {
  const { keep, recalled } = cache()
  keep('A', 'a')
  keep('B'.repeat(1000), 'b')
  expect(recalled('a', 'b')).toEqual(['A', undefined])
})

test('a reply with more calls than the limit keeps its last calls', () => {
  const { keep, recalled } = cache()
  keep('A', 'a', 'b', 'c', 'd')
  expect(recalled('a', 'b', 'c', 'd')).toEqual([undefined, 'A', 'A', 'A'])
})
