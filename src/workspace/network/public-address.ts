import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { canonicalHost } from '../../config/loopback.ts'

/**
 * Networks that are not the public Internet, and 168.63.129.16, an address of the host in Azure.
 * Source: IANA special-purpose address registries (RFC 6890); Azure, "What is IP address 168.63.129.16?", 2026-11.
 */
const refusedIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]

/** The only part of IPv6 with public addresses. Loopback, private, link-local, multicast and NAT64 addresses are outside. */
const globalIpv6 = ['2000::/3']

/** Parts of it that are documentation or lead to an IPv4 address inside (Teredo, 6to4). */
const refusedIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

function listOf(networks: readonly string[], type: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [start = '', length] = network.split('/')
    list.addSubnet(start, Number(length), type)
  }
  return list
}

const refused = { 4: listOf(refusedIpv4, 'ipv4'), 6: listOf(refusedIpv6, 'ipv6') }
const global6 = listOf(globalIpv6, 'ipv6')

/** Whether an IP address, in any notation, is one of the public Internet and not one of this machine. */
export function isPublicAddress(given: string): boolean {
  const address = canonicalHost(given)
  if (address === undefined || address.includes('%')) return false
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  if (own.some((each) => canonicalHost(each.address) === address)) return false
  switch (isIP(address)) {
    case 4:
      return !refused[4].check(address, 'ipv4')
    case 6:
      return global6.check(address, 'ipv6') && !refused[6].check(address, 'ipv6')
    default:
      return false
  }
}
