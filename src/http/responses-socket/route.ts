import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../config/caller.ts'
import { Fault } from '../../errors.ts'
import type { Connection } from '../../websocket/connection.ts'
import type { Handshakes } from '../../websocket/handshakes.ts'
import { requireSubprotocol } from '../../websocket/subprotocol.ts'
import type { Guard } from '../access/guards.ts'
import { createConversation } from './conversation.ts'
import type { Conversation, ConversationDeps } from './conversation.ts'
import { errorMessage } from './frames.ts'
import { createSocketMemories } from './socket-memory.ts'

export const responsesPaths: readonly string[] = ['/v1/responses', '/responses']

export interface ResponsesSocketDeps extends ConversationDeps {
  readonly handshakes: Handshakes
  readonly guard: Pick<Guard, 'check'>
  readonly unread: { readonly limitMs: number; readonly isScarce: () => boolean }
  /** Between two pings of a connection. Ms. */
  readonly pingMs: number
}

export interface ResponsesSocket {
  /** Closes the connections that `isRevoked` names by the response to their handshake, after the answers that run. */
  readonly closeRevoked: (isRevoked: (response: ServerResponse, caller: Caller) => boolean) => void
  /** Lets the answers that run finish, for which it waits no longer than a moment after `graceMs`. Closes with 1001. */
  readonly close: (graceMs: number) => Promise<void>
}

interface Open {
  readonly conversation: Conversation
  readonly connection: Connection
  readonly response: ServerResponse
  readonly request: FastifyRequest
}

/** Events that the client has not read yet: room for the last ones of the longest answer. Bytes. */
const maxQueuedBytes = 32 * 1024 * 1024

/** For the error events of answers that did not end in time. Ms. */
const errorEventMs = 1000

/** `GET /v1/responses` as a WebSocket: each message is a request, as `POST /v1/responses` takes it. */
export function registerResponsesSocket(app: FastifyInstance, deps: ResponsesSocketDeps): ResponsesSocket {
  const { handshakes, guard, randomId, config, pingMs, unread } = deps
  const openMemory = createSocketMemories(deps.now)
  const open = new Set<Open>()
  let isClosing = false

  async function accept(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    requireSubprotocol(request.headers)
    // Loaded here, so that a daemon without such clients holds none of it.
    const { acceptHandshake } = await import('../../websocket/connection.ts')
    if (isClosing) throw new Fault({ kind: 'shutting_down' })
    const handshake = handshakes.take(request.raw, reply.raw)
    if (handshake === undefined) throw new Fault({ kind: 'upgrade_refused' })
    reply.hijack()
    const limits = { maxMessageBytes: config().server.bodyLimitMb * 1024 * 1024, maxQueuedBytes, unread, pingMs }
    acceptHandshake(request.raw, handshake, limits, (connection) => {
      const memory = openMemory(randomId())
      const conversation = createConversation(deps, {
        connection,
        memory,
        request,
        response: reply.raw,
        checkAccess: () => checkAccess(guard, request, reply),
      })
      const opened: Open = { conversation, connection, response: reply.raw, request }
      open.add(opened)
      return {
        onText: conversation.receive,
        onTooLarge() {
          const error = { kind: 'body_too_large', limitBytes: limits.maxMessageBytes } as const
          connection.send(errorMessage(error, randomId(), {}))
        },
        onClose() {
          open.delete(opened)
          conversation.leave()
          memory.close()
        },
      }
    })
  }

  for (const path of responsesPaths) {
    app.get(path, { config: { dialect: 'responses' }, exposeHeadRoute: false }, (request, reply) => {
      if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
        throw new Fault({ kind: 'method_not_allowed', method: 'GET', path, allow: ['POST'] })
      }
      return accept(request, reply)
    })
  }

  return {
    closeRevoked(isRevoked) {
      for (const { conversation, response, request } of open) {
        if (isRevoked(response, request.caller)) void conversation.end(1008, 'the API key was removed')
      }
    },
    async close(graceMs) {
      isClosing = true
      await Promise.all(
        Array.from(open, async ({ conversation, connection }) => {
          const terminate = setTimeout(connection.terminate, graceMs + errorEventMs)
          await conversation.end(1001, 'copilot-proxy is shutting down')
          clearTimeout(terminate)
        }),
      )
    },
  }
}

/** Checks origin, key and user again, because the configuration may have changed. @throws Fault as the guard */
async function checkAccess(guard: Pick<Guard, 'check'>, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<Fault | undefined>()
  guard.check(request, reply, resolve)
  const refusal = await promise
  if (refusal !== undefined) throw refusal
}
