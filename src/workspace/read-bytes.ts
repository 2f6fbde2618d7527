import { createHash } from 'node:crypto'
import type * as fs from 'node:fs/promises'
import type { OpenFile } from './directory.ts'
import { cancelled } from './tool-error.ts'

/** A large file is hashed in chunks, so that it does not block the event loop. Bytes. */
const chunkBytes = 1024 * 1024

export function readerOf(file: fs.FileHandle): OpenFile['read'] {
  return async (buffer, from, length) => (await file.read(buffer, from, length)).bytesRead
}

/** Reads at most `maxBytes`. The hash is undefined for a larger file. `expectedBytes` may be wrong, because a file may grow. */
export async function readBytes(
  read: OpenFile['read'],
  expectedBytes: number,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<{ bytes: Buffer; sha256: string | undefined }> {
  const hash = createHash('sha256')
  const keep = Number.isFinite(maxBytes)
  // Read one byte more than expected, so that the first read of a small file finds its end.
  let buffer = Buffer.allocUnsafe(keep ? expectedBytes + 1 : chunkBytes)
  let size = 0
  for (;;) {
    refuseCancelled(signal)
    const from = keep ? size : 0
    if (from === buffer.length) buffer = Buffer.concat([buffer], buffer.length + chunkBytes)
    const wanted = Math.min(chunkBytes, buffer.length - from)
    const bytesRead = await read(buffer, from, wanted)
    size += bytesRead
    if (size > maxBytes) return { bytes: buffer.subarray(0, maxBytes), sha256: undefined }
    hash.update(buffer.subarray(from, from + bytesRead))
    const isEnd = bytesRead === 0 || (bytesRead < wanted && size === expectedBytes)
    if (isEnd) return { bytes: keep ? buffer.subarray(0, size) : Buffer.alloc(0), sha256: hash.digest('hex') }
  }
}

export function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelled()
}
