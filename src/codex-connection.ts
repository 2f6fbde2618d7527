import { devNull } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCodexCredentials } from './auth/codex/credentials-in-use.ts'
import type { CodexCredentialSource } from './auth/codex/credentials.ts'
import { codexLoginFix, codexRecordId, type CodexRecord } from './auth/codex/record.ts'
import type { RecordStore } from './auth/record-store.ts'
import type { Config } from './config/schema.ts'
import { watchLogouts } from './auth/watch-logouts.ts'
import { Fault } from './errors.ts'
import { createAccountRequests } from './executors/account-requests.ts'
import { createPool } from './executors/agent.ts'
import { createCodexExecutor } from './executors/codex.ts'
import type { CodexExecutorDeps } from './executors/codex.ts'
import type { Executor } from './executors/executor.ts'
import type { NoteSecrets } from './known-secrets.ts'
import type { Logger } from './log.ts'

export interface CodexConnectionDeps {
  readonly store: RecordStore<CodexRecord>
  /** The folder of Codex CLI's own login. */
  readonly codexHome: string | undefined
  readonly fetch: typeof globalThis.fetch
  /** Ms since epoch. */
  readonly now: () => number
  readonly env: Readonly<Record<string, string | undefined>>
  /** The program's own. */
  readonly version: string
  readonly log: Logger
  /** Told of every credential that is met. */
  readonly noteSecrets?: NoteSecrets | undefined
  /** Takes those credentials out of what upstream says of a failure. */
  readonly redact: (text: string) => string
  /** Hears the status of every answer of upstream, and its headers. */
  readonly onStatus?: CodexExecutorDeps['onStatus']
  /** Hears how each renewal of the token went. */
  readonly onRefresh?: ((ok: boolean) => void) | undefined
  /** Takes what should end before the process does: a renewal under way. */
  readonly beforeExit?: (work: Promise<void>) => void
  /** Upstream says that its model list is another one now. */
  readonly onModelsChanged: () => void
}

/** A live credential and the executor that uses it, for one configuration. */
export interface CodexConnection {
  readonly credentials: CodexCredentialSource
  readonly executor: Executor
  /** Starts no renewal any more and waits for one under way; requests that are under way keep their connection to the end. */
  readonly close: () => Promise<void>
}

/** Undefined where Codex is switched off. */
export function connectCodex(deps: CodexConnectionDeps, { codex }: Config): CodexConnection | undefined {
  if (!codex.enabled) return undefined
  const { store, codexHome, fetch, now, env, version, log, noteSecrets, beforeExit, onStatus, onRefresh } = deps
  const { connectSeconds, headersSeconds, idleSeconds } = codex.timeouts
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
      // Where no home is known there is no login in it either.
      codexHome: codexHome ?? devNull,
      issuer: codex.issuer,
      clientId: codex.clientId,
    },
  )
  const requests = createAccountRequests()
  const pool = createPool({ connectMs, env })
  const executor = createCodexExecutor(
    { credentials, pool, log, now, redact: deps.redact, onModelsEtag: deps.onModelsChanged, requests, onStatus },
    {
      baseUrl: codex.baseUrl,
      apiBaseUrl: codex.apiBaseUrl,
      originator: codex.originator,
      version,
      clientVersion: codex.clientVersion,
      connectMs,
      headersMs: headersSeconds * 1000,
      idleMs: idleSeconds * 1000,
    },
  )
  // Codex CLI's login is Codex CLI's to end.
  const unwatch = codex.useCliLogin
    ? () => {}
    : watchLogouts(store, {
        inUse: requests.accounts,
        recordIdOf: codexRecordId,
        onLogout: (accountId) => requests.endAll(accountId, loggedOut()),
      })
  return {
    credentials,
    executor,
    async close() {
      unwatch()
      // First, because it waits for a renewal under way: what that brings exists nowhere else.
      await credentials.close()
      await executor.close()
    },
  }
}

function loggedOut(): Fault {
  return new Fault({ kind: 'codex_unavailable', detail: 'The account was logged out meanwhile', fix: codexLoginFix })
}
