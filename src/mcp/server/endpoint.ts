import { randomBytes } from 'node:crypto'
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Server } from '@modelcontextprotocol/server'
import { Fault } from '../../errors.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Session } from '../../tools/session.ts'
import type { Workspaces } from '../../sessions/workspaces.ts'
import type { AnswerRoom } from '../../http/result-budget.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { createMcpServer } from './create-server.ts'
import type { CallLoad } from './create-server.ts'

export interface EndpointDeps {
  readonly workspaces: Workspaces
  readonly version: string
  readonly log: Logger
  /** Monotonic. Ms. */
  readonly now: () => number
}

/** An HTTP request to /mcp. */
interface McpExchange {
  /** The request without its body. Its signal cancels the call. */
  readonly request: Request
  /** The parsed JSON body, or undefined without a body. */
  readonly body: unknown
  /** The workspace that the URL names. */
  readonly sessionName: string | undefined
  /** Id of the API key of the request. It may use only MCP sessions of the same key. Undefined if no key is needed. */
  readonly owner: string | undefined
  /** Names the caller in the audit line, e.g. `mcp:local`. */
  readonly caller: string
  /** Whether the caller may decide what it asks for: the owner, or a key. */
  readonly mayDecide: boolean
  readonly admit: (signal: AbortSignal) => Promise<void>
  /** The memory for the answer. */
  readonly room: AnswerRoom
}

export interface Endpoint {
  readonly workspaces: Workspaces
  /**
   * Answers a request. The body of a stream ends with its call or with its MCP session.
   * @throws Fault `invalid_request` if the request names no workspace
   */
  readonly answer: (exchange: McpExchange) => Promise<Response>
  /** Ends all MCP sessions. */
  readonly close: () => void
}

/** Beyond this number, the MCP session that has been idle for the longest time ends. */
const maxSessions = 256

/** An MCP session ends after this time without a request or stream. Clients then begin a new one by themselves. Ms. */
const idleMs = 30 * 60_000

const sweepMs = 60_000

/** A session of the MCP protocol, which `initialize` begins on a workspace. It is unrelated to `Session` of src/tools. */
interface McpSession {
  readonly server: Server
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly workspaceId: string
  readonly owner: string | undefined
  /** Number of requests and streams that have not ended. */
  open: number
  usedAtMs: number
}

/**
 * Serves MCP over HTTP. Clients up to the protocol of 2025-11-25 begin a session and name it in each request. Since 2026-07-28,
 * the protocol has no sessions, and each request is independent.
 */
