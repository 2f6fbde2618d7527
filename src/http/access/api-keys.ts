import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { namedApiKeys } from '../../config/api-keys.ts'
import { keyHeaders } from '../../redaction/key-headers.ts'
import { keysInSubprotocols } from '../../websocket/subprotocol.ts'

/** One of `server.api-keys`, as a digest to compare with. */
export interface ApiKey {
  /** Identifies the key in logs and limits without revealing any of it. */
  readonly name: string
  /** Identifies the key for what it made; see `CallerKey`. */
  readonly id: string
  readonly digest: Buffer
}

/** Call once per configuration: it hashes every key. */
export function prepareKeys(entries: readonly string[]): readonly ApiKey[] {
  return namedApiKeys(entries).map(({ name, entry }) => {
    const digest = entry.form === 'hash' ? Buffer.from(entry.sha256, 'hex') : sha256(entry.key)
    return { name, id: idOf(digest), digest }
  })
}

/** A hash of the digest, so that a stored id is not an entry for `server.api-keys`. */
function idOf(digest: Buffer): string {
  return sha256(`copilot-proxy key ${digest.toString('hex')}`)
    .toString('hex')
    .slice(0, 16)
}

/**
 * The keys a caller presented. OpenAI clients send `Authorization: Bearer`, Anthropic clients `x-api-key`; some send
 * both, one of them a placeholder. Every route accepts either. WebSocket clients in browsers can set no header and send a
 * subprotocol. A key in a URL is ignored.
 */
export function presentedKeys(headers: IncomingHttpHeaders): readonly string[] {
  const inHeaders = keyHeaders
    .map((name) => (name === 'authorization' ? bearerIn(headers[name]) : headers[name]))
    .filter((key) => typeof key === 'string')
  return headers.upgrade === undefined ? inHeaders : [...inHeaders, ...keysInSubprotocols(headers)]
}

function bearerIn(authorization = ''): string | undefined {
  return /^bearer +(.+)$/i.exec(authorization)?.[1]?.trim()
}

/** Compares all digests, so that the duration reveals nothing about a key or its length. */
export function findKey(presented: readonly string[], keys: readonly ApiKey[]): ApiKey | undefined {
  let match: ApiKey | undefined
  for (const text of presented) {
    const digest = sha256(text)
    for (const key of keys) if (timingSafeEqual(digest, key.digest)) match ??= key
  }
  return match
}

/** Whether the list contains the key, under any name. */
export function holdsKey(keys: readonly ApiKey[], { digest }: ApiKey): boolean {
  return keys.some((key) => timingSafeEqual(digest, key.digest))
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
