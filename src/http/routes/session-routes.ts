import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { conversationInput, decisionInput, editorInput, messageInput, newConversationInput } from '../../api/inputs.ts'
import type { AcceptedMessage } from '../../api/inputs.ts'
import type { CancelledRun, DecidedApproval, EditorReceipt } from '../../api/run.ts'
import type {
  ConversationEntry,
  ConversationList,
  EntryList,
  FileList,
  MessageList,
  SessionEntry,
  SessionList,
  SessionPolicy,
  StreamList,
} from '../../api/sessions.ts'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'
import type { Companion } from '../../sessions/open-companion.ts'
import type { SessionReport } from '../../sessions/open-workspaces.ts'
import type { Page } from '../../sessions/session-store.ts'
import type { PolicyDescription } from '../../workspace/policy/policy.ts'
import { checkValue } from '../../json/check-value.ts'
import { refuseProblem } from '../../translate/engine/request/invalid.ts'
import { parseBody } from '../../translate/engine/request/json-body.ts'
import { readBody } from '../body.ts'
import type { Lifetimes } from '../lifetimes.ts'

export interface SessionRouteDeps {
  /** Undefined without a workspace in the configuration. */
  readonly companion?: (() => Promise<Companion | undefined>) | undefined
}

export interface SessionRouteParts {
  readonly companion: () => Promise<Companion | undefined>
  readonly config: () => Config
  readonly lifetimes: Lifetimes
  /** Counts one call of the caller. @throws Fault `rate_limited` */
  readonly admit: (request: FastifyRequest, signal: AbortSignal) => Promise<void>
  /** The longest time between two pieces of a request body. Ms. */
  readonly uploadIdleMs: number
}

/** The limit for all attachments of a message. Characters of text or base64. */
const maxAttached = 10 * 1024 * 1024

/** Errors of these routes have OpenAI's envelope, whatever their path looks like. */
const config = { dialect: 'chat' } as const

/**
 * The routes of sessions. They always exist, because routes cannot be added to a running server. Without a workspace
 * they answer 404.
 */
