import { expect, test } from 'vitest'
import { tokenLife } from '../../../src/auth/copilot/record.ts'
import { elapsedMs, isDue, isExpired } from '../../../src/auth/token-life.ts'

const at = { wallMs: 10_000_000, monotonicMs: 500 }
const obtainedAtSeconds = 10_000

test.each([
  ['as GitHub gives it', 1500, { marginSeconds: 60, random: 0 }, 1440, 1560],
  ['with all the jitter there is', 1500, { marginSeconds: 60, random: 1 }, 1410, 1560],
  ['with a margin of nothing', 1500, { marginSeconds: 0, random: 0 }, 1500, 1560],
  ['with a margin larger than itself', 1500, { marginSeconds: 9_999, random: 0 }, 750, 1560],
  ['of a minute', 60, { marginSeconds: 60, random: 1 }, 27, 120],
  ['of nothing', 0, { marginSeconds: 60, random: 1 }, 0, 60],
  ['below nothing', -9, { marginSeconds: 60, random: 1 }, 0, 60],
  ['beyond all measure', 1e12, { marginSeconds: 60, random: 0 }, 86_340, 86_460],
])('a life %s', (_what, refreshInSeconds, settings, dueSeconds, expiresSeconds) => {
  expect(tokenLife({ obtainedAtSeconds, refreshInSeconds }, settings, at)).toEqual({
    seenAt: at,
    dueAfterMs: dueSeconds * 1000,
    expiresAfterMs: expiresSeconds * 1000,
  })
})

test.each([
  ['obtained before it was seen', 9_700, 1140, 1260],
  ['obtained a moment ahead, as clocks differ', 10_030, 1440, 1560],
  ['obtained in the future', 10_100, -60, 60],
])('a token %s', (_what, obtained, dueSeconds, expiresSeconds) => {
  const life = tokenLife({ obtainedAtSeconds: obtained, refreshInSeconds: 1500 }, { marginSeconds: 60, random: 0 }, at)
  expect(life).toMatchObject({ dueAfterMs: dueSeconds * 1000, expiresAfterMs: expiresSeconds * 1000 })
})

const later = (wallMs: number, monotonicMs: number): number =>
  elapsedMs(at, { wallMs: at.wallMs + wallMs, monotonicMs: at.monotonicMs + monotonicMs })

test('time counts by whichever clock has gone further, and never backwards', () => {
  expect(later(50, 20)).toBe(50)
  expect(later(-50, 20)).toBe(20)
  expect(later(-50, 0)).toBe(0)
})

test('due and expired begin on the millisecond', () => {
  const life = { seenAt: at, dueAfterMs: 10, expiresAfterMs: 20 }
  const after = (ms: number): typeof at => ({ wallMs: at.wallMs, monotonicMs: at.monotonicMs + ms })
  expect([9, 10].map((ms) => isDue(life, after(ms)))).toEqual([false, true])
  expect([19, 20].map((ms) => isExpired(life, after(ms)))).toEqual([false, true])
})
