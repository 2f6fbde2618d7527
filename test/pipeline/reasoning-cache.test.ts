import { expect, test } from 'vitest'
import { createReasoningCaches } from '../../src/pipeline/reply-memory.ts'

function cache(limits: { maxAgeMs?: number; maxEntries?: number; maxChars?: number } = {}) {
  const clock = { now: 0 }
  const caches = createReasoningCaches(() => clock.now, { maxAgeMs: 1000, maxEntries: 3, maxChars: 1000, ...limits })
  const { keep, recall } = caches(undefined)
  return {
    clock,
    of: caches,
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
  keep('A'.repeat(298), 'a')
  keep('B'.repeat(298), 'b')
  keep('C'.repeat(698), 'c')
  expect(recalled('a', 'b', 'c').map((value) => value?.length)).toEqual([undefined, 298, 698])
})

test('what has gone makes room again', () => {
  const { keep, recalled, clock } = cache()
  keep('A'.repeat(898), 'a')
  clock.now = 1001
  recalled('a')
  keep('B'.repeat(498), 'b')
  keep('C'.repeat(498), 'c')
  expect(recalled('b', 'c').map((value) => value?.length)).toEqual([498, 498])
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

test('a key recalls only what it kept, whatever call ids it sends', () => {
  const { of } = cache()
  const keys = [{ name: 'a', id: 'a-1' }, { name: 'a', id: 'a-2' }, undefined]
  for (const key of keys) of(key).keep({ callIds: ['call_1'], opaque: `of ${key?.id}` })
  expect(keys.map((key) => of(key).recall('call_1'))).toEqual(['of a-1', 'of a-2', 'of undefined'])
  of(keys[0]).keep({ callIds: ['call_2'], opaque: 'mine' })
  expect(keys.map((key) => of(key).recall('call_2'))).toEqual(['mine', undefined, undefined])
})
