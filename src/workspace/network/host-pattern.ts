import { isIP } from 'node:net'
import { canonicalHost, isLoopbackHost } from '../../config/loopback.ts'
import { ToolError } from '../tool-error.ts'
import { isPublicAddress } from './public-address.ts'

/** A host and one port of it that commands may reach. */
export interface HostPattern {
  /** In the spelling of `hostOf`. */
  readonly name: string
  /** `*.example.com`: the subdomains, not the name itself. */
  readonly isBelow: boolean
  readonly port: number
}

/** What a command may reach: some hosts, or every host of the public Internet. */
export type Network = { readonly hosts: readonly HostPattern[] } | 'public'

/** The ports of a host that is listed without one. */
export const webPorts: readonly number[] = [443, 80]

/** Returns the one spelling of a name or an address, without brackets and final dots; undefined for something else. */
export function hostOf(text: string): string | undefined {
  const name = canonicalHost(text)?.replace(/\.+$/, '')
  return name === '' ? undefined : name
}

/** Whether a name means this machine wherever it is resolved. */
export function isLocalName(name: string): boolean {
  return isLoopbackHost(name) || name.endsWith('.localhost')
}

const form = /^(?<star>\*\.)?(?<host>\[[^\]]+\]|[^:/\s*]+)(?::(?<port>\d{1,5}))?$/

/** Reads an entry such as `packages.example.com`, `*.example.com` or `example.com:8443`. @throws ToolError `invalid_arguments` */
export function parseHostPattern(text: string): readonly HostPattern[] {
  const { star, host = '', port } = form.exec(text)?.groups ?? {}
  const name = host === '' ? undefined : hostOf(host)
  if (name === undefined || (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535))) {
    throw invalid(
      'Write a name such as packages.example.com, *.example.com or example.com:8443, without https:// and without a path.',
    )
  }
  const isAddress = isIP(name.replace(/%.*/, '')) !== 0
  if (isLocalName(name) || (isAddress && !isPublicAddress(name))) {
    throw invalid('It is an address of this machine or of a private network, which commands do not reach.')
  }
  if (star !== undefined && (isAddress || !name.includes('.'))) {
    throw invalid('After *. write a name with a dot, such as *.example.com.')
  }
  const ports = port === undefined ? webPorts : [Number(port)]
  return ports.map((each) => ({ name, isBelow: star !== undefined, port: each }))
}

/** @param name in the spelling of `hostOf` */
export function isListed(hosts: readonly HostPattern[], name: string, port: number): boolean {
  return hosts.some((host) => covers(host, { name, isBelow: false, port }))
}

/** Returns what both lists allow. */
export function intersectHosts(first: readonly HostPattern[], second: readonly HostPattern[]): readonly HostPattern[] {
  return [
    ...first.filter((each) => second.some((other) => covers(other, each))),
    ...second.filter((each) => first.some((other) => covers(other, each) && !covers(each, other))),
  ]
}

/** Lists hosts in the words of a policy. */
export function describeHosts(hosts: readonly HostPattern[]): string {
  const words = hosts.map(({ name, isBelow, port }) => {
    const host = isIP(name) === 6 ? `[${name}]` : name
    return `${isBelow ? '*.' : ''}${host}${webPorts.includes(port) ? '' : `:${port}`}`
  })
  const different = [...new Set(words)]
  const more = different.length > 20 ? ` and ${different.length - 20} more` : ''
  return different.slice(0, 20).join(', ') + more
}

/** Whether `outer` allows everything that `inner` allows. */
function covers(outer: HostPattern, inner: HostPattern): boolean {
  if (outer.port !== inner.port) return false
  if (outer.name === inner.name) return outer.isBelow === inner.isBelow
  return outer.isBelow && isIP(inner.name) === 0 && inner.name.endsWith(`.${outer.name}`)
}

function invalid(detail: string): ToolError {
  return new ToolError({ kind: 'invalid_arguments', path: 'shell.network', detail })
}
