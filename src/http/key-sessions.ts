import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiKey } from './api-keys.ts'
import { holdsKey } from './api-keys.ts'

/** What was let in with a key: answers that are under way, and connections. */
export interface KeySessions {
  readonly letIn: (response: ServerResponse, socket: Socket, key: ApiKey) => void
  /** Whether the answer is for a key that these no longer hold. */
  readonly isRevoked: (response: ServerResponse, keys: readonly ApiKey[]) => boolean
  /** Closes every connection whose latest request came with a key that these no longer hold. */
  readonly closeRevoked: (keys: readonly ApiKey[]) => void
}

export function createKeySessions(): KeySessions {
  const keyOfResponse = new WeakMap<ServerResponse, ApiKey>()
  /** By connection, the key of its latest request. */
  const latest = new Map<Socket, ApiKey>()
  return {
    letIn(response, socket, key) {
      keyOfResponse.set(response, key)
      if (!latest.has(socket)) socket.once('close', () => latest.delete(socket))
      latest.set(socket, key)
    },
    isRevoked(response, keys) {
      const key = keyOfResponse.get(response)
      return key !== undefined && !holdsKey(keys, key)
    },
    closeRevoked(keys) {
      for (const [socket, key] of latest) if (!holdsKey(keys, key)) socket.destroy()
    },
  }
}
