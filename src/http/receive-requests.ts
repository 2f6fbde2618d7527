import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { unkeyedCaller } from '../config/caller.ts'
import { Fault } from '../errors.ts'
import { answerPreflight } from './access/guards.ts'
import type { Guard } from './access/guards.ts'
import { hasOneAuthority } from './access/origin-policy.ts'
import type { UnusedConnections } from './connections.ts'
import type { createFaultHandler } from './fault-handler.ts'
import { unknownRoute } from './routes/route-table.ts'
import type { RouteTable } from './routes/route-table.ts'

export interface ReceiveDeps {
  readonly guard: Guard
  readonly unused: UnusedConnections
  readonly routes: RouteTable
  readonly handleFault: ReturnType<typeof createFaultHandler>
  /** Called with the name of each piece of work when it begins. */
  readonly noteWork?: ((work: string) => void) | undefined
  /** Whether the daemon stops: requests are then refused, except those to routes that always answer. */
  readonly isClosing: () => boolean
}

/** Checks each request before its route runs, and answers those that no route takes. */
export function receiveRequests(fastify: FastifyInstance, deps: ReceiveDeps) {
  const { guard, unused, routes, handleFault, noteWork, isClosing } = deps

  function receive(request: FastifyRequest, reply: FastifyReply, next: (refusal?: Fault) => void): void {
    unused.markUsed(request.raw.socket)
    noteWork?.(`${request.method} ${request.routeOptions.url ?? 'an unknown path'}`)
    request.caller = unkeyedCaller
    reply.header('x-request-id', request.id)
    // Anthropic's SDK reads `request-id`.
    if (request.routeOptions.config.dialect === 'messages') reply.header('request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (!hasOneAuthority(request.raw)) {
      throw new Fault({
        kind: 'invalid_request',
        path: '',
        detail: 'the request target and the Host header name different hosts',
      })
    }
    guard.check(request, reply, (refusal) => {
      const isLate = isClosing() && request.routeOptions.config.always !== true
      next(refusal ?? (isLate ? new Fault({ kind: 'shutting_down' }) : undefined))
    })
  }

  fastify.setErrorHandler(handleFault)
  fastify.setNotFoundHandler((request, reply) => {
    if (request.method === 'OPTIONS' && reply.hasHeader('access-control-allow-origin')) {
      return answerPreflight(request, reply)
    }
    // Public routes answer before a key is checked. Until then, no answer repeats what the caller sent.
    const { key, isOwner } = request.caller
    const isChecked = guard.keys().length === 0 || key !== undefined || isOwner
    if (!isChecked) throw new Fault({ kind: 'route_not_found', method: request.method, path: '/…' })
    throw unknownRoute(routes, request.method, request.url)
  })
  fastify.decorateRequest('caller')
  fastify.decorateRequest('meter', undefined)
  fastify.addHook('onRequest', receive)

  /** Refuses a request whose URL Fastify cannot decode. Fastify runs no hook for it. */
  return function refuseUrl(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    try {
      receive(request, reply, (refusal) => handleFault(refusal ?? error, request, reply))
    } catch (fault) {
      handleFault(fault, request, reply)
    }
  }
}
