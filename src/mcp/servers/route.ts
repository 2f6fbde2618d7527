import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PromptList, ServerList } from '../../api/sessions.ts'
import { Fault } from '../../errors.ts'
import type { Companion } from '../../sessions/open-companion.ts'
import type { Session } from '../../tools/session.ts'
import { requireOwner } from '../../http/routes/owner-routes.ts'
import type { McpServers, RelayedTools } from './mcp-servers.ts'

export interface ServersRouteDeps {
  /** Resolves with undefined while no workspace is configured. */
  readonly companion: () => Promise<Companion | undefined>
  /** Undefined: there are none. */
  readonly mcpServers: () => Pick<McpServers, 'listing' | 'prepare'> | undefined
  /** Returns the servers that the editor of a conversation has named. */
  readonly serversOf: (conversationId: string) => Pick<RelayedTools, 'listing' | 'prepare'> | undefined
}

/** Registers the routes of what the MCP servers of a session offer. */
export function registerServersRoutes(
  app: FastifyInstance,
  { companion, mcpServers, serversOf }: ServersRouteDeps,
): void {
  const config = { dialect: 'chat' } as const
  type OfSession = { readonly Params: { readonly id: string } }
  type OfConversation = OfSession & { readonly Querystring: { readonly conversation?: string } }

  async function find(id: string, reply: FastifyReply): Promise<Session> {
    reply.header('cache-control', 'no-store')
    const opened = await companion()
    if (opened === undefined) throw new Fault({ kind: 'session_refused', problem: 'no_workspace' })
    const session = opened.workspaces.find(id)
    if (session === undefined) throw new Fault({ kind: 'session_refused', problem: 'session_not_found' })
    return session
  }

  // Starts none of them.
  app.get<OfSession>('/sessions/:id/servers', { config }, async ({ params }, reply): Promise<ServerList> => {
    const session = await find(params.id, reply)
    return { servers: mcpServers()?.listing(session) ?? [] }
  })

  // Who asks is about to use one.
  app.get<OfConversation>(
    '/sessions/:id/prompts',
    { config },
    async ({ params, query, caller }, reply): Promise<PromptList> => {
      const session = await find(params.id, reply)
      const { conversation } = query
      if (conversation !== undefined) requireOwner(caller)
      const servers = mcpServers()
      const named = conversation === undefined ? undefined : serversOf(conversation)
      await (named ?? servers)?.prepare(session)
      const listing = [...(servers?.listing(session) ?? []), ...(named?.listing() ?? [])]
      return {
        prompts: listing.flatMap(({ name: server, prompts }) => prompts.map((prompt) => ({ server, ...prompt }))),
      }
    },
  )
}
