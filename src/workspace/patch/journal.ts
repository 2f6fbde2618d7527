import { existsSync } from 'node:fs'
import { hash, randomBytes } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { sweepStrayFiles } from '../../auth/records/atomic-file.ts'
import { acquireLock, LOCK_TIMES, type FileLock } from '../../auth/records/file-lock.ts'
import { errnoOf, RecordStoreError } from '../../auth/records/record-fs.ts'
import type { FileContent, Folder } from '../folder.ts'
import { createQueue, type Queue } from '../queue.ts'
import { cancelled, failed, ToolError } from '../tool-error.ts'

/** One file of a change, before and after it. Null if there is no file. */
export interface Change {
  readonly path: string
  readonly before: FileContent | null
  /** `mode`: the new permission bits; undefined keeps the existing ones. */
  readonly after: { readonly bytes: Buffer; readonly sha256: string; readonly mode: number | undefined } | null
}

const journalEntry = z.object({
  id: z.string(),
  /** The time at which the change began. Ms since epoch. */
  atMs: z.number(),
  /** Id of the entry that this change has undone, or of the newest of several. */
  undoes: z.string().nullable(),
  /** Ids of the other entries that this change has undone, the newest first. */
  undoesAlso: z.array(z.string()).default([]),
  /** Id of the run whose agent made the change. Null: another caller. */
  runId: z.string().nullable().default(null),
  /** Id of the key whose caller made the change. Null: a caller without a key. */
  ownerId: z.string().nullable().default(null),
  /** Folders that the change created, the outermost first. */
  madeFolders: z.array(z.string()).default([]),
  files: z.array(
    z.object({
      path: z.string(),
      before: z.object({ sha256: z.string(), size: z.number(), mode: z.number() }).nullable(),
      after: z.object({ sha256: z.string(), size: z.number(), mode: z.number().nullable() }).nullable(),
    }),
  ),
})
export type JournalEntry = z.infer<typeof journalEntry>

/** Returns the ids of the entries that a change has undone, the newest first. */
export function undoneBy({ undoes, undoesAlso }: JournalEntry): readonly string[] {
  return undoes === null ? [] : [undoes, ...undoesAlso]
}

/** Returns for each entry that is undone the id of the change that has undone it. That change is not undone itself. */
export function findUndone(entries: readonly JournalEntry[]): ReadonlyMap<string, string> {
  const undone = new Map<string, string>()
  for (const entry of entries.toReversed())
    if (!undone.has(entry.id)) for (const id of undoneBy(entry)) undone.set(id, entry.id)
  return undone
}

/** The result of rolling back a change whose process was killed. */
export interface Recovery {
  readonly id: string
  /** Files that were restored to their old bytes. */
  readonly restored: readonly string[]
  /** Files that somebody else has changed meanwhile, and that were not restored. */
  readonly left: readonly string[]
}

/**
 * Changes all of the given files of a workspace or none, and keeps their old bytes. Processes may share a journal.
 *
 * The file `ID.bytes` of a change has the old bytes of all files, then the new bytes. The file `ID.pending` describes the change
 * and is renamed to `ID.done` after the last file is written. A process that holds the lock and finds a `.pending` file rolls
 * the change back, because it was never reported as done, and renames the file to `ID.rolled-back`. The next complete change
 * removes that file.
 */
export interface Journal {
  /**
   * Rolls back a change whose process was killed, also if that happened while this journal was open. Waits for a process that
   * is still writing.
   * @throws ToolError `cancelled`, `failed`
   */
  readonly settle: (signal: AbortSignal) => Promise<void>
  /**
   * Calls `run` when no other call of this process holds one of `paths`.
   * @throws ToolError `cancelled` if the signal aborts meanwhile
   */
  readonly withPaths: Queue
  /**
   * Writes a change and returns the id of its entry. An abort or failure meanwhile rolls it back.
   * @throws ToolError `conflict` if a file differs from `before`; `cancelled`; the errors of `Folder`
   */
  readonly commit: (changes: readonly Change[], options: CommitOptions) => Promise<string>
  /** Returns the complete changes since `sinceMs`, oldest first. */
  readonly entries: (sinceMs?: number) => Promise<readonly JournalEntry[]>
  /** Returns the newest change if it was interrupted and is rolled back. */
  readonly rolledBack: () => Promise<JournalEntry | undefined>
  /** Returns the old bytes of an entry's files. @throws ToolError `failed` if they are missing or damaged */
  readonly oldBytes: (entry: JournalEntry) => Promise<readonly (Buffer | null)[]>
  /** Returns the new bytes of an entry's files, to show in a conflict. Undefined if they are missing or damaged. */
  readonly newBytes: (entry: JournalEntry) => Promise<readonly (Buffer | undefined)[]>
}

