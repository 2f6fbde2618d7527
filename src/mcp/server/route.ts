import { mayDecide, type CallSource, type Caller } from '../../config/caller.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createLruMap } from '../../cache/lru-map.ts'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'
import { readBody } from '../../http/body.ts'
import { flatHeaders } from '../../http/serve.ts'
import { isObject, parseCallerJson } from '../../json/json.ts'
import type { Logger } from '../../logging/logger.ts'
import { mayHoldKey } from '../../redaction/key-headers.ts'
import type { Workspaces } from '../../sessions/workspaces.ts'
import type { AnswerQueue, ResultBudget } from '../../http/result-budget.ts'
import type { Endpoint } from './endpoint.ts'

export interface McpRouteDeps {
  readonly config: () => Config
  /** Returns undefined while no workspace is configured. */
  readonly workspaces: () => Workspaces | undefined
  /**
   * Counts one call of a caller.
   * @throws Fault `rate_limited`
   */
  readonly admit: (source: CallSource, signal: AbortSignal) => Promise<void>
  readonly budget: ResultBudget
  /** How long a client may read nothing of an answer while others need the memory. Six times this otherwise. Ms. */
  readonly unreadMs: number
  /** Maximum time between two chunks of a body. Ms. */
  readonly uploadIdleMs: number
  readonly version: string
  readonly log: Logger
}

export interface McpRoute {
  /** Ends the requests for whose response `isRevoked` returns true. */
  readonly closeRevoked: (isRevoked: (response: ServerResponse, caller: Caller) => boolean) => void
  /** Ends streams that wait for notifications, lets calls finish for at most `graceMs`, then cancels them. */
  readonly close: (graceMs: number) => Promise<void>
}

/** As in the SDK. Messages. */
const maxBatch = 100

/** A request in progress. */
interface Open {
  readonly response: ServerResponse
  readonly caller: Caller
  /** Its abort cancels the call. */
  readonly call: AbortController
  /** Its abort ends the answer. */
  readonly stream: AbortController
  /** Whether the request waits for notifications instead of the result of a call. */
  isSubscription: boolean
  readonly closed: PromiseWithResolvers<void>
}

/** More than the MCP sessions that are open at once. */
const maxSessionQueues = 1000

/** Registers `/mcp`: the tools of workspaces over MCP's streamable HTTP. It answers 404 while no workspace is configured. */
export function registerMcpRoute(fastify: FastifyInstance, deps: McpRouteDeps): McpRoute {
  const { config, workspaces, admit, budget, unreadMs, uploadIdleMs, version, log } = deps
  const queues = new WeakMap<Socket, AnswerQueue>()
  const sessionQueues = createLruMap<AnswerQueue>({ maxEntries: maxSessionQueues })
  const open = new Set<Open>()
  let endpoint: Endpoint | undefined
  let isClosing = false

  /** Returns the queue of the MCP session, or of the connection if the protocol has no sessions. */
  function queueOf({ socket, headers }: IncomingMessage): AnswerQueue {
    const { 'mcp-session-id': id } = headers
    const known = typeof id === 'string' ? sessionQueues.get(id) : queues.get(socket)
    if (known !== undefined) return known
    const queue = budget.openQueue()
    if (typeof id === 'string') sessionQueues.set(id, queue)
    else queues.set(socket, queue)
    return queue
  }

  /** Imports the endpoint with the first request, so that a daemon without clients of /mcp does not load it. */
  async function endpointFor(current: Workspaces): Promise<Endpoint> {
    const { createEndpoint } = await import('./endpoint.ts')
    if (isClosing) throw new Fault({ kind: 'shutting_down' })
    if (endpoint?.workspaces === current) return endpoint
    endpoint?.close()
    endpoint = createEndpoint({ workspaces: current, version, log, now: () => performance.now() })
    return endpoint
  }

  fastify.route<{ Querystring: { session?: string | string[] } }>({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    exposeHeadRoute: false,
    async handler(request, reply) {
      const current = workspaces()
      if (current === undefined) throw new Fault({ kind: 'session_refused', problem: 'no_workspace' })
      const { raw, caller } = request
      const opened: Open = {
        response: reply.raw,
        caller,
        call: new AbortController(),
        stream: new AbortController(),
        isSubscription: request.method === 'GET',
        closed: Promise.withResolvers(),
      }
      const room = queueOf(raw).open()
      open.add(opened)
      reply.raw.once('close', () => {
        room.free()
        open.delete(opened)
        opened.call.abort()
        opened.stream.abort()
        opened.closed.resolve()
      })
      const { signal } = opened.call
      let body: unknown
      if (request.method === 'POST') {
        const limitBytes = config().server.bodyLimitMb * 1024 * 1024
        const { text } = await readBody(raw, { limitBytes, idleMs: uploadIdleMs, signal })
        const parsed = parseCallerJson(text)
        if (!parsed.ok) return refuseJson(reply, parsed.problem)
        body = parsed.value
        // The SDK checks each message of a batch several times before it counts them.
        if (Array.isArray(body) && body.length > maxBatch)
          return refuseJson(reply, `the batch has more than ${maxBatch} messages`)
        opened.isSubscription = isObject(body) && body['method'] === 'subscriptions/listen'
      }
      const name = `mcp:${caller.key?.name ?? 'local'}`
      const source: CallSource = { caller, address: raw.socket.remoteAddress }
      const answering = await endpointFor(current)
      const response = await answering.answer({
        request: new Request('http://localhost/mcp', { method: request.method, headers: headersOf(request), signal }),
        body,
        sessionName: [request.query.session].flat().at(-1),
        owner: caller.key?.id,
        caller: name,
        mayDecide: mayDecide(caller, caller.key?.id),
        room,
        admit: (stopped) => admit(source, stopped),
      })
      return await send(reply, response, {
        signal: opened.stream.signal,
        isScarce: budget.isScarce,
        unreadMs,
        onStalled: () => log.warn({ caller: name }, 'closed a connection to /mcp: answers are not read'),
      })
    },
  })

  return {
    closeRevoked(isRevoked) {
      for (const { response, caller, call, stream } of open) {
        if (!isRevoked(response, caller)) continue
        call.abort()
        stream.abort()
      }
    },
    async close(graceMs) {
      isClosing = true
      for (const { isSubscription, stream, call } of open) {
        if (!isSubscription) continue
        call.abort()
        stream.abort()
      }
      const cancel = setTimeout(() => {
        for (const { call } of open) call.abort()
      }, graceMs)
      await Promise.all(Array.from(open, ({ closed }) => closed.promise))
      clearTimeout(cancel)
      endpoint?.close()
    },
  }
}