export function createEndpoint({ workspaces, version, log, now }: EndpointDeps): Endpoint {
  const sessions = new Map<string, McpSession>()
  const loadWithoutSession: CallLoad = { inProgress: 0 }
  const stateKey = randomBytes(32)
  const rooms = new WeakMap<Request, AnswerRoom>()
  const sweep = setInterval(endIdle, sweepMs)
  sweep.unref()
  const forgetListChanges = workspaces.tools.onListChanged(announce)
  let known = new Map(workspaces.sessions().map((session) => [session.id, session]))
  const forgetChanges = workspaces.onChange(() => {
    const before = known
    known = new Map(workspaces.sessions().map((session) => [session.id, session]))
    for (const [id, { workspaceId }] of sessions) if (!known.has(workspaceId)) end(id)
    for (const [id, session] of known) if (before.has(id) && before.get(id) !== session) announce(id)
  })

  function announce(workspaceId: string): void {
    for (const session of sessions.values()) {
      // Sending fails if the client has no stream open; it reads the list again by itself.
      if (session.workspaceId === workspaceId) void session.server.sendToolListChanged().catch(() => {})
    }
  }

  function endIdle(): void {
    for (const [id, { open, usedAtMs }] of sessions) if (open === 0 && now() - usedAtMs >= idleMs) end(id)
  }

  function end(id: string): void {
    const session = sessions.get(id)
    sessions.delete(id)
    void session?.server.close()
  }

  function serverFor({ caller, owner, mayDecide, admit }: McpExchange, workspaceId: string, load: CallLoad): Server {
    return createMcpServer({
      tools: workspaces.tools,
      session() {
        const session = workspaces.find(workspaceId)
        if (session === undefined) throw new ToolError({ kind: 'failed', detail: 'The workspace was closed.' })
        return session
      },
      caller,
      ownerId: owner,
      mayDecide,
      stateKey,
      admit,
      load,
      roomOf: (request) => request && rooms.get(request),
      version,
      log,
    })
  }

  /** Serves one request of the protocol of 2026-07-28. */
  async function answerAlone(exchange: McpExchange): Promise<Response> {
    const { id } = workspaceOf(workspaces, exchange.sessionName)
    const handler = createMcpHandler(() => serverFor(exchange, id, loadWithoutSession), {
      legacy: 'reject',
      onerror: (error) => log.debug({ err: error }, 'MCP'),
      bus: {
        publish() {},
        subscribe: (listener) =>
          workspaces.tools.onListChanged((changed) => {
            if (changed === id) listener({ kind: 'tools_list_changed' })
          }),
      },
    })
    return await handler.fetch(exchange.request, { parsedBody: exchange.body })
  }

  async function answerInSession(exchange: McpExchange): Promise<Response> {
    const { request, body, owner } = exchange
    const id = request.headers.get('mcp-session-id')
    if (id === null) return isInitializeRequest(body) ? begin(exchange) : refuse(400, -32000, notBegun)
    const session = sessions.get(id)
    // Do not reveal that a session of another key exists.
    if (session === undefined || session.owner !== owner) return refuse(404, -32001, 'Session not found.')
    return await use(session, exchange)
  }

  async function begin(exchange: McpExchange): Promise<Response> {
    const { id: workspaceId } = workspaceOf(workspaces, exchange.sessionName)
    if (sessions.size >= maxSessions && !endOldest()) {
      return refuse(503, -32000, `copilot-proxy has ${maxSessions} MCP sessions open. Close one of the clients.`)
    }
    const server = serverFor(exchange, workspaceId, { inProgress: 0 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized(id) {
        sessions.set(id, session)
      },
      onsessionclosed(id) {
        sessions.delete(id)
      },
    })
    const { owner } = exchange
    const session: McpSession = { server, transport, workspaceId, owner, open: 0, usedAtMs: now() }
    await server.connect(transport)
    const response = await use(session, exchange)
    if (transport.sessionId === undefined) void server.close()
    return response
  }

  /** Returns false if all MCP sessions are in use. */
  function endOldest(): boolean {
    const idle = [...sessions].filter(([, { open }]) => open === 0)
    const [oldest] = idle.toSorted(([, one], [, other]) => one.usedAtMs - other.usedAtMs)
    if (oldest === undefined) return false
    end(oldest[0])
    return true
  }

  async function use(session: McpSession, { request, body }: McpExchange): Promise<Response> {
    session.open += 1
    session.usedAtMs = now()
    const leave = (): void => {
      session.open -= 1
      session.usedAtMs = now()
    }
    try {
      const parsedBody = body === undefined ? {} : { parsedBody: body }
      return onEnd(await session.transport.handleRequest(request, parsedBody), leave)
    } catch (error) {
      leave()
      throw error
    }
  }

  return {
    workspaces,
    async answer(exchange) {
      rooms.set(exchange.request, exchange.room)
      const isLegacy = await isLegacyRequest(exchange.request, exchange.body)
      return isLegacy ? await answerInSession(exchange) : await answerAlone(exchange)
    },
    close() {
      clearInterval(sweep)
      forgetListChanges()
      forgetChanges()
      for (const id of sessions.keys()) end(id)
    },
  }
}

const notBegun = 'Call initialize first, then send the header Mcp-Session-Id of its answer with each request.'

/** Answers a request that no server handles with an error. */
function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}

/** @throws Fault `invalid_request` */
function workspaceOf(workspaces: Workspaces, name: string | undefined): Session {
  const found = workspaces.find(name)
  if (found !== undefined) return found
  throw new Fault({ kind: 'invalid_request', path: 'session', detail: unknownWorkspace(workspaces, name) })
}

function unknownWorkspace(workspaces: Workspaces, name: string | undefined): string {
  const names = workspaces.sessions().map((session) => session.name)
  const [first] = names
  if (first === undefined) return 'no workspace is open. The log of copilot-proxy says why none could be opened'
  const problem = name === undefined ? 'several workspaces are configured' : 'there is no such workspace'
  return `${problem}; name one of ${names.join(', ')}, e.g. /mcp?session=${encodeURIComponent(first)}`
}

/** Calls `run` when the body has been read or cancelled, or at once if there is no body. */
function onEnd(response: Response, run: () => void): Response {
  const { body, status, headers } = response
  if (body === null) {
    run()
    return response
  }
  const reader = body.getReader()
  const watched = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        run()
        controller.close()
      },
      async cancel(reason) {
        run()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(watched, { status, headers })
}
