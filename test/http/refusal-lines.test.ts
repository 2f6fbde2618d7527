import { expect, test } from 'vitest'
import { createRefusalLines } from '../../src/http/fault-handler.ts'

test('one line a second for each address, with the number of those left out', () => {
  let nowMs = 0
  const next = createRefusalLines(() => nowMs)
  expect([next('a'), next('a'), next('a'), next('b')]).toEqual([0, undefined, undefined, 0])
  nowMs = 999
  expect(next('a')).toBe(undefined)
  nowMs = 1000
  expect([next('a'), next('a'), next('b')]).toEqual([3, undefined, 0])
})

test('remembers a thousand addresses and forgets the least recent first', () => {
  const next = createRefusalLines(() => 0)
  for (let n = 0; n < 1000; n += 1) next(`source ${n}`)
  expect(next('source 0')).toBe(undefined)
  next('one more')
  expect([next('source 1'), next('source 0')]).toEqual([undefined, 0])
})
