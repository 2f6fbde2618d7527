import * as nodeFs from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { isStillRunning } from '../auth/records/process-start.ts'
import {
  hasEnded,
  isNoteOf,
  isOfThisMachine,
  readNote,
  readToken,
  removeToken,
  tokenFailure,
  tokenNote,
  withdrawToken,
  withTokenLock,
  writeToken,
  type TokenFile,
  type TokenOwner,
} from '../auth/records/token-file.ts'
import type { Logger } from '../logging/logger.ts'

/**
 * The token of the owner is in the file `owner-token` of the data folder, while the daemon runs. If that file belongs to
 * another running daemon, this one uses `owner-token-<host>-<pid>`. Beside each token, a note `<name>.json` says which daemon
 * has it, so that a command sends it to that daemon only.
 */
const firstName = 'owner-token'

const noteName = /^(owner-token(?:-[\w.-]+)?)\.json$/

/** `url`: the address of the daemon. */
const ownerNote = z.object({ ...tokenNote.shape, url: z.url() })
type OwnerNote = z.infer<typeof ownerNote>

export interface OwnerTokenFileDeps extends TokenOwner {
  readonly dir: string
  readonly log: Logger
}

/**
 * Writes the token of the daemon at `url` and returns the function that removes it. Failures are logged: the daemon works
 * without the file, and commands then need a key.
 */
export async function publishOwnerToken(
  deps: OwnerTokenFileDeps,
  { token, url }: { readonly token: string; readonly url: string },
): Promise<() => Promise<void>> {
  const { dir, pid, log } = deps
  try {
    const first = fileOf(dir, firstName)
    const file = await withTokenLock(first, async () => {
      await removeEnded(deps)
      const isTaken = (await readToken(first.path)) !== undefined
      const free = isTaken ? fileOf(dir, `${firstName}-${hostname().replaceAll(/[^\w.-]/g, '_')}-${pid}`) : first
      await writeToken(free, token, deps, { url })
      return free
    })
    return () => withdrawToken(file, token).catch((error: unknown) => logFailure(error, 'could not be removed'))
  } catch (error) {
    logFailure(error, 'cannot be written, so commands need a key')
    return async () => {}
  }

  function logFailure(error: unknown, what: string): void {
    log.warn({ dir, reason: tokenFailure(error) }, `the file ${firstName} ${what}`)
  }
}

function fileOf(dir: string, name: string): TokenFile {
  const path = join(dir, name)
  return { path, notePath: `${path}.json`, lockPath: join(dir, `${firstName}.lock`) }
}

/** Removes the tokens of daemons of this machine that were killed. */
async function removeEnded({ dir, ...owner }: OwnerTokenFileDeps): Promise<void> {
  const found = await readNotes(dir)
  for (const { file, note } of found) if (await hasEnded(note, owner)) await removeToken(file)
  // Without a note, no daemon can be using the token.
  const first = fileOf(dir, firstName)
  const isNoted = found.some(({ file }) => file.path === first.path)
  if (!isNoted && (await readToken(first.path)) !== undefined) await removeToken(first)
}

/** Returns the token of the running daemon at `url`, or undefined if no readable file of this folder has one. */
export async function readOwnerToken(
  { dir, processStart }: Pick<OwnerTokenFileDeps, 'dir' | 'processStart'>,
  url: string,
): Promise<string | undefined> {
  try {
    for (const { file, note } of await readNotes(dir)) {
      // The host differs in spelling: a daemon at `localhost` is reached at 127.0.0.1 too.
      if (!isOfThisMachine(note) || portOf(note.url) !== portOf(url)) continue
      if (!(await isStillRunning(note, processStart))) continue
      const token = await readToken(file.path)
      if (token !== undefined && isNoteOf(note, token)) return token
    }
  } catch {
    // Unreadable: the command works with a key.
  }
  return undefined
}

function portOf(url: string): string {
  return new URL(url).port || '80'
}

async function readNotes(dir: string): Promise<readonly { readonly file: TokenFile; readonly note: OwnerNote }[]> {
  const notes = []
  for (const entry of await nodeFs.readdir(dir)) {
    const name = noteName.exec(entry)?.[1]
    if (name === undefined) continue
    const file = fileOf(dir, name)
    const note = await readNote(file.notePath, ownerNote)
    if (note !== undefined) notes.push({ file, note })
  }
  return notes
}
