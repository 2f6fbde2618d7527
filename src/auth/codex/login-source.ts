import { Fault } from '../../errors.ts'
import { waitFor } from '../../wait-for.ts'
import { RecordStoreError } from '../record-fs.ts'
import type { RecordStore } from '../record-store.ts'
import type { CodexAccount, CodexCredential, CodexCredentialSource } from './credentials.ts'
import { withRenewalBegun, type CodexRecord } from './record.ts'
import { createCodexTokenKeeper, type CodexKeeperDeps, type CodexKeeperOptions } from './token-keeper.ts'
import { createUnsavedRenewals } from './unsaved-renewals.ts'

export interface CodexLoginDeps extends CodexKeeperDeps {
  readonly store: RecordStore<CodexRecord>
  /** Told of what should end before the process does, also when it is in a hurry. */
  readonly beforeExit?: (work: Promise<void>) => void
}

export type CodexLoginOptions = CodexKeeperOptions

/** The clock is looked at this often: one long timer would stand still while the machine sleeps. */
const TICK_MS = 30_000
/** How long a request waits for a renewal while the old token still works. */
const PATIENCE_MS = 2_000
/** The same when there is no token to go on with. The renewal itself is listened for longer: its answer comes once. */
const PATIENCE_WITHOUT_TOKEN_MS = 20_000

/**
 * Keeps the stored ChatGPT login alive for everybody in this process, and shares it with other processes through the
 * store. Begins at once to read the store and, where that is due, to renew. Does not keep the process alive.
 *
 * A refresh token can be redeemed once, so a renewal goes in steps, all under the record's lock, and never without it:
 * 1. the record is read again: another process may have renewed it;
 * 2. the record is stored with a mark that its refresh token is about to be sent, which also shows that the folder can
 *    be written: no token is spent for a successor that could not be stored, unless there is nothing else left;
 * 3. the token is redeemed;
 * 4. the new tokens are stored, without the mark, and only then used.
 * A process that dies before 3 or after 4 loses nothing. One that dies between the two, which takes as long as the
 * login server's answer does, loses the new tokens, and so does an answer that never comes. The mark tells the next
 * process: it goes on with the old access token for as long as that works, and tries the refresh token once more after
 * that, when there is nothing left to lose; the process that waited in vain does the same. If the server had taken it, the
 * answer to that is that somebody has to log in again.
 */
