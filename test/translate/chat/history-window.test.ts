import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { windowMessages } from '../../../src/translate/chat/history-window.ts'
import type { ChatMessage } from '../../../src/translate/chat/wire.ts'
import { cpuMs } from '../../cpu-time.ts'

/** `S` system, `D` developer, `U` user, `A` assistant, `1` a call of id 1, `a` its result, `2` and `b` likewise. */
function messages(script: string): readonly ChatMessage[] {
  return script.split('').map((sign): ChatMessage => {
    switch (sign) {
      case 'S':
        return { role: 'system', content: 's' }
      case 'D':
        return { role: 'developer', content: 'd' }
      case 'U':
        return { role: 'user', content: 'u' }
      case 'A':
        return { role: 'assistant', content: 'a' }
      case 'a':
      case 'b':
        return { role: 'tool', content: 'r', tool_call_id: sign }
      default:
        return { role: 'assistant', content: null, tool_calls: [{ id: sign === '1' ? 'a' : 'b' }] }
    }
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
  expect(windowMessages(messages(script), turns)).toEqual(messages(expected))
})

test('never separates a result from its call, and never drops the end', () => {
  const script = fc.string({ unit: fc.constantFrom(...'SUUA12ab'.split('')), maxLength: 40 })
  fc.assert(
    fc.property(script, fc.integer({ min: 1, max: 5 }), (signs, turns) => {
      const all = messages(signs)
      const kept = windowMessages(all, turns)
      const places = kept.map((message) => all.indexOf(message))
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      expect(kept.at(-1)).toBe(all.at(-1))
      expect(kept.filter(({ role }) => role === 'system')).toEqual(all.filter(({ role }) => role === 'system'))
      for (const result of kept)
        if (result.role === 'tool' && hasCall(all, result)) expect(hasCall(kept, result)).toBe(true)
    }),
  )
})

function hasCall(list: readonly ChatMessage[], result: ChatMessage): boolean {
  const before = list.slice(0, list.indexOf(result))
  return before.some((message) => message.tool_calls?.some(({ id }) => id === result.tool_call_id))
}

test('takes time in proportion to a history of 100,000 messages', { timeout: 180_000 }, () => {
  const all = messages('U1aA'.repeat(25_000))
  const started = cpuMs()
  expect(windowMessages(all, 5)).toHaveLength(20)
  // Around 0.1 s; time in proportion to the square is minutes.
  expect(cpuMs() - started).toBeLessThan(20_000)
})
