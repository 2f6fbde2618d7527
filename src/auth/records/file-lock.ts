import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { pid } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { isAlive, removeIfThere, temporaryName } from './atomic-file.ts'
import { errnoOf, RecordStoreError, type RecordFs } from './record-fs.ts'
import { parseJson } from '../../json/json.ts'

export interface LockTimes {
  /** How long to wait for another holder. Ms. */
  readonly waitLimitMs: number
  /** A holder without a heartbeat for this long counts as dead. Ms. */
  readonly staleAfterMs: number
  /** Ms; well below `staleAfterMs`. */
  readonly heartbeatMs: number
  /** Interval for checking a lock that is held. Ms. */
  readonly pollMs: number
}

export const LOCK_TIMES: LockTimes = { waitLimitMs: 25_000, staleAfterMs: 10_000, heartbeatMs: 2_000, pollMs: 25 }

export interface FileLock {
  /**
   * False if another process has meanwhile considered this one dead, for example because it was suspended. Nothing may
   * be written then.
   */
  readonly isHeld: () => Promise<boolean>
  readonly release: () => Promise<void>
}

/** The content of a lock file. In any other format, the holder is unknown. */
const lockFile = z
  .object({ nonce: z.string(), pid: z.int().optional(), host: z.string().optional() })
  .catch({ nonce: '' })
type Holder = z.infer<typeof lockFile>

/**
 * Takes the lock `path`, a file that names its holder and whose mtime is the holder's heartbeat. If the holder was a
 * process of this machine and is dead, its lock is taken over at once. Any other lock is taken over after
 * `staleAfterMs` without a heartbeat, measured by this process's monotonic clock. Neither a wall clock that jumps nor a
 * sleeping machine makes a live lock look dead.
 * @throws RecordStoreError `busy` after `waitLimitMs`; the file system's error if no lock can be made; the signal's
 * reason on abort
 */
export async function acquireLock(
  fs: RecordFs,
  path: string,
  times: LockTimes,
  signal: AbortSignal | undefined,
): Promise<FileLock> {
  const nonce = randomBytes(12).toString('hex')
  const startedMs = performance.now()
  let seen: { readonly sign: string; readonly sinceMs: number } | undefined
  for (;;) {
    signal?.throwIfAborted()
    const held = await look(fs, path)
    if (held === undefined) {
      const lock = await tryCreate(fs, path, nonce, times)
      if (lock !== undefined) return lock
      continue
    }
    const nowMs = performance.now()
    if (seen?.sign !== held.sign) seen = { sign: held.sign, sinceMs: nowMs }
    const dead = held.holder.host === hostname() && held.holder.pid !== undefined && !isAlive(held.holder.pid)
    if (dead || nowMs - seen.sinceMs > times.staleAfterMs) await takeOver(fs, path, held.sign, times)
    else if (nowMs - startedMs > times.waitLimitMs) {
      const who = held.holder.pid === undefined ? 'another process' : `process ${held.holder.pid}`
      throw new RecordStoreError('busy', `${who} is using ${path}; wait for it to finish, or end it, and try again`)
    } else await sleep(times.pollMs * (0.5 + Math.random()), undefined, { signal }).catch(() => {})
  }
}

/** Undefined if another process has the lock. */
async function tryCreate(fs: RecordFs, path: string, nonce: string, times: LockTimes): Promise<FileLock | undefined> {
  const temp = temporaryName(path)
  const file = await fs.open(temp, 'wx', 0o600)
  try {
    await file.writeFile(JSON.stringify({ nonce, pid, host: hostname() } satisfies Holder))
    // A link appears with its content, so a holder that is killed here never leaves a lock without a name.
    await fs.link(temp, path)
  } catch (error) {
    await file.close().catch(() => {})
    if (errnoOf(error) === 'EEXIST') return undefined
    throw error
  } finally {
    await removeIfThere(fs, temp).catch(() => {})
  }
  // Uses the file handle, so that a former holder does not keep alive a lock that was taken over.
  const beat = setInterval(() => {
    const now = new Date()
    file.utimes(now, now).catch(() => {})
  }, times.heartbeatMs)
  beat.unref()
  const isHeld = async (): Promise<boolean> => {
    const held = await look(fs, path).catch(() => undefined)
    return held?.holder.nonce === nonce
  }
  return {
    isHeld,
    release: async () => {
      clearInterval(beat)
      await file.close().catch(() => {})
      if (await isHeld()) await removeIfThere(fs, path).catch(() => {})
    },
  }
}

/** The current lock; `sign` changes with every heartbeat and every holder. Undefined if the lock is free. */
async function look(
  fs: RecordFs,
  path: string,
): Promise<{ readonly holder: Holder; readonly sign: string } | undefined> {
  try {
    const stat = await fs.lstat(path)
    // Reading a pipe at this path would never end.
    if (!stat.isFile())
      throw new RecordStoreError('not_a_file', `${path} is not a plain file; move it away and try again`)
    const text = await fs.readFile(path, 'utf8')
    const holder = lockFile.parse(parseJson(text))
    return { holder, sign: `${holder.nonce} ${stat.ino} ${stat.mtimeMs}` }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Removes a dead holder's lock, under a guard file. Two processes may find the same dead lock; the guard keeps the
 * slower one from removing the lock that the faster one has taken since. A guard whose process died here is removed
 * once it is older than `staleAfterMs`.
 */
async function takeOver(fs: RecordFs, path: string, sign: string, times: LockTimes): Promise<void> {
  const guard = `${path}.takeover`
  try {
    await (await fs.open(guard, 'wx', 0o600)).close()
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    await sleep(times.pollMs)
    const { mtimeMs } = await fs.lstat(guard).catch(() => ({ mtimeMs: Date.now() }))
    if (Date.now() - mtimeMs > times.staleAfterMs) await removeIfThere(fs, guard)
    return
  }
  try {
    if ((await look(fs, path))?.sign === sign) await removeIfThere(fs, path)
  } finally {
    await removeIfThere(fs, guard)
  }
}
