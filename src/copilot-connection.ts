import { createCopilotTokenSource } from './auth/copilot-token-source.ts'
import type { CopilotTokenSource } from './auth/copilot-token.ts'
import type { RecordStore } from './auth/record-store.ts'
import type { CopilotRecord } from './auth/wire.ts'
import type { Config } from './config/schema.ts'
import { loginFix } from './auth/token-origin.ts'
import { watchLogouts } from './auth/watch-logouts.ts'
import { Fault } from './errors.ts'
import { createAccountRequests } from './executors/account-requests.ts'
import { createPool } from './executors/agent.ts'
import { createCopilotExecutor } from './executors/copilot.ts'
import type { Executor } from './executors/executor.ts'
import type { NoteSecrets } from './known-secrets.ts'
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
  /** Told of every credential that is met. */
  readonly noteSecrets?: NoteSecrets | undefined
  /** Takes those credentials out of what upstream says of a failure. */
  readonly redact: (text: string) => string
  /** Asked where `copilot.client-ids` is on. */
  readonly clientIdHeaders?: (() => Readonly<Record<string, string>>) | undefined
  /** Hears the status of every answer of upstream. */
  readonly onStatus?: ((status: number) => void) | undefined
  /** Hears how each renewal of the token went. */
  readonly onRefresh?: ((ok: boolean) => void) | undefined
}

/** A live token and the executor that uses it, for one configuration. */
export interface CopilotConnection {
  readonly tokens: CopilotTokenSource
  readonly executor: Executor
  /** Stops refreshing at once; requests that are under way keep their connection to the end. */
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
    },
  )
  const requests = createAccountRequests()
  const executor = createCopilotExecutor(
    { tokens, pool: createPool({ connectMs, env }), log, redact, requests, onStatus },
    {
      refreshOnUnauthorized: copilot.refreshOnUnauthorized,
      headers: copilot.headers,
      clientIds: copilot.clientIds ? deps.clientIdHeaders?.() : undefined,
      connectMs,
      headersMs: headersSeconds * 1000,
      idleMs: idleSeconds * 1000,
    },
  )
  // A token of the environment has no record that a logout could remove.
  const unwatch =
    githubToken === undefined
      ? watchLogouts(store, {
          inUse: requests.accounts,
          recordIdOf: (recordId) => recordId,
          onLogout: (recordId) => requests.endAll(recordId, loggedOut()),
        })
      : () => {}
  return {
    tokens,
    executor,
    async close() {
      unwatch()
      tokens.close()
      await executor.close()
    },
  }
}

function loggedOut(): Fault {
  return new Fault({ kind: 'copilot_unavailable', detail: 'The account was logged out meanwhile', fix: loginFix })
}
