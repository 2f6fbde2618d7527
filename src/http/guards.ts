import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../errors.ts'
import { isKnownKey, presentedKeys } from './api-keys.ts'
import { checkOrigin } from './origin-policy.ts'

export interface GuardSettings {
  readonly host: string
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
  readonly apiKeys: readonly string[]
}

/**
 * Runs before anything of a request is read: who may talk to the daemon at all.
 * @throws Fault `forbidden`, `key_required`
 */
export function createGuard(settings: () => GuardSettings) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { host, allowedHosts, allowedOrigins, apiKeys } = settings()
    const port = request.socket.localPort ?? 0
    const verdict = checkOrigin(request.headers, request.raw.rawHeaders, { host, port, allowedHosts, allowedOrigins })
    if (!verdict.ok) throw new Fault({ kind: 'forbidden', detail: verdict.detail })
    if (verdict.origin !== undefined) {
      reply.header('access-control-allow-origin', verdict.origin)
      reply.header('vary', 'Origin')
      reply.header('access-control-expose-headers', exposedHeaders)
    }
    // A preflight never carries a credential; it is answered on the strength of its origin alone.
    if (request.method === 'OPTIONS' && verdict.origin !== undefined) return
    if (apiKeys.length === 0 || request.routeOptions.config.public === true) return
    const isKnown = presentedKeys(request.headers).some((key) => isKnownKey(key, apiKeys))
    if (!isKnown) throw new Fault({ kind: 'key_required' })
  }
}

/** What a page may read of an answer. */
const exposedHeaders = [
  'x-request-id',
  'request-id',
  'x-copilot-proxy-route',
  'x-copilot-proxy-warnings',
  'x-copilot-proxy-token-count',
].join(', ')

/** The answer to a preflight from an allowed origin. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const asked = request.headers['access-control-request-headers']
  return reply
    .code(204)
    .header('access-control-allow-methods', 'GET, HEAD, POST, DELETE')
    .header('access-control-allow-headers', asked ?? 'authorization, content-type')
    .header('access-control-max-age', '600')
    .send()
}
