import { isIPv4, isIPv6 } from 'node:net'

const mappedIpv4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/** `::ffff:7f00:1` is 127.0.0.1 on the wire; every other IPv6 address stays. */
function unmapped(address: string): string {
  const match = mappedIpv4.exec(address)
  if (match === null) return address
  const [high, low] = [match[1], match[2]].map((half) => Number.parseInt(half ?? '', 16))
  return [high, low].flatMap((half = 0) => [half >> 8, half & 255]).join('.')
}

/** The host as the URL standard spells it, or undefined when it is none. */
function urlHostname(host: string): string | undefined {
  return URL.parse(`http://${host}/`)?.hostname
}

/**
 * One spelling per host, so that what is judged is what is bound: lower case, IPv4 in four decimal parts (`0`, `0x0` and
 * `127.1` are addresses to the system's resolver), IPv4-mapped IPv6 as IPv4, no brackets. '' is every address, as for
 * `listen`. Undefined when the text is neither a name nor an address.
 */
export function canonicalHost(host: string): string | undefined {
  if (host === '') return '0.0.0.0'
  const bracketed = host.startsWith('[') && host.endsWith(']')
  const bare = bracketed ? host.slice(1, -1) : host
  if (isIPv6(bare)) {
    // The URL standard has no zone (`fe80::1%eth0`); such an address is link-local and has one spelling that matters.
    if (bare.includes('%')) return bare.toLowerCase()
    return unmapped(urlHostname(`[${bare}]`)?.slice(1, -1) ?? bare)
  }
  return !bracketed && /^[a-z0-9._-]+$/i.test(bare) ? urlHostname(bare) : undefined
}

/**
 * Whether a host (name or address, brackets allowed) can only be this machine: 127.0.0.0/8, ::1 and `localhost` in any
 * spelling. Names are not looked up, so `localhost.example` and `foo.localhost` are not.
 */
export function isLoopbackHost(host: string): boolean {
  // What nearly every request names; any other spelling is parsed as a URL.
  if (host === '127.0.0.1' || host === 'localhost') return true
  const canonical = canonicalHost(host)
  if (canonical === undefined) return false
  return canonical === 'localhost' || canonical === '::1' || (isIPv4(canonical) && canonical.startsWith('127.'))
}
