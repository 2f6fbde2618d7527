import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { cpuMs } from '../../cpu-time.ts'
import { callOf, turnOf } from './request-helpers.ts'

/**
 * `S` system, `D` developer, `U` user, `A` assistant, `1` a call of id 1, `a` its result, `2` and `b` likewise. The text
 * is the place of the message.
 */
function message(sign: string, at: number): object {
  const content = String(at)
  switch (sign) {
    case 'S':
      return { role: 'system', content }
    case 'D':
      return { role: 'developer', content }
    case 'U':
      return { role: 'user', content }
    case 'A':
      return { role: 'assistant', content }
    case 'a':
    case 'b':
      return { role: 'tool', content, tool_call_id: sign }
    default:
      return { role: 'assistant', content, tool_calls: [call(sign)] }
  }
}

function call(sign: string) {
  return { id: resultOf(sign), type: 'function', function: { name: 'f', arguments: '{}' } }
}

function resultOf(sign: string | undefined): string | undefined {
  return sign === '1' ? 'a' : sign === '2' ? 'b' : undefined
}

/** Places of the messages that a window of so many turns keeps, in their order. */
function keptOf(script: string, historyWindow: number): readonly number[] {
  const messages = script.split('').map(message)
  const { items } = turnOf(callOf({ model: 'm', messages }, { historyWindow })).turn
  return items.flatMap((item) => {
    if (item.type === 'tool_result') return Number(item.content)
    if (item.type !== 'message') return []
    return item.parts.map((part) => (part.type === 'text' ? Number(part.text) : Number.NaN))
  })
}

test.each([
  ['keeps everything at 0', 'SUAUA', 0, 'SUAUA'],
  ['keeps the last turns', 'SUAUAU', 1, 'SU'],
  ['keeps the last turns', 'SUAUAU', 2, 'SUAU'],
  ['keeps everything where there are no more turns than that', 'SUAU', 2, 'SUAU'],
  ['keeps everything where there are fewer turns than that', 'SUAU', 9, 'SUAU'],
  ['keeps system and developer text wherever it stands', 'SUADUASU', 1, 'SDSU'],
  ['keeps calls and results of a kept turn', 'UAU1aA', 1, 'U1aA'],
  ['counts user messages in a row as one turn', 'UAUUA', 1, 'UUA'],
  ['goes back to the turn of a call whose result is kept', 'UAU1UaU', 2, 'U1UaU'],
  ['goes back over several turns', 'UAU1UAUAUa', 1, 'U1UAUAUa'],
  ['goes back to the start where the call is there', '1UaU', 2, '1UaU'],
  ['does not mind a result without a call', 'UAUaU', 2, 'UaU'],
  ['takes the last call of an id that is used again', 'U1aU1aU', 2, 'U1aU'],
  ['keeps everything where no user speaks', 'SAA', 1, 'SAA'],
])('%s: %s', (_, script, turns, expected) => {
  const kept = keptOf(script, turns)
  expect(kept.map((at) => script[at]).join('')).toBe(expected)
})

test('never separates a result from its call, and never drops the end', () => {
  const anyScript = fc.string({ unit: fc.constantFrom(...'SUUA12ab'.split('')), minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(anyScript, fc.integer({ min: 1, max: 5 }), (script, turns) => {
      const all = script.split('').map((_, at) => at)
      const kept = keptOf(script, turns)
      const hasCall = (places: readonly number[], result: number) =>
        places.some((at) => at < result && resultOf(script[at]) === script[result])
      expect(kept).toEqual(all.filter((at) => kept.includes(at)))
      expect(kept.at(-1)).toBe(all.at(-1))
      expect(kept).toEqual(expect.arrayContaining(all.filter((at) => script[at] === 'S')))
      for (const at of kept) if (hasCall(all, at)) expect(hasCall(kept, at)).toBe(true)
    }),
  )
})

test('takes time in proportion to a history of 100,000 messages', { timeout: 180_000 }, () => {
  const script = 'U1aA'.repeat(25_000)
  const started = cpuMs()
  expect(keptOf(script, 5)).toHaveLength(20)
  // Around 0.5 s; time in proportion to the square is minutes.
  expect(cpuMs() - started).toBeLessThan(20_000)
})
