import { constants } from 'node:fs'
import { adviceFor, errnoOf, isForeign, isLoose, RecordStoreError, type RecordFs } from './record-fs.ts'
import type { RecordKind, StoredRecord } from './record-kind.ts'
import type { RecordSeal } from './record-seal.ts'
import { parseJson } from '../../json/json.ts'

/** A record is about 2 KB. The limit leaves room for additions by newer programs. Bytes. */
const MAX_RECORD_BYTES = 1024 * 1024

/**
 * The maximum number of unusable files kept for one record, so that a program that damages it again and again does not
 * fill the disk.
 */
const MAX_KEPT = 9

/** Identifies the file that was read. An atomic replacement has another identity. */
interface FileIdentity {
  readonly ino: number
  readonly mtimeMs: number
}

type RecordRead<Stored> =
  | { readonly kind: 'absent' }
  /** `exposure`: how others could access the file, and whether that was fixed. */
  | { readonly kind: 'record'; readonly record: Stored; readonly exposure: string | undefined }
  | { readonly kind: 'corrupt'; readonly why: string; readonly identity: FileIdentity }
  /** Sealed with a key that is not in the keychain. */
  | { readonly kind: 'locked_out'; readonly identity: FileIdentity }

interface ReadRules<Stored extends StoredRecord> extends Permissions {
  /** The id that the record must contain. */
  readonly id: string
  readonly schema: RecordKind<Stored>['schema']
  /** Undefined: the file is plain text. */
  readonly seal: RecordSeal | undefined
}

interface Permissions {
  /** Refuses a file that others can read, instead of making it private. */
  readonly strict: boolean
  /** Leaves the file as it is. */
  readonly isReadOnly: boolean
}

/**
 * Reads one record file.
 * @throws RecordStoreError `not_a_file`, `not_private`, `unreadable`, `keychain`; the file is then left unchanged
 */
export async function readRecordFile<Stored extends StoredRecord>(
  fs: RecordFs,
  path: string,
  { id, schema, seal, ...permissions }: ReadRules<Stored>,
): Promise<RecordRead<Stored>> {
  const raw = await readPrivateFile(fs, path, permissions)
  if (raw === undefined) return { kind: 'absent' }
  const { bytes, identity, exposure } = raw
  if (bytes === undefined) return { kind: 'corrupt', why: 'it is too large', identity }
  const opened = seal === undefined ? { kind: 'text' as const, text: bytes } : await seal.open(id, bytes)
  if (opened.kind === 'no_key') return { kind: 'locked_out', identity }
  const parsed = opened.kind === 'text' ? parseRecord(opened.text, id, schema) : opened.why
  return typeof parsed === 'string'
    ? { kind: 'corrupt', why: parsed, identity }
    : { kind: 'record', record: parsed, exposure }
}

interface PrivateFile {
  /** Undefined: the file is larger than `MAX_RECORD_BYTES`. */
  readonly bytes: Uint8Array | undefined
  readonly identity: FileIdentity
  readonly exposure: string | undefined
}

const notAFile = 'is not a plain file but a link, folder or pipe. Move it away and log in again'

/** Undefined if there is no such file. */
export async function readPrivateFile(
  fs: RecordFs,
  path: string,
  { strict, isReadOnly }: Permissions,
): Promise<PrivateFile | undefined> {
  try {
    if (!(await fs.lstat(path)).isFile()) throw new RecordStoreError('not_a_file', `${path} ${notAFile}`)
    // NOFOLLOW and NONBLOCK: if a link or FIFO was put here since the check above, opening it neither leads elsewhere
    // nor blocks.
    const file = await fs.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) throw new RecordStoreError('not_a_file', `${path} ${notAFile}`)
      if (isForeign(stat.uid)) {
        const what = `${path} belongs to another user (uid ${stat.uid})`
        throw new RecordStoreError('not_private', `${what}. Move it away and log in again`)
      }
      if (strict && isLoose(stat.mode)) {
        const what = `${path} can be read by other users of this machine (auth.strict-permissions)`
        throw new RecordStoreError('not_private', `${what}. Log in again, or run: chmod 600 ${path}`)
      }
      const exposure = isLoose(stat.mode) ? await tighten(path, file, isReadOnly) : undefined
      const identity = { ino: stat.ino, mtimeMs: stat.mtimeMs }
      const bytes = stat.size > MAX_RECORD_BYTES ? undefined : await file.readFile()
      return { bytes, identity, exposure }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof RecordStoreError) throw error
    const code = errnoOf(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw new RecordStoreError('not_a_file', `${path} ${notAFile}`)
    throw new RecordStoreError('unreadable', `${path} cannot be read: ${adviceFor(code)}`, { cause: error })
  }
}

/**
 * Makes the file private and returns a warning. A failure is a warning too, because a login that works is no reason to
 * stop.
 */
async function tighten(
  path: string,
  file: { readonly chmod: (mode: number) => Promise<void> },
  isReadOnly: boolean,
): Promise<string> {
  if (isReadOnly) return `${path} can be read by other users of this machine. Run: chmod 600 ${path}`
  try {
    await file.chmod(0o600)
    return `${path} could be read by other users of this machine; its mode is now 0600`
  } catch (error) {
    return `${path} can be read by other users of this machine, which cannot be changed: ${adviceFor(errnoOf(error))}`
  }
}

/**
 * Renames an unusable file to `<path>.corrupt-<n>`. Undefined if the file has been replaced meanwhile. Keeps the newest
 * few: if all names are taken, it overwrites the oldest and sets `replaced`.
 */
export async function setAside(
  fs: RecordFs,
  path: string,
  identity: FileIdentity,
): Promise<{ readonly path: string; readonly replaced: boolean } | undefined> {
  const kept: { readonly path: string; readonly mtimeMs: number }[] = []
  for (const n of Array(MAX_KEPT).keys()) {
    const name = `${path}.corrupt-${n + 1}`
    const found = await fs.lstat(name).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw error
    })
    kept.push({ path: name, mtimeMs: found?.mtimeMs ?? -Infinity })
    if (found === undefined) break
  }
  const [aside] = kept.toSorted((a, b) => a.mtimeMs - b.mtimeMs)
  const { ino, mtimeMs } = await fs.lstat(path)
  if (aside === undefined || ino !== identity.ino || mtimeMs !== identity.mtimeMs) return undefined
  await fs.rename(path, aside.path)
  return { path: aside.path, replaced: aside.mtimeMs !== -Infinity }
}

/** The record, or the reason it is unusable, as the end of “the file is not usable: …”. */
function parseRecord<Stored extends StoredRecord>(
  bytes: Uint8Array,
  id: string,
  schema: RecordKind<Stored>['schema'],
): Stored | string {
  if (bytes.length === 0) return 'it is empty'
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return 'it starts with a byte order mark: save it as plain UTF-8'
  }
  const value = parseJson(new TextDecoder().decode(bytes))
  if (value === undefined) return 'it is not valid JSON'
  const parsed = schema.safeParse(value)
  if (!parsed.success) {
    // Paths only, because zod's messages may quote the file.
    const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole').join(', ')
    return `these parts are missing or of the wrong type: ${fields}`
  }
  return parsed.data.id === id ? parsed.data : 'its id differs from the name of the file'
}
