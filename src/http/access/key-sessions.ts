import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createLruMap } from '../../cache/lru-map.ts'
import type { ApiKey } from './api-keys.ts'
import { holdsKey } from './api-keys.ts'

/** The running answers and open connections that were accepted with a key. */
export interface KeySessions {
  readonly accept: (response: ServerResponse, socket: Socket, key: ApiKey) => void
  /** Whether the answer's key is missing from `keys`. */
  readonly isRevoked: (response: ServerResponse, keys: readonly ApiKey[]) => boolean
  /** Whether the answer was accepted without a key. */
  readonly isUnkeyed: (response: ServerResponse) => boolean
  /** Closes every connection whose latest request used a key that is missing from `keys`. */
  readonly closeRevoked: (keys: readonly ApiKey[]) => void
}

export function createKeySessions(): KeySessions {
  const keyOfResponse = new WeakMap<ServerResponse, ApiKey>()
  /** The key of each connection's latest request. */
  const latest = new Map<Socket, ApiKey>()
  return {
    accept(response, socket, key) {
      keyOfResponse.set(response, key)
      if (!latest.has(socket)) socket.once('close', () => latest.delete(socket))
      latest.set(socket, key)
    },
    isRevoked(response, keys) {
      const key = keyOfResponse.get(response)
      return key !== undefined && !holdsKey(keys, key)
    },
    isUnkeyed: (response) => !keyOfResponse.has(response),
    closeRevoked(keys) {
      for (const [socket, key] of latest) if (!holdsKey(keys, key)) socket.destroy()
    },
  }
}

/** The pairs of address and key that have been accepted. */
export interface KnownCallers {
  readonly note: (source: string, key: ApiKey) => void
  readonly has: (source: string, key: ApiKey) => boolean
}

/** Only accepted keys count, so callers without a key cannot fill the map. */
const maxPairs = 10_000

export function createKnownCallers(): KnownCallers {
  const pairs = createLruMap<true>({ maxEntries: maxPairs })
  return {
    note: (source, key) => pairs.set(pairOf(source, key), true),
    has: (source, key) => pairs.peek(pairOf(source, key)) !== undefined,
  }
}

/** Uses the digest, which survives a reload of the configuration; key names may change. */
function pairOf(source: string, { digest }: ApiKey): string {
  return `${source} ${digest.toString('base64')}`
}
