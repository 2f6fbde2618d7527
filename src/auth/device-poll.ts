import type { RequestDeps } from './http-json.ts'

export interface DevicePollDeps extends RequestDeps {
  /** Ms since epoch. */
  readonly now: () => number
  /** Rejects when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/** The code that the user types, its page, and the secret part for polling. */
export interface DeviceCode {
  readonly userCode: string
  readonly verificationUri: string
  readonly expiresAtMs: number
  readonly intervalSeconds: number
  readonly deviceCode: string
}

export type DeviceStart =
  | { readonly kind: 'started'; readonly code: DeviceCode }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** RFC 8628 §3.2 and §3.5: the interval if the server states none, and the seconds that a `slow_down` adds. */
export const DEFAULT_INTERVAL_SECONDS = 5

/** The result of one poll: still pending, or the end of polling. */
export type PollAnswer<Result> =
  | { readonly kind: 'pending'; readonly intervalSeconds: number }
  | { readonly kind: 'done'; readonly result: Result }

/**
 * Polls until `ask` is done or the code has expired (RFC 8628 §3.5). Aborting `signal` ends the wait at once.
 * @param ask receives the current interval and returns the interval for later polls
 */
export async function pollDevice<Result>(
  deps: DevicePollDeps,
  code: DeviceCode,
  marginSeconds: number,
  ask: (intervalSeconds: number) => Promise<PollAnswer<Result>>,
  signal: AbortSignal,
): Promise<Result | { readonly kind: 'expired' } | { readonly kind: 'aborted' }> {
  let { intervalSeconds } = code
  for (;;) {
    const leftMs = code.expiresAtMs - deps.now()
    if (leftMs <= 0) return { kind: 'expired' }
    const waitMs = (intervalSeconds + marginSeconds) * 1000
    try {
      await deps.sleep(Math.min(waitMs, leftMs), signal)
    } catch (error) {
      if (!signal.aborted) throw error
    }
    if (signal.aborted) return { kind: 'aborted' }
    if (waitMs > leftMs) return { kind: 'expired' }
    const answer = await ask(intervalSeconds)
    if (answer.kind === 'done') return answer.result
    intervalSeconds = answer.intervalSeconds
  }
}

/** Whether a code can be shown to users. */
export function isShowableCode(code: string): boolean {
  return /^[A-Za-z0-9-]{4,32}$/.test(code)
}
