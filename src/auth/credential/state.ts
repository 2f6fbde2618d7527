import type { StoredRecord } from '../records/record-kind.ts'
import { elapsedMs, isDue, isExpired, type Moment, type TokenLife } from '../token-life.ts'

/** The shortest time between two refreshes while the credential works. Ms. */
export const MIN_REFRESH_GAP_MS = 5_000
/** Upstream may refuse the new credential too. One refresh a minute is enough to notice when that ends. */
const STALE_GAP_MS = 60_000
const MAX_BACK_OFF_MS = 60_000
/** The wait after a quick failure, so that a busy caller does not flood a server that is down. Ms. */
const FAST_FAILURE_MS = 1_000
const MAX_RETRY_AFTER_MS = 3600_000

type FailureState = 'login_required' | 'no_access' | 'rate_limited' | 'unreachable' | 'unreadable'

export interface CredentialStatus {
  /**
   * `starting`: the store has not been read yet. `expired`: the next request refreshes the credential.
   * `login_required`: nobody is logged in, or the login was revoked. `unreadable`: the stored login cannot be used.
   */
  readonly state: 'starting' | 'ok' | 'expired' | FailureState
  /** A sentence for users, without paths and credentials. */
  readonly detail: string
  /** The command or page that helps, or how long to wait; '' if nothing is wrong. */
  readonly fix: string
}

/** Why a refresh returned no new credential. */
export interface RefreshFailure extends CredentialStatus {
  readonly state: FailureState
  /** The shortest time to the next refresh. Infinity: not before the record changes. Ms. */
  readonly retryAfterMs?: number
  /** The attempt used up its time limit, so a caller without a credential may try again at once. */
  readonly timedOut?: boolean
}

interface LastFailure extends RefreshFailure {
  readonly at: Moment
  /** Failures since the last refresh that succeeded. */
  readonly count: number
  /** The wait before the next refresh, while the credential works. Ms. */
  readonly waitMs: number
  /** The wait for a caller without a credential. Ms. */
  readonly waitWithoutMs: number
}

/** A stored login. */
interface Login<Held extends AnyHeld> {
  readonly record: Held['record']
  /** Changes at every login, also with the same account. */
  readonly key: string
  /** All secrets of the record. If they change, a back-off ends. */
  readonly secrets: string
}

/** The credential in use, the record it comes from, and its lifetime by the clocks of this machine. */
export interface HeldCredential<Stored, Credential> {
  readonly credential: Credential
  readonly record: Stored
  readonly life: TokenLife
}

type AnyHeld = HeldCredential<StoredRecord, { readonly value: string }>

/** The refreshes of one login. */
interface History {
  readonly isRefreshing: boolean
  readonly lastRefresh?: Moment | undefined
  /** The last refresh after a rejection. */
  readonly lastReplacement?: Moment | undefined
  readonly lastStaleRefresh?: Moment | undefined
  /** Refreshes after a rejection since upstream last accepted a credential. */
  readonly replacementsSinceAccepted: number
  /** The rejected value for which a refresh has been made. */
  readonly settledRejection?: string | undefined
  /** Upstream will never accept this value again. */
  readonly deadValue?: string | undefined
}

const noHistory: History = { isRefreshing: false, replacementsSinceAccepted: 0 }

interface WithFailure {
  readonly failure: LastFailure | undefined
}

/** A login, as it was read, with the credential that it gives. */
export interface FoundLogin<Held extends AnyHeld> {
  readonly login: Login<Held>
  readonly held: Held | undefined
}

export type CredentialState<Held extends AnyHeld> =
  /** The store has not been read. */
  | ({ readonly kind: 'unread' } & WithFailure)
  /** Nobody is logged in. */
  | ({ readonly kind: 'nobody' } & WithFailure)
  /** There is a login, whose credential is not known yet, or was refused for good. */
  | ({ readonly kind: 'empty'; readonly login: Login<Held>; readonly history: History } & WithFailure)
  /** There is a credential. The clock decides whether it is due, or has expired. */
  | ({
      readonly kind: 'holding'
      readonly login: Login<Held>
      readonly history: History
      readonly held: Held
      /** Upstream refused something that a new credential may allow. */
      readonly isStale: boolean
    } & WithFailure)