function refuseJson(reply: FastifyReply, problem: string): FastifyReply {
  const error = { code: -32700, message: `The body cannot be read: ${problem}.` }
  return reply.code(400).send({ jsonrpc: '2.0', error, id: null })
}

function headersOf({ headers }: FastifyRequest): Headers {
  const copy = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    // Omit the API key: it has been checked, and nothing else needs it.
    if (value !== undefined && !mayHoldKey.has(name)) copy.set(name, [value].flat().join(', '))
  }
  return copy
}

interface SendOptions {
  readonly signal: AbortSignal
  readonly isScarce: () => boolean
  /** How long a client may read nothing while memory is scarce. Six times this otherwise. Ms. */
  readonly unreadMs: number
  /** Called before a client that reads nothing is disconnected. */
  readonly onStalled: () => void
}

async function send(reply: FastifyReply, response: Response, options: SendOptions): Promise<FastifyReply> {
  const { body, status, headers } = response
  reply.code(status)
  for (const [name, value] of headers) if (name !== 'connection') reply.header(name, value)
  if (body === null) return reply.send()
  const isStream = headers.get('content-type') === 'text/event-stream'
  const bytes = isStream ? undefined : Buffer.from(await response.arrayBuffer())
  if (bytes !== undefined && bytes.length <= pieceBytes) return reply.send(bytes)
  reply.hijack()
  const { raw } = reply
  raw.writeHead(status, flatHeaders(reply))
  raw.flushHeaders()
  if (bytes === undefined) await pipe(body, raw, options)
  else await writePieces(bytes, raw, options)
  raw.end()
  return reply
}

/** A client makes progress with each piece of this size that it reads. Bytes. */
const pieceBytes = 64 * 1024

/**
 * Writes the body to the response, as fast as the client reads it. The body ends when the client has read nothing for too
 * long.
 */
async function pipe(body: ReadableStream<Uint8Array>, response: ServerResponse, options: SendOptions): Promise<void> {
  const { signal } = options
  const reader = body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    await writePieces(value, response, options)
  }
  signal.removeEventListener('abort', stop)
}

async function writePieces(bytes: Uint8Array, response: ServerResponse, options: SendOptions): Promise<void> {
  for (let from = 0; from < bytes.length && !response.destroyed; from += pieceBytes) {
    if (!response.write(bytes.subarray(from, from + pieceBytes))) await drained(response, options)
  }
}

/** Resolves when the client has read what was written, or is disconnected. */
function drained(response: ServerResponse, { isScarce, unreadMs, onStalled }: SendOptions): Promise<void> {
  return new Promise((resolve) => {
    let checks = 0
    const timer = setInterval(() => {
      checks += 1
      if (checks < 6 && !isScarce()) return
      onStalled()
      response.destroy()
    }, unreadMs)
    const end = (): void => {
      clearInterval(timer)
      response.off('drain', end).off('close', end)
      resolve()
    }
    response.on('drain', end).on('close', end)
    if (response.destroyed) end()
  })
}
