import { Fault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import { noteNothing, type NoteSecrets } from '../redaction/known-secrets.ts'
import { keychainDetail, keychainFix } from './records/keychain.ts'
import type { StoredRecord } from './records/record-kind.ts'
import { adviceFor, errnoOf, RecordStoreError } from './records/record-fs.ts'
import type { RecordStore } from './records/record-store.ts'
import { elapsedMs, isDue, isExpired, type Moment, type TokenLife } from './token-life.ts'
import { waitFor } from './shared-fetch.ts'

export interface RefreshDeps<Stored extends StoredRecord> {
  readonly store: RecordStore<Stored>
  readonly fetch: typeof globalThis.fetch
  /** Ms since epoch. */
  readonly now: () => number
  /** Ms. Never jumps, and may stop while the machine sleeps. */
  readonly monotonicMs: () => number
  /** 0…1, for jitter. */
  readonly random: () => number
  readonly log: Logger
  /** Called with every credential that is read or received. */
  readonly noteSecrets?: NoteSecrets | undefined
  /** Called with the outcome of each refresh. */
  readonly onRefresh?: ((ok: boolean) => void) | undefined
  /** Called with work that must end before the process exits, because its result exists nowhere else. */
  readonly beforeExit?: (work: Promise<void>) => void
}

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

type RefreshOutcome<Stored> =
  | { readonly kind: 'refreshed'; readonly record: Stored }
  | { readonly kind: 'failed'; readonly failure: RefreshFailure }
  /** The signal was aborted. */
  | { readonly kind: 'aborted' }

/** The credential in use, the record it comes from, and its lifetime by the clocks of this machine. */
export interface HeldCredential<Stored, Credential> {
  readonly credential: Credential
  readonly record: Stored
  readonly life: TokenLife
}

/** A refreshed record that could not be stored, and the record that was refreshed. */
export interface UnsavedRecord<Stored> {
  readonly before: Stored
  readonly after: Stored
}

/** The provider-specific part. The rest of this module knows no host, header or wire format. */
export interface CredentialRules<Stored extends StoredRecord, Credential, Account> {
  /** Changes at every login, also with the same account. */
  readonly loginKey: (record: Stored) => string
  /** All secrets of a record. If they change, a back-off ends. */
  readonly secretsOf: (record: Stored) => readonly (string | undefined)[]
  /** Returns the credential to use after `record` was read, while `held` is in use. `random` is 0…1, for jitter. */
  readonly hold: (
    record: Stored,
    held: HeldCredential<Stored, Credential> | undefined,
    at: Moment,
    random: number,
  ) => HeldCredential<Stored, Credential> | undefined
  /** The value for listeners, which are called when `key` changes. */
  readonly accountOf: (held: HeldCredential<Stored, Credential>) => { readonly key: string; readonly account: Account }
  /** Requests a new credential once. Never throws. `close` aborts `closing`. */
  readonly refresh: (record: Stored, closing: AbortSignal) => Promise<RefreshOutcome<Stored>>
  /**
   * For a refresh that spends a single-use token of the record. The record is stored in the returned form before the
   * refresh. Without a lock, no such refresh is made.
   */
  readonly begin?: (record: Stored) => Stored
  /** Whether a refresh could end the login. Then none is made while the credential works. */
  readonly isRisky?: (record: Stored) => boolean
  /** Whether to refresh a rejected credential. `isSettled`: a refresh was already made for it. */
  readonly mayReplace: (
    credential: Credential,
    past: { readonly isSettled: boolean; readonly replacementsSinceAccepted: number; readonly sinceMs: number },
  ) => boolean
  /** The stored record with the refreshed credential; undefined if the stored record is newer. */
  readonly withUnsaved: (stored: Stored, unsaved: UnsavedRecord<Stored>) => Stored | undefined
  /** How long a caller without a credential waits for a refresh. Ms; no limit by default. */
  readonly patienceMs?: number
  readonly faultKind: 'codex_unavailable' | 'copilot_unavailable'
  readonly texts: {
    readonly nobody: string
    readonly loginFix: string
    readonly starting: string
    readonly expired: string
    readonly busy: string
    readonly unwritable: string
    /** For callers whose `patienceMs` ended before the refresh did. */
    readonly underWay?: { readonly detail: string; readonly fix: string }
    /** For the log. */
    readonly refreshed: string
    readonly notRefreshed: string
    readonly unusable: string
    readonly ended: string
  }
}

/** A login whose credential is refreshed when needed. */
export interface CredentialSource<Credential, Account> {
  /**
   * Returns a credential that is valid now, after a refresh if one is due. While the old credential works, it does not
   * wait for a slow refresh.
   * @throws Fault `copilot_unavailable` or `codex_unavailable`, `shutting_down`; the signal's reason on abort, which
   * ends this wait only
   */
  readonly get: (signal: AbortSignal) => Promise<Credential>
  /**
   * Call when upstream refused `rejected`. Returns a different credential, or the same if there is no other. Makes at
   * most one refresh for each rejected value.
   * @throws as `get`
   */
  readonly replace: (rejected: string, signal: AbortSignal) => Promise<Credential>
  /**
   * Called when the account changes, with undefined when nobody is logged in any more. Returns the function that stops
   * listening.
   */
  readonly onChange: (listener: (account: Account | undefined) => void) => () => void
  /** Starts no further refresh. Settles when the refresh under way has ended and its record is stored. */
  readonly close: () => Promise<void>
}

export interface RefreshingCredential<Stored, Credential, Account> extends CredentialSource<Credential, Account> {
  /** Makes the credential due now. Such refreshes are at least a minute apart. */
  readonly markStale: (value: string) => void
  readonly markAccepted: (value: string) => void
  /** Call when the login has ended. No refresh is made until there is another login. */
  readonly markRevoked: (value: string, detail: string) => void
  /** Why a rejected credential cannot be replaced; undefined if refreshing works. */
  readonly refreshFault: () => Fault | undefined
  readonly status: () => CredentialStatus
  readonly held: () => HeldCredential<Stored, Credential> | undefined
  readonly login: () => Stored | undefined
}

/** Interval for checking the clock. One long timer would stop while the machine sleeps (caozhiyuan/copilot-api#170). */
const TICK_MS = 30_000
/** How long a request waits for a refresh while the old credential still works. */
const PATIENCE_MS = 2_000
/** The shortest time between two refreshes while the credential works. Ms. */
export const MIN_REFRESH_GAP_MS = 5_000
/** Upstream may refuse the new credential too. One refresh a minute is enough to notice when that ends. */
const STALE_GAP_MS = 60_000
const MAX_BACK_OFF_MS = 60_000
/** The wait after a quick failure, so that a busy caller does not flood a server that is down. Ms. */
const FAST_FAILURE_MS = 1_000
const MAX_RETRY_AFTER_MS = 3600_000

export const RETRY_FIX = 'For the cause, run: copilot-proxy doctor. copilot-proxy retries automatically'

/**
 * Keeps the newest login of a store valid for all callers in this process, and shares it with other processes through
 * the store. Reads the store at once and refreshes if that is due. Does not keep the process alive.
 *
 * A process makes one refresh at a time, under the record's lock. No caller that waits for it can cancel it:
 * 1. It reads the record again, because another process may have refreshed it.
 * 2. If the refresh spends a single-use token, it stores `rules.begin`, which also proves that the folder can be
 *    written. If that fails, it continues only if no credential works.
 * 3. It asks the provider.
 * 4. It stores the new record and only then uses it. If the record cannot be stored, it uses the record from memory and
 *    stores it later.
 */
export function createRefreshingCredential<Stored extends StoredRecord, Credential extends { value: string }, Account>(
  deps: RefreshDeps<Stored>,
  rules: CredentialRules<Stored, Credential, Account>,
): RefreshingCredential<Stored, Credential, Account> {
  const { store, log, noteSecrets = noteNothing } = deps
  const { texts } = rules
  const listeners = new Set<(account: Account | undefined) => void>()
  const closing = new AbortController()
  const unsaved = new Map<string, UnsavedRecord<Stored>>()
  let flight: { readonly work: Promise<void>; readonly startedAtMs: number; readonly isFromWatch: boolean } | undefined
  let recordsChanged = false
  let refreshing = false

  let loaded = false
  let login: Stored | undefined
  let held: HeldCredential<Stored, Credential> | undefined
  let announcedKey: string | undefined
  let failure: (RefreshFailure & { readonly at: Moment; waitMs: number; waitWithoutMs: number }) | undefined
  let failures = 0
  let lastStoreMessage = ''
  let lastRefresh: Moment | undefined
  let lastReplacement: Moment | undefined
  let lastStaleRefresh: Moment | undefined
  /** Refreshes after a rejection since upstream last accepted a credential. */
  let replacementsSinceAccepted = 0
  /** The rejected value for which a refresh has been made. */
  let settledRejection: string | undefined
  let staleValue: string | undefined
  /** Upstream will never accept this value again. */
  let deadValue: string | undefined

  const moment = (): Moment => ({ wallMs: deps.now(), monotonicMs: deps.monotonicMs() })
  const since = (then: Moment | undefined): number => (then === undefined ? Infinity : elapsedMs(then, moment()))
  const usable = (): Credential | undefined =>
    held === undefined || isExpired(held.life, moment()) ? undefined : held.credential
  const isStale = (): boolean => held !== undefined && held.credential.value === staleValue
  const isNowDue = (): boolean => held === undefined || isDue(held.life, moment()) || isStale()

  const fail = (next: RefreshFailure): void => {
    failures += 1
    const backOffMs = Math.min(MIN_REFRESH_GAP_MS * 2 ** (failures - 1), MAX_BACK_OFF_MS) * (1 + deps.random() / 2)
    const { retryAfterMs = 0, timedOut = false } = next
    const waitMs = Math.max(backOffMs, retryAfterMs)
    const waitWithoutMs = Math.max(timedOut ? 0 : FAST_FAILURE_MS, retryAfterMs)
    failure = { ...next, at: moment(), waitMs, waitWithoutMs }
  }

  const noteStoreFailure = (error: unknown): void => {
    const next = toStoreFailure(error, texts)
    if (failure?.state !== 'login_required') fail(next)
    // Every request meets this failure, so one line is enough. The store itself has logged a file that it cannot read.
    const message = error instanceof Error ? error.message : ''
    const isKnown = message === lastStoreMessage || (error instanceof RecordStoreError && next.state === 'unreadable')
    lastStoreMessage = message
    log[isKnown ? 'debug' : 'warn']({ err: error }, texts.unusable)
  }

  const kill = (value: string): void => {
    deadValue = value
    held = undefined
  }

  /** Once the provider has refused the login too, a rejected credential is useless. */
  const dropIfRefused = (rejected: string | undefined): void => {
    if (rejected !== undefined && isLasting(failure?.state) && held?.credential.value === rejected) kill(rejected)
  }

  /**
   * Adopts the stored record: another account, a newer credential from another process, an edit, or no record at all.
   */
  const follow = (record: Stored | undefined): void => {
    noteSecrets(...secretsOf(record))
    const isOtherLogin = loginKeyOf(record) !== loginKeyOf(login)
    if (isOtherLogin) {
      held = undefined
      deadValue = staleValue = settledRejection = undefined
      lastRefresh = lastReplacement = lastStaleRefresh = undefined
      replacementsSinceAccepted = 0
    }
    if (isOtherLogin || secretsOf(record).join('\n') !== secretsOf(login).join('\n')) {
      failure = undefined
      failures = 0
    }
    if (failure?.state === 'unreadable') failure = undefined
    const isNews = !loaded || announcedKey !== undefined
    loaded = true
    login = record
    if (record === undefined) {
      announcedKey = undefined
      if (isNews) announce(undefined)
      return
    }
    const next = rules.hold(record, held, moment(), deps.random())
    held = next?.credential.value === deadValue ? undefined : next
    if (held === undefined || usable() === undefined) return
    const { key, account } = rules.accountOf(held)
    if (key === announcedKey) return
    announcedKey = key
    announce(account)
  }

  const announce = (account: Account | undefined): void => {
    for (const listener of listeners) listener(account)
  }
  const secretsOf = (record: Stored | undefined): readonly (string | undefined)[] =>
    record === undefined ? [] : rules.secretsOf(record)
  const loginKeyOf = (record: Stored | undefined): string => (record === undefined ? '' : rules.loginKey(record))

  /** Whether a refresh is due and the back-off allows it. `rejected`: the value that upstream refused. */
  const wantsRefresh = (rejected: string | undefined): boolean => {
    if (login === undefined) return false
    const credential = usable()
    const isRefused = credential !== undefined && credential.value === rejected
    if (failure !== undefined) {
      const waitMs = credential === undefined || isRefused ? failure.waitWithoutMs : failure.waitMs
      if (since(failure.at) < waitMs) return false
    }
    if (credential === undefined || held === undefined) return true
    if (isRefused) {
      const isSettled = settledRejection === rejected
      return rules.mayReplace(credential, { isSettled, replacementsSinceAccepted, sinceMs: since(lastReplacement) })
    }
    if (since(lastRefresh) < MIN_REFRESH_GAP_MS) return false
    if (isDue(held.life, moment())) return rules.isRisky?.(login) !== true
    return isStale() && since(lastStaleRefresh) >= STALE_GAP_MS
  }

  const overlaid = (stored: Stored): Stored => {
    const waiting = unsaved.get(stored.id)
    if (waiting === undefined) return stored
    const newer = rules.withUnsaved(stored, waiting)
    if (newer === undefined) unsaved.delete(stored.id)
    return newer ?? stored
  }

  /** Never rejects. */
  const saveUnsaved = async (): Promise<void> => {
    for (const id of unsaved.keys()) {
      try {
        await store.update(id, (stored) => {
          const newer = overlaid(stored)
          return newer === stored ? undefined : newer
        })
        if (unsaved.delete(id)) log.info({ recordId: id }, `${texts.refreshed} is stored now`)
      } catch (error) {
        log.debug({ err: error, recordId: id }, `${texts.refreshed} still cannot be stored`)
      }
    }
  }

  /** Steps 2 to 4. `save` stores a record under the lock that is held. */
  const refreshLocked = async (
    known: Stored,
    rejected: string | undefined,
    save: (record: Stored) => Promise<void>,
  ): Promise<void> => {
    if (rules.begin !== undefined) {
      try {
        await save(rules.begin(known))
        unsaved.delete(known.id)
      } catch (error) {
        const current = usable()
        noteStoreFailure(error)
        const isTakenOver = error instanceof RecordStoreError && error.problem === 'lock_lost'
        if (isTakenOver || (current !== undefined && current.value !== rejected)) return
      }
    }
    lastRefresh = moment()
    if (rejected !== undefined) lastReplacement = lastRefresh
    if (isStale()) lastStaleRefresh = lastRefresh
    refreshing = true
    const outcome = await rules.refresh(known, closing.signal)
    refreshing = false
    if (outcome.kind === 'aborted') return
    deps.onRefresh?.(outcome.kind === 'refreshed')
    if (outcome.kind === 'failed') {
      const { state, detail } = outcome.failure
      fail(outcome.failure)
      dropIfRefused(rejected)
      log.warn({ state, detail }, texts.notRefreshed)
      return
    }
    const { record } = outcome
    noteSecrets(...rules.secretsOf(record))
    lastStoreMessage = ''
    try {
      await save(record)
      unsaved.delete(known.id)
    } catch (error) {
      // If several refreshes in a row could not be stored, the store still holds the record from before the first.
      const first = unsaved.get(known.id)
      const message = `${texts.refreshed} could not be stored; it is used from memory and stored later`
      log[first === undefined ? 'warn' : 'debug']({ err: error }, message)
      unsaved.set(known.id, { before: first?.before ?? known, after: record })
    }
    failures = 0
    failure = undefined
    settledRejection = rejected
    if (rejected !== undefined) replacementsSinceAccepted += 1
    deadValue = staleValue = held = undefined
    follow(record)
  }

  /** @param isFromWatch no caller asked for a credential, so a corrupt record may be left to its writer */
  const refresh = async (rejected: string | undefined, isFromWatch: boolean): Promise<void> => {
    try {
      await saveUnsaved()
      const stored = await store.current({ leaveCorrupt: isFromWatch })
      follow(stored === undefined ? undefined : overlaid(stored))
      dropIfRefused(rejected)
      if (login === undefined || !wantsRefresh(rejected)) return
      const latest = await store.update(
        login.id,
        async (locked, save, noLock) => {
          const known = overlaid(locked)
          follow(known)
          if (!wantsRefresh(rejected) || closing.signal.aborted) return undefined
          if (noLock !== undefined && rules.begin !== undefined) {
            // Another process that could not get a lock either would spend the same token.
            noteStoreFailure(noLock)
          } else {
            if (flight !== undefined) deps.beforeExit?.(flight.work)
            await refreshLocked(known, rejected, save)
          }
          return undefined
        },
        { signal: closing.signal },
      )
      if (latest === undefined) follow(undefined)
    } catch (error) {
      if (!closing.signal.aborted) noteStoreFailure(error)
    }
  }

  const startFlight = (rejected: string | undefined, isFromWatch: boolean): Promise<void> => {
    recordsChanged = false
    const work = refresh(rejected, isFromWatch).finally(() => {
      flight = undefined
      if (recordsChanged && !closing.signal.aborted) void startFlight(undefined, true)
    })
    flight = { work, startedAtMs: deps.monotonicMs(), isFromWatch }
    return work
  }

  /** Joins the refresh under way, or starts one. Never rejects. */
  const join = (rejected?: string): Promise<void> => {
    if (flight === undefined) return startFlight(rejected, false)
    if (flight.isFromWatch) return flight.work.then(() => join(rejected))
    return flight.work
  }

  const faultOf = ({ state, detail, fix }: CredentialStatus): Fault => {
    if (closing.signal.aborted) return new Fault({ kind: 'shutting_down' })
    const leftMs = failure === undefined ? 0 : failure.waitWithoutMs - since(failure.at)
    const retryAfterSeconds = Math.max(1, Math.ceil(Math.min(leftMs, MAX_RETRY_AFTER_MS) / 1000))
    return new Fault({ kind: rules.faultKind, detail, fix, ...(!isLasting(state) && { retryAfterSeconds }) })
  }

  const status = (): CredentialStatus => {
    if (usable() !== undefined) return { state: 'ok', detail: failure?.detail ?? 'Logged in', fix: '' }
    if (refreshing && texts.underWay !== undefined) return { state: 'unreachable', ...texts.underWay }
    if (failure !== undefined) return { state: failure.state, detail: failure.detail, fix: failure.fix }
    if (loaded && login === undefined) return { state: 'login_required', detail: texts.nobody, fix: texts.loginFix }
    return held === undefined
      ? { state: 'starting', detail: texts.starting, fix: '' }
      : { state: 'expired', detail: texts.expired, fix: '' }
  }

  const usableOrThrow = (): Credential => {
    const credential = usable()
    if (credential !== undefined) return credential
    throw faultOf(status())
  }

  const timer = setInterval(() => {
    if (usable() === undefined || isNowDue() || unsaved.size > 0) void join()
  }, TICK_MS)
  timer.unref()
  const unwatch = store.watch(() => {
    recordsChanged = true
    if (flight === undefined) void startFlight(undefined, true)
  })
  void join()

  return {
    async get(signal) {
      signal.throwIfAborted()
      const old = usable()
      if (old !== undefined && !isNowDue()) return old
      if (closing.signal.aborted) return usableOrThrow()
      if (old === undefined) await waitFor(join(), signal, rules.patienceMs)
      else if (flight !== undefined || wantsRefresh(undefined)) {
        const startedAtMs = flight?.startedAtMs ?? deps.monotonicMs()
        const leftMs = startedAtMs + PATIENCE_MS - deps.monotonicMs()
        const work = join()
        if (leftMs > 0) await waitFor(work, signal, leftMs)
      }
      return usableOrThrow()
    },
    async replace(rejected, signal) {
      signal.throwIfAborted()
      const { patienceMs } = rules
      const startedAtMs = deps.monotonicMs()
      const leftMs = (): number | undefined =>
        patienceMs === undefined ? undefined : Math.max(0, startedAtMs + patienceMs - deps.monotonicMs())
      // A refresh that began before the rejection may bring the replacement.
      if (flight !== undefined) await waitFor(flight.work, signal, leftMs())
      const other = usable()
      if (other !== undefined && other.value !== rejected) return other
      if (!closing.signal.aborted) await waitFor(join(rejected), signal, leftMs())
      dropIfRefused(rejected)
      return usableOrThrow()
    },
    markStale(value) {
      if (held?.credential.value === value) staleValue = value
    },
    markAccepted(value) {
      const credential = held?.credential
      if (credential?.value !== value || replacementsSinceAccepted === 0) return
      // Do not reset at once: a backend that refuses only some requests would get a refresh for each of them.
      const past = { isSettled: false, replacementsSinceAccepted, sinceMs: since(lastReplacement) }
      if (rules.mayReplace(credential, past)) replacementsSinceAccepted = 0
    },
    markRevoked(value, detail) {
      // A newer credential belongs to another login, or to this login after a refresh.
      if (held?.credential.value !== value) return
      fail({ state: 'login_required', detail, fix: texts.loginFix, retryAfterMs: Infinity })
      kill(value)
      log.warn({ detail }, texts.ended)
    },
    refreshFault() {
      if (closing.signal.aborted) return new Fault({ kind: 'shutting_down' })
      if (refreshing && texts.underWay !== undefined) return faultOf({ state: 'unreachable', ...texts.underWay })
      return failure && faultOf(failure)
    },
    status,
    held: () => held,
    login: () => login,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      clearInterval(timer)
      unwatch()
      closing.abort()
      await flight?.work
      await saveUnsaved()
    },
  }
}

