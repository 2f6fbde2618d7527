import type * as nodeFs from 'node:fs/promises'
import { platform } from 'node:os'
// Not imported by name, because Windows has no geteuid.
import nodeProcess from 'node:process'

/** The part of node:fs/promises that records and locks use. Tests replace it with one that fails. */
export type RecordFs = Pick<
  typeof nodeFs,
  'chmod' | 'link' | 'lstat' | 'mkdir' | 'open' | 'readFile' | 'readdir' | 'rename' | 'stat' | 'unlink'
>

export type RecordProblem =
  /** Another process held the record's lock for longer than the time limit. */
  | 'busy'
  /** Another process took the lock over while this one held it; nothing was written. */
  | 'lock_lost'
  /** The configured keychain cannot be used. */
  | 'keychain'
  /** A record's path holds something other than a plain file. */
  | 'not_a_file'
  /** The file belongs to another user, or others can access it and the configuration forbids that. */
  | 'not_private'
  | 'unreadable'
  | 'unwritable'

/** A record could not be read or stored. The message names the path and what to do; it holds no credential. */
export class RecordStoreError extends Error {
  override readonly name = 'RecordStoreError'
  readonly problem: RecordProblem

  constructor(problem: RecordProblem, message: string, options?: ErrorOptions) {
    super(message, options)
    this.problem = problem
  }
}

/** The errno name of a file system error, e.g. `ENOENT`; '' for anything else. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Whether group or others have any access; Windows has no such bits. */
export function isLoose(mode: number): boolean {
  return platform() !== 'win32' && (mode & 0o077) !== 0
}

/** Asked once, because a process keeps it. Undefined on Windows. */
const ownUid = nodeProcess.geteuid?.()

/**
 * Whether a file belongs to another user. Files of the superuser do not count: the superuser can read and change
 * everything anyway, and often owns container volumes.
 */
export function isForeign(uid: number): boolean {
  return ownUid !== undefined && uid !== ownUid && uid !== 0
}

/** What users can do about a failed read or write of a record. */
export function adviceFor(code: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full: free some space and try again'
    case 'EROFS':
      return 'the file system is read-only: set COPILOT_PROXY_HOME to a folder that can be written'
    // On a read-only file system, Node's recursive `mkdir` fails with this code and not with EROFS (Node 24.21).
    case 'ENOENT':
      return 'its folder cannot be created, for example because the file system is read-only: set COPILOT_PROXY_HOME to a folder that can be written'
    case 'EACCES':
    case 'EPERM':
      return 'permission denied: check the owner and mode of the file and its folder'
    case 'EIO':
      return 'the disk reported an error: check it, or set COPILOT_PROXY_HOME to another one'
    default:
      return code === '' ? 'unexpected error' : `the system reported ${code}`
  }
}
