import type { Stats } from 'node:fs'
import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, isForeign, isLoose, type RecordFs } from './record-fs.ts'

/** A file or folder that others can access, with the command that fixes it. */
export interface PermissionFinding {
  readonly path: string
  readonly problem:
    /** Group or others have any access to it. */
    | 'open_to_others'
    /** It belongs to another user. */
    | 'foreign_owner'
    /** A link, folder or pipe instead of a file, or anything but a folder instead of a folder. */
    | 'wrong_kind'
    /** It cannot be inspected. */
    | 'unknown'
  /** A sentence without its full stop; names the path. */
  readonly detail: string
  readonly fix: string
}

/** Records, sealed or not, and copies of unusable ones. All of them may contain a login. */
const HOLDS_LOGIN = /\.(?:json|sealed)(?:\.corrupt-\d+)?$/

/**
 * Inspects the folder of the logins and every file in it that may contain one. Changes nothing and never throws;
 * reports a file that cannot be inspected. Empty if everything is private, or if the folder does not exist yet.
 */
export async function inspectAuthFolder(
  dir: string,
  fs: Pick<RecordFs, 'lstat' | 'readdir' | 'stat'> = nodeFs,
): Promise<readonly PermissionFinding[]> {
  const names = await fs.readdir(dir).catch(() => [])
  const paths = names.filter((name) => HOLDS_LOGIN.test(name)).toSorted()
  const findings = await Promise.all([
    // Follows a link to a folder, because it is the user's own choice.
    inspect(dir, 'folder', fs.stat(dir)),
    ...paths.map((name) => inspect(join(dir, name), 'file', fs.lstat(join(dir, name)))),
  ])
  return findings.filter((finding) => finding !== undefined)
}

/** Undefined if the file is private, or does not exist. */
async function inspect(
  path: string,
  kind: 'file' | 'folder',
  looked: Promise<Stats>,
): Promise<PermissionFinding | undefined> {
  const name = quoted(path)
  try {
    const stat = await looked
    if (!(kind === 'file' ? stat.isFile() : stat.isDirectory())) {
      const wanted = kind === 'file' ? 'plain file (a link, folder or pipe)' : 'folder'
      const fix = `mv ${name} ${quoted(`${path}.moved`)}`
      return { path, problem: 'wrong_kind', detail: `${path} is not a ${wanted}`, fix }
    }
    if (isForeign(stat.uid)) {
      const detail = `${path} belongs to another user (uid ${stat.uid})`
      return { path, problem: 'foreign_owner', detail, fix: `sudo chown "$(id -u)" ${name}` }
    }
    if (!isLoose(stat.mode)) return undefined
    const mode = (stat.mode & 0o777).toString(8).padStart(4, '0')
    const detail = `${path} is open to other users of this machine (mode ${mode})`
    return { path, problem: 'open_to_others', detail, fix: `chmod ${kind === 'file' ? '600' : '700'} ${name}` }
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') return undefined
    const detail = `${path} cannot be inspected${code === '' ? '' : ` (${code})`}`
    return { path, problem: 'unknown', detail, fix: `ls -ld ${name}` }
  }
}

/** Quotes a path for a shell command. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
