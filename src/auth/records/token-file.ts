import { createHash } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { z } from 'zod'
import { removeIfThere, replaceFile, temporaryName } from './atomic-file.ts'
import { acquireLock, LOCK_TIMES } from './file-lock.ts'
import { isStillRunning } from './process-start.ts'
import { adviceFor, errnoOf, isForeign, isLoose } from './record-fs.ts'
import { parseJson } from '../../json/json.ts'

/** A token that this process makes and other programs of the user read, and beside it a note that says whose it is. */
export interface TokenFile {
  readonly path: string
  readonly notePath: string
  /** Taken for every change of the two files. */
  readonly lockPath: string
}

/** The content of the note. */
export const tokenNote = z.object({
  pid: z.int().min(1),
  /** Start time of the process, which detects a reused pid; '' if the system does not report it. */
  process_start: z.string(),
  host: z.string(),
  /** Hash of the token: it identifies a token file that something else has replaced. */
  token_sha256: z.string(),
})
export type TokenNote = z.infer<typeof tokenNote>

/** The process that writes tokens. */
export interface TokenOwner {
  readonly pid: number
  /** Returns the start time of a process, or undefined if it does not run or the system does not report it. */
  readonly processStart: (pid: number) => Promise<string | undefined>
}

/** A process holds the lock only for milliseconds, so a longer wait means a failure. Ms. */
const lockTimes = { ...LOCK_TIMES, waitLimitMs: 5000 }

/** The path is not what this program has made, so it is neither followed nor replaced. */
class UnusableFile extends Error {
  override readonly name = 'UnusableFile'
}

/** The cause of a failure, for the log. */
export function tokenFailure(error: unknown): string {
  const code = errnoOf(error)
  return code === '' && error instanceof Error ? error.message : adviceFor(code)
}

/** @throws an error if the folder belongs to another user */
export async function makePrivateFolder(dir: string): Promise<void> {
  await nodeFs.mkdir(dir, { recursive: true, mode: 0o700 })
  const { uid, mode } = await nodeFs.stat(dir)
  if (isForeign(uid)) throw new UnusableFile('the folder belongs to another user')
  if (isLoose(mode)) await nodeFs.chmod(dir, 0o700)
}

/** Returns undefined if there is no file. @throws an error if it is a link or no file */
export async function readToken(path: string): Promise<string | undefined> {
  try {
    if (!(await nodeFs.lstat(path)).isFile()) throw new UnusableFile(`${path} is not a plain file; delete it`)
    return (await nodeFs.readFile(path, 'utf8')).trim()
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The note in the file; undefined if it cannot be read. */
export async function readNote<Note>(path: string, schema: z.ZodType<Note>): Promise<Note | undefined> {
  const text = await readToken(path).catch(() => undefined)
  return schema.safeParse(parseJson(text ?? '')).data
}

export function isNoteOf(note: TokenNote, token: string): boolean {
  return note.token_sha256 === sha256(token)
}

export function isOfThisMachine({ host }: Pick<TokenNote, 'host'>): boolean {
  return host === hostname()
}

/**
 * Whether the writer was a process of this machine that has ended. With the same pid, the earlier process has ended too:
 * in a container, each start may get the same pid.
 */
export async function hasEnded(note: TokenNote, { pid, processStart }: TokenOwner): Promise<boolean> {
  return isOfThisMachine(note) && (note.pid === pid || !(await isStillRunning(note, processStart)))
}

/** Writes the note, then the token. A new token file never replaces one that another program has just created. */
export async function writeToken(
  { path, notePath }: TokenFile,
  token: string,
  { pid, processStart }: TokenOwner,
  more: object = {},
): Promise<void> {
  const started = (await processStart(pid)) ?? ''
  const note: TokenNote = { pid, process_start: started, host: hostname(), token_sha256: sha256(token) }
  await replaceFile(nodeFs, notePath, `${JSON.stringify({ ...more, ...note })}\n`)
  if ((await readToken(path)) === undefined) await createFile(path, token)
  else await replaceFile(nodeFs, path, token)
}

/** Creates a file with a link, because a rename would replace a file of the same name. */
async function createFile(file: string, text: string): Promise<void> {
  const temp = temporaryName(file)
  try {
    await nodeFs.writeFile(temp, text, { flag: 'wx', mode: 0o600, flush: true })
    await nodeFs.link(temp, file)
  } finally {
    await removeIfThere(nodeFs, temp)
  }
}

/** Removes the token and its note, if the file still has this token. */
export async function withdrawToken(file: TokenFile, token: string): Promise<void> {
  if ((await readToken(file.path)) !== token) return
  await withTokenLock(file, async () => {
    if ((await readToken(file.path)) === token) await removeToken(file)
  })
}

/** The caller holds the lock. */
export async function removeToken({ path, notePath }: TokenFile): Promise<void> {
  await removeIfThere(nodeFs, path)
  await removeIfThere(nodeFs, notePath)
}

export async function withTokenLock<T>({ lockPath }: Pick<TokenFile, 'lockPath'>, work: () => Promise<T>): Promise<T> {
  await makePrivateFolder(dirname(lockPath))
  const lock = await acquireLock(nodeFs, lockPath, lockTimes, undefined)
  try {
    return await work()
  } finally {
    await lock.release()
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
