import { constants, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { ConfigFile } from './load.ts'
import type { ConfigError } from './problem.ts'

export type ReadResult =
  | { readonly ok: true; readonly file: ConfigFile | undefined }
  | { readonly ok: false; readonly error: ConfigError }

/** Far more than a configuration needs. Bounds the time that a hostile file takes. */
export const maxConfigBytes = 64 * 1024

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'part of the path is not a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'this is a folder',
  ENXIO: 'this is not a file',
  ELOOP: 'the symbolic links form a loop',
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

/** Undefined for a file. Reading a pipe could block for ever. */
function kindFault(stats: Stats): string | undefined {
  if (stats.isDirectory()) return 'this is a folder'
  if (stats.isFIFO()) return 'this is a pipe, not a file'
  return stats.isFile() ? undefined : 'this is not a file'
}

/** Reads at most one byte past the limit, so that a growing file cannot fill the memory. */
async function readLimited(handle: FileHandle): Promise<Buffer> {
  const buffer = Buffer.alloc(maxConfigBytes + 1)
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

/** Returns the reason as text for anything but a file. */
async function readBytes(path: string): Promise<Buffer | string> {
  // Without O_NONBLOCK (undefined on Windows), opening a pipe waits for its writer, even after Ctrl-C. Check the opened
  // file: the path may lead elsewhere by now.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return kindFault(await handle.stat()) ?? (await readLimited(handle))
  } finally {
    await handle.close()
  }
}

/**
 * Never rejects. A missing file is no error unless `required`, because the user named it. Refuses anything but UTF-8 text of
 * at most 64 KiB in a regular file, after following symbolic links.
 */
export async function readConfigFile(path: string, options: { required: boolean }): Promise<ReadResult> {
  const refuse = (detail: string): ReadResult => ({
    ok: false,
    error: { problems: [{ source: { kind: 'file', path }, key: '', detail }] },
  })
  let bytes: Buffer | string
  try {
    bytes = await readBytes(path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' && !options.required) return { ok: true, file: undefined }
    return refuse(`cannot be read: ${reasons[code] ?? code}`)
  }
  if (typeof bytes === 'string') return refuse(`cannot be read: ${bytes}`)
  if (bytes.length > maxConfigBytes) return refuse('is larger than 64 KiB')
  try {
    return { ok: true, file: { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) } }
  } catch {
    return refuse('is not UTF-8 text')
  }
}
