import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../logging/logger.ts'
import { removeIfThere, replaceFile, sweepStrayFiles } from './atomic-file.ts'
import { acquireLock, LOCK_TIMES, type FileLock, type LockTimes } from './file-lock.ts'
import { watchByPolling } from './poll-watch.ts'
import { readPrivateFile, readRecordFile, setAside } from './record-file.ts'
import { adviceFor, errnoOf, isForeign, isLoose, RecordStoreError, type RecordFs } from './record-fs.ts'
import { newestLogin, type RecordKind, type StoredRecord } from './record-kind.ts'
import type { RecordSeal } from './record-seal.ts'

export interface StoreCallOptions {
  /** Aborts the wait for another process. The call then throws the signal's reason. */
  readonly signal?: AbortSignal
}

export interface ReadOptions {
  /**
   * Leaves a corrupt record in place and treats it as unreadable, because another program may be writing it right now.
   */
  readonly leaveCorrupt?: boolean
}

/**
 * The stored accounts of one provider. A corrupt record is set aside and counts as absent. Other errors are thrown as
 * RecordStoreError.
 */
export interface RecordStore<Stored extends StoredRecord> {
  /** All readable records, by id. A record that cannot be read is logged and left out. */
  readonly list: (options?: ReadOptions) => Promise<readonly Stored[]>
  readonly read: (id: string, options?: ReadOptions) => Promise<Stored | undefined>
  /** The account in use (`newestLogin`). Throws only if there are records and none can be read. */
  readonly current: (options?: ReadOptions) => Promise<Stored | undefined>
  /** Whether a record exists, usable or not. */
  readonly has: (id: string) => Promise<boolean>
  /** Stores a record atomically, in the form that its kind's `cleaned` returns. */
  readonly write: (record: Stored, options?: StoreCallOptions) => Promise<void>
  /**
   * Reads, changes and writes a record under its lock. Does not call `change` if there is no record. Writes nothing if
   * `change` returns undefined. If the folder does not allow a lock, `change` runs without one and receives the reason
   * as `noLock`; it must then avoid anything that two processes must not do at once. `save` writes an intermediate step
   * at once and throws if that fails. Returns the record that is stored at the end, without intermediate steps.
   */
  readonly update: (
    id: string,
    change: (
      record: Stored,
      save: (step: Stored) => Promise<void>,
      noLock: RecordStoreError | undefined,
    ) => Promise<Stored | undefined> | Stored | undefined,
    options?: StoreCallOptions,
  ) => Promise<Stored | undefined>
  /** False if there was no such record. */
  readonly remove: (id: string, options?: StoreCallOptions) => Promise<boolean>
  /**
   * Calls back when any process has written or removed records, and once soon after the start. Returns the function
   * that stops it. Does not keep the process alive.
   */
  readonly watch: (onChange: () => void) => () => void
  /** The location of a record, for users. */
  readonly locationOf: (id: string) => string
}

export interface RecordStoreOptions<Stored extends StoredRecord> {
  readonly kind: RecordKind<Stored>
  /** `$XDG_DATA_HOME/copilot-proxy/auth`; created by the first write. */
  readonly dir: string
  readonly log: Logger
  /** Seals the records with keys from the keychain. Undefined: plain text. */
  readonly seal?: RecordSeal | undefined
  /** Refuses files that others can read, instead of making them private with a warning. */
  readonly strictPermissions?: boolean
  /** Nothing on the disk changes: a corrupt record is unreadable, and stays where it is. Writing is not for such a store. */
  readonly isReadOnly?: boolean | undefined
  /** Warnings already logged. Stores of one folder share the set, because all of them meet the same failure. */
  readonly warned?: Set<string> | undefined
  readonly fs?: RecordFs
  readonly lockTimes?: LockTimes
  /** The interval of `watch`. One readdir and one stat for each record. Ms. */
  readonly watchEveryMs?: number
}

/** The file name extensions of the two stores. Both may use one folder, and neither touches the other's files. */
export const recordSuffixes = { file: '.json', keychain: '.sealed' } as const

/**
 * Records as files: `<dir>/<id>.json`, or `.sealed`, 0600 in a 0700 folder, replaced atomically, one lock for each
 * record.
 */