export function registerSessionRoutes(app: FastifyInstance, parts: SessionRouteParts): void {
  const open = (reply: FastifyReply): Promise<Companion> => openFor(reply, parts)
  app.get('/sessions', { config }, async ({ caller }, reply): Promise<SessionList> => {
    const { workspaces, sessions } = await open(reply)
    const report = (listing: SessionReport): SessionEntry => ({
      ...listing,
      runs: sessions.openRuns(listing.id, caller),
    })
    return { sessions: (await workspaces.listing()).map(report) }
  })

  app.get<{ Params: { id: string } }>(
    '/sessions/:id/messages',
    { config },
    async (request, reply): Promise<MessageList> => {
      const { workspaces, sessions } = await open(reply)
      const id = findSession(workspaces, request.params.id)
      const conversation = queryOf(request).get('conversation') ?? undefined
      return { messages: await sessions.messages(id, { ...pageOf(request), conversation }, request.caller) }
    },
  )

  app.get<{ Params: { id: string } }>('/sessions/:id/policy', { config }, async (request, reply) => {
    const { workspaces } = await open(reply)
    const session = workspaces.find(request.params.id)
    if (session === undefined) throw refused('session_not_found')
    return await reportPolicy(await session.policy.describe())
  })

  app.get<{ Params: { id: string } }>('/sessions/:id/files', { config }, (request, reply) =>
    parts.lifetimes.whileCallerStays(request, reply, async (signal) => {
      const { workspaces, listFiles } = await open(reply)
      const session = workspaces.find(request.params.id)
      if (session === undefined) throw refused('session_not_found')
      return reply.send((await listFiles(session, signal)) satisfies FileList)
    }),
  )

  registerConversationRoutes(app, parts)

  app.delete<{ Params: { id: string } }>('/sessions/:id/history', { config }, async (request, reply) => {
    const { workspaces, sessions } = await open(reply)
    await sessions.forget(findSession(workspaces, request.params.id), request.caller)
    return reply.code(204).send()
  })

  app.get<{ Params: { id: string } }>(
    '/sessions/:id/streams',
    { config },
    async (request, reply): Promise<StreamList> => {
      const { workspaces, sessions } = await open(reply)
      return { streams: sessions.streams(findSession(workspaces, request.params.id), request.caller) }
    },
  )

  app.get<{ Params: { id: string; name: string } }>(
    '/sessions/:id/streams/:name',
    { config },
    async (request, reply): Promise<EntryList> => {
      const { workspaces, sessions } = await open(reply)
      const { id, name } = request.params
      const page = pageOf(request)
      if (page.before !== undefined && !/^\d{1,15}$/.test(page.before))
        throw invalid('before', 'must be the id of an entry')
      return { entries: sessions.entries(findSession(workspaces, id), name, page, request.caller) }
    },
  )

  app.get<{ Params: { id: string } }>('/runs/:id', { config }, async (request, reply) =>
    (await open(reply)).sessions.run(request.params.id, request.caller),
  )

  app.post<{ Params: { id: string } }>('/runs/:id/cancel', { config }, async (request, reply) => {
    const { sessions } = await open(reply)
    const { id } = request.params
    return reply.code(202).send({ id, state: sessions.cancel(id, request.caller) } satisfies CancelledRun)
  })

  app.post<{ Params: { id: string } }>('/approvals/:id', { config }, (request, reply) =>
    receive(parts, request, reply, decisionInput, ({ sessions }, { decision }) => {
      const { id } = request.params
      const state = sessions.decide(id, decision, request.caller)
      return reply.send({ approvalId: id, state } satisfies DecidedApproval)
    }),
  )

  // The daemon has asked for the answer, so that it does not count for the limits of the caller.
  const uncounted: SessionRouteParts = { ...parts, admit: () => Promise.resolve() }
  app.post<{ Params: { id: string } }>('/runs/:id/editor', { config }, (request, reply) =>
    receive(uncounted, request, reply, editorInput, ({ sessions }, { requestId, ...answer }) => {
      sessions.answerEditor(request.params.id, requestId, answer, request.caller)
      return reply.send({ requestId } satisfies EditorReceipt)
    }),
  )

  app.post('/message', { config }, (request, reply) =>
    receive(parts, request, reply, messageInput, ({ workspaces, sessions }, body) => {
      const { agent } = parts.config()
      const sessionId = findSession(workspaces, body.sessionId)
      const { maxSteps, maxCredits, attachments = [] } = body
      if (maxSteps !== undefined && maxSteps > agent.maxSteps) {
        throw invalid('maxSteps', `must be at most ${agent.maxSteps} (agent.max-steps)`)
      }
      if (maxCredits !== undefined && agent.maxCredits > 0 && maxCredits > agent.maxCredits) {
        throw invalid('maxCredits', `must be at most ${agent.maxCredits} (agent.max-credits)`)
      }
      let attached = 0
      for (const each of attachments) attached += 'text' in each ? each.text.length : each.base64.length
      if (attached > maxAttached) throw invalid('attachments', 'must have at most 10 MB in total')
      const isForAgent = body.text.startsWith(agent.prefix)
      const text = isForAgent ? body.text.slice(agent.prefix.length).trim() : body.text
      if (text === '') throw invalid('text', `must have a task after ${JSON.stringify(agent.prefix)}`)
      const accepted = sessions.start({
        sessionId,
        conversationId: body.conversationId,
        text,
        queue: body.queue,
        mode: isForAgent && body.mode !== 'plan' ? 'agent' : (body.mode ?? 'chat'),
        model: body.model,
        maxSteps,
        maxCredits,
        attachments,
        editor: body.editor,
        origin: 'user',
        key: request.caller.key,
      })
      return reply.code(202).send({ ...accepted, sessionId } satisfies AcceptedMessage)
    }),
  )
}

async function reportPolicy(description: PolicyDescription): Promise<SessionPolicy> {
  const { files, unconfirmed, reads, writes, shell, always, problem } = description
  // Without a workspace, nothing of workspaces is loaded.
  const { commandText } = await import('../../workspace/policy/policy.ts')
  return {
    files: [...files],
    unconfirmed: [...unconfirmed],
    reads: { allow: [...reads.allow], deny: [...reads.deny] },
    writes: { allow: [...writes.allow], deny: [...writes.deny] },
    shell: { allow: shell.allow.map(commandText), network: [...shell.network] },
    always: [...always],
    ...(problem !== undefined && { problem }),
  }
}