export type CredentialEvent<Held extends AnyHeld> =
  /** The records were read: another account, a newer credential of another process, an edit, or no record at all. */
  | { readonly kind: 'read'; readonly found: FoundLogin<Held> | undefined }
  /** The record cannot be read, stored or locked. */
  | ({ readonly kind: 'store_failed' } & Failing)
  /** `rejected`: the value that upstream refused, if that is the reason for the refresh. */
  | { readonly kind: 'refresh_began'; readonly rejected: string | undefined; readonly at: Moment }
  | {
      readonly kind: 'refreshed'
      readonly rejected: string | undefined
      readonly found: FoundLogin<Held>
    }
  | ({ readonly kind: 'refresh_failed'; readonly rejected: string | undefined } & Failing)
  | { readonly kind: 'refresh_aborted' }
  /** Upstream refused the value. If the provider has refused the login too, the value is useless. */
  | { readonly kind: 'rejected'; readonly value: string }
  /** Upstream accepted a credential, after a pause in which no replacement was made. */
  | { readonly kind: 'accepted' }
  | { readonly kind: 'marked_stale'; readonly value: string }
  /** Upstream says that the login has ended. */
  | ({ readonly kind: 'revoked'; readonly value: string } & Failing)

interface Failing {
  readonly failure: RefreshFailure
  readonly at: Moment
  /** 0…1, for jitter. */
  readonly random: number
}

/** The state after an event. Has no effects: the driver reads the records and asks the provider. */
export function next<Held extends AnyHeld>(
  state: CredentialState<Held>,
  event: CredentialEvent<Held>,
): CredentialState<Held> {
  switch (event.kind) {
    case 'read':
      return afterRead(state, event.found)
    case 'store_failed':
      return state.failure?.state === 'login_required' ? state : withFailure(state, event)
    case 'refresh_began': {
      const isStale = state.kind === 'holding' && state.isStale
      return withHistory(state, {
        isRefreshing: true,
        lastRefresh: event.at,
        ...(event.rejected !== undefined && { lastReplacement: event.at }),
        ...(isStale && { lastStaleRefresh: event.at }),
      })
    }
    case 'refreshed': {
      const { found, rejected } = event
      const { replacementsSinceAccepted: before } = historyOf(state)
      const history = {
        ...historyOf(state),
        isRefreshing: false,
        replacementsSinceAccepted: before + (rejected === undefined ? 0 : 1),
        settledRejection: rejected,
        deadValue: undefined,
      }
      return withLogin({ ...found, history, isStale: false, failure: undefined })
    }
    case 'refresh_failed':
      return withoutRefused(withHistory(withFailure(state, event), { isRefreshing: false }), event.rejected)
    case 'refresh_aborted':
      return withHistory(state, { isRefreshing: false })
    case 'rejected':
      return withoutRefused(state, event.value)
    case 'accepted':
      return withHistory(state, { replacementsSinceAccepted: 0 })
    case 'marked_stale':
      return isHolding(state, event.value) ? { ...state, isStale: true } : state
    case 'revoked':
      // Only the credential that was refused is revoked. A newer one comes from a refresh or from another login.
      return isHolding(state, event.value) ? withoutRefused(withFailure(state, event), event.value) : state
  }
}

function afterRead<Held extends AnyHeld>(
  state: CredentialState<Held>,
  found: FoundLogin<Held> | undefined,
): CredentialState<Held> {
  const known = loginOf(state)
  const isSameLogin = known?.key === found?.login.key
  const isUnchanged = isSameLogin && known?.secrets === found?.login.secrets
  const failure = isUnchanged && state.failure?.state !== 'unreadable' ? state.failure : undefined
  if (found === undefined) return { kind: 'nobody', failure }
  const history = isSameLogin ? historyOf(state) : noHistory
  const value = found.held?.credential.value
  const isStale = isSameLogin && state.kind === 'holding' && state.isStale && state.held.credential.value === value
  return withLogin({ ...found, history, isStale, failure })
}

