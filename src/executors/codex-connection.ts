import { devNull } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCodexCredentials } from '../auth/codex/credentials-in-use.ts'
import { codexClientId, codexOriginator } from '../auth/codex/identity.ts'
import type { CodexCredentialSource } from '../auth/codex/credentials.ts'
import { codexLoginFix, codexRecordId, type CodexRecord } from '../auth/codex/record.ts'
import type { RecordStore } from '../auth/records/record-store.ts'
import type { Config } from '../config/schema.ts'
import { endOnLogout, createAccountRequests } from './account-requests.ts'
import { Fault } from '../errors.ts'
import { createPool } from './connection-pool.ts'
import { createCodexExecutor } from './codex.ts'
import type { CodexExecutorDeps } from './codex.ts'
import type { Executor } from './executor.ts'
import type { NoteSecrets } from '../redaction/known-secrets.ts'
import type { Logger } from '../logging/logger.ts'

export interface CodexConnectionDeps {
  readonly store: RecordStore<CodexRecord>
  /** The folder of Codex CLI's own login. */
  readonly codexHome: string | undefined
  readonly fetch: typeof globalThis.fetch
  /** Ms since epoch. */
  readonly now: () => number
  readonly env: Readonly<Record<string, string | undefined>>
  /** This program's version. */
  readonly version: string
  readonly log: Logger
  /** Called with every credential that is read or received. */
  readonly noteSecrets?: NoteSecrets | undefined
  /** Removes those credentials from upstream's error messages. */
  readonly redact: (text: string) => string
  /** Called with the status and headers of every reply. */
  readonly onStatus?: CodexExecutorDeps['onStatus']
  /** Called with the outcome of each token renewal. */
  readonly onRefresh?: ((ok: boolean) => void) | undefined
  /** Called with work that must end before the process exits: a running renewal. */
  readonly beforeExit?: (work: Promise<void>) => void
  /** Called when upstream reports another model list. */
  readonly onModelsChanged: () => void
}

/** A live credential and the executor that uses it, for one configuration. */
export interface CodexConnection {
  readonly credentials: CodexCredentialSource
  readonly executor: Executor
  /** Starts no renewal and waits for a running one; running requests keep their connection to the end. */
  readonly close: () => Promise<void>
}

/** Undefined if Codex is switched off. */
export function connectCodex(deps: CodexConnectionDeps, { codex, copilot }: Config): CodexConnection | undefined {
  if (!codex.enabled) return undefined
  const { store, codexHome, fetch, now, env, version, log, noteSecrets, beforeExit, onStatus, onRefresh } = deps
  const { connectSeconds, headersSeconds, idleSeconds } = copilot.timeouts
  const connectMs = connectSeconds * 1000
  const credentials = createCodexCredentials(
    {
      store,
      fetch,
      now,
      monotonicMs: () => performance.now(),
      random: Math.random,
      sleep,
      log,
      noteSecrets,
      onRefresh,
      ...(beforeExit && { beforeExit }),
    },
    {
      apiKey: codex.apiKey,
      useCliLogin: codex.useCliLogin,
      // Without a known home directory there is no CLI login.
      codexHome: codexHome ?? devNull,
      issuer: codex.issuer,
      clientId: codexClientId,
    },
  )
  const requests = createAccountRequests()
  const pool = createPool({ connectMs, env })
  const executor = createCodexExecutor(
    { credentials, pool, log, now, redact: deps.redact, onModelsEtag: deps.onModelsChanged, requests, onStatus },
    {
      baseUrl: codex.baseUrl,
      apiBaseUrl: codex.apiBaseUrl,
      originator: codexOriginator,
      version,
      clientVersion: codex.clientVersion,
      connectMs,
      headersMs: headersSeconds * 1000,
      idleMs: idleSeconds * 1000,
    },
  )
  // A login of Codex CLI ends when Codex CLI logs out, not when a record of this program is gone.
  const unwatch = codex.useCliLogin ? undefined : endOnLogout(requests, store, codexRecordId, loggedOut)
  return {
    credentials,
    executor,
    async close() {
      unwatch?.()
      // First, because it waits for a running renewal, whose tokens exist nowhere else.
      await credentials.close()
      await executor.close()
    },
  }
}

function loggedOut(): Fault {
  return new Fault({
    kind: 'codex_unavailable',
    detail: 'The account was logged out during the request',
    fix: codexLoginFix,
  })
}
