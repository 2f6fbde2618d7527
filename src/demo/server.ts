import { createAutoMode } from './auto.ts'
import type { AutoMode } from './auto.ts'
import { bodyTooLarge } from './failures.ts'
import { openHost } from './host.ts'
import type { Host } from './host.ts'
import type { StreamGate } from './gate.ts'
import { textReply } from './outcome.ts'
import { commonHeaders, createRoutes, routeOf } from './routes.ts'
import { STREAMING_ROUTES } from './script.ts'
import type { DemoRoute } from './script.ts'
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
export interface DemoServer extends Omit<Host<DemoRoute>, 'gateNext'> {
  /** Token exchanges asked for so far, refused ones included. */
  readonly exchanges: () => number
  readonly tokens: TokenStore
  readonly auto: AutoMode
  readonly configure: (change: Partial<DemoSettings>) => void
  readonly answerPolls: (...answers: readonly PollAnswer[]) => void
  /** Holds the next streamed reply of the route between its pieces. */
  readonly gateNext: (route?: DemoRoute) => StreamGate
}

/** Starts the simulated Copilot. Rejects with node's own error when the port is taken. */
export async function startDemoServer(options: DemoOptions = {}): Promise<DemoServer> {
  const now = options.now ?? Date.now
  let settings: DemoSettings = { ...DEFAULT_DEMO_SETTINGS, ...options.settings }
  const pollAnswers = [...(options.polls ?? [])]

  const { host, serve } = await openHost<DemoRoute>({ ...options, streamingRoutes: STREAMING_ROUTES })
  const auto = createAutoMode(now)
  const tokens = createTokenStore({ now, scope: String(host.port) })
  serve({
    routeOf,
    answer: createRoutes({ settings: () => settings, tokens, auto, now, url: host.url, pollAnswers }),
    headers: commonHeaders,
    notFound: textReply(404, '404 page not found'),
    tooLarge: bodyTooLarge(),
    maxBodyBytes: () => settings.maxBodyBytes,
  })

  return {
    ...host,
    exchanges: () => host.count('/copilot_internal/v2/token'),
    tokens,
    auto,
    configure: (change) => {
      settings = { ...settings, ...change }
    },
    answerPolls: (...answers) => {
      pollAnswers.push(...answers)
    },
    gateNext: (route = '/chat/completions') => host.gateNext(route),
  }
}
