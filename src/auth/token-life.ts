/** A moment by both clocks. Wall time continues while the machine sleeps, and monotonic time never jumps. Ms. */
export interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

/** The larger difference of the two clocks, so that neither sleep nor a clock set back hides elapsed time. */
export function elapsedMs(since: Moment, at: Moment): number {
  return Math.max(0, at.wallMs - since.wallMs, at.monotonicMs - since.monotonicMs)
}

/** How long a token may be used, counted from when this process first saw it. */
export interface TokenLife {
  readonly seenAt: Moment
  /** A new token should be fetched. */
  readonly dueAfterMs: number
  /** The token no longer works. */
  readonly expiresAfterMs: number
}

export function isDue(life: TokenLife, at: Moment): boolean {
  return elapsedMs(life.seenAt, at) >= life.dueAfterMs
}

export function isExpired(life: TokenLife, at: Moment): boolean {
  return elapsedMs(life.seenAt, at) >= life.expiresAfterMs
}
