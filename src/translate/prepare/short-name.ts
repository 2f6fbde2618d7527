import { digest8 } from './digest.ts'

/** Both OpenAI and Anthropic take these in tool names and in call ids, and nothing else. */
const ILLEGAL = /[^A-Za-z0-9_-]/g

/** `_` and eight digits. */
const SUFFIX_LENGTH = 9

/**
 * A name that upstream takes: other characters become `_`, and what is too long keeps its beginning and gets a digest of
 * the whole. Depends on nothing but the name, so that every turn of a session and every process says the same.
 */
export function shortName(name: string, maxLength: number): string {
  const legal = name.replaceAll(ILLEGAL, '_')
  if (legal.length <= maxLength) return legal
  return `${legal.slice(0, maxLength - SUFFIX_LENGTH)}_${digest8(name)}`
}

/** `legal`, with the digest of `name` in place of its end; for a second name that would read the same. */
export function distinctName(name: string, maxLength: number): string {
  const legal = name.replaceAll(ILLEGAL, '_')
  return `${legal.slice(0, maxLength - SUFFIX_LENGTH)}_${digest8(name)}`
}

/** Whether upstream takes the name as it is. */
export function isLegalName(name: string, maxLength: number): boolean {
  return name !== '' && name.length <= maxLength && name.search(ILLEGAL) === -1
}
