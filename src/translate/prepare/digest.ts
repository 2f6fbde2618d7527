// oxlint-disable-next-line no-restricted-imports -- createHash is a pure function of its input, and SHA-256 is not ours to write
import { createHash } from 'node:crypto'

/** The first eight hex digits of the text's SHA-256: the same on every turn, so that history and tools agree. */
export function digest8(text: string): string {
  return digest(text, 8)
}

/** The first hex digits of the text's SHA-256; 64 at most. */
export function digest(text: string, digits: number): string {
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, digits)
}
