import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { issueOpaque } from './sealed-text.ts'
import { itemId, openOpaque } from './sealed-text.ts'

test('opens what it issued, for its own kind and what it was bound to', () => {
  fc.assert(
    fc.property(fc.nat(), fc.string(), (serial, bound) => {
      const text = issueOpaque('reasoning', serial, bound)
      expect(text).toMatch(/^[\w+/]{300,}=*$/)
      expect(openOpaque('reasoning', text)?.isOf(bound)).toBe(true)
      expect(openOpaque('reasoning', text)?.isOf(`${bound}x`)).toBe(false)
      expect(openOpaque('signature', text)).toBeUndefined()
    }),
  )
})

test('opens nothing else', () => {
  const issued = issueOpaque('signature', 1, 'thought')
  fc.assert(
    fc.property(fc.nat({ max: issued.length - 1 }), fc.base64String(), (at, other) => {
      const changed = issued.slice(0, at) + (issued[at] === 'A' ? 'B' : 'A') + issued.slice(at + 1)
      expect(openOpaque('signature', changed)).toBeUndefined()
      expect(openOpaque('signature', other)).toBeUndefined()
      expect(openOpaque('signature', issued.slice(0, at))).toBeUndefined()
    }),
  )
})

test('item ids do not repeat over thousands of events of many replies', () => {
  const ids = new Set<string>()
  for (let reply = 1; reply <= 10; reply += 1) {
    for (let event = 0; event < 2000; event += 1) ids.add(itemId(reply * 1_000_000 + event))
  }
  expect(ids.size).toBe(20_000)
})