export interface CommitOptions {
  readonly signal: AbortSignal
  /** Id of the caller's key. Absent: no key. */
  readonly ownerId?: string | undefined
  /** Id of the run whose agent makes the change. */
  readonly runId?: string | undefined
  /** The newest first. */
  readonly undoes?: readonly JournalEntry[] | undefined
  /** Fails if a newer change was interrupted: the caller chose `undoes` because it was the newest change. */
  readonly undoesNewest?: boolean | undefined
}

export interface JournalDeps {
  readonly folder: Folder
  /** A folder outside of the workspace that belongs to this journal only. Created with mode 0700. */
  readonly dir: string
  /** Ms since epoch. */
  readonly now: () => number
  /** The journal calls it after each rollback of a change whose process was killed. */
  readonly onRecovery?: ((recovery: Recovery) => void) | undefined
}

/** The journal removes the oldest entries beyond these limits. The newest entry always stays. */
export interface JournalLimits {
  readonly maxEntries: number
  /** Maximum size of all `.bytes` files. */
  readonly maxBytes: number
}

const DEFAULT_LIMITS: JournalLimits = { maxEntries: 200, maxBytes: 256 * 1024 * 1024 }

/** Whether a change is being written, or was when its process was killed. Creates nothing. @param dir as in JournalDeps */
export async function hasPendingChange(dir: string): Promise<boolean> {
  // Before the first change there is no folder, and an error for each call of a tool takes longer than all else of this check.
  return existsSync(dir) && (await nodeFs.readdir(dir).catch(() => [])).some(isPending)
}

/**
 * Opens the journal of a workspace and rolls back a change whose process was killed.
 * @throws ToolError `failed`, also if the folder cannot be written
 */
