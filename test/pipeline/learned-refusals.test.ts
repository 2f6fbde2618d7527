import { expect, test } from 'vitest'
import { createLearnedRefusals } from '../../src/pipeline/pipeline-state.ts'

test('learned refusals are kept for each route and model, the newest last', () => {
  const { learn, of } = createLearnedRefusals(() => 0)
  for (const learnedRefusal of ['a', 'b', 'a']) learn('copilot/messages', 'claude', learnedRefusal)
  learn('copilot/chat', 'claude', 'c')
  expect([...of('copilot/messages', 'claude')]).toEqual(['b', 'a'])
  expect([...of('copilot/chat', 'claude')]).toEqual(['c'])
  expect(of('copilot/messages', 'gpt').size).toBe(0)
})

test('where there are too many the oldest goes', () => {
  const { learn, of } = createLearnedRefusals(() => 0)
  for (let at = 0; at < 100; at += 1) learn('r', 'm', `field:x${at}`)
  const kept = [...of('r', 'm')]
  expect(kept).toHaveLength(64)
  expect(kept.at(0)).toBe('field:x36')
  expect(kept.at(-1)).toBe('field:x99')
})

test('members that were refused once push no learned refusal out', () => {
  const { learn, of } = createLearnedRefusals(() => 0)
  const once = { fromSecondRefusal: true }
  learn('r', 'm', 'rename:x')
  for (let at = 0; at < 100; at += 1) {
    learn('r', 'm', `field:x${at}`, once)
    learn('r', 'm', 'field:y', once)
  }
  expect([...of('r', 'm')]).toEqual(['rename:x', 'field:y'])
})

function minutes(count: number): number {
  return count * 60_000
}

test('each learned refusal is forgotten an hour after it was learned last', () => {
  const clock = { nowMs: 0 }
  const { learn, of } = createLearnedRefusals(() => clock.nowMs)
  learn('r', 'm', 'a')
  clock.nowMs = minutes(30)
  learn('r', 'm', 'b')
  clock.nowMs = minutes(60) - 1
  expect([...of('r', 'm')]).toEqual(['a', 'b'])
  clock.nowMs = minutes(60)
  expect([...of('r', 'm')]).toEqual(['b'])
  learn('r', 'm', 'a')
  clock.nowMs = minutes(90)
  expect([...of('r', 'm')]).toEqual(['a'])
  clock.nowMs = minutes(120)
  expect(of('r', 'm').size).toBe(0)
})
