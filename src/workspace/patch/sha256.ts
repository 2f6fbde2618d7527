import { createHash } from 'node:crypto'
import type { Pace } from './pace.ts'

/** Size of the part that is hashed without a pause. Bytes. */
const partBytes = 4 * 1024 * 1024

/** Returns the SHA-256 in lower-case hex. */
export async function sha256Of(bytes: Buffer, pace: Pace): Promise<string> {
  const digest = createHash('sha256')
  for (let at = 0; at < bytes.length; at += partBytes) {
    if (at > 0) await pace.rest()
    digest.update(bytes.subarray(at, at + partBytes))
  }
  return digest.digest('hex')
}
