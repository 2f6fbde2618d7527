import type { IncomingMessage } from 'node:http'

const absolute = /^http:\/\/([^/?#]+)/i

/**
 * Whether the target of a request names no other host than its Host header, which is the one that is judged. Without
 * this, the absolute form (RFC 9112, section 3.2.2) would have two authorities, and a proxy in between obeys the other.
 */
export function hasOneAuthority({ url = '', method, headers }: IncomingMessage): boolean {
  if (url.startsWith('/')) return true
  if (url === '*') return method === 'OPTIONS'
  return absolute.exec(url)?.[1]?.toLowerCase() === headers.host?.toLowerCase()
}
