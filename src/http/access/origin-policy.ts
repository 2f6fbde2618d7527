import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { rememberResults } from '../../cache/remember-results.ts'
import { isLoopbackHost } from '../../config/loopback.ts'

export interface OriginPolicyOptions {
  /** The address the daemon is bound to, as configured; allowed as a Host unless it is a wildcard. */
  readonly host: string
  readonly port: number
  /** `name` (with the daemon's own port) or `name:port`. */
  readonly allowedHosts: readonly string[]
  /** Exact origins, e.g. `http://localhost:5173`. */
  readonly allowedOrigins: readonly string[]
  /** Every route that acts asks for a key. */
  readonly hasKeys: boolean
  /** The daemon serves a page of its own. */
  readonly hasPage: boolean
}

/**
 * `origin` is set when the caller is a web page that may read the answer. `detail` repeats nothing of the request; `advice` does,
 * and is for the log only.
 */
export type OriginVerdict =
  | { readonly ok: true; readonly origin?: string }
  | { readonly ok: false; readonly detail: string; readonly advice?: string }

/**
 * Decides whether a browser may have sent a request, and whether the request may act. The Host check stops DNS
 * rebinding; the Origin and Fetch-Metadata checks stop other web pages. Programs send neither Origin nor Sec-Fetch-Site
 * and pass.
 */
export function checkOrigin(
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  options: OriginPolicyOptions,
): OriginVerdict {
  if (countOf(rawHeaders, 'host') !== 1) return { ok: false, detail: 'exactly one Host header is required' }
  const host = parseHost(headers.host ?? '')
  if (host === null) return { ok: false, detail: 'the Host header is malformed' }
  if (!isAllowedHost(host, options)) {
    const { name, port = 80 } = host
    const entry = port === options.port ? name : `${name}:${port}`
    return {
      ok: false,
      detail:
        'this Host is not allowed; the log of copilot-proxy names the entry for server.allowed-hosts that allows it',
      advice: `To allow it, add "${entry}" to server.allowed-hosts`,
    }
  }
  const { origin } = headers
  if (origin !== undefined) {
    const isOwn = isOwnOrigin(origin, options.port) || (options.hasPage && isOriginOfHost(origin, headers))
    if (isOwn || options.allowedOrigins.includes(origin)) return { ok: true, origin }
    return { ok: false, detail: 'this Origin is not allowed; to allow it, add it to server.allowed-origins' }
  }
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'none' && site !== 'same-origin') {
    return { ok: false, detail: 'requests from other web sites are not allowed' }
  }
  return { ok: true }
}

interface Host {
  readonly name: string
  readonly port: number | undefined
}

const hostHeader = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i

/** null for a malformed one. */
const parseHost = rememberResults((text): Host | null => {
  const [, name, port] = hostHeader.exec(text) ?? []
  return name === undefined ? null : { name: name.toLowerCase(), port: port === undefined ? undefined : Number(port) }
})

function isAllowedHost(host: Host, options: OriginPolicyOptions): boolean {
  // Any port: a forwarded port (ssh -L, a container) keeps the loopback name, and rebinding cannot forge the name.
  if (isLoopbackHost(host.name)) return true
  if (host.name === bare(options.host)) return true
  if (options.hasKeys && isAddress(host.name) && !isLoopbackHost(options.host)) return true
  return options.allowedHosts.some((text) => {
    const allowed = parseHost(text)
    return allowed?.name === host.name && (allowed.port ?? options.port) === (host.port ?? 80)
  })
}

/** DNS rebinding needs a name: a page at an address has that address as its origin. */
function isAddress(name: string): boolean {
  return isIPv4(name) || (name.startsWith('[') && isIPv6(name.slice(1, -1)))
}

/** IPv6 addresses are bracketed in a Host header and bare in the configuration. */
function bare(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host.toLowerCase()}]` : host.toLowerCase()
}

function isOwnOrigin(origin: string, port: number): boolean {
  return (
    origin === `http://localhost:${port}` || origin === `http://127.0.0.1:${port}` || origin === `http://[::1]:${port}`
  )
}

/**
 * Whether the page came from the address that it calls: from this daemon, under an address of the machine, a forwarded port or
 * a name of `server.allowed-hosts`. The Host has been checked before. Browsers omit Sec-Fetch-Site on plain HTTP only.
 */
function isOriginOfHost(origin: string, { host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== 'same-origin' && site !== undefined) return false
  return origin === `http://${host}` || (origin === `https://${host}` && site !== undefined)
}

function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === name) count += 1
  return count
}

const absoluteTarget = /^http:\/\/([^/?#]+)/i

/**
 * Whether the request target and the Host header name the same host. In absolute form (RFC 9112, section 3.2.2) they
 * can differ: `checkOrigin` reads the header, a proxy in between obeys the target.
 */
export function hasOneAuthority({ url = '', method, headers }: IncomingMessage): boolean {
  if (url.startsWith('/')) return true
  if (url === '*') return method === 'OPTIONS'
  return absoluteTarget.exec(url)?.[1]?.toLowerCase() === headers.host?.toLowerCase()
}
