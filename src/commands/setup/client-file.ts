import type { Stats } from 'node:fs'
import * as nodeFs from 'node:fs/promises'
import { dirname } from 'node:path'
import { structuredPatch } from 'diff'
import { removeIfThere, replaceFile } from '../../auth/records/atomic-file.ts'
import { errnoOf, isForeign, isLoose } from '../../auth/records/record-fs.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import { targetOf, withFileErrors } from '../shared/edit-file.ts'

/** A client's settings file, and its backup from before setup. */
export interface ClientFile {
  /** Symbolic links are not resolved. */
  readonly path: string
  /** Undefined: the file does not exist. */
  readonly text: string | undefined
  /** Undefined: no backup exists. */
  readonly backup: string | undefined
  readonly backupPath: string
}

/**
 * @param kind distinguishes the backups of two setups of one file
 * @throws CommandFailure if it cannot be read
 */
export async function readClientFile(path: string, kind: 'backup' | 'mcp-backup' = 'backup'): Promise<ClientFile> {
  const backupPath = `${path}.copilot-proxy-${kind}`
  return reportErrors(path, async () => ({
    path,
    text: await readText(path),
    backup: await readText(backupPath),
    backupPath,
  }))
}

/**
 * Replaces the file atomically. A symbolic link and the mode are kept; a new file is readable by its owner alone,
 * since it may hold a key.
 * @param next undefined removes the file
 * @throws CommandFailure; nothing is changed then
 */
export async function changeClientFile({ path, text }: ClientFile, next: string | undefined): Promise<void> {
  await reportErrors(path, async () => {
    const target = await targetOf(path)
    await nodeFs.mkdir(dirname(target), { recursive: true, mode: 0o700 })
    const before = await requireWritable(target)
    if ((await readText(target)) !== text) {
      throw new CommandFailure(
        exitCode.failed,
        `Another program changed ${target} at the same time. Nothing changed. Try again.`,
      )
    }
    if (next === undefined) await removeIfThere(nodeFs, target)
    else await replaceFile(nodeFs, target, next, before && before.mode & 0o777)
  })
}

/**
 * The stats of a resolved path; undefined if no file exists.
 * @throws CommandFailure for another user's or a read-only file. The folder would permit a replacement, but the mode
 * expresses the user's intent.
 */
async function requireWritable(target: string): Promise<Stats | undefined> {
  const stat = await nodeFs.stat(target).catch(() => undefined)
  if (stat === undefined) return undefined
  if (isForeign(stat.uid)) {
    throw new CommandFailure(exitCode.failed, `${target} belongs to another user. Run this as that user.`)
  }
  if ((stat.mode & 0o200) === 0) {
    throw new CommandFailure(exitCode.failed, `${target} is read-only. Run: chmod u+w ${target}`)
  }
  return stat
}

/** Copies the file, with its mode, to the backup. */
export async function keepBackup(file: ClientFile): Promise<void> {
  const { path, text, backupPath } = file
  if (text === undefined) return removeBackup(file)
  await reportErrors(path, async () => {
    const { mode } = (await requireWritable(await targetOf(path))) ?? { mode: 0o600 }
    await replaceFile(nodeFs, backupPath, text, mode & 0o777)
  })
}

export async function removeBackup({ path, backupPath }: ClientFile): Promise<void> {
  await reportErrors(path, async () => {
    await removeIfThere(nodeFs, backupPath)
  })
}

/** Always false on Windows, whose modes say nothing about that. */
export async function isOpenToOthers(path: string): Promise<boolean> {
  return isLoose((await nodeFs.stat(path)).mode)
}

async function readText(path: string): Promise<string | undefined> {
  try {
    const bytes = await nodeFs.readFile(path)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    if (error instanceof TypeError) throw new CommandFailure(exitCode.failed, `${path} is not UTF-8 text.`)
    throw error
  }
}

function reportErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  return withFileErrors((advice) => `Cannot use ${path}: ${advice}.`, work)
}

/** The changes as `diff -u` prints them; '' if there are none. An empty text means a missing file. */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return ''
  const { hunks } = structuredPatch(path, path, before, after, '', '', { context: 3 })
  const header = `--- ${before === '' ? '/dev/null' : path}\n+++ ${after === '' ? '/dev/null' : path}\n`
  return hunks.reduce(
    (text, { oldStart, oldLines, newStart, newLines, lines }) =>
      `${text}@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@\n${lines.join('\n')}\n`,
    header,
  )
}

/** As GNU diff: an empty range is named by the line before it, and a count of 1 is omitted. */
function rangeOf(start: number, count: number): string {
  if (count === 0) return `${start - 1},0`
  return count === 1 ? `${start}` : `${start},${count}`
}
