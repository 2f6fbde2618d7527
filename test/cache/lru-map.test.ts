import { expect, test } from 'vitest'
import { createLruMap } from '../../src/cache/lru-map.ts'

test('the least recently used entry goes first', () => {
  const map = createLruMap<number>({ maxEntries: 2 })
  map.set('a', 1)
  map.set('b', 2)
  expect(map.get('a')).toBe(1)
  map.set('c', 3)
  expect(map.keys()).toEqual(['a', 'c'])
  expect(map.peek('a')).toBe(1)
  map.set('d', 4)
  expect(map.values()).toEqual([3, 4])
})

test('as many entries stay as fit, and one that alone is too large takes no other along', () => {
  const map = createLruMap<string>({ maxEntries: 9, maxSize: 10, sizeOf: (value, key) => value.length + key.length })
  map.set('a', '123')
  map.set('b', '123')
  map.set('c', '12')
  expect(map.keys()).toEqual(['b', 'c'])
  map.set('b', '12345678901')
  expect(map.keys()).toEqual(['c'])
  expect(map.delete('c')).toBe(true)
  expect(map.delete('c')).toBe(false)
  map.set('d', '123456789')
  expect(map.keys()).toEqual(['d'])
})
