import { createCopilotTokenSource } from '../auth/copilot/token-source.ts'
import type { CopilotTokenSource } from '../auth/copilot/token.ts'
import type { RecordStore } from '../auth/records/record-store.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import type { Config } from '../config/schema.ts'
import { loginFix } from '../auth/copilot/github-failure.ts'
import { endOnLogout, createAccountRequests } from './account-requests.ts'
import { Fault } from '../errors.ts'
import { createPool } from './connection-pool.ts'
import { createCopilotExecutor } from './copilot.ts'
import type { Executor } from './executor.ts'
import type { NoteSecrets } from '../redaction/known-secrets.ts'
import type { Logger } from '../logging/logger.ts'

export interface CopilotConnectionDeps {
  readonly store: RecordStore<CopilotRecord>
  /** The name of the only account in `store`. Undefined: the account in use. */
  readonly account?: string | undefined
  /** `COPILOT_GITHUB_TOKEN`. */
  readonly githubToken: string | undefined
  readonly fetch: typeof globalThis.fetch
  /** Ms since epoch. */
  readonly now: () => number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Logger
  /** Called with every credential that is read or received. */
  readonly noteSecrets?: NoteSecrets | undefined
  /** Removes those credentials from upstream's error messages. */
  readonly redact: (text: string) => string
  /** Called with the status of every reply. */
  readonly onStatus?: ((status: number) => void) | undefined
  /** Called with the outcome of each token exchange. */
  readonly onRefresh?: ((ok: boolean) => void) | undefined
}

/** A live token and the executor that uses it, for one configuration. */
export interface CopilotConnection {
  readonly tokens: CopilotTokenSource
  readonly executor: Executor
  /** Stops refreshing; running requests keep their connection to the end. */
  readonly close: () => Promise<void>
}

export function connectCopilot(deps: CopilotConnectionDeps, config: Config): CopilotConnection {
  const { store, githubToken, fetch, now, env, log, noteSecrets, redact, onStatus, onRefresh } = deps
  const { copilot, copilotOauth } = config
  const { connectSeconds, headersSeconds, idleSeconds } = copilot.timeouts
  const connectMs = connectSeconds * 1000
  const tokens = createCopilotTokenSource(
    { store, fetch, now, monotonicMs: () => performance.now(), random: Math.random, log, noteSecrets, onRefresh },
    {
      githubBaseUrl: copilotOauth.githubBaseUrl,
      githubApiBaseUrl: copilotOauth.githubApiBaseUrl,
      baseUrl: copilot.baseUrl,
      headers: copilot.headers,
      auth: copilot.auth,
      refreshSafetyMarginSeconds: copilot.refreshSafetyMarginSeconds,
      ...(githubToken !== undefined && { githubToken }),
      ...(deps.account !== undefined && { account: deps.account }),
    },
  )
  const requests = createAccountRequests()
  const executor = createCopilotExecutor(
    { tokens, pool: createPool({ connectMs, env }), log, redact, requests, onStatus },
    {
      refreshOnUnauthorized: copilot.refreshOnUnauthorized,
      headers: copilot.headers,
      connectMs,
      headersMs: headersSeconds * 1000,
      idleMs: idleSeconds * 1000,
    },
  )
  // A token of the environment has no record that a logout could remove.
  const unwatch =
    githubToken === undefined ? endOnLogout(requests, store, (recordId) => recordId, loggedOut) : undefined
  return {
    tokens,
    executor,
    async close() {
      unwatch?.()
      await tokens.close()
      await executor.close()
    },
  }
}

function loggedOut(): Fault {
  return new Fault({
    kind: 'copilot_unavailable',
    detail: 'The account was logged out during the request',
    fix: loginFix,
  })
}
