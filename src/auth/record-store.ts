import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../log.ts'
import { removeIfThere, replaceFile, sweepStrayFiles } from './atomic-file.ts'
import { acquireLock, LOCK_TIMES, type FileLock, type LockTimes } from './file-lock.ts'
import { watchByPolling } from './poll-watch.ts'
import { isLoose, readRecordFile, setAside } from './record-file.ts'
import { adviceFor, errnoOf, RecordStoreError, type RecordFs } from './record-fs.ts'
import type { RecordKind, StoredRecord } from './record-kind.ts'
import { newestLogin } from './record-rules.ts'

export interface StoreCallOptions {
  /** Ends a wait for another process; the call then throws the signal's reason. */
  readonly signal?: AbortSignal
}

/** The stored accounts of one provider. A corrupt record counts as absent; other troubles are thrown as RecordStoreError. */
export interface RecordStore<Stored extends StoredRecord> {
  /** Every record that can be read, by id; trouble with one is logged and hides that one only. */
  readonly list: () => Promise<readonly Stored[]>
  readonly read: (id: string) => Promise<Stored | undefined>
  /** The account in use: the newest login. Throws only when there are records and none can be read. */
  readonly current: () => Promise<Stored | undefined>
  /** Stores a record, whole or not at all, as its kind cleans it. */
  readonly write: (record: Stored, options?: StoreCallOptions) => Promise<void>
  /**
   * Read, change, write, while no other process does the same with this record. `change` is not called when there is
   * no record; when it returns undefined nothing is written. Where the folder does not allow a lock, `change` runs
   * without one and is told why: what must not be done by two processes at once must not be done then. `save` writes a step on the way, whose result must not wait for the end; what it throws is for
   * `change` to judge. Returns what is stored afterwards, steps left out.
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
  /** False when there was none. */
  readonly remove: (id: string, options?: StoreCallOptions) => Promise<boolean>
  /**
   * Calls back when records were written or removed, by whichever process, and once soon after the start; returns the
   * way to stop. Does not keep the process alive.
   */
  readonly watch: (onChange: () => void) => () => void
  /** Where a record is, for a person to read. */
  readonly locationOf: (id: string) => string
}

export interface RecordStoreOptions<Stored extends StoredRecord> {
  readonly kind: RecordKind<Stored>
  /** `$XDG_DATA_HOME/copilot-proxy/auth`; made on the first write. */
  readonly dir: string
  readonly log: Logger
  readonly fs?: RecordFs
  readonly lockTimes?: LockTimes
  /** How often `watch` looks; one readdir and one stat for each record. Ms. */
  readonly watchEveryMs?: number
}

