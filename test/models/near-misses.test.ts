import { fc } from '../fast-check.ts'
import { expect, test } from 'vitest'
import { nearMisses } from '../../src/models/names.ts'

const ids = [
  'claude-opus-4.6',
  'claude-opus-4.6-1m',
  'claude-sonnet-4.6',
  'claude-haiku-4.5',
  'gpt-5',
  'gpt-5-mini',
  'gpt-4.1',
  'gpt-4o-mini',
  'grok-code-fast-1',
  'gemini-2.5-pro',
  'text-embedding-3-small',
]

test.each([
  ['another case', 'GPT-5-Mini', 'gpt-5-mini'],
  ['other punctuation', 'gpt_4.1', 'gpt-4.1'],
  ['a typing error', 'gork-code-fast-1', 'grok-code-fast-1'],
  ['a date', 'gpt-4o-mini-2024-07-18', 'gpt-4o-mini'],
  ['an unknown prefix', 'openai/gpt-5-mini', 'gpt-5-mini'],
  ['a long-context mark', 'claude-haiku-4-5[1m]', 'claude-haiku-4.5'],
  ['another version', 'claude-haiku-5-5', 'claude-haiku-4.5'],
  ['a beginning', 'claude-son', 'claude-sonnet-4.6'],
  ['the same family', 'gemini-9-ultra', 'gemini-2.5-pro'],
])('%s still finds the model meant', (_what, name, expected) => {
  expect(nearMisses(name, ids)[0]).toBe(expected)
})

test('the closest come first, and there are at most five', () => {
  expect(nearMisses('claude-opus-4-5', ids)).toEqual([
    'claude-opus-4.6',
    'claude-opus-4.6-1m',
    'claude-haiku-4.5',
    'claude-sonnet-4.6',
  ])
  const many = Array.from({ length: 30 }, (_, index) => `gpt-5.${index}`)
  expect(nearMisses('gpt-5', many)).toHaveLength(5)
})

test.each(['llama-3-70b', 'mistral', '', '-', '///', '模型'])('%j is like none of them', (name) => {
  expect(nearMisses(name, ids)).toEqual([])
})

test('suggestions are always known ids, each once, and an id itself comes first', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.constantFrom(...ids)), (name) => {
      const found = nearMisses(name, ids)
      expect(found.length).toBeLessThanOrEqual(5)
      expect(new Set(found).size).toBe(found.length)
      for (const id of found) expect(ids).toContain(id)
      if (ids.includes(name)) expect(found[0]).toBe(name)
    }),
  )
})

test('of a name of megabytes only the beginning is compared', () => {
  const beginning = 'gpt-'.repeat(20)
  expect(nearMisses(beginning.repeat(50_000), ids)).toEqual(nearMisses(beginning, ids))
})
