import type { FastifyInstance } from 'fastify'
import { Fault } from '../../errors.ts'
import { requireOwner } from '../../http/routes/owner-routes.ts'
import type { Connection } from '../../websocket/connection.ts'
import type { Handshakes } from '../../websocket/handshakes.ts'
import { requireSubprotocol } from '../../websocket/subprotocol.ts'
import type { McpServers, RelayedTools } from './mcp-servers.ts'
import type { ServersRouteDeps } from './route.ts'

export const relayPattern = /^\/sessions\/[^/]+\/conversations\/[^/]+\/servers$/

export interface RelayRouteDeps extends Pick<ServersRouteDeps, 'companion'> {
  readonly mcpServers: () => McpServers | undefined
  readonly handshakes: Handshakes
  /** Between two pings of a connection. Ms. */
  readonly pingMs: number
}

/** Servers send up to 10 MB, and a message in JSON may be a little longer here. Bytes. */
const maxMessageBytes = 16 * 1024 * 1024
const maxQueuedBytes = 32 * 1024 * 1024

/** A close code in the range for private use (RFC 6455, section 7.4.2). */
const replacedCode = 4001

/**
 * The WebSocket over which the owner's editor gives the MCP servers that it names to the runs of a conversation. `copilot-proxy acp`
 * at the other end starts the servers. The daemon starts no program for a caller.
 */
export function registerRelayRoute(fastify: FastifyInstance, deps: RelayRouteDeps) {
  /** The connection of each conversation that has one. */
  const open = new Map<string, Connection>()
  /** The servers of each conversation that has some. */
  const equipped = new Map<string, RelayedTools>()
  let isClosing = false

  fastify.get<{ Params: { id: string; conversationId: string } }>(
    '/sessions/:id/conversations/:conversationId/servers',
    { config: { dialect: 'chat' }, exposeHeadRoute: false },
    async ({ raw, headers, caller, params: { id, conversationId } }, reply) => {
      // Before all else, so that a key learns nothing of conversations.
      requireOwner(caller)
      requireSubprotocol(headers)
      const [companion, { acceptHandshake }, { createRelay }] = await Promise.all([
        deps.companion(),
        import('../../websocket/connection.ts'),
        import('./relay.ts'),
      ])
      const mcpServers = deps.mcpServers()
      if (companion === undefined || mcpServers === undefined) throw refused('no_workspace')
      const { workspaces, sessions } = companion
      const session = workspaces.find(id)
      if (session === undefined) throw refused('session_not_found')
      // The runs of a key would get tools that its holder has not named.
      if (sessions.conversations.find(session.id, conversationId, caller).owner !== null) {
        throw refused('conversation_of_other')
      }
      if (isClosing) throw new Fault({ kind: 'shutting_down' })
      const handshake = deps.handshakes.take(raw, reply.raw)
      if (handshake === undefined) {
        throw new Fault({ kind: 'invalid_request', path: '', detail: 'connect with a WebSocket client' })
      }
      reply.hijack()
      const { pingMs } = deps
      acceptHandshake(raw, handshake, { maxMessageBytes, maxQueuedBytes, pingMs }, (connection) => {
        open.get(conversationId)?.close(replacedCode, 'the conversation was opened elsewhere')
        open.set(conversationId, connection)
        const onRemoved = (): void => connection.close(1001, 'the workspace was removed')
        session.signal.addEventListener('abort', onRemoved, { once: true })
        let leave: (() => void) | undefined
        const relay = createRelay({
          connection,
          begin(servers, tell) {
            const tools = mcpServers.relay(session, servers, tell)
            leave = companion.equip(conversationId, workspaces.toolsWith(mcpServers, tools))
            equipped.set(conversationId, tools)
            return tools
          },
        })
        return {
          ...relay,
          onClose(reason) {
            session.signal.removeEventListener('abort', onRemoved)
            if (open.get(conversationId) === connection) {
              open.delete(conversationId)
              equipped.delete(conversationId)
            }
            leave?.()
            relay.onClose(reason)
          },
        }
      })
    },
  )

  return {
    serversOf: (conversationId: string) => equipped.get(conversationId),
    close(): void {
      isClosing = true
      for (const connection of open.values()) connection.close(1001, 'copilot-proxy is shutting down')
    },
  }
}

function refused(problem: 'no_workspace' | 'session_not_found' | 'conversation_of_other'): Fault {
  return new Fault({ kind: 'session_refused', problem })
}
