import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, isForeign, isLoose, type RecordFs } from './record-fs.ts'

/** A file or folder that others can access, with the command that fixes it. */
export interface PermissionFinding {
  readonly path: string
  readonly problem:
    /** Group or others may do something with it. */
    | 'open_to_others'
    /** It belongs to another user. */
    | 'foreign_owner'
    /** A link, folder or pipe stands where a file belongs, or no folder where a folder does. */
    | 'wrong_kind'
    /** It cannot be looked at. */
    | 'unknown'
  /** A sentence without its full stop; names the path. */
  readonly detail: string
  readonly fix: string
}

type InspectFs = Pick<RecordFs, 'lstat' | 'readdir' | 'stat'>

/** Records, sealed or not, and what was kept of them: all may hold a login. */
const HOLDS_LOGIN = /\.(?:json|sealed)(?:\.corrupt-\d+)?$/

/**
 * Looks at the folder of the logins and at every file in it that may hold one. Changes nothing, and never throws: what
 * cannot be looked at is a finding. Empty where all is well, and where there is no folder yet.
 */
export async function inspectAuthFolder(dir: string, fs: InspectFs = nodeFs): Promise<readonly PermissionFinding[]> {
  const folder = await inspectFolder(dir, fs)
  const names = await fs.readdir(dir).catch(() => [])
  const paths = names.filter((name) => HOLDS_LOGIN.test(name)).toSorted()
  const files = await Promise.all(paths.map((name) => inspectPrivateFile(join(dir, name), fs)))
  return [folder, ...files].filter((finding) => finding !== undefined)
}

/** Looks at one file that must be this user's alone; undefined where all is well, and where there is none. */
export async function inspectPrivateFile(
  path: string,
  fs: Pick<InspectFs, 'lstat'> = nodeFs,
): Promise<PermissionFinding | undefined> {
  try {
    const stat = await fs.lstat(path)
    if (!stat.isFile()) {
      const detail = `${path} is not a plain file (a link, folder or pipe)`
      return { path, problem: 'wrong_kind', detail, fix: `mv ${quoted(path)} ${quoted(`${path}.moved`)}` }
    }
    return inspectMode(path, stat, '600')
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? undefined : notSeen(path, error)
  }
}

/** A link to a folder is the user's own choice, so it is followed. */
async function inspectFolder(dir: string, fs: Pick<InspectFs, 'stat'>): Promise<PermissionFinding | undefined> {
  try {
    const stat = await fs.stat(dir)
    if (!stat.isDirectory()) {
      const detail = `${dir} is not a folder`
      return { path: dir, problem: 'wrong_kind', detail, fix: `mv ${quoted(dir)} ${quoted(`${dir}.moved`)}` }
    }
    return inspectMode(dir, stat, '700')
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? undefined : notSeen(dir, error)
  }
}

function inspectMode(
  path: string,
  { mode, uid }: { readonly mode: number; readonly uid: number },
  wanted: string,
): PermissionFinding | undefined {
  if (isForeign(uid)) {
    const detail = `${path} belongs to another user (number ${uid})`
    return { path, problem: 'foreign_owner', detail, fix: `sudo chown "$(id -u)" ${quoted(path)}` }
  }
  if (!isLoose(mode)) return undefined
  const detail = `${path} is open to other users of this machine (mode ${(mode & 0o777).toString(8).padStart(4, '0')})`
  return { path, problem: 'open_to_others', detail, fix: `chmod ${wanted} ${quoted(path)}` }
}

function notSeen(path: string, error: unknown): PermissionFinding {
  const code = errnoOf(error)
  const detail = `${path} cannot be looked at${code === '' ? '' : ` (${code})`}`
  return { path, problem: 'unknown', detail, fix: `ls -ld ${quoted(path)}` }
}

/** For a shell to copy and paste. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
