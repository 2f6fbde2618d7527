import { isIPv4, isIPv6 } from 'node:net'

const mappedIpv4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/** `::ffff:7f00:1` is 127.0.0.1 on the wire; every other IPv6 address stays. */
function unmapped(address: string): string {
  const match = mappedIpv4.exec(address)
  if (match === null) return address
  const [high, low] = [match[1], match[2]].map((half) => Number.parseInt(half ?? '', 16))
  return [high, low].flatMap((half = 0) => [half >> 8, half & 255]).join('.')
}

/** In the spelling of the URL standard; undefined if it is no host. */
function urlHostname(host: string): string | undefined {
  return URL.parse(`http://${host}/`)?.hostname
}

/**
 * One spelling per host, so that the checked address is the bound one: lower case, IPv4 in four decimal parts (the system's
 * resolver accepts `0`, `0x0` and `127.1`), IPv4-mapped IPv6 as IPv4, no brackets. '' is every address, as for `listen`.
 * Undefined if the text is neither a name nor an address.
 */
export function canonicalHost(host: string): string | undefined {
  if (host === '') return '0.0.0.0'
  const bracketed = host.startsWith('[') && host.endsWith(']')
  const bare = bracketed ? host.slice(1, -1) : host
  if (isIPv6(bare)) {
    // The URL standard has no zones (`fe80::1%eth0`). Such an address is link-local.
    if (bare.includes('%')) return bare.toLowerCase()
    return unmapped(urlHostname(`[${bare}]`)?.slice(1, -1) ?? bare)
  }
  return !bracketed && /^[a-z0-9._-]+$/i.test(bare) ? urlHostname(bare) : undefined
}

/**
 * Whether a host (name or address, brackets allowed) is this machine: 127.0.0.0/8, ::1 or `localhost`. No look-up, so
 * `foo.localhost` is not.
 */
export function isLoopbackHost(host: string): boolean {
  // Nearly every request has one of these, which need no parsing.
  if (host === '127.0.0.1' || host === 'localhost') return true
  const canonical = canonicalHost(host)
  if (canonical === undefined) return false
  return canonical === 'localhost' || canonical === '::1' || (isIPv4(canonical) && canonical.startsWith('127.'))
}
