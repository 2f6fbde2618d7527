import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Host, HookReplies } from './http/host.ts'
import type { Outcome } from './http/outcome.ts'
import { createGate } from './gate.ts'
import type { GateKeeper, ReplyEnd, StreamGate } from './gate.ts'
import { createJournal } from './journal.ts'
import type { Journal } from './journal.ts'
import { createScript } from './script.ts'
import type { ScriptedReply } from './script.ts'

export interface ControlOptions<Route extends string> {
  /** Undefined if the path or the method is not served. */
  readonly routeOf: (request: IncomingMessage) => Route | undefined
  /** Routes whose replies may stream an answer of a model. */
  readonly streamingRoutes: ReadonlySet<Route>
  /** The number of newest requests to keep in `log`. */
  readonly record: number
  /** Larger bodies get the answer `tooLarge`. */
  readonly maxBodyBytes: () => number
  readonly tooLarge: Outcome
}

/** How a test observes and controls a simulated upstream. */
export interface Controls<Route extends string> extends Pick<
  Journal<Route>,
  'log' | 'count' | 'openStreams' | 'aborted' | 'until'
> {
  /** Answers with these replies instead of the simulation's own, before any check. */
  readonly script: (route: Route, ...replies: readonly ScriptedReply[]) => void
  /** Holds the next streamed reply of the route between its pieces. */
  readonly gateNext: (route: Route) => StreamGate
}

export interface Control<Route extends string> {
  readonly controls: Controls<Route>
  readonly hookReplies: HookReplies
  /** Wraps a host, so that sockets which the server drops do not count as client disconnects. */
  readonly watch: (host: Host) => Host
}

/** Counts and records the requests of a host, and applies scripts and gates to its replies. */
export function createControl<Route extends string>(options: ControlOptions<Route>): Control<Route> {
  const journal = createJournal<Route>(options.record)
  const script = createScript<Route>()
  const gates = new Map<Route, GateKeeper[]>()
  /** Replies that this server broke off. Their end is not a client disconnect. */
  const cutByServer = new WeakSet<ServerResponse>()
  const live = new Set<ServerResponse>()

  const hookReplies: HookReplies = (request, response) => {
    const route = options.routeOf(request)
    if (route === undefined) return undefined
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
    return {
      cut: () => void cutByServer.add(response),
      ...(keeper !== undefined && { gate: { opened: keeper.markOpened, pass: keeper.pass } }),
      answer: async ({ body }) => {
        if (Buffer.byteLength(body) > options.maxBodyBytes()) return options.tooLarge
        const scripted = script.take(route)
        const { method = '', url: path = '', headers } = request
        journal.request({ method, path, route, headers, body })
        await scripted?.after
        return scripted?.outcome
      },
    }
  }

  const markLive = (): void => {
    for (const response of live) cutByServer.add(response)
  }

  return {
    hookReplies,
    controls: {
      log: journal.log,
      count: journal.count,
      openStreams: journal.openStreams,
      aborted: journal.aborted,
      until: journal.until,
      script: (route, ...replies) => {
        script.add(route, replies)
      },
      gateNext: (route) => {
        const keeper = createGate()
        gates.set(route, [...(gates.get(route) ?? []), keeper])
        return keeper.gate
      },
    },
    watch: (host) => ({
      ...host,
      dropSockets: () => {
        markLive()
        host.dropSockets()
      },
      close: () => {
        markLive()
        return host.close()
      },
    }),
  }
}

function endOf(response: ServerResponse, cutByServer: WeakSet<ServerResponse>): ReplyEnd {
  if (response.writableFinished) return 'finished'
  return cutByServer.has(response) ? 'cut' : 'aborted'
}
