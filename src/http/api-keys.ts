import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { namedApiKeys } from '../config/api-key-entry.ts'

/** One of `server.api-keys`, ready to be compared. */
export interface ApiKey {
  /** Tells keys apart in logs and limits, and gives nothing of the key away. */
  readonly name: string
  readonly digest: Buffer
}

/** The keys of a configuration; to be done once for each, not once for each request. */
export function prepareKeys(entries: readonly string[]): readonly ApiKey[] {
  return namedApiKeys(entries).map(({ name, entry }) => ({
    name,
    digest: entry.form === 'hash' ? Buffer.from(entry.sha256, 'hex') : sha256(entry.key),
  }))
}

/**
 * The keys a caller presented: OpenAI clients send `Authorization: Bearer`, Anthropic clients `x-api-key`, and some send
 * both, one of them made up. Either is accepted on every route; never in a URL.
 */
export function presentedKeys(headers: IncomingHttpHeaders): readonly string[] {
  const bearer = /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
  return [bearer?.trim(), headers['x-api-key']].filter((key) => typeof key === 'string')
}

/** Compares digests, all of them, so that the time taken says nothing about a key or its length. */
export function findKey(presented: readonly string[], keys: readonly ApiKey[]): ApiKey | undefined {
  let found: ApiKey | undefined
  for (const text of presented) {
    const digest = sha256(text)
    for (const key of keys) if (timingSafeEqual(digest, key.digest)) found ??= key
  }
  return found
}

/** Whether these keys hold that one, under whatever name. */
export function holdsKey(keys: readonly ApiKey[], { digest }: ApiKey): boolean {
  return keys.some((key) => timingSafeEqual(digest, key.digest))
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
