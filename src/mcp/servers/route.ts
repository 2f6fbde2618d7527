import type { FastifyInstance } from 'fastify'
import type { ServerList } from '../../api/sessions.ts'
import { Fault } from '../../errors.ts'
import type { Companion } from '../../sessions/open-companion.ts'
import type { Session } from '../../tools/session.ts'
import type { ServerListing } from './server-connection.ts'

export interface ServersRouteDeps {
  /** Resolves with undefined while no workspace is configured. */
  readonly companion: () => Promise<Companion | undefined>
  readonly mcpServers: (session: Session) => readonly ServerListing[]
}

/** Registers `GET /sessions/{id}/servers`, which lists the MCP servers of a session and starts none of them. */
export function registerServersRoute(app: FastifyInstance, { companion, mcpServers }: ServersRouteDeps): void {
  const config = { dialect: 'chat' } as const
  app.get<{ Params: { id: string } }>(
    '/sessions/:id/servers',
    { config },
    async (request, reply): Promise<ServerList> => {
      reply.header('cache-control', 'no-store')
      const opened = await companion()
      if (opened === undefined) throw new Fault({ kind: 'session_refused', problem: 'no_workspace' })
      const session = opened.workspaces.find(request.params.id)
      if (session === undefined) throw new Fault({ kind: 'session_refused', problem: 'session_not_found' })
      return { servers: mcpServers(session) }
    },
  )
}
