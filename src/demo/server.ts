import { createAutoMode } from './auto.ts'
import { openHost } from './host.ts'
import type { Host } from './host.ts'
import { DEFAULT_PACE } from './inference.ts'
import type { Pace } from './inference.ts'
import { copilotHeaders, createCopilotRoutes } from './routes.ts'
import { createTokenStore } from './tokens.ts'
import type { TokenStore } from './tokens.ts'

/** One server that plays GitHub, GitHub's REST API and the Copilot API. The path decides which one answers. */
export interface DemoServer extends Host {
  readonly tokens: TokenStore
}

/** Starts the simulated Copilot on a free port of 127.0.0.1. */
export async function startDemoServer(given: Partial<Pace> = {}): Promise<DemoServer> {
  const pace = { ...DEFAULT_PACE, ...given }
  const now = Date.now
  const { promise: made, resolve } = Promise.withResolvers<TokenStore>()
  const host = await openHost({}, ({ url, port }) => {
    const tokens = createTokenStore({ now, scope: String(port) })
    resolve(tokens)
    const answer = createCopilotRoutes({ url, pace: () => pace, tokens, auto: createAutoMode(now), now })
    return { headers: copilotHeaders, answer }
  })
  return { ...host, tokens: await made }
}