export async function openJournal(
  { folder, dir, now, onRecovery }: JournalDeps,
  limits: JournalLimits = DEFAULT_LIMITS,
  signal: AbortSignal = new AbortController().signal,
): Promise<Journal> {
  try {
    await nodeFs.mkdir(dir, { recursive: true, mode: 0o700 })
    await nodeFs.chmod(dir, 0o700)
  } catch (error) {
    throw unwritable(dir, error)
  }
  const queue = createQueue()
  const fileOf = (name: string): string => join(dir, name)

  /** Allows one change at a time, in this process and in others. */
  const locked = async <T>(stop: AbortSignal, run: (lock: FileLock) => Promise<T>): Promise<T> =>
    queue([''], stop, async () => {
      const lock = await acquireLock(nodeFs, fileOf('lock'), LOCK_TIMES, stop).catch((error: unknown) => {
        throw stop.aborted ? cancelled() : asToolError(dir, error)
      })
      try {
        return await run(lock)
      } catch (error) {
        throw asToolError(dir, error)
      } finally {
        await lock.release()
      }
    })

  const readEntry = async (name: string): Promise<JournalEntry> => {
    try {
      return journalEntry.parse(JSON.parse(await nodeFs.readFile(fileOf(name), 'utf8')))
    } catch (error) {
      throw failed(`The journal entry ${fileOf(name)} cannot be read. Delete it to continue without it.`, error)
    }
  }

  const oldBytes = async (entry: JournalEntry): Promise<readonly (Buffer | null)[]> => {
    const bytes = await nodeFs.readFile(fileOf(`${entry.id}.bytes`)).catch((error: unknown) => {
      throw failed(`The old bytes of change ${entry.id} are gone.`, error)
    })
    let at = 0
    return entry.files.map(({ path, before }) => {
      if (before === null) return null
      const part = bytes.subarray(at, at + before.size)
      at += before.size
      if (hash('sha256', part) !== before.sha256) throw failed(`The old bytes of ${path} are damaged in the journal.`)
      return part
    })
  }

  const newBytes = async ({ id, files }: JournalEntry): Promise<readonly (Buffer | undefined)[]> => {
    const bytes = await nodeFs.readFile(fileOf(`${id}.bytes`)).catch(() => Buffer.alloc(0))
    let at = files.reduce((sum, { before }) => sum + (before?.size ?? 0), 0)
    return files.map(({ after }) => {
      if (after === null) return undefined
      const part = bytes.subarray(at, at + after.size)
      at += after.size
      return hash('sha256', part) === after.sha256 ? part : undefined
    })
  }

  /** Restores the files that have the new bytes of the change. Can run again after an interruption. */
  const rollBack = async (entry: JournalEntry, bytes: readonly (Buffer | null)[]): Promise<Recovery> => {
    const restored: string[] = []
    const left: string[] = []
    for (const [index, { path, before, after }] of entry.files.entries()) {
      const found = await findFile(folder, path, Math.max(before?.size ?? 0, after?.size ?? 0))
      const isOld = found === null ? before === null : found !== 'other' && found.sha256 === before?.sha256
      // If a change affects only the mode, the hashes are equal, so compare the mode too.
      if (isOld && (found === null || found === 'other' || found.mode === before?.mode)) continue
      if (found === 'other' || found?.sha256 !== after?.sha256) {
        left.push(path)
        continue
      }
      try {
        await put(folder, path, after?.sha256 ?? null, bytes[index] ?? null, before?.mode)
        restored.push(path)
      } catch (error) {
        if (!isConflict(error)) throw error
        left.push(path)
      }
    }
    await removeFolders(folder, entry.madeFolders)
    return { id: entry.id, restored, left }
  }

  const discard = async (id: string): Promise<void> => {
    for (const suffix of ['pending', 'done', 'rolled-back', 'bytes'])
      await nodeFs.rm(fileOf(`${id}.${suffix}`), { force: true })
  }

  /** Returns the ids of changes that have ended in one of these ways, oldest first. */
  const endedIds = async (...endings: readonly ('done' | 'rolled-back')[]): Promise<readonly string[]> => {
    const names = await nodeFs.readdir(dir)
    return names
      .filter((name) => endings.some((ending) => name.endsWith(`.${ending}`)))
      .map(idOf)
      .toSorted()
  }

  /**
   * Returns the ids of the changes that it has rolled back. The caller must hold the lock, so no process is still writing a
   * pending change.
   */
  const recover = async (): Promise<readonly string[]> => {
    const names = await nodeFs.readdir(dir)
    const ids: string[] = []
    for (const name of names.filter(isPending)) {
      const entry = await readEntry(name)
      const recovery = await rollBack(entry, await oldBytes(entry))
      await nodeFs.rename(fileOf(name), fileOf(`${entry.id}.rolled-back`))
      ids.push(entry.id)
      onRecovery?.(recovery)
    }
    await sweepStrayFiles(nodeFs, dir, names, now())
    const known = new Set(names.filter((name) => name.endsWith('.done')).map(idOf))
    const strays = names.filter((name) => name.endsWith('.new') || (name.endsWith('.bytes') && !known.has(idOf(name))))
    for (const name of strays) await nodeFs.rm(fileOf(name), { force: true })
    return ids
  }

  const settle = async (stop: AbortSignal): Promise<void> => {
    if (await hasPendingChange(dir)) await locked(stop, recover)
  }

  const prune = async (): Promise<void> => {
    for (const id of await endedIds('rolled-back')) await discard(id)
    let bytes = 0
    for (const [age, id] of (await endedIds('done')).toReversed().entries()) {
      bytes += (await nodeFs.stat(fileOf(`${id}.bytes`)).catch(() => undefined))?.size ?? 0
      if (age > 0 && (age >= limits.maxEntries || bytes > limits.maxBytes)) await discard(id)
    }
  }

  const begin = async (
    changes: readonly Change[],
    { undoes = [], ownerId, runId }: CommitOptions,
    madeFolders: readonly string[],
  ): Promise<JournalEntry> => {
    const last = Number((await endedIds('done', 'rolled-back')).at(-1)?.split('-')[0] ?? 0)
    const id = `${String(last + 1).padStart(8, '0')}-${randomBytes(4).toString('hex')}`
    const entry: JournalEntry = {
      id,
      atMs: now(),
      undoes: undoes[0]?.id ?? null,
      undoesAlso: undoes.slice(1).map((each) => each.id),
      runId: runId ?? null,
      ownerId: ownerId ?? null,
      madeFolders: [...madeFolders],
      files: changes.map(({ path, before, after }) => ({
        path,
        before: before === null ? null : { sha256: before.sha256, size: before.bytes.length, mode: before.mode },
        after: after === null ? null : { sha256: after.sha256, size: after.bytes.length, mode: after.mode ?? null },
      })),
    }
    await writeDurably(
      fileOf(`${id}.bytes`),
      [...changes.map(({ before }) => before), ...changes.map(({ after }) => after)].map(
        (content) => content?.bytes ?? Buffer.alloc(0),
      ),
    )
    await writeDurably(fileOf(`${id}.new`), [Buffer.from(JSON.stringify(entry))])
    await nodeFs.rename(fileOf(`${id}.new`), fileOf(`${id}.pending`))
    await syncFolder(dir)
    return entry
  }

  const commit: Journal['commit'] = (changes, options) =>
    locked(options.signal, async (lock) => {
      const [recovered] = await recover()
      if (recovered !== undefined && options.undoesNewest === true) {
        throw failed(`A newer change, ${recovered}, was interrupted. It is rolled back now. Nothing else was undone.`)
      }
      for (const { path, before } of changes) await checkUnchanged(folder, path, before)
      if (options.signal.aborted) throw cancelled()
      const made = new Set<string>()
      for (const { path, after } of changes) {
        if (after !== null) for (const each of await folder.missingFolders(path)) made.add(each)
      }
      const entry = await begin(changes, options, [...made])
      try {
        // Write all files before removing any.
        for (const change of changes.toSorted((a, b) => Number(a.after === null) - Number(b.after === null))) {
          if (options.signal.aborted) throw cancelled()
          // If this process was suspended for long, another one may have rolled the change back.
          if (!(await lock.isHeld())) throw failed('Another process took over the journal of changes. Try again.')
          const { path, before, after } = change
          await put(folder, path, before?.sha256 ?? null, after?.bytes ?? null, after?.mode)
        }
        await nodeFs.rename(fileOf(`${entry.id}.pending`), fileOf(`${entry.id}.done`))
      } catch (error) {
        await undoPart(entry, changes, error)
      }
      for (const { madeFolders } of options.undoes ?? []) await removeFolders(folder, madeFolders)
      await syncFolder(dir)
      await prune().catch(() => {})
      return entry.id
    })

  /** Rolls back and throws `cause`, or an error that names the files that could not be restored. */
  const undoPart = async (entry: JournalEntry, changes: readonly Change[], cause: unknown): Promise<never> => {
    let left: readonly string[]
    try {
      const oldOnes = changes.map(({ before }) => before?.bytes ?? null)
      left = (await rollBack(entry, oldOnes)).left
      await discard(entry.id)
    } catch (error) {
      const detail = `${asToolError(dir, cause).message} The files that were changed could not be restored (${asToolError(dir, error).message}). The next patch tries again.`
      throw failed(detail, cause)
    }
    // For a conflict, `cause` names the file that was changed by somebody else already.
    if (left.length > 0 && !isConflict(cause)) {
      throw failed(
        `${asToolError(dir, cause).message} ${left.join(', ')} changed in the meantime and was not restored.`,
        cause,
      )
    }
    throw asToolError(dir, cause)
  }

  await locked(signal, recover)
  const pathQueue = createQueue()
  return {
    settle,
    withPaths: pathQueue,
    commit,
    oldBytes,
    newBytes,
    entries: async (sinceMs = 0) => {
      const entries: JournalEntry[] = []
      for (const id of await endedIds('done')) {
        const entry = await readEntry(`${id}.done`).catch((error: unknown) => {
          // Another process has removed the entry as too old.
          if (error instanceof ToolError && errnoOf(error.cause) === 'ENOENT') return undefined
          throw error
        })
        if (entry !== undefined && entry.atMs >= sinceMs) entries.push(entry)
      }
      return entries
    },
    async rolledBack() {
      const newest = (await endedIds('done', 'rolled-back')).at(-1)
      const isRolledBack = newest !== undefined && (await endedIds('rolled-back')).includes(newest)
      return isRolledBack ? await readEntry(`${newest}.rolled-back`) : undefined
    },
  }
}

