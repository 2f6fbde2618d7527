import type { IncomingHttpHeaders } from 'node:http'

/** The subprotocol that the daemon selects. */
export const subprotocol = 'copilot-proxy'

/** Offered by clients that cannot set headers (browsers). It is never selected: the answer would repeat the key. */
const keyPrefix = `${subprotocol}.bearer.`

/** The subprotocols that a handshake offers. */
export function offeredSubprotocols(headers: IncomingHttpHeaders): readonly string[] {
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

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
