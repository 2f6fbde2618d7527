import { createHash } from 'node:crypto'

/** Bytes; 256 bits, which nobody guesses. */
const keyBytes = 32

/**
 * A new key for `server.api-keys`. It begins as OpenAI's do: some clients look at that, and whatever redacts theirs
 * redacts it.
 * @param random as `randomBytes` of node:crypto
 */
export function generateKey(random: (size: number) => Buffer): { readonly key: string; readonly sha256: string } {
  const key = `sk-copilot-proxy-${random(keyBytes).toString('base64url')}`
  return { key, sha256: createHash('sha256').update(key).digest('hex') }
}