function registerConversationRoutes(app: FastifyInstance, parts: SessionRouteParts): void {
  const path = '/sessions/:id/conversations'
  type OfSession = { readonly Params: { readonly id: string } }
  type OfOne = { readonly Params: { readonly id: string; readonly conversationId: string } }

  app.get<OfSession>(path, { config }, async ({ params, caller }, reply): Promise<ConversationList> => {
    const { workspaces, sessions } = await openFor(reply, parts)
    return { conversations: sessions.conversations.list(findSession(workspaces, params.id), caller) }
  })

  app.post<OfSession>(path, { config }, (request, reply) =>
    receive(parts, request, reply, newConversationInput, async ({ workspaces, sessions }, { forkOf, until }) => {
      const session = findSession(workspaces, request.params.id)
      const fork = forkOf === undefined ? undefined : { forkOf, until }
      const created: ConversationEntry = await sessions.conversations.create(session, fork, request.caller)
      return reply.code(201).send(created)
    }),
  )

  app.patch<OfOne>(`${path}/:conversationId`, { config }, (request, reply) =>
    receive(parts, request, reply, conversationInput, ({ workspaces, sessions }, { title }) => {
      const { id, conversationId } = request.params
      const session = findSession(workspaces, id)
      const renamed: ConversationEntry = sessions.conversations.rename(session, conversationId, title, request.caller)
      return reply.send(renamed)
    }),
  )

  app.delete<OfOne>(`${path}/:conversationId`, { config }, async ({ params, caller }, reply) => {
    const { workspaces, sessions } = await openFor(reply, parts)
    await sessions.conversations.remove(findSession(workspaces, params.id), params.conversationId, caller)
    return reply.code(204).send()
  })
}

export async function openFor(reply: FastifyReply, { companion }: SessionRouteParts): Promise<Companion> {
  reply.header('cache-control', 'no-store')
  const opened = await companion()
  if (opened === undefined) throw refused('no_workspace')
  return opened
}

/** Counts the call and reads its body. */
export function receive<Body, Result>(
  parts: SessionRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  schema: z.ZodType<Body>,
  handle: (opened: Companion, body: Body, signal: AbortSignal) => Result | Promise<Result>,
): Promise<Result | undefined> {
  return parts.lifetimes.whileCallerStays(request, reply, async (signal) => {
    const opened = await openFor(reply, parts)
    await parts.admit(request, signal)
    const limitBytes = parts.config().server.bodyLimitMb * 1024 * 1024
    const { text } = await readBody(request.raw, { limitBytes, idleMs: parts.uploadIdleMs, signal })
    // Each of these steps takes 20 ms for a body of 10 MB, so each gets its own turn of the event loop. The first pause lasts
    // two turns: the body ends in a callback of the network, and other connections are served only in the next turn.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    const { value } = parseBody(text === '' ? '{}' : text, bodyLimits)
    await new Promise(setImmediate)
    const body = check(schema, value)
    await new Promise(setImmediate)
    return handle(opened, body, signal)
  })
}

/** @param given an id or a name; absent: the only session */
export function findSession(workspaces: Companion['workspaces'], given: string | undefined): string {
  const session = workspaces.find(given)
  if (session !== undefined) return session.id
  if (given !== undefined) throw refused('session_not_found')
  const detail =
    workspaces.sessions().length === 0
      ? 'no workspace could be opened; see the log of copilot-proxy'
      : 'there are several sessions; send the id of one, see GET /sessions'
  throw invalid('sessionId', detail)
}

const defaultLimit = 50
const mostLimit = 500

function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.split('?', 2)[1])
}

function pageOf(request: FastifyRequest): Page {
  const query = queryOf(request)
  const limit = Number(query.get('limit') ?? defaultLimit)
  if (!Number.isInteger(limit) || limit < 1 || limit > mostLimit) {
    throw invalid('limit', `must be a whole number from 1 to ${mostLimit}`)
  }
  return { limit, before: query.get('before') ?? undefined }
}

const bodyLimits = { maxDepth: 20, maxMembers: 100, maxValues: 10_000 }

function check<Body>(schema: z.ZodType<Body>, value: unknown): Body {
  const checked = checkValue(schema, value)
  return checked.ok ? checked.value : refuseProblem(checked.problem)
}

function invalid(path: string, detail: string): Fault {
  return new Fault({ kind: 'invalid_request', path, detail, code: 'invalid_value' })
}

function refused(problem: 'no_workspace' | 'session_not_found'): Fault {
  return new Fault({ kind: 'session_refused', problem })
}
