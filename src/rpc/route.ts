import type { CallSource, Caller } from '../config/caller.ts'
import type { FastifyInstance } from 'fastify'
import type { ServerResponse } from 'node:http'
import type { Config } from '../config/schema.ts'
import { Fault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import type { Workspaces } from '../sessions/workspaces.ts'
import type { ResultBudget } from '../http/result-budget.ts'
import type { Connection } from '../websocket/connection.ts'
import type { Handshakes } from '../websocket/handshakes.ts'
import { requireSubprotocol } from '../websocket/subprotocol.ts'
import type { Peer } from './peer.ts'

export const rpcPath = '/rpc'

export interface RpcRouteDeps {
  readonly config: () => Config
  /** Undefined while no workspace is configured. */
  readonly workspaces: () => Workspaces | undefined
  readonly handshakes: Handshakes
  /**
   * Counts one call of a caller.
   * @throws Fault `rate_limited`
   */
  readonly admit: (source: CallSource, signal: AbortSignal) => Promise<void>
  /** Called when a message arrives. */
  readonly noteMessage: () => void
  readonly budget: ResultBudget
  readonly unreadMs: number
  /** Between two pings of a connection. Ms. */
  readonly pingMs: number
  readonly log: Logger
}

export interface RpcRoute {
  /** Closes the connections that `isRevoked` names by the response to their handshake. */
  readonly closeRevoked: (isRevoked: (response: ServerResponse, caller: Caller) => boolean) => void
  /** Closes every connection, because /rpc was disabled. */
  readonly closeAll: () => void
  /** Refuses new calls, lets those in progress finish for at most `graceMs`, then cancels them. Closes with 1001. */
  readonly close: (graceMs: number) => Promise<void>
}

interface Open {
  readonly connection: Connection
  readonly peer: Peer
  readonly response: ServerResponse
  readonly caller: Caller
  readonly closed: PromiseWithResolvers<void>
}

/** Replies of a connection that its client has not read yet: room for several files of the largest size. Bytes. */
const maxQueuedBytes = 32 * 1024 * 1024

/** For the answers of cancelled calls. Ms. */
const cancelledMs = 1000

/** `GET /rpc`: JSON-RPC over WebSocket, while a workspace is configured and `rpc.enabled` is on. */
export function registerRpcRoute(fastify: FastifyInstance, deps: RpcRouteDeps): RpcRoute {
  const { config, workspaces, handshakes, admit, noteMessage, budget, unreadMs, pingMs, log } = deps
  const open = new Set<Open>()
  let isClosing = false

  fastify.get<{ Querystring: { session?: string | string[] } }>(
    rpcPath,
    { exposeHeadRoute: false },
    async (request, reply) => {
      if (workspaces() === undefined) return reply.callNotFound()
      const { raw, headers, caller } = request
      requireSubprotocol(headers)
      // Loaded here, so that a daemon without clients of /rpc holds none of it.
      const [{ acceptHandshake }, { createPeer }] = await Promise.all([
        import('../websocket/connection.ts'),
        import('./peer.ts'),
      ])
      if (isClosing) throw new Fault({ kind: 'shutting_down' })
      const handshake = handshakes.take(raw, reply.raw)
      if (handshake === undefined) {
        throw new Fault({ kind: 'invalid_request', path: '', detail: 'connect to /rpc with a WebSocket client' })
      }
      reply.hijack()
      const limits = {
        maxMessageBytes: config().server.bodyLimitMb * 1024 * 1024,
        maxQueuedBytes,
        unread: { limitMs: unreadMs, isScarce: budget.isScarce },
        pingMs,
      }
      const source: CallSource = { caller, address: raw.socket.remoteAddress }
      const name = `rpc:${caller.key?.name ?? 'local'}`
      const sessionName = [request.query.session].flat().at(-1)
      acceptHandshake(raw, handshake, limits, (connection) => {
        const peer = createPeer({
          workspaces,
          sessionName,
          caller: name,
          ownerId: caller.key?.id,
          admit: (signal) => admit(source, signal),
          noteMessage,
          queue: budget.openQueue(),
          send: (text, onSent) => connection.send(text, onSent),
          hold: connection.hold,
          log,
        })
        const opened: Open = { connection, peer, response: reply.raw, caller, closed: Promise.withResolvers() }
        open.add(opened)
        return {
          onText: peer.receive,
          onClose(reason) {
            open.delete(opened)
            opened.closed.resolve()
            peer.cancel()
            if (reason !== undefined && !isClosing) log.warn({ caller: name, reason }, 'closed a connection to /rpc')
          },
        }
      })
    },
  )

  async function end({ connection, peer, closed }: Open, graceMs: number): Promise<void> {
    const cancel = setTimeout(peer.cancel, graceMs)
    const terminate = setTimeout(connection.terminate, graceMs + cancelledMs)
    await Promise.race([peer.drain(), closed.promise])
    connection.close(1001, 'copilot-proxy is shutting down')
    clearTimeout(cancel)
    clearTimeout(terminate)
  }

  return {
    closeRevoked(isRevoked) {
      for (const { connection, response, caller } of open) {
        if (isRevoked(response, caller)) connection.close(1008, 'the API key was removed')
      }
    },
    closeAll() {
      for (const { connection } of open) connection.close(1001, '/rpc was disabled')
    },
    async close(graceMs) {
      isClosing = true
      await Promise.all(Array.from(open, (each) => end(each, graceMs)))
    },
  }
}
