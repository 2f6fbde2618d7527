import { expect, test } from 'vitest'
import { readPlanUse } from '../../../src/auth/codex/plan-use.ts'

const nowMs = Date.parse('2026-11-22T02:56:04.000Z')
const reportedAt = '2026-11-22T02:56:04.000Z'
const primary = {
  'x-codex-primary-used-percent': '42.5',
  'x-codex-primary-window-minutes': '10080',
  'x-codex-primary-reset-at': '1795330036',
}
const secondary = { 'x-codex-secondary-used-percent': '101', 'x-codex-secondary-window-minutes': '300' }

test('reads plan and windows, the shortest first', () => {
  expect(readPlanUse({ 'x-codex-plan-type': 'plus', ...primary, ...secondary }, nowMs)).toEqual({
    plan: 'plus',
    windows: [
      { usedPercent: 101, minutes: 300 },
      { usedPercent: 42.5, minutes: 10_080, resetsAt: '2026-11-22T06:47:16.000Z' },
    ],
    reportedAt,
  })
})

test.each([
  ['no such header', {}],
  ['a plan alone', { 'x-codex-plan-type': 'free' }],
  ['empty values', { 'x-codex-primary-used-percent': '', 'x-codex-primary-window-minutes': '' }],
  ['a window of no minutes', { 'x-codex-primary-used-percent': '0', 'x-codex-primary-window-minutes': '0' }],
  ['what is no number', { 'x-codex-primary-used-percent': 'NaN', 'x-codex-primary-window-minutes': '300' }],
  ['a header twice', { 'x-codex-primary-used-percent': ['1', '2'], 'x-codex-primary-window-minutes': '300' }],
])('%s tells nothing', (_what, headers) => {
  expect(readPlanUse(headers, nowMs)).toBeUndefined()
})

test.each(['0', '-5', '1e30', 'soon'])('a reset at %s is left out', (reset) => {
  const { windows = [] } = readPlanUse({ ...primary, 'x-codex-primary-reset-at': reset }, nowMs) ?? {}
  expect(windows).toEqual([{ usedPercent: 42.5, minutes: 10_080 }])
})