function isLasting(state: CredentialStatus['state'] | undefined): boolean {
  return state === 'login_required' || state === 'no_access'
}

/** The record cannot be read, stored or locked. The error's own message contains a path, so it goes to the log only. */
function toStoreFailure(
  error: unknown,
  { busy, unwritable }: { readonly busy: string; readonly unwritable: string },
): RefreshFailure {
  const logFix = 'The log of copilot-proxy names the file and the fix'
  const problem = error instanceof RecordStoreError ? error.problem : 'unreadable'
  switch (problem) {
    case 'busy':
      return { state: 'unreachable', detail: busy, fix: logFix }
    case 'unwritable':
    case 'lock_lost':
      return { state: 'unreachable', detail: unwritable, fix: `${systemAdvice(error)}${logFix}` }
    case 'keychain':
      return { state: 'unreadable', detail: keychainDetail, fix: keychainFix }
    case 'not_a_file':
    case 'not_private':
    case 'unreadable':
      return { state: 'unreadable', detail: 'The stored login cannot be read', fix: logFix }
  }
}

/** Advice against the system's error; '' for any other error. */
function systemAdvice(error: unknown): string {
  const code = error instanceof Error ? errnoOf(error.cause) : ''
  if (code === '') return ''
  const advice = adviceFor(code)
  return `${advice.charAt(0).toUpperCase()}${advice.slice(1)}. `
}
