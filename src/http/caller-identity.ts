import type { FastifyRequest } from 'fastify'
import { isIPv6 } from 'node:net'
import { canonicalHost } from '../config/loopback.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The name of the key that the caller presented; undefined where none is asked for. Set by the guard. */
    keyName: string | undefined
  }
}

/**
 * Whom a limit counts a request against: the key it was made with, else the address of its socket. What a client says
 * of itself (`X-Forwarded-For`, `Forwarded`, `X-Real-IP`) plays no part.
 */
export function callerIdentity(request: FastifyRequest): string {
  return request.keyName === undefined ? addressIdentity(request.raw.socket.remoteAddress) : `key ${request.keyName}`
}

/** One identity per machine: an IPv6 network hands each of its machines a whole /64. */
export function addressIdentity(address: string | undefined): string {
  const host = canonicalHost(address ?? '') ?? ''
  return `address ${isIPv6(host) ? networkOf(host) : host}`
}

/** The first 64 bits of an IPv6 address in canonical spelling. */
function networkOf(address: string): string {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const left = head.split(':').filter((group) => group !== '')
  const right = (tail ?? '').split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  return [...left, ...(tail === undefined ? [] : zeros), ...right].slice(0, 4).join(':')
}
