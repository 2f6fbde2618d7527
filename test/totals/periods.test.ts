import { expect, test } from 'vitest'
import { firstDay, toTotals } from '../../src/totals/periods.ts'
import { dayOf } from '../../src/totals/tally.ts'
import type { Tally } from '../../src/totals/tally.ts'

const nowMs = new Date(2026, 2, 30, 0, 30).getTime()

function tally(daysBack: number, model: string, requests: number): Tally {
  const tokens = { inputTokens: requests, outputTokens: 0, cachedInputTokens: 0 }
  return { day: dayOf(nowMs, daysBack), provider: 'copilot', model, requests, errors: 0, ...tokens }
}

test('days are those of the calendar, also where one of them has an hour less', () => {
  expect(dayOf(nowMs)).toBe('2026-03-30')
  expect(dayOf(nowMs, 1)).toBe('2026-03-29')
  expect(firstDay(nowMs)).toBe('2026-03-01')
})

test('days that are still to come, of a clock that was ahead, are in no period', () => {
  const { today, last_30_days: month } = toTotals([tally(-1, 'a', 1), tally(-9000, 'a', 2), tally(0, 'a', 4)], nowMs)
  expect([today, month]).toMatchObject([[{ requests: 4 }], [{ requests: 4 }]])
})

test('each period holds its days, the most asked model first', () => {
  const tallies = [
    tally(0, 'a', 1),
    tally(0, 'b', 2),
    tally(6, 'a', 4),
    tally(7, 'b', 8),
    tally(29, 'c', 16),
    tally(30, 'd', 32),
  ]
  const { today, last_7_days: week, last_30_days: month } = toTotals(tallies, nowMs)
  const shown = (rows: typeof today) => rows.map(({ model, requests, input_tokens: read }) => [model, requests, read])
  expect(shown(today)).toEqual([
    ['b', 2, 2],
    ['a', 1, 1],
  ])
  expect(shown(week)).toEqual([
    ['a', 5, 5],
    ['b', 2, 2],
  ])
  expect(shown(month)).toEqual([
    ['c', 16, 16],
    ['b', 10, 10],
    ['a', 5, 5],
  ])
})
