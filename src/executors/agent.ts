import { Agent, EnvHttpProxyAgent } from 'undici'
import type { Dispatcher } from 'undici'

export interface AgentOptions {
  readonly connectMs: number
  /** `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` in either case are read from here. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * One provider's own connection pool. Idle connections are kept for a minute, so that the next turn of a conversation
 * finds one open; deadlines for headers and silence are set per request.
 */
export function createAgent({ connectMs, env }: AgentOptions): Dispatcher {
  const options: Agent.Options = {
    connect: { timeout: connectMs },
    keepAliveTimeout: 60_000,
    keepAliveMaxTimeout: 600_000,
    // An answer streams for as long as the model writes. Silence is watched by the reader, to the millisecond.
    bodyTimeout: 0,
  }
  const httpProxy = env['http_proxy'] ?? env['HTTP_PROXY']
  const httpsProxy = env['https_proxy'] ?? env['HTTPS_PROXY']
  if (!httpProxy && !httpsProxy) return new Agent(options)
  const noProxy = env['no_proxy'] ?? env['NO_PROXY']
  return new EnvHttpProxyAgent({
    ...options,
    ...(httpProxy && { httpProxy }),
    ...(httpsProxy && { httpsProxy }),
    noProxy: [noProxy, 'localhost', '127.0.0.1', '[::1]'].filter(Boolean).join(','),
  })
}