function withLogin<Held extends AnyHeld>(
  to: FoundLogin<Held> & WithFailure & { readonly history: History; readonly isStale: boolean },
): CredentialState<Held> {
  const { login, held, history, isStale, failure } = to
  return held === undefined || held.credential.value === history.deadValue
    ? { kind: 'empty', login, history, failure }
    : { kind: 'holding', login, held, history, isStale, failure }
}

function withHistory<Held extends AnyHeld>(
  state: CredentialState<Held>,
  changes: Partial<History>,
): CredentialState<Held> {
  switch (state.kind) {
    case 'unread':
    case 'nobody':
      return state
    case 'empty':
    case 'holding':
      return { ...state, history: { ...state.history, ...changes } }
  }
}

function withFailure<State extends WithFailure>(state: State, { failure, at, random }: Failing): State {
  const count = (state.failure?.count ?? 0) + 1
  const backOffMs = Math.min(MIN_REFRESH_GAP_MS * 2 ** (count - 1), MAX_BACK_OFF_MS) * (1 + random / 2)
  const { retryAfterMs = 0, timedOut = false } = failure
  const waitMs = Math.max(backOffMs, retryAfterMs)
  const waitWithoutMs = Math.max(timedOut ? 0 : FAST_FAILURE_MS, retryAfterMs)
  return { ...state, failure: { ...failure, at, count, waitMs, waitWithoutMs } }
}

/** Drops the refused value if the provider has refused the login too. */
function withoutRefused<Held extends AnyHeld>(
  state: CredentialState<Held>,
  value: string | undefined,
): CredentialState<Held> {
  if (value === undefined || !isHolding(state, value) || !isLasting(state.failure?.state)) return state
  const { login, history, failure } = state
  return { kind: 'empty', login, history: { ...history, deadValue: value }, failure }
}

function isHolding<Held extends AnyHeld>(
  state: CredentialState<Held>,
  value: string,
): state is Extract<CredentialState<Held>, { kind: 'holding' }> {
  return state.kind === 'holding' && state.held.credential.value === value
}

export function loginOf<Held extends AnyHeld>(state: CredentialState<Held>): Login<Held> | undefined {
  return 'login' in state ? state.login : undefined
}

export function historyOf(state: CredentialState<AnyHeld>): History {
  return 'history' in state ? state.history : noHistory
}

export function heldOf<Held extends AnyHeld>(state: CredentialState<Held>): Held | undefined {
  return state.kind === 'holding' ? state.held : undefined
}

/** The credential that works at this moment. */
export function usableOf<Held extends AnyHeld>(
  state: CredentialState<Held>,
  at: Moment,
): Held['credential'] | undefined {
  return state.kind === 'holding' && !isExpired(state.held.life, at) ? state.held.credential : undefined
}

/** Whether a credential should be fetched, whether or not a back-off allows it. */
export function isNowDue(state: CredentialState<AnyHeld>, at: Moment): boolean {
  return state.kind !== 'holding' || state.isStale || isDue(state.held.life, at)
}

/** The provider's rules for a refresh that nothing but upstream's refusal, or a due credential, asks for. */
export interface RefreshRules<Held extends AnyHeld> {
  /** Whether a refresh could end the login. Then none is made while the credential works. */
  readonly isRisky?: (record: Held['record']) => boolean
  /** Whether to refresh a rejected credential. `isSettled`: a refresh was already made for it. */
  readonly mayReplace: (
    credential: Held['credential'],
    past: { readonly isSettled: boolean; readonly replacementsSinceAccepted: number; readonly sinceMs: number },
  ) => boolean
}

