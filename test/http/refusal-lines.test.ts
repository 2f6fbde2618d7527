import { expect, test } from 'vitest'
import { createRefusalLines } from '../../src/http/refusal-lines.ts'

test('one line a second for each address, with the number of those left out', () => {
  let nowMs = 0
  const lines = createRefusalLines(() => nowMs)
  expect([lines.next('a'), lines.next('a'), lines.next('a'), lines.next('b')]).toEqual([0, undefined, undefined, 0])
  nowMs = 999
  expect(lines.next('a')).toBe(undefined)
  nowMs = 1000
  expect([lines.next('a'), lines.next('a'), lines.next('b')]).toEqual([3, undefined, 0])
})

test('remembers a thousand addresses and forgets the least recent first', () => {
  const lines = createRefusalLines(() => 0)
  for (let n = 0; n < 1000; n += 1) lines.next(`source ${n}`)
  expect(lines.next('source 0')).toBe(undefined)
  lines.next('one more')
  expect([lines.next('source 1'), lines.next('source 0')]).toEqual([undefined, 0])
})
