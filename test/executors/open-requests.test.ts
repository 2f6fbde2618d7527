import { fc } from '../fast-check.ts'
import { expect, test } from 'vitest'
import { OpenRequests } from '../../src/executors/open-requests.ts'

test('contains the items that were added and not removed, in any order', () => {
  // Each number adds a member where it is even, and else takes one of those out that were ever added.
  fc.assert(
    fc.property(fc.array(fc.nat(100)), (steps) => {
      const requests = new OpenRequests<number>()
      const kept = new Set<number>()
      const leaving: (() => void)[] = []
      for (const [member, step] of steps.entries()) {
        if (step % 2 === 0 || leaving.length === 0) {
          const leave = requests.add(member)
          kept.add(member)
          leaving.push(() => {
            leave()
            kept.delete(member)
          })
        } else leaving[step % leaving.length]?.()
        expect(requests.size).toBe(kept.size)
        expect(new Set(requests.members())).toEqual(kept)
      }
    }),
  )
})

test('an item may be added twice and is removed once at a time', () => {
  const requests = new OpenRequests<string>()
  const leave = requests.add('a')
  requests.add('a')
  leave()
  leave()
  expect(requests.members()).toEqual(['a'])
})

test('a list of its items does not change later', () => {
  const requests = new OpenRequests<string>()
  const leaving = ['a', 'b', 'c'].map((member) => requests.add(member))
  const members = requests.members()
  for (const leave of leaving) leave()
  expect(members).toEqual(['a', 'b', 'c'])
  expect(requests.size).toBe(0)
})