/** Whether a refresh is due and the back-off allows it. `rejected`: the value that upstream refused. */
export function wantsRefresh<Held extends AnyHeld>(
  state: CredentialState<Held>,
  rejected: string | undefined,
  at: Moment,
  rules: RefreshRules<Held>,
): boolean {
  const login = loginOf(state)
  if (login === undefined) return false
  const credential = usableOf(state, at)
  const isRefused = credential !== undefined && credential.value === rejected
  const { failure } = state
  if (failure !== undefined) {
    const waitMs = credential === undefined || isRefused ? failure.waitWithoutMs : failure.waitMs
    if (elapsedMs(failure.at, at) < waitMs) return false
  }
  if (state.kind !== 'holding' || credential === undefined) return true
  const { history, held, isStale } = state
  if (isRefused) return mayReplace(state, credential, at, rules, history.settledRejection === rejected)
  if (since(history.lastRefresh, at) < MIN_REFRESH_GAP_MS) return false
  if (isDue(held.life, at)) return rules.isRisky?.(login.record) !== true
  return isStale && since(history.lastStaleRefresh, at) >= STALE_GAP_MS
}

/**
 * Whether an accepted value ends the pauses between replacements. It does not at once: a backend that refuses only some
 * requests would get a refresh for each of them.
 */
export function endsPauses<Held extends AnyHeld>(
  state: CredentialState<Held>,
  accepted: string,
  at: Moment,
  rules: RefreshRules<Held>,
): boolean {
  if (!isHolding(state, accepted) || state.history.replacementsSinceAccepted === 0) return false
  return mayReplace(state, state.held.credential, at, rules, false)
}

function mayReplace<Held extends AnyHeld>(
  state: CredentialState<Held>,
  credential: Held['credential'],
  at: Moment,
  rules: RefreshRules<Held>,
  isSettled: boolean,
): boolean {
  const { replacementsSinceAccepted, lastReplacement } = historyOf(state)
  return rules.mayReplace(credential, { isSettled, replacementsSinceAccepted, sinceMs: since(lastReplacement, at) })
}

function since(then: Moment | undefined, at: Moment): number {
  return then === undefined ? Infinity : elapsedMs(then, at)
}

/** A failure that ends only when the user does something. */
export function isLasting(state: CredentialStatus['state'] | undefined): boolean {
  return state === 'login_required' || state === 'no_access'
}

/** When a caller without a credential should ask again. Whole seconds, at least 1. */
export function retryAfterSecondsOf({ failure }: WithFailure, at: Moment): number {
  const leftMs = failure === undefined ? 0 : failure.waitWithoutMs - elapsedMs(failure.at, at)
  return Math.max(1, Math.ceil(Math.min(leftMs, MAX_RETRY_AFTER_MS) / 1000))
}

/** Messages for the states in which nothing has failed. */
export interface StatusTexts {
  readonly nobody: string
  readonly loginFix: string
  readonly starting: string
  readonly expired: string
  /** For callers whose patience ended before the refresh did. */
  readonly underWay?: { readonly detail: string; readonly fix: string }
}

export function statusOf(state: CredentialState<AnyHeld>, at: Moment, texts: StatusTexts): CredentialStatus {
  const { failure } = state
  if (usableOf(state, at) !== undefined) return { state: 'ok', detail: failure?.detail ?? 'Logged in', fix: '' }
  if (historyOf(state).isRefreshing && texts.underWay !== undefined) return { state: 'unreachable', ...texts.underWay }
  if (failure !== undefined) return { state: failure.state, detail: failure.detail, fix: failure.fix }
  switch (state.kind) {
    case 'unread':
    case 'empty':
      return { state: 'starting', detail: texts.starting, fix: '' }
    case 'nobody':
      return { state: 'login_required', detail: texts.nobody, fix: texts.loginFix }
    case 'holding':
      return { state: 'expired', detail: texts.expired, fix: '' }
  }
}
