// oxlint-disable-next-line layers/one-way -- createHash is a pure function of its input, and SHA-256 is not ours to write
import { createHash } from 'node:crypto'

/** The first hex digits of the text's SHA-256; 64 at most. */
export function digest(text: string, digits: number): string {
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, digits)
}

/** OpenAI and Anthropic take letters, digits, `_` and `-` in tool names and in call ids, and nothing else. */
const ILLEGAL = /[^A-Za-z0-9_-]/g

/** Hex digits at the end of a shortened name. */
const DIGEST_LENGTH = 8

/**
 * A name that upstream takes: other characters become `_`, and a name that is too long keeps its beginning and gets a
 * digest of all of it. Depends on the name alone, so that every request of a session and every process agree.
 */
export function shortName(name: string, maxLength: number): string {
  const legal = name.replaceAll(ILLEGAL, '_')
  return legal.length <= maxLength ? legal : distinctName(name, maxLength)
}

/** As `shortName`, but always with the digest: for a second name that would become the same. */
export function distinctName(name: string, maxLength: number): string {
  const start = name.replaceAll(ILLEGAL, '_').slice(0, maxLength - DIGEST_LENGTH - 1)
  return `${start}_${digest(name, DIGEST_LENGTH)}`
}

/** Whether upstream takes the name as it is. */
export function isLegalName(name: string, maxLength: number): boolean {
  return name !== '' && name.length <= maxLength && name.search(ILLEGAL) === -1
}

/**
 * An id for a part of a reply to which upstream gave no usable id: at most 64 letters, digits and underscores, as unique
 * among replies as the seed is. `index` tells the parts of one reply apart.
 */
export function mintId(prefix: string, seedId: string, index: number): string {
  const root = seedId.replaceAll(/[^A-Za-z0-9]/g, '').slice(-40)
  return `${prefix}_${root}${index === 0 ? '' : `_${index}`}`
}
