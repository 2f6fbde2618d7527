import { Fault } from '../../errors.ts'
import type { Logger } from '../../logging/logger.ts'
import { noteNothing, type NoteSecrets } from '../../redaction/known-secrets.ts'
import { RecordStoreError } from '../records/record-fs.ts'
import type { StoredRecord } from '../records/record-kind.ts'
import type { RecordStore } from '../records/record-store.ts'
import { waitFor } from '../shared-fetch.ts'
import type { Moment } from '../token-life.ts'
import {
  endsPauses,
  heldOf,
  historyOf,
  isLasting,
  isNowDue,
  loginOf,
  next,
  retryAfterSecondsOf,
  statusOf,
  usableOf,
  wantsRefresh,
  type CredentialEvent,
  type CredentialState,
  type CredentialStatus,
  type FoundLogin,
  type HeldCredential,
  type RefreshFailure,
  type RefreshRules,
  type StatusTexts,
} from './state.ts'
import { toStoreFailure } from './store-failure.ts'
import { createUnsavedRecords, type UnsavedRecord } from './unsaved-records.ts'

export interface CredentialDeps<Stored extends StoredRecord> {
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

type RefreshOutcome<Stored> =
  | { readonly kind: 'refreshed'; readonly record: Stored }
  | { readonly kind: 'failed'; readonly failure: RefreshFailure }
  /** The signal was aborted. */
  | { readonly kind: 'aborted' }

/** The provider-specific part. The rest of this folder knows no host, header or wire format. */
export interface CredentialRules<
  Stored extends StoredRecord,
  Credential extends { value: string },
  Account,
> extends RefreshRules<HeldCredential<Stored, Credential>> {
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
  /** The stored record with the refreshed credential; undefined if the stored record is newer. */
  readonly withUnsaved: (stored: Stored, unsaved: UnsavedRecord<Stored>) => Stored | undefined
  /** How long a caller without a credential waits for a refresh. Ms; no limit by default. */
  readonly patienceMs?: number
  readonly faultKind: 'codex_unavailable' | 'copilot_unavailable'
  readonly texts: StatusTexts & {
    readonly busy: string
    readonly unwritable: string
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

interface RefreshedCredential<Stored, Credential, Account> extends CredentialSource<Credential, Account> {
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

export const RETRY_FIX = 'For the cause, run: copilot-proxy doctor. copilot-proxy retries automatically'

/**
 * Keeps the newest login of a store valid for all callers in this process, and shares it with other processes through
 * the store. Reads the store at once and refreshes if that is due. Does not keep the process alive.
 *
 * `next` in state.ts decides; this driver has the effects. A process makes one refresh at a time, under the record's
 * lock. No caller that waits for it can cancel it:
 * 1. It reads the record again, because another process may have refreshed it.
 * 2. If the refresh spends a single-use token, it stores `rules.begin`, which also proves that the folder can be
 *    written. If that fails, it continues only if no credential works.
 * 3. It asks the provider.
 * 4. It stores the new record and only then uses it. If the record cannot be stored, it uses the record from memory and
 *    stores it later.
 */
export function createCredential<Stored extends StoredRecord, Credential extends { value: string }, Account>(
  deps: CredentialDeps<Stored>,
  rules: CredentialRules<Stored, Credential, Account>,
): RefreshedCredential<Stored, Credential, Account> {
  type Held = HeldCredential<Stored, Credential>
  const { store, log, noteSecrets = noteNothing } = deps
  const { texts } = rules
  const listeners = new Set<(account: Account | undefined) => void>()
  const closing = new AbortController()
  const unsaved = createUnsavedRecords(store, rules.withUnsaved, log, texts.refreshed)
  let state: CredentialState<Held> = { kind: 'unread', failure: undefined }
  /** '': listeners know that nobody is logged in. */
  let announcedKey: string | undefined
  let flight: { readonly work: Promise<void>; readonly startedAtMs: number; readonly isFromWatch: boolean } | undefined
  let recordsChanged = false
  let lastStoreMessage = ''

  const moment = (): Moment => ({ wallMs: deps.now(), monotonicMs: deps.monotonicMs() })
  const usable = (): Credential | undefined => usableOf(state, moment())
  const apply = (event: CredentialEvent<Held>): void => {
    state = next(state, event)
  }
  const failing = (failure: RefreshFailure) => ({ failure, at: moment(), random: deps.random() })
  const isWanted = (rejected: string | undefined): boolean => wantsRefresh(state, rejected, moment(), rules)

  const find = (record: Stored, isRefreshed: boolean): FoundLogin<Held> => {
    const secrets = rules.secretsOf(record)
    noteSecrets(...secrets)
    const login = { record, key: rules.loginKey(record), secrets: secrets.join('\n') }
    const before = !isRefreshed && loginOf(state)?.key === login.key ? heldOf(state) : undefined
    return { login, held: rules.hold(record, before, moment(), deps.random()) }
  }

  const follow = (record: Stored | undefined): void => {
    apply({ kind: 'read', found: record && find(record, false) })
    announce()
  }

  const announce = (): void => {
    if (state.kind === 'nobody') tell('', undefined)
    if (state.kind !== 'holding' || usable() === undefined) return
    const { key, account } = rules.accountOf(state.held)
    tell(key, account)
  }

  const tell = (key: string, account: Account | undefined): void => {
    if (key === announcedKey) return
    announcedKey = key
    for (const listener of listeners) listener(account)
  }

  const noteStoreFailure = (error: unknown): void => {
    const failure = toStoreFailure(error, texts)
    apply({ kind: 'store_failed', ...failing(failure) })
    // Every request meets this failure, so one line is enough. The store itself has logged a file that it cannot read.
    const message = error instanceof Error ? error.message : ''
    const isKnown =
      message === lastStoreMessage || (error instanceof RecordStoreError && failure.state === 'unreadable')
    lastStoreMessage = message
    log[isKnown ? 'debug' : 'warn']({ err: error }, texts.unusable)
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
        unsaved.isSaved(known.id)
      } catch (error) {
        const current = usable()
        noteStoreFailure(error)
        const isTakenOver = error instanceof RecordStoreError && error.problem === 'lock_lost'
        if (isTakenOver || (current !== undefined && current.value !== rejected)) return
      }
    }
    apply({ kind: 'refresh_began', rejected, at: moment() })
    const outcome = await rules.refresh(known, closing.signal)
    if (outcome.kind === 'aborted') return apply({ kind: 'refresh_aborted' })
    deps.onRefresh?.(outcome.kind === 'refreshed')
    if (outcome.kind === 'failed') {
      apply({ kind: 'refresh_failed', rejected, ...failing(outcome.failure) })
      const { state: failed, detail } = outcome.failure
      log.warn({ state: failed, detail }, texts.notRefreshed)
      return
    }
    const { record } = outcome
    noteSecrets(...rules.secretsOf(record))
    lastStoreMessage = ''
    try {
      await save(record)
      unsaved.isSaved(known.id)
    } catch (error) {
      unsaved.keep({ before: known, after: record }, error)
    }
    apply({ kind: 'refreshed', rejected, found: find(record, true) })
    announce()
  }

  /** @param isFromWatch no caller asked for a credential, so a corrupt record may be left to its writer */
  const refresh = async (rejected: string | undefined, isFromWatch: boolean): Promise<void> => {
    try {
      await unsaved.save()
      const stored = await store.current({ leaveCorrupt: isFromWatch })
      follow(stored === undefined ? undefined : unsaved.newestOf(stored))
      if (rejected !== undefined) apply({ kind: 'rejected', value: rejected })
      const login = loginOf(state)
      if (login === undefined || !isWanted(rejected)) return
      const latest = await store.update(
        login.record.id,
        async (locked, save, noLock) => {
          const known = unsaved.newestOf(locked)
          follow(known)
          if (!isWanted(rejected) || closing.signal.aborted) return undefined
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

  const status = (): CredentialStatus => statusOf(state, moment(), texts)

  const faultOf = ({ state: is, detail, fix }: CredentialStatus): Fault => {
    if (closing.signal.aborted) return new Fault({ kind: 'shutting_down' })
    const wait = isLasting(is) ? {} : { retryAfterSeconds: retryAfterSecondsOf(state, moment()) }
    return new Fault({ kind: rules.faultKind, detail, fix, ...wait })
  }

  const usableOrThrow = (): Credential => {
    const credential = usable()
    if (credential !== undefined) return credential
    throw faultOf(status())
  }

  const timer = setInterval(() => {
    if (usable() === undefined || isNowDue(state, moment()) || unsaved.hasAny()) void join()
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
      if (old !== undefined && !isNowDue(state, moment())) return old
      if (closing.signal.aborted) return usableOrThrow()
      if (old === undefined) await waitFor(join(), signal, rules.patienceMs)
      else if (flight !== undefined || isWanted(undefined)) {
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
      apply({ kind: 'rejected', value: rejected })
      return usableOrThrow()
    },
    markStale: (value) => apply({ kind: 'marked_stale', value }),
    markAccepted(value) {
      if (endsPauses(state, value, moment(), rules)) apply({ kind: 'accepted' })
    },
    markRevoked(value, detail) {
      const before = state
      const failure = { state: 'login_required', detail, fix: texts.loginFix, retryAfterMs: Infinity } as const
      apply({ kind: 'revoked', value, ...failing(failure) })
      if (state !== before) log.warn({ detail }, texts.ended)
    },
    refreshFault() {
      if (closing.signal.aborted) return new Fault({ kind: 'shutting_down' })
      if (historyOf(state).isRefreshing && texts.underWay) return faultOf({ state: 'unreachable', ...texts.underWay })
      return state.failure && faultOf(state.failure)
    },
    status,
    held: () => heldOf(state),
    login: () => loginOf(state)?.record,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      clearInterval(timer)
      unwatch()
      closing.abort()
      await flight?.work
      await unsaved.save()
    },
  }
}
