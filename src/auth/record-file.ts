import { constants } from 'node:fs'
import { platform } from 'node:os'
import { parseJson } from './http-json.ts'
import { adviceFor, errnoOf, RecordStoreError, type RecordFs } from './record-fs.ts'
import type { RecordKind, StoredRecord } from './record-kind.ts'

/** A record is about 2 KB; this leaves room for whatever a newer program adds. Bytes. */
const MAX_RECORD_BYTES = 1024 * 1024

/** Which file was read: an atomic replacement since then has another identity. */
interface FileIdentity {
  readonly ino: number
  readonly mtimeMs: number
}

export type RecordRead<Stored> =
  | { readonly kind: 'absent' }
  /** `tightened`: others could read the file until now. */
  | { readonly kind: 'record'; readonly record: Stored; readonly tightened: boolean }
  | { readonly kind: 'corrupt'; readonly why: string; readonly identity: FileIdentity }

/**
 * Reads one record file. `id` is what the record inside must call itself.
 * @throws RecordStoreError `not_a_file`, `unreadable`; such a file is left exactly as it is
 */
export async function readRecordFile<Stored extends StoredRecord>(
  fs: RecordFs,
  path: string,
  id: string,
  schema: RecordKind<Stored>['schema'],
): Promise<RecordRead<Stored>> {
  try {
    if (!(await fs.lstat(path)).isFile()) throw notAFile(path)
    // NOFOLLOW and NONBLOCK: a link or FIFO put here since the line above neither leads elsewhere nor blocks.
    const file = await fs.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) throw notAFile(path)
      const identity = { ino: stat.ino, mtimeMs: stat.mtimeMs }
      if (stat.size > MAX_RECORD_BYTES) return { kind: 'corrupt', why: 'it is far too large', identity }
      const tightened = isLoose(stat.mode)
      if (tightened) await file.chmod(0o600)
      const parsed = parseRecord(await file.readFile(), id, schema)
      return parsed.ok
        ? { kind: 'record', record: parsed.record, tightened }
        : { kind: 'corrupt', why: parsed.why, identity }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof RecordStoreError) throw error
    const code = errnoOf(error)
    if (code === 'ENOENT') return { kind: 'absent' }
    if (code === 'ELOOP') throw notAFile(path)
    throw new RecordStoreError('unreadable', `${path} cannot be read: ${adviceFor(code)}`, { cause: error })
  }
}

/**
 * Renames a corrupt file to the first free `<path>.corrupt-<n>` and returns that name; undefined when the file has been
 * replaced meanwhile. Nothing is ever deleted.
 */
export async function setAside(fs: RecordFs, path: string, identity: FileIdentity): Promise<string | undefined> {
  const aside = await freeName(fs, path)
  const { ino, mtimeMs } = await fs.lstat(path)
  if (ino !== identity.ino || mtimeMs !== identity.mtimeMs) return undefined
  await fs.rename(path, aside)
  return aside
}

/** Whether group or others may do anything with it; Windows has no such bits. */
export function isLoose(mode: number): boolean {
  return platform() !== 'win32' && (mode & 0o077) !== 0
}

function parseRecord<Stored extends StoredRecord>(
  bytes: Uint8Array,
  id: string,
  schema: RecordKind<Stored>['schema'],
): { readonly ok: true; readonly record: Stored } | { readonly ok: false; readonly why: string } {
  if (bytes.length === 0) return { ok: false, why: 'it is empty' }
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return { ok: false, why: 'it starts with a byte order mark: save it as plain UTF-8' }
  }
  const value = parseJson(new TextDecoder().decode(bytes))
  if (value === undefined) return { ok: false, why: 'it is not JSON, or cut short' }
  const parsed = schema.safeParse(value)
  if (!parsed.success) {
    // Paths only: zod's messages may quote what is in the file.
    const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole').join(', ')
    return { ok: false, why: `these parts are missing or of the wrong type: ${fields}` }
  }
  return parsed.data.id === id
    ? { ok: true, record: parsed.data }
    : { ok: false, why: 'the id inside is not the name of the file' }
}

async function freeName(fs: RecordFs, path: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const name = `${path}.corrupt-${n}`
    try {
      await fs.lstat(name)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return name
      throw error
    }
  }
}

function notAFile(path: string): RecordStoreError {
  return new RecordStoreError(
    'not_a_file',
    `${path} is not a plain file (a link, folder or pipe) and was left alone; move it away and log in again`,
  )
}
