import type { Caller } from '../../config/caller.ts'
import type { FastifyRequest } from 'fastify'
import { isIPv6 } from 'node:net'
import { canonicalHost } from '../../config/loopback.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent it. Set by the first hook, before the key is checked, and by the guard. */
    caller: Caller
  }
}

/**
 * The identity that limits count requests by: the accepted key, else the socket's address. Headers that a client can
 * forge (`X-Forwarded-For`, `Forwarded`, `X-Real-IP`) are ignored.
 */
export function callerIdentity(request: Pick<FastifyRequest, 'caller' | 'raw'>): string {
  return identityOf(request.caller.key?.name, request.raw.socket.remoteAddress)
}

export function identityOf(keyName: string | undefined, address: string | undefined): string {
  return keyName === undefined ? addressIdentity(address) : `key ${keyName}`
}

/** One identity per machine. IPv6 networks assign a /64 to each machine, so only the first 64 bits count. */
export function addressIdentity(address: string | undefined): string {
  const host = canonicalHost(address ?? '') ?? ''
  return `address ${isIPv6(host) ? networkOf(host) : host}`
}

/** @param address an IPv6 address in canonical spelling */
function networkOf(address: string): string {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const left = head.split(':').filter((group) => group !== '')
  const right = (tail ?? '').split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  return [...left, ...(tail === undefined ? [] : zeros), ...right].slice(0, 4).join(':')
}
