import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { Environment } from '../../config/environment.ts'
import { proxyFor, type Proxy } from '../../config/proxy-variables.ts'
import { policyName } from '../policy/policy-file.ts'
import { hostOf, isListed, isLocalName, webPorts, type Network } from './host-pattern.ts'

export interface NetworkDeps {
  /** Returns the addresses of a name. @throws if there are none */
  readonly lookup: (name: string) => Promise<readonly LookupAddress[]>
  /** Whether an address is one of the public Internet and not one of this machine. */
  readonly isPublic: (address: string) => boolean
  /** The variables that name the proxy of this process. */
  readonly env: Environment
}

/** A host that a command may reach. */
export interface Target {
  readonly name: string
  readonly port: number
  /** `name:port`, with brackets around an IPv6 address. */
  readonly authority: string
  readonly way: { readonly proxy: Proxy } | { readonly addresses: readonly LookupAddress[] }
}

export type HostVerdict =
  | { readonly ok: true; readonly target: Target }
  /** `detail` is a sentence for a person. `needsPublic`: the network `public` would allow it. */
  | { readonly ok: false; readonly status: 403 | 502; readonly detail: string; readonly needsPublic?: boolean }

/**
 * Decides whether a command may reach a host. The caller must connect to the addresses of the verdict: a second look-up could
 * give other ones.
 * @param host a name or an address in any notation
 */
export async function judgeHost(
  network: Network,
  { scheme, host, port }: { readonly scheme: 'http' | 'https'; readonly host: string; readonly port: number },
  { lookup, isPublic, env }: NetworkDeps,
): Promise<HostVerdict> {
  const name = hostOf(host)
  if (name === undefined) return refused('The proxy of commands was asked for a host that has no valid name.')
  const family = isIP(name.replace(/%.*/, ''))
  const shown = family === 6 ? `[${name}]` : name
  const authority = `${shown}:${port}`
  const inner = `Commands do not reach ${authority}, because it is an address of this machine or of a private network.`
  if (isLocalName(name) || (family !== 0 && !isPublic(name))) return refused(inner)
  if (network === 'public' && !webPorts.includes(port)) {
    return refused(`Commands do not reach ${authority}, because they reach only the ports 443 and 80.`)
  }
  const entry = JSON.stringify(webPorts.includes(port) ? shown : authority)
  const advice = `To allow it to the commands of the policy, add ${entry} to shell.network in ${policyName} of the workspace.`
  const proxy = proxyFor(new URL(`${scheme}://${authority}/`), env)
  if (network !== 'public' && !isListed(network.hosts, name, port)) {
    const needsPublic = webPorts.includes(port) && (proxy === undefined || family !== 0)
    return { ...refused(`The policy does not let commands reach ${authority}. ${advice}`), needsPublic }
  }
  if (proxy !== undefined) {
    // The other proxy resolves the name, perhaps to an address of its own network.
    if (network === 'public' && family === 0) {
      return refused(
        `Commands do not reach ${authority}: ${proxy.variable} is set, so the address of the name cannot be checked. ${advice}`,
      )
    }
    return { ok: true, target: { name, port, authority, way: { proxy } } }
  }
  if (family !== 0)
    return { ok: true, target: { name, port, authority, way: { addresses: [{ address: name, family }] } } }
  const found = await lookup(name).catch(() => [])
  if (found.length === 0) return { ok: false, status: 502, detail: `The name ${name} could not be resolved.` }
  const addresses = found.filter(({ address }) => isPublic(address))
  return addresses.length === 0 ? refused(inner) : { ok: true, target: { name, port, authority, way: { addresses } } }
}

function refused(detail: string) {
  return { ok: false, status: 403, detail } as const
}
