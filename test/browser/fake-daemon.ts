import { once } from 'node:events'
import Fastify from 'fastify'
import type { ServerResponse } from 'node:http'
import { registerPageFiles, sendPageFile } from '../../src/page/page-routes.ts'
import type { ChangeList } from '../../src/api/changes.ts'
import type { DaemonEvent } from '../../src/api/events.ts'
import type { RequestDetail, RequestDocument } from '../../src/api/requests.ts'
import type { MessageEntry, RunReport } from '../../src/api/run.ts'
import type {
  ConversationEntry,
  PromptList,
  ServerEntry,
  SessionPolicy,
  SessionEntry,
  StreamEntry,
  StreamSummary,
} from '../../src/api/sessions.ts'

/** What a request of the page was, as the fake saw it. */
interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/**
 * The routes that the page uses, with answers that a test sets. Like the daemon it numbers events over all sessions, replays
 * them after Last-Event-ID, and tells of a gap; unlike the daemon it does nothing by itself.
 */
export interface FakeDaemon {
  readonly url: string
  readonly seen: readonly Seen[]
  /** Sends an event to every page that follows, and keeps it. */
  readonly emit: (event: Sent) => void
  readonly emitAll: (events: readonly Sent[]) => void
  /** Ends all event streams, as a daemon that stops does. */
  readonly dropStreams: () => void
  /** Deletes events up to this id, so that a page that resumes before it gets a gap event. */
  readonly forgetEvents: (upTo: number) => void
  readonly listeners: () => number
  readonly state: FakeState
  readonly close: () => Promise<void>
}

export interface FakeState {
  key: string | undefined
  caller: { readonly key: string | null; readonly owner: boolean }
  sessions: SessionEntry[]
  messages: Record<string, readonly MessageEntry[]>
  /** By the id of the session. */
  conversations: Record<string, readonly ConversationEntry[]>
  runs: Record<string, RunReport>
  /** Of every session. */
  changes: ChangeList
  policy: SessionPolicy
  servers: readonly ServerEntry[]
  prompts: PromptList['prompts']
  files: readonly string[]
  streams: readonly StreamSummary[]
  entries: readonly StreamEntry[]
  requests: RequestDocument[]
  details: Record<string, RequestDetail>
  models: readonly string[]
  /** Called for POST and DELETE; the answer is sent as JSON. */
  act: (seen: Seen) => { readonly status: number; readonly body: object }
}

type Without<Event> = Event extends { readonly type: 'gap' } ? never : Omit<Event, 'time'>
type Sent = Without<DaemonEvent> & { readonly time?: string }

