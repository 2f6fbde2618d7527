import { createHash } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../auth/http-json.ts'
import { removeIfThere, replaceFile } from '../auth/records/atomic-file.ts'
import { acquireLock, LOCK_TIMES } from '../auth/records/file-lock.ts'
import { isStillRunning } from '../auth/records/process-start.ts'
import { adviceFor, errnoOf, isForeign, isLoose } from '../auth/records/record-fs.ts'
import type { Logger } from '../logging/logger.ts'

/**
 * The token of the owner is in the file `owner-token` of the data folder, while the daemon runs. If that file belongs to
 * another running daemon, this one uses `owner-token-<host>-<pid>`. Beside each token, a note `<name>.json` says which daemon
 * has it, so that a command sends it to that daemon only.
 */
const firstName = 'owner-token'

const noteName = /^(owner-token(?:-[\w.-]+)?)\.json$/

const ownerNote = z.object({
  pid: z.int().min(1),
  /** Start time of the process, which detects a reused pid; '' if the system does not report it. */
  process_start: z.string(),
  host: z.string(),
  /** The address of the daemon. */
  url: z.url(),
  /** Hash of the token: it identifies a token file that something else has replaced. */
  token_sha256: z.string(),
})
type OwnerNote = z.infer<typeof ownerNote>

/** A daemon holds the lock only for milliseconds, so a longer wait means a failure. Ms. */
const lockTimes = { ...LOCK_TIMES, waitLimitMs: 5000 }

export interface OwnerTokenFileDeps {
  readonly dir: string
  readonly pid: number
  /** Returns the start time of a process, or undefined if it does not run or the system does not report it. */
  readonly processStart: (pid: number) => Promise<string | undefined>
  readonly log: Logger
}

/**
 * Writes the token of the daemon at `url` and returns the function that removes it. Failures are logged: the daemon works
 * without the file, and commands then need a key.
 */
export async function publishOwnerToken(
  { dir, pid, processStart, log }: OwnerTokenFileDeps,
  { token, url }: { readonly token: string; readonly url: string },
): Promise<() => Promise<void>> {
  try {
    await requirePrivateFolder(dir)
    const name = await withLock(dir, async () => {
      await removeEnded(dir, pid, processStart)
      const isTaken = (await readPlainFile(join(dir, firstName))) !== undefined
      const free = isTaken ? `${firstName}-${hostname().replaceAll(/[^\w.-]/g, '_')}-${pid}` : firstName
      const started = (await processStart(pid)) ?? ''
      const note: OwnerNote = { pid, process_start: started, host: hostname(), url, token_sha256: sha256(token) }
      await replaceFile(nodeFs, join(dir, `${free}.json`), `${JSON.stringify(note)}\n`)
      await replaceFile(nodeFs, join(dir, free), `${token}\n`)
      return free
    })
    return () => withdraw(dir, name, token).catch((error: unknown) => logFailure(error, 'could not be removed'))
  } catch (error) {
    logFailure(error, 'cannot be written, so commands need a key')
    return async () => {}
  }

  function logFailure(error: unknown, what: string): void {
    const reason = error instanceof UnusableFile ? error.message : adviceFor(errnoOf(error))
    log.warn({ dir, reason }, `the file ${firstName} ${what}`)
  }
}

/** The path is not what this program has made, so it is neither followed nor replaced. */
class UnusableFile extends Error {
  override readonly name = 'UnusableFile'
}

async function requirePrivateFolder(dir: string): Promise<void> {
  await nodeFs.mkdir(dir, { recursive: true, mode: 0o700 })
  const { uid, mode } = await nodeFs.stat(dir)
  if (isForeign(uid)) throw new UnusableFile('the folder belongs to another user')
  if (isLoose(mode)) await nodeFs.chmod(dir, 0o700)
}

/** Removes the tokens of daemons of this machine that were killed. With the same pid, the earlier daemon has ended too. */
async function removeEnded(dir: string, pid: number, processStart: OwnerTokenFileDeps['processStart']): Promise<void> {
  const found = await readNotes(dir)
  for (const { name, note } of found) {
    if (note.host !== hostname()) continue
    if (note.pid === pid || !(await isStillRunning(note, processStart))) await removePair(dir, name)
  }
  // Without a note, no daemon can be using the token.
  if (!found.some(({ name }) => name === firstName) && (await readPlainFile(join(dir, firstName))) !== undefined)
    await removePair(dir, firstName)
}

async function withdraw(dir: string, name: string, token: string): Promise<void> {
  await withLock(dir, async () => {
    if ((await readPlainFile(join(dir, name))) === token) await removePair(dir, name)
  })
}

async function removePair(dir: string, name: string): Promise<void> {
  await removeIfThere(nodeFs, join(dir, name))
  await removeIfThere(nodeFs, join(dir, `${name}.json`))
}

/** Returns the token of the running daemon at `url`, or undefined if no readable file of this folder has one. */
export async function readOwnerToken(
  { dir, processStart }: Pick<OwnerTokenFileDeps, 'dir' | 'processStart'>,
  url: string,
): Promise<string | undefined> {
  try {
    for (const { name, note } of await readNotes(dir)) {
      // The host differs in spelling: a daemon at `localhost` is reached at 127.0.0.1 too.
      if (note.host !== hostname() || portOf(note.url) !== portOf(url)) continue
      if (!(await isStillRunning(note, processStart))) continue
      const token = await readPlainFile(join(dir, name))
      if (token !== undefined && sha256(token) === note.token_sha256) return token
    }
  } catch {
    // Unreadable: the command works with a key.
  }
  return undefined
}

function portOf(url: string): string {
  return new URL(url).port || '80'
}

async function readNotes(dir: string): Promise<readonly { readonly name: string; readonly note: OwnerNote }[]> {
  const notes = []
  for (const file of await nodeFs.readdir(dir)) {
    const name = noteName.exec(file)?.[1]
    if (name === undefined) continue
    const text = await readPlainFile(join(dir, file)).catch(() => undefined)
    const note = ownerNote.safeParse(parseJson(text ?? '')).data
    if (note !== undefined) notes.push({ name, note })
  }
  return notes
}

/** Returns undefined if there is no file. @throws UnusableFile if it is a link or no file */
async function readPlainFile(path: string): Promise<string | undefined> {
  try {
    if (!(await nodeFs.lstat(path)).isFile()) throw new UnusableFile(`${path} is not a plain file; delete it`)
    return (await nodeFs.readFile(path, 'utf8')).trim()
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function withLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const lock = await acquireLock(nodeFs, join(dir, `${firstName}.lock`), lockTimes, undefined)
  try {
    return await work()
  } finally {
    await lock.release()
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
