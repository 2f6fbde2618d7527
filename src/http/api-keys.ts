import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/**
 * The keys a caller presented: OpenAI clients send `Authorization: Bearer`, Anthropic clients `x-api-key`, and some send
 * both, one of them made up. Either is accepted on every route; never in a URL.
 */
export function presentedKeys(headers: IncomingHttpHeaders): readonly string[] {
  const bearer = /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
  return [bearer?.trim(), headers['x-api-key']].filter((key) => typeof key === 'string')
}

/** Compares digests, all of them, so that the time taken says nothing about a key or its length. */
export function isKnownKey(presented: string, keys: readonly string[]): boolean {
  const digest = sha256(presented)
  let known = false
  for (const key of keys) known = timingSafeEqual(digest, sha256(key)) || known
  return known
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