export function createRecordStore<Stored extends StoredRecord>(
  options: RecordStoreOptions<Stored>,
): RecordStore<Stored> {
  const { kind, dir, log, seal, strictPermissions: strict = false, isReadOnly = false, fs = nodeFs } = options
  const { lockTimes = LOCK_TIMES, watchEveryMs = 2_000, warned = new Set() } = options
  const [suffix, otherSuffix] =
    seal === undefined ? [recordSuffixes.file, recordSuffixes.keychain] : [recordSuffixes.keychain, recordSuffixes.file]
  let looked = false

  const pathOf = (id: string): string => {
    if (!kind.isRecordId(id)) throw new RecordStoreError('unwritable', `${JSON.stringify(id)} cannot name a record`)
    return join(dir, `${id}${suffix}`)
  }

  /** A lasting failure occurs at every check, so log it once. */
  const warnOnce = (message: string): void => {
    if (warned.has(message)) return
    warned.add(message)
    log.warn(message)
  }

  const ids = async (): Promise<readonly string[]> => {
    const names = await fs.readdir(dir).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return []
      const message = `${dir} cannot be read: ${adviceFor(errnoOf(error))}`
      warnOnce(message)
      throw new RecordStoreError('unreadable', message, { cause: error })
    })
    const own = idsIn(names, suffix)
    if (strict || !looked) await checkFolder()
    if (!looked) {
      looked = true
      if (!isReadOnly) await sweepStrayFiles(fs, dir, names, Date.now())
      const [used, other] = seal === undefined ? ['file', 'keychain'] : ['keychain', 'file']
      for (const id of idsIn(names, otherSuffix).filter((one) => !own.includes(one))) {
        const unused = `${join(dir, `${id}${otherSuffix}`)} is not used, because auth.store is ${used}`
        log.warn(`${unused}. To use it, set auth.store to ${other}. To replace it, run: ${kind.loginCommand}`)
      }
    }
    return own
  }

  const idsIn = (names: readonly string[], ending: string): readonly string[] =>
    names
      .filter((name) => name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length))
      .filter(kind.isRecordId)
      .toSorted()

  /** @param forWriting the caller replaces the record, so a record whose key is lost counts as absent */
  const read = async (
    id: string,
    { forWriting = false, leaveCorrupt = false }: ReadOptions & { readonly forWriting?: boolean } = {},
  ): Promise<Stored | undefined> => {
    const path = pathOf(id)
    const found = await readRecordFile(fs, path, { id, schema: kind.schema, strict, isReadOnly, seal })
    if (found.kind === 'absent') {
      seal?.forget(id)
      return undefined
    }
    if (found.kind === 'record') {
      if (found.exposure !== undefined) warnOnce(found.exposure)
      return found.record
    }
    if (found.kind === 'locked_out' && !forWriting) {
      const what = `${path} cannot be opened: its key is not in the keychain of this session`
      throw new RecordStoreError('unreadable', `${what}. Log in again: ${kind.loginCommand}`)
    }
    const why = found.kind === 'corrupt' ? found.why : 'its key is not in the keychain'
    if (leaveCorrupt || isReadOnly) {
      const advice = isReadOnly ? `. Log in again: ${kind.loginCommand}` : ''
      throw new RecordStoreError('unreadable', `${path} is not usable: ${why}${advice}`)
    }
    try {
      const aside = await setAside(fs, path, found.identity)
      if (aside === undefined) return await read(id, { forWriting })
      const kept = `${aside.path}${aside.replaced ? ', replacing an older one' : ''}`
      log.warn(`${path} is not usable: ${why}. It was kept as ${kept}. Log in again: ${kind.loginCommand}`)
    } catch (error) {
      if (error instanceof RecordStoreError) throw error
      if (errnoOf(error) !== 'ENOENT') {
        warnOnce(`${path} is not usable: ${why}, and cannot be moved: ${adviceFor(errnoOf(error))}`)
      }
    }
    return undefined
  }

  const readAll = async (
    how: ReadOptions = {},
  ): Promise<{ records: readonly Stored[]; errors: readonly RecordStoreError[] }> => {
    const records: Stored[] = []
    const errors: RecordStoreError[] = []
    for (const id of await ids()) {
      try {
        const record = await read(id, how)
        if (record !== undefined) records.push(record)
      } catch (error) {
        if (!(error instanceof RecordStoreError)) throw error
        warnOnce(error.message)
        errors.push(error)
      }
    }
    return { records, errors }
  }

  /** The folder's owner, and anybody who may write to it, can replace a login. */
  const checkFolder = async (): Promise<void> => {
    // A missing folder has no owner. A read or write reports a folder that cannot be inspected.
    const found = await fs.stat(dir).catch(() => undefined)
    if (found === undefined) return
    const { mode, uid } = found
    if (isForeign(uid)) {
      const message = `${dir} belongs to another user (uid ${uid}), who can replace the logins in it. Change its owner`
      if (strict) throw new RecordStoreError('not_private', message)
      return warnOnce(message)
    }
    if (!isLoose(mode)) return
    if (strict) {
      const message = `${dir} is open to other users of this machine (auth.strict-permissions)`
      throw new RecordStoreError(
        'not_private',
        `${message}. Make sure that nobody has changed the files in it, then run: chmod 700 ${dir}`,
      )
    }
    if (isReadOnly) return warnOnce(`${dir} is open to other users of this machine. Run: chmod 700 ${dir}`)
    const outcome = await fs.chmod(dir, 0o700).then(
      () => 'was open to other users of this machine; its mode is now 0700',
      (error: unknown) =>
        `is open to other users of this machine, which cannot be changed: ${adviceFor(errnoOf(error))}`,
    )
    warnOnce(`${dir} ${outcome}`)
  }

  const prepareFolder = async (): Promise<void> => {
    await fs.mkdir(dir, { recursive: true, mode: 0o700 })
    await checkFolder()
  }

  const put = async (path: string, record: Stored, lock: FileLock | undefined): Promise<void> => {
    if (lock !== undefined && !(await lock.isHeld())) {
      throw new RecordStoreError('lock_lost', `another process took over ${path}; it was not written`)
    }
    const text = `${JSON.stringify(kind.cleaned(record), undefined, 2)}\n`
    const stored = seal === undefined ? text : await seal.seal(record.id, text)
    await replaceFile(fs, path, stored).catch((error: unknown) => {
      throw unwritable(path, error)
    })
  }

  const locked = async <T>(
    path: string,
    { signal }: StoreCallOptions,
    job: (lock: FileLock | undefined, noLock: RecordStoreError | undefined) => Promise<T>,
  ): Promise<T> => {
    let noLock: RecordStoreError | undefined
    const lock = await acquireLock(fs, `${path}.lock`, lockTimes, signal).catch((error: unknown) => {
      if (error instanceof RecordStoreError || signal?.aborted) throw error
      // If the folder accepts no lock file, it accepts no record: the next write reports that.
      log.debug({ path, code: errnoOf(error) }, 'no lock could be made')
      const message = `${path} could not be locked: ${adviceFor(errnoOf(error))}`
      noLock = new RecordStoreError('unwritable', message, { cause: error })
      return undefined
    })
    try {
      return await job(lock, noLock)
    } finally {
      await lock?.release()
    }
  }

  return {
    list: async (how) => (await readAll(how)).records,
    read,
    current: async (how) => {
      const { records, errors } = await readAll(how)
      const newest = newestLogin(records)
      if (newest === undefined && errors[0] !== undefined) throw errors[0]
      return newest
    },
    has: async (id) => {
      try {
        await fs.lstat(pathOf(id))
        return true
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error
        seal?.forget(id)
        return false
      }
    },
    write: async (record, callOptions = {}) => {
      const path = pathOf(record.id)
      await prepareFolder().catch((error: unknown) => {
        throw unwritable(path, error)
      })
      await locked(path, callOptions, async (lock) => {
        // Reading first sets a corrupt file aside, and refuses to replace a file that is not our record.
        await read(record.id, { forWriting: true })
        await put(path, record, lock)
      })
    },
    update: async (id, change, callOptions = {}) => {
      const path = pathOf(id)
      return locked(path, callOptions, async (lock, noLock) => {
        const record = await read(id)
        const save = (step: Stored): Promise<void> => put(path, step, lock)
        const changed = record === undefined ? undefined : await change(record, save, noLock)
        if (changed === undefined) return record
        await put(path, changed, lock)
        return changed
      })
    },
    remove: async (id, callOptions = {}) => {
      const path = pathOf(id)
      return locked(path, callOptions, async () => {
        // The file contains the name of its key. A file that cannot be read is removed too.
        const file =
          seal === undefined
            ? undefined
            : await readPrivateFile(fs, path, { strict: false, isReadOnly }).catch(() => undefined)
        const removed = await removeIfThere(fs, path).catch((error: unknown) => {
          throw new RecordStoreError('unwritable', `${path} was not removed: ${adviceFor(errnoOf(error))}`, {
            cause: error,
          })
        })
        if (file?.bytes !== undefined) {
          await seal?.destroyKey(id, file.bytes).catch((error: unknown) => {
            const why = error instanceof Error ? error.message : ''
            const message = `${path} was removed, but its key is still in the keychain. Nothing uses this key any more. ${why}`
            throw new RecordStoreError('keychain', message, { cause: error })
          })
        }
        return removed
      })
    },
    watch: (onChange) => watchByPolling(async () => signatureOf(fs, (await ids()).map(pathOf)), watchEveryMs, onChange),
    locationOf: pathOf,
  }
}

function unwritable(path: string, error: unknown): RecordStoreError {
  if (error instanceof RecordStoreError) return error
  const message = `${path} was not written, and nothing was changed: ${adviceFor(errnoOf(error))}`
  return new RecordStoreError('unwritable', message, { cause: error })
}

/** Changes when a record is replaced, edited, added or removed. */
async function signatureOf(fs: RecordFs, paths: readonly string[]): Promise<string> {
  const lines = await Promise.all(
    paths.map(async (path) => {
      const { ino, mtimeMs, size } = await fs.lstat(path)
      return `${path} ${ino} ${mtimeMs} ${size}`
    }),
  )
  return lines.join('\n')
}
