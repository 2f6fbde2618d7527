import { createCopilotTokenSource } from './auth/copilot-token-source.ts'
import type { CopilotTokenSource } from './auth/copilot-token.ts'
import type { RecordStore } from './auth/record-store.ts'
import type { CopilotRecord } from './auth/wire.ts'
import type { Config } from './config/schema.ts'
import { createPool } from './executors/agent.ts'
import { createCopilotExecutor } from './executors/copilot.ts'
import type { Executor } from './executors/executor.ts'
import type { Logger } from './log.ts'

export interface CopilotConnectionDeps {
  readonly store: RecordStore<CopilotRecord>
  /** `COPILOT_GITHUB_TOKEN`. */
  readonly githubToken: string | undefined
  readonly fetch: typeof globalThis.fetch
  /** Ms since epoch. */
  readonly now: () => number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Logger
}

/** A live token and the executor that uses it, for one configuration. */
export interface CopilotConnection {
  readonly tokens: CopilotTokenSource
  readonly executor: Executor
  /** Stops refreshing at once; requests that are under way keep their connection to the end. */
  readonly close: () => Promise<void>
}

export function connectCopilot(deps: CopilotConnectionDeps, config: Config): CopilotConnection {
  const { store, githubToken, fetch, now, env, log } = deps
  const { copilot, copilotOauth } = config
  const { connectSeconds, headersSeconds, idleSeconds } = copilot.timeouts
  const connectMs = connectSeconds * 1000
  const tokens = createCopilotTokenSource(
    { store, fetch, now, monotonicMs: () => performance.now(), random: Math.random, log },
    {
      githubBaseUrl: copilotOauth.githubBaseUrl,
      githubApiBaseUrl: copilotOauth.githubApiBaseUrl,
      baseUrl: copilot.baseUrl,
      headers: copilot.headers,
      refreshSafetyMarginSeconds: copilot.refreshSafetyMarginSeconds,
      ...(githubToken !== undefined && { githubToken }),
    },
  )
  const executor = createCopilotExecutor(
    { tokens, pool: createPool({ connectMs, env }), log },
    {
      refreshOnUnauthorized: copilot.refreshOnUnauthorized,
      headers: copilot.headers,
      connectMs,
      headersMs: headersSeconds * 1000,
      idleMs: idleSeconds * 1000,
    },
  )
  return {
    tokens,
    executor,
    async close() {
      tokens.close()
      await executor.close()
    },
  }
}
