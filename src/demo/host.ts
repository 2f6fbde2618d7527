import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deliver } from './deliver.ts'
import { createGate } from './gate.ts'
import type { GateKeeper, ReplyEnd, StreamGate } from './gate.ts'
import { createJournal } from './journal.ts'
import type { Journal } from './journal.ts'
import type { HeaderMap, Outcome } from './outcome.ts'
import { readBody } from './read-body.ts'
import { createScript } from './script.ts'
import type { ScriptedReply } from './script.ts'

export interface HostOptions<Route extends string> {
  /** 0 or absent picks a free one. Always on 127.0.0.1. */
  readonly port?: number | undefined
  /** Keep this many of the newest requests in `log`; default 0. */
  readonly record?: number | undefined
  /** Routes whose replies may be streams of a model's answer. */
  readonly streamingRoutes: ReadonlySet<Route>
}

export interface HostedRequest<Route extends string> {
  readonly route: Route
  readonly request: IncomingMessage
  readonly body: string
  /** Counts the requests of this route from 1; ids are made of it. */
  readonly number: number
}

/** What a simulated service is, apart from sockets and bookkeeping. */
interface Service<Route extends string> {
  /** Undefined where the path or the method is not served. */
  readonly routeOf: (request: IncomingMessage) => Route | undefined
  readonly answer: (routed: HostedRequest<Route>) => Outcome
  /** Sent with every reply, below the outcome's own headers; `number` counts all requests from 1. */
  readonly headers: (request: IncomingMessage, number: number) => HeaderMap
  readonly notFound: Outcome
  readonly tooLarge: Outcome
  readonly maxBodyBytes: () => number
}

/** A loopback server that plays a service: its requests are counted, its replies can be scripted and held. */
export interface Host<Route extends string> extends Pick<
  Journal<Route>,
  'log' | 'count' | 'openStreams' | 'aborted' | 'until'
> {
  /** Without a trailing slash. */
  readonly url: string
  readonly port: number
  /** Puts these replies in place of the simulation's own, ahead of every check. */
  readonly script: (route: Route, ...replies: readonly ScriptedReply[]) => void
  /** Holds the next streamed reply of the route between its pieces. */
  readonly gateNext: (route: Route) => StreamGate
  /** Destroys every open connection, also in the middle of a reply. */
  readonly dropSockets: () => void
  /** Stops listening and destroys what is open. */
  readonly close: () => Promise<void>
}

export interface OpenHost<Route extends string> {
  readonly host: Host<Route>
  /** Starts to answer; to be called at once, since a service may need the address to be made. */
  readonly serve: (service: Service<Route>) => void
}

/** Listens. Rejects with node's own error when the port is taken. */
export async function openHost<Route extends string>(options: HostOptions<Route>): Promise<OpenHost<Route>> {
  const journal = createJournal<Route>(options.record ?? 0)
  const script = createScript<Route>()
  const gates = new Map<Route, GateKeeper[]>()
  /** Replies that this server itself broke off; their end is not a client's doing. */
  const cutByServer = new WeakSet<ServerResponse>()
  const live = new Set<ServerResponse>()

  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 })
  await listening(server, options.port ?? 0)
  // A TCP server that listens has an address with a port.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  let requestCount = 0

  const reply = async (service: Service<Route>, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requestCount += 1
    const delivery = {
      headers: service.headers(request, requestCount),
      keeper: undefined,
      onServerCut: () => cutByServer.add(response),
    }
    const route = service.routeOf(request)
    if (route === undefined) return deliver(response, service.notFound, delivery)

    const keeper = gates.get(route)?.shift()
    const isStreaming = options.streamingRoutes.has(route)
    live.add(response)
    if (isStreaming) journal.streamOpened()
    response.once('close', () => {
      live.delete(response)
      const end = endOf(response, cutByServer)
      if (end === 'aborted') journal.clientLeft()
      keeper?.markClosed(end)
      if (isStreaming) journal.streamClosed()
    })

    const body = await readBody(request, service.maxBodyBytes())
    if (body === 'gone') return
    if (body === 'too_large') return deliver(response, service.tooLarge, delivery)
    const { method = '', url: path = '', headers } = request
    const scripted = script.take(route)
    journal.request({ method, path, route, headers, body: body.text })
    // Before anything is awaited, so that requests that overlap have numbers of their own.
    const number = journal.count(route)
    await scripted?.after
    if (response.destroyed) return
    const outcome = scripted?.outcome ?? service.answer({ route, request, body: body.text, number })
    await deliver(response, outcome, { ...delivery, keeper })
  }

  const serve = (service: Service<Route>): void => {
    server.on('request', (request, response) => {
      reply(service, request, response).catch((error: unknown) => {
        // A fault of the simulation itself: say so where a developer sees it.
        cutByServer.add(response)
        if (response.headersSent) response.destroy()
        else response.writeHead(500).end(`demo server fault: ${String(error)}\n`)
      })
    })
  }

  const dropSockets = (): void => {
    for (const response of live) cutByServer.add(response)
    server.closeAllConnections()
  }

  const host: Host<Route> = {
    log: journal.log,
    count: journal.count,
    openStreams: journal.openStreams,
    aborted: journal.aborted,
    until: journal.until,
    url,
    port,
    script: (route, ...replies) => {
      script.add(route, replies)
    },
    gateNext: (route) => {
      const keeper = createGate()
      gates.set(route, [...(gates.get(route) ?? []), keeper])
      return keeper.gate
    },
    dropSockets,
    close: async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => {
        resolve()
      })
      dropSockets()
      await promise
    },
  }
  return { host, serve }
}

function endOf(response: ServerResponse, cutByServer: WeakSet<ServerResponse>): ReplyEnd {
  if (response.writableFinished) return 'finished'
  return cutByServer.has(response) ? 'cut' : 'aborted'
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
