import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { rewindInput, undoInput, type ChangeList, type RewindReport } from '../../api/changes.ts'
import { findSession, openFor, receive, type SessionRouteParts } from './session-routes.ts'

/** Errors of these routes have OpenAI's envelope, whatever their path looks like. */
const config = { dialect: 'chat' } as const

type WithId = FastifyRequest<{ Params: { id: string }; Querystring: Readonly<Record<string, unknown>> }>

/** The routes of the changes that tools have made in workspaces. */
export function registerChangeRoutes(app: FastifyInstance, parts: SessionRouteParts): void {
  app.get('/sessions/:id/changes', { config }, async (request: WithId, reply): Promise<ChangeList> => {
    const { workspaces, changes } = await openFor(reply, parts)
    const query = new URLSearchParams(request.url.split('?', 2)[1])
    const options = { since: query.get('since') ?? undefined, diffs: query.get('diff') !== 'false' }
    return changes.list(findSession(workspaces, request.params.id), options, request.caller)
  })

  type OfConversation = { readonly Params: { readonly id: string; readonly conversationId: string } }
  app.post<OfConversation>('/sessions/:id/conversations/:conversationId/rewind', { config }, (request, reply) =>
    receive(parts, request, reply, rewindInput, async ({ workspaces, changes }, body, signal) => {
      const { messageId, files = true, dryRun = false } = body
      const session = findSession(workspaces, request.params.id)
      const where = { session, conversation: request.params.conversationId, message: messageId }
      const report: RewindReport = await changes.rewind(where, { files, dryRun, signal }, request.caller)
      return reply.send(report)
    }),
  )

  for (const [path, verb] of [
    ['/changes/:id/undo', 'undoChange'],
    ['/runs/:id/undo', 'undoRun'],
  ] as const) {
    app.post(path, { config }, (request: WithId, reply: FastifyReply) =>
      receive(parts, request, reply, undoInput, async ({ changes }, { dryRun = false }, signal) =>
        reply.send(await changes[verb](request.params.id, { dryRun, signal }, request.caller)),
      ),
    )
  }
}
