import { adviceFor, errnoOf, RecordStoreError } from '../record-fs.ts'
import type { Moment } from '../token-life.ts'
import { keychainDetail, keychainFix } from '../keychain.ts'
import type { CodexLoginStatus } from './credentials.ts'
import { codexLoginFix } from './record.ts'

/** Why a login cannot be used or renewed, and when to try again. */
export interface CodexTrouble {
  readonly state: Extract<CodexLoginStatus['state'], 'login_required' | 'unreadable' | 'unreachable'>
  /** A sentence for a person; no path, no credential. */
  readonly detail: string
  readonly fix: string
  readonly at: Moment
  /** Pause before the next try while the old token still works. Infinity: not before the record changes. Ms. */
  readonly waitMs: number
  /** The same when there is no token to go on with. Ms. */
  readonly waitWithoutTokenMs: number
}

/** No two renewals are closer than this while there is a token that works. Ms. */
export const MIN_RENEWAL_GAP_MS = 5_000
const MAX_BACK_OFF_MS = 60_000
/**
 * Between renewals for tokens that upstream refused one after the other, doubling: a backend that refuses everything is
 * not cured by new tokens. Ms.
 */
export const MIN_REPLACEMENT_GAP_MS = 60_000
export const MAX_REPLACEMENT_GAP_MS = 3600_000
/** After a failure that came at once, so that a busy caller does not hammer a login server that is down. Ms. */
const FAST_FAILURE_MS = 1_000

export interface TroubleContext {
  readonly at: Moment
  /** Tries that failed in a row, this one included. */
  readonly failures: number
  /** 0…1. */
  readonly random: number
}

/** The login is dead: nothing is tried until there is another one. */
export function loginEnded(detail: string, at: Moment): CodexTrouble {
  return { state: 'login_required', detail, fix: codexLoginFix, at, waitMs: Infinity, waitWithoutTokenMs: Infinity }
}

export function cannotRenew(
  { detail, retryAfterSeconds = 0 }: { readonly detail: string; readonly retryAfterSeconds?: number },
  { at, failures, random }: TroubleContext,
): CodexTrouble {
  const backOffMs = Math.min(MIN_RENEWAL_GAP_MS * 2 ** (failures - 1), MAX_BACK_OFF_MS) * (1 + random / 2)
  const askedMs = retryAfterSeconds * 1000
  return {
    state: 'unreachable',
    detail,
    fix: 'Check the network connection; it is tried again by itself',
    at,
    waitMs: Math.max(backOffMs, askedMs),
    waitWithoutTokenMs: Math.max(FAST_FAILURE_MS, askedMs),
  }
}

/** Trouble on this machine: the record cannot be read, written or locked. The error's own message is for the log. */
export function storeTrouble(error: unknown, context: TroubleContext): CodexTrouble {
  const fix = 'The log of copilot-proxy names the file and what to do'
  const problem = error instanceof RecordStoreError ? error.problem : 'unreadable'
  switch (problem) {
    case 'busy':
      return {
        ...cannotRenew({ detail: 'Another copilot-proxy process is renewing the login and does not finish' }, context),
        fix,
      }
    case 'unwritable':
    case 'lock_lost':
      return {
        ...cannotRenew({ detail: 'The login cannot be renewed, because it cannot be stored' }, context),
        fix: `${systemAdvice(error)}${fix}`,
      }
    case 'keychain':
      return { ...cannotRenew({ detail: keychainDetail }, context), state: 'unreadable', fix: keychainFix }
    case 'not_a_file':
    case 'not_private':
    case 'unreadable':
      return { ...cannotRenew({ detail: 'The stored login cannot be read' }, context), state: 'unreadable', fix }
  }
}

/** What the system said of the folder, and what helps against it; '' where it said nothing. */
function systemAdvice(error: unknown): string {
  const code = error instanceof Error ? errnoOf(error.cause) : ''
  if (code === '') return ''
  const advice = adviceFor(code)
  return `${advice.charAt(0).toUpperCase()}${advice.slice(1)}. `
}
