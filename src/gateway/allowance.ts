/** The token bucket that limits the messages of one connection. */
export interface Allowance {
  readonly left: number
  /** The time at which `left` was counted. Ms. */
  readonly atMs: number
  /** Cost of the refused messages since the last pause. */
  readonly refused: number
  readonly refusedAtMs: number
}

export type Verdict = 'ok' | 'limited' | 'flood'

/** A message costs 1, and 1 more for each block of this size. Bytes. */
const chargedBytes = 16 * 1024

const perSecond = 100
const burst = 400

/** Cost of refused messages after which a connection is closed. */
const maxRefused = 1000

/** The back-off that the protocol document asks for. After such a pause, earlier refusals do not count. Ms. */
const pauseMs = 1000

export function fullAllowance(nowMs: number): Allowance {
  return { left: burst, atMs: nowMs, refused: 0, refusedAtMs: nowMs }
}

export function charge(
  before: Allowance,
  sizeBytes: number,
  nowMs: number,
): { readonly allowance: Allowance; readonly verdict: Verdict } {
  const cost = Math.min(1 + Math.floor(sizeBytes / chargedBytes), burst)
  const left = Math.min(before.left + ((nowMs - before.atMs) / 1000) * perSecond, burst)
  if (left >= cost) return { allowance: { ...before, left: left - cost, atMs: nowMs }, verdict: 'ok' }
  const refused = cost + (nowMs - before.refusedAtMs >= pauseMs ? 0 : before.refused)
  return {
    allowance: { left, atMs: nowMs, refused, refusedAtMs: nowMs },
    verdict: refused > maxRefused ? 'flood' : 'limited',
  }
}
