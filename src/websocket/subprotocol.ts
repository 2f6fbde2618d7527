import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../errors.ts'

/** The subprotocol that the daemon selects. */
export const subprotocol = 'copilot-proxy'

/** Offered by clients that cannot set headers (browsers). It is never selected: the answer would repeat the key. */
const keyPrefix = `${subprotocol}.bearer.`

/** The subprotocols that a handshake offers. */
function offeredSubprotocols(headers: IncomingHttpHeaders): readonly string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((text) => text.trim())
}

/**
 * The keys that a handshake presents as subprotocols, as written and percent-decoded: a subprotocol cannot hold
 * characters such as `/` or `=`.
 */
export function keysInSubprotocols(headers: IncomingHttpHeaders): readonly string[] {
  if (headers['sec-websocket-protocol'] === undefined) return []
  const keys = offeredSubprotocols(headers)
    .filter((text) => text.startsWith(keyPrefix))
    .map((text) => text.slice(keyPrefix.length))
  return [...new Set(keys.flatMap((key) => [key, decoded(key)]))]
}

/**
 * A client that presents a key as a subprotocol has to offer the one that the daemon selects, because the answer would repeat the key.
 * @throws Fault `invalid_request`
 */
export function requireSubprotocol(headers: IncomingHttpHeaders): void {
  if (keysInSubprotocols(headers).length === 0 || offeredSubprotocols(headers).includes(subprotocol)) return
  const detail = `offer the subprotocol "${subprotocol}" too, next to the one with the key`
  throw new Fault({ kind: 'invalid_request', path: 'sec-websocket-protocol', detail })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