/** @throws ToolError `conflict` if the file no longer has these bytes */
async function checkUnchanged(folder: Folder, path: string, before: FileContent | null): Promise<void> {
  const found = await findFile(folder, path, before?.size ?? 0)
  const sha256 = found === null || found === 'other' ? undefined : found.sha256
  // A person who approved a change of a text has not approved it for a program.
  const isSameMode =
    found === null || found === 'other' || before === null || isExecutable(found) === isExecutable(before)
  if (found !== 'other' && sha256 === before?.sha256 && isSameMode) return
  throw changedConflict(path, before?.sha256, sha256)
}

function isExecutable({ mode }: FileContent): boolean {
  return (mode & 0o111) !== 0
}

export function changedConflict(path: string, expected: string | undefined, found: string | undefined): ToolError {
  return new ToolError({
    kind: 'conflict',
    detail:
      expected === undefined
        ? `${path} exists already. Read it before you change it. No file was changed.`
        : `${path} has changed. Read it again and send a new patch. No file was changed.`,
    conflicts: [
      {
        path,
        expected: [expected === undefined ? 'no file' : `sha256 ${expected}`],
        found: [found === undefined ? 'no file, or one of another size' : `sha256 ${found}`],
      },
    ],
  })
}

/** Returns `other` for anything but a file of at most `maxBytes`. */
export async function findFile(folder: Folder, path: string, maxBytes: number): Promise<FileContent | 'other' | null> {
  try {
    return await readIfThere(folder, path, { maxBytes })
  } catch (error) {
    if (error instanceof ToolError) return 'other'
    throw error
  }
}

