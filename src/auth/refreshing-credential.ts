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
  /** Ms; never jumps, may stand still while the machine sleeps. */
  readonly monotonicMs: () => number
  /** 0…1, for jitter. */
  readonly random: () => number
  readonly log: Logger
  /** Called with every credential that is read or received. */
  readonly noteSecrets?: NoteSecrets | undefined
  /** Called with the outcome of each refresh. */
  readonly onRefresh?: ((ok: boolean) => void) | undefined
  /** Called with work that should end before the process does, even if the process is in a hurry. */
  readonly beforeExit?: (work: Promise<void>) => void
}

type FailureState = 'login_required' | 'no_access' | 'rate_limited' | 'unreachable' | 'unreadable'

export interface CredentialStatus {
  /**
   * `starting`: nothing is known yet. `expired`: the next request refreshes the credential. `login_required`: nobody is
   * logged in, or the login was revoked. `unreadable`: the stored login cannot be used.
   */
  readonly state: 'starting' | 'ok' | 'expired' | FailureState
  /** A sentence for a person; no path, no credential. */
  readonly detail: string
  /** The command, page or wait that helps; '' if nothing is wrong. */
  readonly fix: string
}

/** Why a refresh brought no new credential. */
export interface RefreshFailure extends CredentialStatus {
  readonly state: FailureState
  /** The next refresh comes no sooner than this. Infinity: not before the record changes. Ms. */
  readonly retryAfterMs?: number
  /** The attempt used up its time limit: a caller without a credential may try again at once. */
  readonly timedOut?: boolean
}

type RefreshOutcome<Stored> =
  | { readonly kind: 'refreshed'; readonly record: Stored }
  | { readonly kind: 'failed'; readonly failure: RefreshFailure }
  /** The signal was aborted. */
  | { readonly kind: 'aborted' }

/** The credential in use, with the record it comes from and its life by the clocks of this machine. */
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

/** What one provider adds to the machine. The machine holds no host, header or wire format. */
export interface CredentialRules<Stored extends StoredRecord, Credential, Account> {
  /** Changes when somebody logs in, also with the same account. */
  readonly loginKey: (record: Stored) => string
  /** Everything secret in a record. Other secrets than before are news that ends a back-off. */
  readonly secretsOf: (record: Stored) => readonly (string | undefined)[]
  /** The credential to use after `record` was read, while `held` is in use. `random` is 0…1, for jitter. */
  readonly hold: (
    record: Stored,
    held: HeldCredential<Stored, Credential> | undefined,
    at: Moment,
    random: number,
  ) => HeldCredential<Stored, Credential> | undefined
  /** What listeners get; they are called when `key` changes. */
  readonly accountOf: (held: HeldCredential<Stored, Credential>) => { readonly key: string; readonly account: Account }
  /** One request for a new credential. Never throws. `closing` is aborted by `close`. */
  readonly refresh: (record: Stored, closing: AbortSignal) => Promise<RefreshOutcome<Stored>>
  /**
   * For a refresh that spends what the record holds. The record is stored in this form before the refresh; a refresh
   * without a lock is never made.
   */
  readonly begin?: (record: Stored) => Stored
  /** A refresh could end the login, so none is made while the credential works. */
  readonly isRisky?: (record: Stored) => boolean
  /** Whether a refused credential is worth a refresh. `isSettled`: there was one for it already. */
  readonly mayReplace: (
    credential: Credential,
    past: { readonly isSettled: boolean; readonly vainReplacements: number; readonly sinceMs: number },
  ) => boolean
  /** The stored record with the refreshed credential; undefined if the stored record knows better. */
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
    /** For callers whose patience ended before the refresh did. */
    readonly underWay?: { readonly detail: string; readonly fix: string }
    /** For the log. */
    readonly refreshed: string
    readonly notRefreshed: string
    readonly unusable: string
    readonly ended: string
  }
}

/** One login that is kept fresh. */
export interface CredentialSource<Credential, Account> {
  /**
   * A credential that is good now; refreshed first when due. While the old one works, a refresh that takes long is not
   * waited for.
   * @throws Fault `copilot_unavailable` or `codex_unavailable`, `shutting_down`; the signal's reason on abort, which
   * ends this wait only
   */
  readonly get: (signal: AbortSignal) => Promise<Credential>
  /**
   * After upstream refused `rejected`: a different credential, or the same if there is no other. There is at most one
   * refresh for each rejected value.
   * @throws as `get`
   */
  readonly replace: (rejected: string, signal: AbortSignal) => Promise<Credential>
  /**
   * Called when the account has changed, with undefined when nobody is logged in any more. Returns the function that
   * stops listening.
   */
  readonly onChange: (listener: (account: Account | undefined) => void) => () => void
  /** Starts nothing more. Settles when the refresh under way has ended and its record is stored. */
  readonly close: () => Promise<void>
}

export interface RefreshingCredential<Stored, Credential, Account> extends CredentialSource<Credential, Account> {
  /** Makes the credential due now, unless it is quite new. */
  readonly markStale: (value: string) => void
  readonly markAccepted: (value: string) => void
  /** The login has ended: nothing is tried until there is another one. */
  readonly markRevoked: (value: string, detail: string) => void
  /** Why there is no better credential than one that upstream refuses; undefined if refreshing works. */
  readonly refreshFault: () => Fault | undefined
  readonly status: () => CredentialStatus
  readonly held: () => HeldCredential<Stored, Credential> | undefined
  readonly login: () => Stored | undefined
}

/**
 * The clock is read this often: one long timer would stand still while the machine sleeps (caozhiyuan/copilot-api#170).
 */
