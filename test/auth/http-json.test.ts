import { fc } from '../fast-check.ts'
import { expect, test } from 'vitest'
import { toPlainLine } from '../../src/auth/http-json.ts'

test('blots out every secret it is given', () => {
  expect(toPlainLine('token ghu_example is bad: ghu_example', ['ghu_example', ''])).toBe(
    'token [redacted] is bad: [redacted]',
  )
})

test('turns terminal control and reordering characters into spaces, and bounds the length', () => {
  expect(toPlainLine('a\u001B[2Jb\u202Ec\r\nd')).toBe('a [2Jb c d')
  expect(toPlainLine('x'.repeat(1000))).toHaveLength(301)
})

test('whatever comes in, one printable line without the secret goes out', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (before, after) => {
      const line = toPlainLine(`${before}ghu_example${after}`, ['ghu_example'])
      expect(line).not.toMatch(/\p{Cc}|ghu_example/u)
      expect(line.length).toBeLessThanOrEqual(301)
    }),
  )
})
