import { estimateTokenCount } from 'tokenx'
import { expect, test } from 'vitest'
import { estimateItems, newestItems } from '../../src/agent/context-size.ts'
import { userMessage } from '../../src/translate/turn-request.ts'
import type { TurnItem } from '../../src/translate/turn.ts'

const text = 'The quick brown fox jumps over the lazy dog; const total = sum(items.map(({ price }) => price))\n'

const callAndResult = (id: string): TurnItem[] => [
  { type: 'tool_call', kind: 'function', id, name: 'fs_read', arguments: '{}', path: '' },
  { type: 'tool_result', callId: id, content: text, isError: false, path: '' },
]

test('estimates a long text by samples of it', () => {
  const long = text.repeat(3000)
  const estimated = estimateItems([userMessage(long)])
  const whole = estimateTokenCount(text) * 3000
  expect(estimated / whole).toBeGreaterThan(0.95)
  expect(estimated / whole).toBeLessThan(1.05)
})

test('omits old items that exceed the context, and never cuts between a call and its result', async () => {
  const items = Array.from({ length: 50 }, (_, at) => [userMessage(text), ...callAndResult(`call-${at}`)]).flat()
  const all = estimateItems(items)
  expect(await newestItems(items, all)).toEqual(items)
  for (let most = 0; most < all; most += 37) {
    const kept = await newestItems(items, most)
    expect(estimateItems(kept)).toBeLessThanOrEqual(most)
    expect(kept).toEqual(items.slice(items.length - kept.length))
    expect(kept[0]?.type).not.toBe('tool_result')
  }
})

test('estimating a long history does not block the event loop', async () => {
  const items = Array.from({ length: 40 }, () => userMessage(text.repeat(100)))
  let turns = 0
  let next = setImmediate(function turn() {
    turns += 1
    next = setImmediate(turn)
  })
  await newestItems(items, 1e9)
  clearImmediate(next)
  expect(turns).toBeGreaterThan(5)
})
