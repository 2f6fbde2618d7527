import { expect, test } from 'vitest'
import { firstDay, toTotals } from '../../src/usage/periods.ts'
import { dayOf, noSums, utcDayOf } from '../../src/usage/tally.ts'
import type { Tally } from '../../src/usage/tally.ts'

const nowMs = new Date(2026, 2, 30, 0, 30).getTime()

function tally(daysBack: number, model: string, requests: number): Tally {
  const days = { day: dayOf(nowMs, daysBack), utcDay: utcDayOf(nowMs - daysBack * 86_400_000) }
  return {
    ...noSums,
    ...days,
    provider: 'copilot',
    model,
    key: '',
    keyId: '',
    client: '',
    session: '',
    requests,
    inputTokens: requests,
  }
}

test('days are those of the calendar, also where one of them has an hour less', () => {
  expect(dayOf(nowMs)).toBe('2026-03-30')
  expect(dayOf(nowMs, 1)).toBe('2026-03-29')
  expect(firstDay(nowMs)).toBe('2026-02-26')
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

test('keys and days have sums of their own, what needed no key under null', () => {
  const used = { inputTokens: 100, cachedInputTokens: 25, measuredNanoAiu: 2e9 }
  const tallies = [
    { ...tally(0, 'a', 1), key: 'work' },
    { ...tally(0, 'b', 2), ...used },
    { ...tally(3, 'a', 4), key: 'work', estimatedNanoAiu: 5e8 },
  ]
  const { by_key: byKey, by_day: byDay } = toTotals(tallies, nowMs)
  expect(byKey.last_7_days).toMatchObject([
    { key: 'work', requests: 5, credits: 0.5, estimated_credits: 0.5, estimated: true },
    { key: null, requests: 2, credits: 2, estimated_credits: null, estimated: false, cache_hit_rate: 0.25 },
  ])
  expect(byKey.today).toMatchObject([
    { key: null, requests: 2 },
    { key: 'work', requests: 1, credits: null, estimated: false },
  ])
  expect(byDay).toMatchObject([
    { day: '2026-03-30', requests: 3 },
    { day: '2026-03-27', requests: 4 },
  ])
})

test.each([
  ['2026-03-01', undefined],
  ['2026-03-01', 'no date'],
  ['2026-03-01', '2026-04-01T00:00:00.000Z'],
  ['2026-03-14', '2026-04-14T00:00:00.000Z'],
  // Days that the month does not have.
  ['2026-02-28', '2026-03-31T12:00:00.000Z'],
])('the month that GitHub bills began on %s where it ends %s', (since, resetsAt) => {
  const now = Date.parse('2026-03-30T12:00:00.000Z')
  const before = utcDayOf(Date.parse(since) - 1)
  const tallies = [
    { ...tally(1, 'a', 1), utcDay: since },
    { ...tally(1, 'a', 2), utcDay: before },
  ]
  const { month, month_to_date: models } = toTotals(tallies, now, resetsAt)
  expect(month).toMatchObject({ since, requests: 1 })
  expect(models).toMatchObject([{ model: 'a', requests: 1 }])
})
