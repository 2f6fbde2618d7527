import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deliver } from './deliver.ts'
import { bodyTooLarge } from './failures.ts'
import { createGate } from './gate.ts'
import type { GateKeeper, ReplyEnd, StreamGate } from './gate.ts'
import { createJournal } from './journal.ts'
import type { Journal } from './journal.ts'
import { textReply } from './outcome.ts'
import { readBody } from './read-body.ts'
import { commonHeaders, createRoutes, routeOf } from './routes.ts'
import { createScript, STREAMING_ROUTES } from './script.ts'
import type { DemoRoute, ScriptedReply } from './script.ts'
import { DEFAULT_DEMO_SETTINGS } from './settings.ts'
import type { DemoSettings, PollAnswer } from './settings.ts'
import { createTokenStore } from './tokens.ts'
import type { TokenStore } from './tokens.ts'

export interface DemoOptions {
  /** 0 or absent picks a free one. Always on 127.0.0.1. */
  readonly port?: number
  readonly settings?: Partial<DemoSettings>
  /** Answers to the first polls of the device flow; after them every poll is approved. */
  readonly polls?: readonly PollAnswer[]
  /** Keep this many of the newest requests in `log`; default 0. */
  readonly record?: number
  /** Ms since epoch; default `Date.now`. */
  readonly now?: () => number
}

/** One server that plays GitHub, GitHub's REST API and the Copilot API, told apart by path. */
export interface DemoServer extends Pick<Journal, 'log' | 'count' | 'openStreams' | 'aborted' | 'until'> {
  /** Base URL of all simulated services, without a trailing slash. */
  readonly url: string
  readonly port: number
  /** Token exchanges asked for so far, refused ones included. */
  readonly exchanges: () => number
  readonly tokens: TokenStore
  readonly configure: (change: Partial<DemoSettings>) => void
  readonly answerPolls: (...answers: readonly PollAnswer[]) => void
  /** Puts these replies in place of the simulation's own, ahead of every check. */
  readonly script: (route: DemoRoute, ...replies: readonly ScriptedReply[]) => void
  /** Holds the next streamed reply of the route between its pieces. */
  readonly gateNext: (route?: DemoRoute) => StreamGate
  /** Destroys every open connection, also in the middle of a reply. */
  readonly dropSockets: () => void
  /** Stops listening and destroys what is open. */
  readonly close: () => Promise<void>
}

/** Starts the simulated Copilot. Rejects with node's own error when the port is taken. */
export async function startDemoServer(options: DemoOptions = {}): Promise<DemoServer> {
  const now = options.now ?? Date.now
  let settings: DemoSettings = { ...DEFAULT_DEMO_SETTINGS, ...options.settings }
  const pollAnswers = [...(options.polls ?? [])]
  const journal = createJournal(options.record ?? 0)
  const script = createScript()
  const gates = new Map<DemoRoute, GateKeeper[]>()
  /** Replies that this server itself broke off; their end is not a client's doing. */
  const cutByServer = new WeakSet<ServerResponse>()
  const live = new Set<ServerResponse>()

  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 })
  await listening(server, options.port ?? 0)
  // A TCP server that listens has an address with a port.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const tokens = createTokenStore({ now, scope: String(port) })
  let requestCount = 0

  const answerRoute = createRoutes({ settings: () => settings, tokens, now, url, pollAnswers })

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requestCount += 1
    const delivery = {
      headers: commonHeaders(request, requestCount),
      keeper: undefined,
      onServerCut: () => cutByServer.add(response),
    }
    const route = routeOf(request)
    if (route === undefined) return deliver(response, textReply(404, '404 page not found'), delivery)

    const keeper = gates.get(route)?.shift()
    const isStreaming = STREAMING_ROUTES.has(route)
    live.add(response)
    if (isStreaming) journal.streamOpened()
    response.once('close', () => {
      live.delete(response)
      const end = endOf(response, cutByServer)
      if (end === 'aborted') journal.clientLeft()
      keeper?.markClosed(end)
      if (isStreaming) journal.streamClosed()
    })

    const body = await readBody(request, settings.maxBodyBytes)
    if (body === 'gone') return
    if (body === 'too_large') return deliver(response, bodyTooLarge(), delivery)
    const { method = '', url: path = '', headers } = request
    const scripted = script.take(route)
    journal.request({ method, path, route, headers, body: body.text })
    // Before anything is awaited, so that requests that overlap have numbers of their own.
    const number = journal.count(route)
    await scripted?.after
    if (response.destroyed) return
    await deliver(response, scripted?.outcome ?? answerRoute({ route, request, body: body.text, number }), {
      ...delivery,
      keeper,
    })
  }

  server.on('request', (request, response) => {
    serve(request, response).catch((error: unknown) => {
      // A fault of the simulation itself: say so where a developer sees it.
      cutByServer.add(response)
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end(`demo server fault: ${String(error)}\n`)
    })
  })

  const dropSockets = (): void => {
    for (const response of live) cutByServer.add(response)
    server.closeAllConnections()
  }

  return {
    log: journal.log,
    count: journal.count,
    openStreams: journal.openStreams,
    aborted: journal.aborted,
    until: journal.until,
    url,
    port,
    exchanges: () => journal.count('/copilot_internal/v2/token'),
    tokens,
    configure: (change) => {
      settings = { ...settings, ...change }
    },
    answerPolls: (...answers) => {
      pollAnswers.push(...answers)
    },
    script: (route, ...replies) => {
      script.add(route, replies)
    },
    gateNext: (route = '/chat/completions') => {
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