/** Records as files: `<dir>/<id>.json`, 0600 in a 0700 folder, replaced atomically, one lock for each record. */
export function createRecordStore<Stored extends StoredRecord>(
  options: RecordStoreOptions<Stored>,
): RecordStore<Stored> {
  const { kind, dir, log, fs = nodeFs, lockTimes = LOCK_TIMES, watchEveryMs = 2_000 } = options
  const told = new Set<string>()
  let swept = false

  const pathOf = (id: string): string => {
    if (!kind.isRecordId(id)) throw new RecordStoreError('unwritable', `${JSON.stringify(id)} cannot name a record`)
    return join(dir, `${id}.json`)
  }

  /** Trouble that lasts is met at every look; it is worth one line. */
  const warnOnce = (message: string): void => {
    if (told.has(message)) return
    told.add(message)
    log.warn(message)
  }

  const ids = async (): Promise<readonly string[]> => {
    const names = await fs.readdir(dir).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return []
      const message = `${dir} cannot be read: ${adviceFor(errnoOf(error))}`
      warnOnce(message)
      throw new RecordStoreError('unreadable', message, { cause: error })
    })
    if (!swept) {
      swept = true
      await sweepStrayFiles(fs, dir, names, Date.now())
    }
    return names
      .filter((name) => name.endsWith('.json') && kind.isRecordId(name.slice(0, -'.json'.length)))
      .map((name) => name.slice(0, -'.json'.length))
      .toSorted()
  }

  const read = async (id: string): Promise<Stored | undefined> => {
    const path = pathOf(id)
    const found = await readRecordFile(fs, path, id, kind.schema)
    if (found.kind === 'absent') return undefined
    if (found.kind === 'record') {
      if (found.tightened) log.warn(`${path} could be read by other users of this machine; its mode is now 0600`)
      return found.record
    }
    try {
      const aside = await setAside(fs, path, found.identity)
      if (aside === undefined) return await read(id)
      log.warn(`${path} is not usable, ${found.why}; it was kept as ${aside}. Log in again: ${kind.loginCommand}`)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') {
        warnOnce(`${path} is not usable, ${found.why}, and cannot be set aside: ${adviceFor(errnoOf(error))}`)
      }
    }
    return undefined
  }

  const readAll = async (): Promise<{ records: readonly Stored[]; troubles: readonly RecordStoreError[] }> => {
    const records: Stored[] = []
    const troubles: RecordStoreError[] = []
    for (const id of await ids()) {
      try {
        const record = await read(id)
        if (record !== undefined) records.push(record)
      } catch (error) {
        if (!(error instanceof RecordStoreError)) throw error
        warnOnce(error.message)
        troubles.push(error)
      }
    }
    return { records, troubles }
  }

  const prepareFolder = async (): Promise<void> => {
    await fs.mkdir(dir, { recursive: true, mode: 0o700 })
    if (!isLoose((await fs.stat(dir)).mode)) return
    await fs.chmod(dir, 0o700)
    log.warn(`${dir} was open to other users of this machine; its mode is now 0700`)
  }

  const put = async (path: string, record: Stored, lock: FileLock | undefined): Promise<void> => {
    if (lock !== undefined && !(await lock.isHeld())) {
      throw new RecordStoreError('lock_lost', `another process took over ${path}; it was not written`)
    }
    const text = `${JSON.stringify(kind.cleaned(record), undefined, 2)}\n`
    await replaceFile(fs, path, text).catch((error: unknown) => {
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
      // A folder that takes no lock takes no record either: the write that follows, if any, says so.
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
    list: async () => (await readAll()).records,
    read,
    current: async () => {
      const { records, troubles } = await readAll()
      const newest = newestLogin(records)
      if (newest === undefined && troubles[0] !== undefined) throw troubles[0]
      return newest
    },
    write: async (record, callOptions = {}) => {
      const path = pathOf(record.id)
      await prepareFolder().catch((error: unknown) => {
        throw unwritable(path, error)
      })
      await locked(path, callOptions, async (lock) => {
        // Reading first sets a corrupt file aside, and refuses to replace what is not a record of ours to replace.
        await read(record.id)
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
      return locked(path, callOptions, () =>
        removeIfThere(fs, path).catch((error: unknown) => {
          throw new RecordStoreError('unwritable', `${path} was not removed: ${adviceFor(errnoOf(error))}`, {
            cause: error,
          })
        }),
      )
    },
    watch: (onChange) => watchByPolling(async () => signatureOf(fs, dir, await ids()), watchEveryMs, onChange),
    locationOf: pathOf,
  }
}

function unwritable(path: string, error: unknown): RecordStoreError {
  const message = `${path} was not written, and nothing was changed: ${adviceFor(errnoOf(error))}`
  return new RecordStoreError('unwritable', message, { cause: error })
}

/** Changes whenever a record is replaced, edited, added or removed. */
async function signatureOf(fs: RecordFs, dir: string, ids: readonly string[]): Promise<string> {
  const lines = await Promise.all(
    ids.map(async (id) => {
      const { ino, mtimeMs, size } = await fs.lstat(join(dir, `${id}.json`))
      return `${id} ${ino} ${mtimeMs} ${size}`
    }),
  )
  return lines.join('\n')
}
