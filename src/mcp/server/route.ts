import type { CallSource, Caller } from '../../config/caller.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'
import { readBody } from '../../http/body.ts'
import { flatHeaders } from '../../http/serve.ts'
import { isObject, isTooDeep } from '../../json/json.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Workspaces } from '../../sessions/workspaces.ts'
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
  /** Maximum time between two chunks of a body. Ms. */
  readonly uploadIdleMs: number
  readonly version: string
  readonly redact: (text: string) => string
  readonly log: Logger
}

export interface McpRoute {
  /** Ends the requests for whose response `isRevoked` returns true. */
  readonly closeRevoked: (isRevoked: (response: ServerResponse, caller: Caller) => boolean) => void
  /** Ends streams that wait for notifications, lets calls finish for at most `graceMs`, then cancels them. */
  readonly close: (graceMs: number) => Promise<void>
}

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

/** Maximum size of an answer that its client has not read, without its last result, which may contain the largest file. Bytes. */
const maxQueuedBytes = 32 * 1024 * 1024

/** Registers `/mcp`: the tools of workspaces over MCP's streamable HTTP. It answers 404 while no workspace is configured. */
export function registerMcpRoute(fastify: FastifyInstance, deps: McpRouteDeps): McpRoute {
  const { config, workspaces, admit, uploadIdleMs, version, log } = deps
  const open = new Set<Open>()
  let endpoint: Endpoint | undefined
  let isClosing = false

  /** Imports the endpoint with the first request, so that a daemon without clients of /mcp does not load it. */
  async function endpointFor(current: Workspaces): Promise<Endpoint> {
    const { createEndpoint } = await import('./endpoint.ts')
    if (isClosing) throw new Fault({ kind: 'shutting_down' })
    if (endpoint?.workspaces === current) return endpoint
    endpoint?.close()
    endpoint = createEndpoint({ workspaces: current, version, redact: deps.redact, log, now: () => performance.now() })
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
      open.add(opened)
      reply.raw.once('close', () => {
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
        body = parse(text)
        if (body === undefined) return refuseJson(reply)
        opened.isSubscription = isObject(body) && body['method'] === 'subscriptions/listen'
      }
      const source: CallSource = { caller, address: raw.socket.remoteAddress }
      const answering = await endpointFor(current)
      const response = await answering.answer({
        request: new Request('http://localhost/mcp', { method: request.method, headers: headersOf(request), signal }),
        body,
        sessionName: [request.query.session].flat().at(-1),
        owner: caller.key?.id,
        caller: `mcp:${caller.key?.name ?? 'local'}`,
        admit: (stopped) => admit(source, stopped),
      })
      return await send(reply, response, opened.stream.signal)
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

/** Returns undefined for a text that is not JSON or too deeply nested. */
function parse(text: string): unknown {
  if (isTooDeep(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refuseJson(reply: FastifyReply): FastifyReply {
  const error = { code: -32700, message: 'The body is not valid JSON, or it is nested too deeply.' }
  return reply.code(400).send({ jsonrpc: '2.0', error, id: null })
}

function headersOf({ headers }: FastifyRequest): Headers {
  const copy = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    // Omit the API key: it has been checked, and nothing else needs it.
    if (value !== undefined && name !== 'authorization' && name !== 'x-api-key')
      copy.set(name, [value].flat().join(', '))
  }
  return copy
}

async function send(reply: FastifyReply, response: Response, signal: AbortSignal): Promise<FastifyReply> {
  const { body, status, headers } = response
  reply.code(status)
  for (const [name, value] of headers) if (name !== 'connection') reply.header(name, value)
  if (body === null || headers.get('content-type') !== 'text/event-stream') {
    return reply.send(body === null ? undefined : await response.text())
  }
  reply.hijack()
  const { raw } = reply
  raw.writeHead(status, flatHeaders(reply))
  raw.flushHeaders()
  await pipe(body, raw, signal)
  return reply
}

/** Writes the body to the response. The transport has no back-pressure, so a client that does not read is disconnected. */
async function pipe(body: ReadableStream<Uint8Array>, response: ServerResponse, signal: AbortSignal): Promise<void> {
  const reader = body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (response.writableLength > maxQueuedBytes) response.destroy()
    else response.write(value)
  }
  signal.removeEventListener('abort', stop)
  response.end()
}
