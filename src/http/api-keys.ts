import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/**
 * The key a caller presented: OpenAI clients send `Authorization: Bearer`, Anthropic clients `x-api-key`.
 * Either is accepted on every route; never in a URL.
 */
export function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
  const apiKey = headers['x-api-key']
  return bearer?.trim() ?? (typeof apiKey === 'string' ? apiKey : undefined)
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