const TICK_MS = 30_000
/** How long a request waits for a refresh while the old credential still works. */
const PATIENCE_MS = 2_000
/** No two refreshes are closer than this while the credential works. Ms. */
export const MIN_REFRESH_GAP_MS = 5_000
/** A refusal that outlasts a new credential is no news: one refresh a minute is enough to notice its end. */
const STALE_GAP_MS = 60_000
const MAX_BACK_OFF_MS = 60_000
/** After a failure that came at once, so that a busy caller does not hammer a server that is down. Ms. */
const FAST_FAILURE_MS = 1_000
const MAX_RETRY_AFTER_MS = 3600_000

export const RETRY_FIX = 'Check the network connection; it is tried again by itself'

/**
 * Keeps the newest login of a store alive for everybody in this process, and shares it with other processes through the
 * store. Reads the store at once and refreshes if that is due. Does not keep the process alive.
 *
 * A process makes one refresh at a time, under the record's lock; nobody who waits for it can cancel it:
 * 1. the record is read again: another process may have refreshed it;
 * 2. if the refresh spends what the record holds, `rules.begin` is stored, which also shows that the folder can be
 *    written. If not, the refresh is made only if there is nothing else left;
 * 3. the provider is asked;
 * 4. the new record is stored, and only then used. If it cannot be stored, it is used from memory and stored later.
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
  let flight: { readonly work: Promise<void>; readonly startedAtMs: number; readonly isLook: boolean } | undefined
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
  let vainReplacements = 0
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
    // Every request meets this failure: one line is enough. The store itself has logged a file that it cannot read.
    const message = error instanceof Error ? error.message : ''
    const isKnown = message === lastStoreMessage || (error instanceof RecordStoreError && next.state === 'unreadable')
    lastStoreMessage = message
    log[isKnown ? 'debug' : 'warn']({ err: error }, texts.unusable)
  }

  const kill = (value: string): void => {
    deadValue = value
    held = undefined
  }

  /** Once the provider has refused the login too, a rejected credential is of no use any more. */
  const dropIfRefused = (rejected: string | undefined): void => {
    if (rejected !== undefined && isLasting(failure?.state) && held?.credential.value === rejected) kill(rejected)
  }

  /** Follows the stored record: another account, a newer credential from another process, an edit, nothing at all. */
  const follow = (record: Stored | undefined): void => {
    noteSecrets(...secretsOf(record))
    const isOtherLogin = loginKeyOf(record) !== loginKeyOf(login)
    if (isOtherLogin) {
      held = undefined
      deadValue = staleValue = settledRejection = undefined
      lastRefresh = lastReplacement = lastStaleRefresh = undefined
      vainReplacements = 0
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

  /** Whether a refresh now would be in time, and allowed by back-off. `rejected`: the value that upstream refused. */
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
      return rules.mayReplace(credential, { isSettled, vainReplacements, sinceMs: since(lastReplacement) })
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
      // If several could not be stored in a row, the store still holds the record before the first.
      const first = unsaved.get(known.id)
      const message = `${texts.refreshed} could not be stored; it is used from memory and stored later`
      log[first === undefined ? 'warn' : 'debug']({ err: error }, message)
      unsaved.set(known.id, { before: first?.before ?? known, after: record })
    }
    failures = 0
    failure = undefined
    settledRejection = rejected
    if (rejected !== undefined) vainReplacements += 1
    deadValue = staleValue = held = undefined
    follow(record)
  }

  /** @param isLook nobody asked for a credential: a record that is corrupt may be complete in a moment */
  const refresh = async (rejected: string | undefined, isLook: boolean): Promise<void> => {
    try {
      await saveUnsaved()
      const stored = await store.current({ leaveCorrupt: isLook })
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
            // Another process that could not make a lock either would spend the same record.
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

  const startFlight = (rejected: string | undefined, isLook: boolean): Promise<void> => {
    recordsChanged = false
    const work = refresh(rejected, isLook).finally(() => {
      flight = undefined
      if (recordsChanged && !closing.signal.aborted) void startFlight(undefined, true)
    })
    flight = { work, startedAtMs: deps.monotonicMs(), isLook }
    return work
  }

  /** Joins the refresh under way, or starts one. Never rejects. */
  const join = (rejected?: string): Promise<void> => {
    if (flight === undefined) return startFlight(rejected, false)
    if (flight.isLook) return flight.work.then(() => join(rejected))
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
      // A refresh that began before the rejection was known may bring the replacement.
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
      if (credential?.value !== value || vainReplacements === 0) return
      // Not at once: a backend that refuses only some requests would get a refresh for each of them.
      const past = { isSettled: false, vainReplacements, sinceMs: since(lastReplacement) }
      if (rules.mayReplace(credential, past)) vainReplacements = 0
    },
    markRevoked(value, detail) {
      // A credential that has come since then is another login's, or this login's after a refresh.
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

/** The record cannot be read, stored or locked. The error's own message names a path, so it goes to the log only. */
function toStoreFailure(
  error: unknown,
  { busy, unwritable }: { readonly busy: string; readonly unwritable: string },
): RefreshFailure {
  const logFix = 'The log of copilot-proxy names the file and what to do'
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

/** What helps against the system's error; '' for an error that is not the system's. */
function systemAdvice(error: unknown): string {
  const code = error instanceof Error ? errnoOf(error.cause) : ''
  if (code === '') return ''
  const advice = adviceFor(code)
  return `${advice.charAt(0).toUpperCase()}${advice.slice(1)}. `
}
