import { hash } from 'node:crypto'

const base32 = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * Returns the id of a workspace: 50 bits of the hash of its real path in lower-case base32 (RFC 4648 §6), because an id must not
 * reveal the path.
 */
export function folderId(root: string): string {
  const bytes = hash('sha256', root, 'buffer')
  let bits = bytes.readBigUInt64BE() >> 14n
  let id = ''
  for (let length = 0; length < 10; length += 1) {
    id = (base32[Number(bits & 31n)] ?? '') + id
    bits >>= 5n
  }
  return id
}
