import { createHash } from 'node:crypto'
import type { Pace } from './pace.ts'

/** Hashed between two turns of others. Bytes. */
const partBytes = 4 * 1024 * 1024

/** SHA-256 in lower-case hex. */
export async function sha256Of(bytes: Buffer, pace: Pace): Promise<string> {
  const digest = createHash('sha256')
  for (let at = 0; at < bytes.length; at += partBytes) {
    if (at > 0) await pace.rest()
    digest.update(bytes.subarray(at, at + partBytes))
  }
  return digest.digest('hex')
}
