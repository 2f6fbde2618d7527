import { array, assert, nat, property } from 'fast-check'
import { expect, test } from 'vitest'
import { Bag } from '../src/bag.ts'

test('it holds what was added and not taken out, in whatever order that happens', () => {
  // Each number adds a member where it is even, and else takes one of those out that were ever added.
  assert(
    property(array(nat(100)), (steps) => {
      const bag = new Bag<number>()
      const kept = new Set<number>()
      const leaving: (() => void)[] = []
      for (const [member, step] of steps.entries()) {
        if (step % 2 === 0 || leaving.length === 0) {
          const leave = bag.add(member)
          kept.add(member)
          leaving.push(() => {
            leave()
            kept.delete(member)
          })
        } else leaving[step % leaving.length]?.()
        expect(bag.size).toBe(kept.size)
        expect(new Set(bag.members())).toEqual(kept)
      }
    }),
  )
})

test('the same member may be in it twice, and leaves once at a time', () => {
  const bag = new Bag<string>()
  const leave = bag.add('a')
  bag.add('a')
  leave()
  leave()
  expect(bag.members()).toEqual(['a'])
})

test('a list of its members stays as it was', () => {
  const bag = new Bag<string>()
  const leaving = ['a', 'b', 'c'].map((member) => bag.add(member))
  const members = bag.members()
  for (const leave of leaving) leave()
  expect(members).toEqual(['a', 'b', 'c'])
  expect(bag.size).toBe(0)
})
