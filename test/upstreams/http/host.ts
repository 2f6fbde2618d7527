import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { deliver } from './deliver.ts'
import type { DeliveryHooks } from './deliver.ts'
import type { HeaderMap, Outcome } from './outcome.ts'

export interface HostedRequest {
  readonly request: IncomingMessage
  /** Without query. */
  readonly path: string
  readonly body: string
  /** Counts the requests of this path from 1. Ids contain it. */
  readonly number: number
}

/** The replies of one simulated service. */
export interface Service {
  readonly answer: (hosted: HostedRequest) => Outcome
  /** Headers of every reply; the outcome's own headers override them. `number` counts all requests from 1. */
  readonly headers: (request: IncomingMessage, number: number) => HeaderMap
}

/** Observes and controls one reply. */
interface ReplyHooks extends DeliveryHooks {
  /** Answers in place of the service. Undefined: the service answers. */
  readonly answer: (hosted: HostedRequest) => Promise<Outcome | undefined>
}

/** Called when a request arrives, before its body is read. Only tests set it, to observe and script replies. */
export type HookReplies = (request: IncomingMessage, response: ServerResponse) => ReplyHooks | undefined

export interface HostOptions {
  /** 0 or absent selects a free port. */
  readonly port?: number | undefined
  readonly hookReplies?: HookReplies | undefined
}

/** A loopback server that plays a service. */
export interface Host {
  /** Without a trailing slash. */
  readonly url: string
  readonly port: number
  /** Destroys every open connection, also in the middle of a reply. */
  readonly dropSockets: () => void
  /** Stops listening and destroys all connections. */
  readonly close: () => Promise<void>
}

/** Listens on 127.0.0.1. Rejects with Node's own error if the port is taken. `createService` receives the address. */
export async function openHost(
  { port: wantedPort = 0, hookReplies }: HostOptions,
  createService: (host: Host) => Service,
): Promise<Host> {
  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 })
  await listening(server, wantedPort)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a listening TCP server has an address with a port
  const { port } = server.address() as AddressInfo
  const host: Host = {
    url: `http://127.0.0.1:${port}`,
    port,
    dropSockets: () => server.closeAllConnections(),
    close: async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      server.closeAllConnections()
      await promise
    },
  }
  const service = createService(host)
  const countsByPath = new Map<string, number>()
  let requestCount = 0

  const reply = async (request: IncomingMessage, response: ServerResponse, hooks?: ReplyHooks): Promise<void> => {
    requestCount += 1
    const headers = service.headers(request, requestCount)
    const body = await text(request).catch(() => undefined)
    // The client disconnected before it had sent the whole body.
    if (body === undefined) return
    const [path = ''] = (request.url ?? '').split('?', 1)
    const number = (countsByPath.get(path) ?? 0) + 1
    countsByPath.set(path, number)
    const hosted: HostedRequest = { request, path, body, number }
    const outcome = (await hooks?.answer(hosted)) ?? service.answer(hosted)
    if (!response.destroyed) await deliver(response, outcome, headers, hooks)
  }

  server.on('request', (request, response) => {
    const hooks = hookReplies?.(request, response)
    reply(request, response, hooks).catch((error: unknown) => {
      // An error in the simulation itself: show it to the developer.
      hooks?.cut()
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end(`demo server fault: ${String(error)}\n`)
    })
  })
  return host
}

function listening(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, '127.0.0.1', () => {
    server.off('error', reject)
    resolve()
  })
  return promise
}

/** The value of a header. Node joins the values of a repeated header or keeps the first. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The token of the `authorization` header; '' for none. */
export function tokenOf({ headers: { authorization = '' } }: IncomingMessage): string {
  return /^(?:bearer|token) (\S+)$/i.exec(authorization)?.[1] ?? ''
}
