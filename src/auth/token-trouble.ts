import type { GithubFailure } from './github-failure.ts'
import { keychainDetail, keychainFix } from './keychain.ts'
import { RecordStoreError } from './record-fs.ts'
import type { Moment } from './token-life.ts'

export type TroubleState = 'login_required' | 'no_access' | 'rate_limited' | 'unreachable' | 'unreadable'

/** Why there is no new token, and when to try again. */
export interface TokenTrouble {
  readonly state: TroubleState
  /** A sentence for a person; no path, no credential. */
  readonly detail: string
  readonly fix: string
  readonly at: Moment
  /** Pause before the next exchange while the old token still works. Infinity: not before the record changes. */
  readonly waitMs: number
  /** The same when there is no token to go on with. */
  readonly waitWithoutTokenMs: number
}

/** No two exchanges are closer than this while there is a token that works. Ms. */
export const MIN_EXCHANGE_GAP_MS = 5_000
const MAX_BACK_OFF_MS = 60_000
/** A refusal of the account can end without a new login (a plan was started): look again now and then. */
export const REFUSED_RETRY_MS = 60_000
/** After a failure that came at once, so that a busy caller does not hammer an exchange that is down. */
const FAST_FAILURE_MS = 1_000

const WAIT_FIX = 'Check the network connection; it is tried again by itself'

export interface TroubleContext {
  readonly at: Moment
  /** Exchanges that failed in a row, this one included. */
  readonly failures: number
  /** 0…1. */
  readonly random: number
}

export function toTrouble(failure: Exclude<GithubFailure, { kind: 'aborted' }>, context: TroubleContext): TokenTrouble {
  const { at } = context
  const same = (waitMs: number): Pick<TokenTrouble, 'at' | 'waitMs' | 'waitWithoutTokenMs'> => ({
    at,
    waitMs,
    waitWithoutTokenMs: waitMs,
  })
  switch (failure.kind) {
    case 'bad_credentials':
      return { state: 'login_required', detail: failure.detail, fix: failure.fix, ...same(Infinity) }
    case 'no_access':
    case 'not_available':
      return { state: 'no_access', detail: failure.detail, fix: failure.fix, ...same(REFUSED_RETRY_MS) }
    case 'rate_limited':
      return {
        state: 'rate_limited',
        detail: failure.detail,
        fix: 'Wait; it is tried again by itself',
        ...same(Math.max(MIN_EXCHANGE_GAP_MS, (failure.retryAfterSeconds ?? 60) * 1000)),
      }
    case 'transient':
      // A time limit that has passed was wait enough: the next caller may try at once.
      return {
        ...unreachable(failure.detail, context),
        waitWithoutTokenMs: failure.timedOut ? 0 : FAST_FAILURE_MS,
      }
    case 'redirected':
      return unreachable(failure.detail, context)
  }
}

/** Trouble on this machine: the record cannot be read, or not be locked. The error's own message is for the log. */
export function toLocalTrouble(error: unknown, context: TroubleContext): TokenTrouble {
  const problem = error instanceof RecordStoreError ? error.problem : undefined
  if (problem === 'keychain') return { ...unreachable(keychainDetail, context), state: 'unreadable', fix: keychainFix }
  const fix = 'The log of copilot-proxy names the file and what to do'
  return problem === 'busy'
    ? { ...unreachable('Another copilot-proxy process is refreshing the login and does not finish', context), fix }
    : { ...unreachable('The stored login cannot be read', context), state: 'unreadable', fix }
}

function unreachable(detail: string, context: TroubleContext): TokenTrouble {
  const backOffMs = Math.min(MIN_EXCHANGE_GAP_MS * 2 ** (context.failures - 1), MAX_BACK_OFF_MS)
  return {
    state: 'unreachable',
    detail,
    fix: WAIT_FIX,
    at: context.at,
    waitMs: backOffMs * (1 + context.random / 2),
    waitWithoutTokenMs: FAST_FAILURE_MS,
  }
}