/** Returns null if `readFile` fails: there is no file, or a folder or unreadable file, which `writeFile` refuses to replace. */
export async function readIfThere(
  folder: Folder,
  path: string,
  limits: { readonly maxBytes: number; readonly signal?: AbortSignal },
): Promise<FileContent | null> {
  try {
    return await folder.readFile(path, limits)
  } catch (error) {
    if (error instanceof ToolError && error.failure.kind === 'failed') return null
    throw error
  }
}

/** Removes those folders that are empty. */
async function removeFolders(folder: Folder, paths: readonly string[]): Promise<void> {
  for (const path of paths.toReversed()) await folder.removeEmptyFolder(path)
}

async function put(
  folder: Folder,
  path: string,
  ifSha256: string | null,
  bytes: Buffer | null,
  mode: number | undefined,
): Promise<void> {
  if (bytes !== null) await folder.writeFile(path, bytes, { ifSha256, mode })
  else if (ifSha256 !== null) await folder.removeFile(path, { ifSha256 })
}

async function writeDurably(path: string, parts: readonly Buffer[]): Promise<void> {
  const file = await nodeFs.open(path, 'wx', 0o600)
  try {
    for (const part of parts) await file.writeFile(part)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function syncFolder(dir: string): Promise<void> {
  try {
    const folder = await nodeFs.open(dir, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  } catch {
    // Some systems cannot sync a folder. A power failure may lose the change there.
  }
}

function isPending(name: string): boolean {
  return name.endsWith('.pending')
}

function idOf(name: string): string {
  return name.slice(0, name.lastIndexOf('.'))
}

function isConflict(error: unknown): boolean {
  return error instanceof ToolError && error.failure.kind === 'conflict'
}

/** @param dir the folder of the journal */
function asToolError(dir: string, error: unknown): ToolError {
  if (error instanceof ToolError) return error
  if (error instanceof RecordStoreError) return failed(`${error.message}.`, error)
  return unwritable(dir, error)
}

/** Errors of the journal's own files contain a path and a code, but no file contents. */
function unwritable(dir: string, error: unknown): ToolError {
  const code = errnoOf(error) || 'unexpected error'
  return failed(`Changes cannot be stored for undo, because copilot-proxy cannot write to ${dir} (${code}).`, error)
}
