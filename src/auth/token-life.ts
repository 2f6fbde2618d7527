/** A moment by both clocks: wall time goes on while the machine sleeps, monotonic time never jumps. Ms. */
export interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

/** The larger of both, so that neither sleep nor a clock set back hides time that has passed. */
export function elapsedMs(since: Moment, at: Moment): number {
  return Math.max(0, at.wallMs - since.wallMs, at.monotonicMs - since.monotonicMs)
}

/** How long a token may be used, counted from when this process first saw it. */
export interface TokenLife {
  readonly seenAt: Moment
  /** A new token should be fetched. */
  readonly dueAfterMs: number
  /** It no longer works. */
  readonly expiresAfterMs: number
}

export function isDue(life: TokenLife, at: Moment): boolean {
  return elapsedMs(life.seenAt, at) >= life.dueAfterMs
}

export function isExpired(life: TokenLife, at: Moment): boolean {
  return elapsedMs(life.seenAt, at) >= life.expiresAfterMs
}
