import type { Stats } from 'node:fs'
import * as nodeFs from 'node:fs/promises'
import { dirname } from 'node:path'
import { removeIfThere, replaceFile } from '../auth/atomic-file.ts'
import { adviceFor, errnoOf, isForeign, isLoose } from '../auth/record-fs.ts'
import { targetOf } from './change-config-file.ts'
import { CommandFailure, exitCode } from './exit-code.ts'

/** A settings file of a client, and the copy of how it was before setup. */
export interface ClientFile {
  /** As the client knows it. */
  readonly path: string
  /** Undefined: there is no such file. */
  readonly text: string | undefined
  /** Undefined: there is no copy. */
  readonly backup: string | undefined
}

/** Beside the file itself. */
export function backupPath(path: string): string {
  return `${path}.copilot-proxy-backup`
}

/** @throws CommandFailure where it cannot be read */
export async function readClientFile(path: string): Promise<ClientFile> {
  return told(path, async () => ({ path, text: await readText(path), backup: await readText(backupPath(path)) }))
}

/**
 * Puts a text in the place of the file: at any moment there is the old one or the new one, whole. A link stays one, the
 * mode stays, and a new file is readable by its owner alone: it may hold a key.
 * @param next undefined removes it
 * @throws CommandFailure; nothing is changed then
 */
export async function changeClientFile({ path, text }: ClientFile, next: string | undefined): Promise<void> {
  await told(path, async () => {
    const target = await targetOf(path)
    await nodeFs.mkdir(dirname(target), { recursive: true, mode: 0o700 })
    const before = await requireWritable(target)
    if ((await readText(target)) !== text) {
      throw new CommandFailure(
        exitCode.failed,
        `Another program has just changed ${target}; nothing was done. Try again.`,
      )
    }
    if (next === undefined) await removeIfThere(nodeFs, target)
    else await replaceFile(nodeFs, target, next, before && before.mode & 0o777)
  })
}

/**
 * The file at the end of links, as it is; undefined where there is none.
 * @throws CommandFailure where it is not this user's to change. The folder decides whether it could be: a file that is
 * read-only has been made so on purpose.
 */
async function requireWritable(target: string): Promise<Stats | undefined> {
  const stat = await nodeFs.stat(target).catch(() => undefined)
  if (stat === undefined) return undefined
  if (isForeign(stat.uid)) {
    throw new CommandFailure(exitCode.failed, `${target} belongs to another user. Run this as that user.`)
  }
  if ((stat.mode & 0o200) === 0) {
    throw new CommandFailure(exitCode.failed, `${target} is read-only. Make it writable (chmod u+w), and try again.`)
  }
  return stat
}

/** Keeps the file as it is now. Its copy can be read by whoever may read the file. */
export async function keepBackup({ path, text }: ClientFile): Promise<void> {
  if (text === undefined) return removeBackup(path)
  await told(path, async () => {
    const { mode } = (await requireWritable(await targetOf(path))) ?? { mode: 0o600 }
    await replaceFile(nodeFs, backupPath(path), text, mode & 0o777)
  })
}

export async function removeBackup(path: string): Promise<void> {
  await told(path, async () => {
    await removeIfThere(nodeFs, backupPath(path))
  })
}

/** False on Windows, whose modes say nothing of it. */
export async function isOpenToOthers(path: string): Promise<boolean> {
  return isLoose((await nodeFs.stat(path)).mode)
}

async function readText(path: string): Promise<string | undefined> {
  try {
    const bytes = await nodeFs.readFile(path)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    if (error instanceof TypeError) throw new CommandFailure(exitCode.failed, `${path} is not written in UTF-8.`)
    throw error
  }
}

async function told<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = errnoOf(error)
    if (code === '' || error instanceof CommandFailure) throw error
    throw new CommandFailure(exitCode.failed, `${path} could not be used: ${adviceFor(code)}.`, { cause: error })
  }
}