export async function startFakeDaemon(change: Partial<FakeState> = {}): Promise<FakeDaemon> {
  const state: FakeState = {
    key: undefined,
    caller: { key: null, owner: true },
    sessions: [],
    messages: {},
    conversations: {},
    runs: {},
    changes: { changes: [] },
    policy: {
      files: [],
      unconfirmed: [],
      reads: { allow: [], deny: [] },
      writes: { allow: [], deny: [] },
      shell: { allow: [], network: [] },
      always: [],
    },
    servers: [],
    prompts: [],
    files: [],
    streams: [],
    entries: [],
    requests: [],
    details: {},
    models: ['gpt-5-mini', 'claude-sonnet-4.6'],
    act: () => ({ status: 202, body: { id: 'run-new', sessionId: 'session' } }),
    ...change,
  }
  const seen: Seen[] = []
  const kept: { readonly id: number; readonly text: string }[] = []
  const streams = new Set<ServerResponse>()
  let nextId = 1

  const app = Fastify({ forceCloseConnections: true })
  app.addHook('onRequest', async (request, reply) => {
    const isPublic = request.url === '/' || request.url.startsWith('/page/')
    if (isPublic || state.key === undefined || request.headers.authorization === `Bearer ${state.key}`) return
    return reply.code(401).send({ error: { message: 'A key is required.', code: 'key_required' } })
  })
  app.addHook('preHandler', async ({ method, url, headers, body }) => {
    seen.push({ method, url, headers, body })
  })
  app.get('/', (request, reply) => sendPageFile(request, reply, 'index.html'))
  registerPageFiles(app)
  app.get('/caller', () => ({ ...state.caller, sessions: true }))
  app.get('/sessions', () => ({ sessions: state.sessions }))
  app.get<{ Params: { id: string } }>('/sessions/:id/messages', ({ params }) => ({
    messages: state.messages[params.id] ?? [],
  }))
  app.get<{ Params: { id: string } }>('/sessions/:id/conversations', ({ params }) => ({
    conversations: state.conversations[params.id] ?? [],
  }))
  app.get('/sessions/:id/changes', () => state.changes)
  app.get('/sessions/:id/policy', () => state.policy)
  app.get('/sessions/:id/servers', () => ({ servers: state.servers }))
  app.get('/sessions/:id/prompts', () => ({ prompts: state.prompts }))
  app.get('/sessions/:id/files', () => ({ files: state.files, truncated: false }))
  app.get('/sessions/:id/streams', () => ({ streams: state.streams }))
  app.get('/sessions/:id/streams/:name', () => ({ entries: state.entries }))
  app.get<{ Params: { id: string } }>('/runs/:id', ({ params }) => state.runs[params.id] ?? {})
  app.get('/v1/models', () => ({ object: 'list', data: state.models.map((id) => ({ id })) }))
  app.get<{ Querystring: { after?: string } }>('/requests', ({ query }) => {
    const at = state.requests.findIndex(({ id }) => id === query.after)
    return { requests: at === -1 ? state.requests : state.requests.slice(0, at) }
  })
  app.get<{ Params: { id: string } }>('/requests/:id', ({ params }) => state.details[params.id] ?? {})
  app.get('/events', (request, reply) => {
    const after = Number(request.headers['last-event-id'] ?? nextId - 1)
    reply.hijack()
    const { raw } = reply
    raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    const oldest = kept[0]?.id ?? nextId
    if (oldest > after + 1) raw.write(`event: gap\ndata: ${JSON.stringify({ from: after + 1, to: oldest - 1 })}\n\n`)
    raw.write(`retry: 2000\nid: ${after}\n\n`)
    for (const { id, text } of kept) if (id > after) raw.write(text)
    streams.add(raw)
    raw.on('close', () => streams.delete(raw))
  })
  for (const path of [
    '/message',
    '/runs/:id/cancel',
    '/runs/:id/undo',
    '/changes/:id/undo',
    '/approvals/:id',
    '/page/tokens',
    '/sessions/:id/history',
    '/sessions/:id/conversations',
    '/sessions/:id/conversations/:conversationId',
    '/sessions/:id/conversations/:conversationId/rewind',
  ]) {
    app.route({
      method: ['POST', 'PATCH', 'DELETE'],
      url: path,
      handler({ method, url, headers, body }, reply) {
        const answer = state.act({ method, url, headers, body })
        return reply.code(answer.status).send(answer.body)
      },
    })
  }
  const url = await app.listen({ host: '127.0.0.1', port: 0 })

  function emit({ type, ...rest }: Sent): void {
    const data = JSON.stringify({ time: new Date().toISOString(), ...rest })
    const id = nextId
    nextId += 1
    const text = `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`
    kept.push({ id, text })
    for (const stream of streams) stream.write(text)
  }

  return {
    url,
    seen,
    state,
    emit,
    emitAll(events) {
      for (const event of events) emit(event)
    },
    listeners: () => streams.size,
    dropStreams() {
      for (const stream of streams) stream.destroy()
    },
    forgetEvents(upTo) {
      const at = kept.findIndex(({ id }) => id > upTo)
      kept.splice(0, at === -1 ? kept.length : at)
    },
    async close() {
      for (const stream of streams) {
        const closed = once(stream, 'close')
        stream.destroy()
        await closed
      }
      await app.close()
    },
  }
}