export function createCodexLoginSource(deps: CodexLoginDeps, options: CodexLoginOptions): CodexCredentialSource {
  const { store, log } = deps
  const listeners = new Set<(account: CodexAccount | undefined) => void>()
  const keeper = createCodexTokenKeeper(deps, options, (account) => {
    for (const listener of listeners) listener(account)
  })
  const unsaved = createUnsavedRenewals()
  const closing = new AbortController()
  let flight: { readonly work: Promise<void>; readonly startedAtMs: number; readonly isLook: boolean } | undefined
  let recordsChanged = false

  /** Stores what could not be stored before. Never rejects. */
  const saveUnsaved = async (): Promise<void> => {
    for (const id of unsaved.ids()) {
      try {
        await store.update(id, (stored) => {
          const better = unsaved.over(stored)
          return better === stored ? undefined : better
        })
        unsaved.drop(id)
      } catch (error) {
        log.debug({ err: error, recordId: id }, 'the renewed ChatGPT login still cannot be stored')
      }
    }
  }

  /** Steps 2 to 4. `save` stores a record under the lock that is held. */
  const renew = async (
    known: CodexRecord,
    rejected: string | undefined,
    save: (record: CodexRecord) => Promise<void>,
  ): Promise<void> => {
    try {
      await save(withRenewalBegun(known))
      unsaved.drop(known.id)
    } catch (error) {
      const current = keeper.usable()
      keeper.noteStoreTrouble(error)
      const isOthers = error instanceof RecordStoreError && error.problem === 'lock_lost'
      if (isOthers || (current !== undefined && current.value !== rejected)) return
    }
    const renewed = await keeper.renew(known, rejected)
    if (renewed === undefined) return
    try {
      await save(renewed)
    } catch (error) {
      unsaved.keep(known, renewed)
      log.warn({ err: error }, 'the renewed ChatGPT login could not be stored; it is used from memory and stored later')
    }
    keeper.follow(renewed)
  }

  /**
   * Reads the store and renews where that is due: alone in this process, and under the store's lock among all.
   * @param isLook nobody asked for a credential: a record that is corrupt may be whole in a moment
   */
  const refresh = async (rejected: string | undefined, isLook: boolean): Promise<void> => {
    try {
      await saveUnsaved()
      const stored = await store.current({ leaveCorrupt: isLook })
      const record = stored === undefined ? undefined : unsaved.over(stored)
      keeper.follow(record)
      if (record === undefined || !keeper.wantsRenewal(rejected)) return
      const latest = await store.update(
        record.id,
        async (locked, save, noLock) => {
          const known = unsaved.over(locked)
          keeper.follow(known)
          // Never begun while closing: the process may end before the reply comes.
          if (!keeper.wantsRenewal(rejected) || closing.signal.aborted) return undefined
          // Another process that could not make a lock either would redeem the same token.
          if (noLock === undefined) {
            if (flight !== undefined) deps.beforeExit?.(flight.work)
            await renew(known, rejected, save)
          } else {
            keeper.noteStoreTrouble(noLock)
          }
          return undefined
        },
        { signal: closing.signal },
      )
      if (latest === undefined) keeper.follow(undefined)
    } catch (error) {
      if (!closing.signal.aborted) keeper.noteStoreTrouble(error)
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

  /** Joins the refresh under way, or starts one. Never rejects, and nobody who waits for it can cancel it. */
  const join = (rejected?: string): Promise<void> => {
    if (flight === undefined) return startFlight(rejected, false)
    if (flight.isLook) return flight.work.then(() => join(rejected))
    return flight.work
  }

  const usableOrThrow = (): CodexCredential => {
    const credential = keeper.usable()
    if (credential !== undefined) return credential
    throw closing.signal.aborted ? new Fault({ kind: 'shutting_down' }) : keeper.unavailable()
  }

  const timer = setInterval(() => {
    if (keeper.usable() === undefined || keeper.isDue() || unsaved.ids().length > 0) void join()
  }, TICK_MS)
  timer.unref()
  const unwatch = store.watch(() => {
    recordsChanged = true
    if (flight === undefined) void startFlight(undefined, true)
  })
  void join()

  return {
    kind: 'chatgpt',
    async get(signal) {
      signal.throwIfAborted()
      const old = keeper.usable()
      if (old !== undefined && !keeper.isDue()) return old
      if (closing.signal.aborted) return usableOrThrow()
      if (old === undefined) await waitFor(join(), signal, PATIENCE_WITHOUT_TOKEN_MS)
      else if (flight !== undefined || keeper.wantsRenewal(undefined)) {
        const startedAtMs = flight?.startedAtMs ?? deps.monotonicMs()
        const patienceMs = startedAtMs + PATIENCE_MS - deps.monotonicMs()
        const work = join()
        if (patienceMs > 0) await waitFor(work, signal, patienceMs)
      }
      return usableOrThrow()
    },
    async replace(rejected, signal) {
      signal.throwIfAborted()
      const untilMs = deps.monotonicMs() + PATIENCE_WITHOUT_TOKEN_MS
      const leftMs = (): number => Math.max(0, untilMs - deps.monotonicMs())
      // A renewal that began before the rejection was known may bring the replacement.
      if (flight !== undefined) await waitFor(flight.work, signal, leftMs())
      const other = keeper.usable()
      if (other !== undefined && other.value !== rejected) return other
      if (!closing.signal.aborted) await waitFor(join(rejected), signal, leftMs())
      keeper.noteRejected(rejected)
      return usableOrThrow()
    },
    markAccepted: keeper.noteAccepted,
    markRevoked: keeper.noteRevoked,
    refused: (message) => (closing.signal.aborted ? new Fault({ kind: 'shutting_down' }) : keeper.refused(message)),
    status: keeper.status,
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
