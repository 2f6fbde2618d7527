import type { fetchAccountInUse } from '../auth/copilot/account-in-use.ts'
import { findAccount } from '../auth/copilot/find-account.ts'
import type { CopilotToken } from '../auth/copilot/token.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import { showOneAccount } from '../auth/records/one-account.ts'
import type { OneAccount } from '../auth/records/one-account.ts'
import { createSharedFetch } from '../auth/shared-fetch.ts'
import type { Config } from '../config/schema.ts'
import type { connectCopilot, CopilotConnection, CopilotConnectionDeps } from '../executors/copilot-connection.ts'
import type { Logger } from '../logging/logger.ts'
import { createAccountModels } from '../models/account-models.ts'
import { parseAccountModels } from '../models/auto-model.ts'
import type { ModelRegistry } from '../models/registry.ts'
import { createModelRefresh } from '../models/refresh.ts'
import { copilotSeeds, seedClientId } from '../models/seeds.ts'

/** GitHub Copilot, or its simulation. */
export interface CopilotService {
  readonly connect: typeof connectCopilot
  readonly fetchAccount: typeof fetchAccountInUse
}

export interface CopilotSideDeps {
  readonly service: CopilotService
  readonly config: () => Config
  /** Its store has all accounts. */
  readonly connection: CopilotConnectionDeps
  /** The only account that is used. Undefined: the account in use, which the user may change. */
  readonly account?: string
  readonly registry: Pick<ModelRegistry, 'register' | 'unregister' | 'reregister'>
  /** Called when the list of the account has come. */
  readonly onModels?: () => void
  /** Called when another account is used; undefined: nobody is logged in. */
  readonly onToken?: (token: CopilotToken | undefined) => void
  /** Closes a replaced connection when no request uses it any more. */
  readonly retire: (old: CopilotConnection) => void
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly log: Logger
}

/** How long GitHub's account data is cached, and how long a failure. Ms. */
const accountKeptMs = 60_000
const failureKeptMs = 5_000

/**
 * A connection to Copilot as one account, and the models of that account. A connection never changes its account: another
 * account gets another connection, and requests end on the one that they began with.
 */
export function createCopilotSide(deps: CopilotSideDeps) {
  const { config, account, connection: shared, registry, log } = deps
  const { store: all, githubToken } = shared
  let store = openStore()
  let connection = connect()

  const accountData = createSharedFetch({
    fetch: (signal) => deps.service.fetchAccount({ ...shared, store }, config(), signal),
    monotonicMs: () => performance.now(),
    keepMs: accountKeptMs,
    keepFailureMs: failureKeptMs,
  })
  const models = createAccountModels({
    provider: 'copilot',
    seeds: copilotSeeds,
    seedClientId,
    seedsWithoutLogin: true,
    isRequired: account !== undefined,
    registry,
    createRefresh: (clientId) =>
      createModelRefresh({
        registry: {
          register(...list) {
            registry.register(...list)
            deps.onModels?.()
          },
        },
        now: shared.now,
        setTimer: deps.setTimer,
        log,
        name: account === undefined ? 'Copilot' : `Copilot (${account})`,
        listModels: (call) => connection.executor.listModels(call),
        parse: parseAccountModels,
        clientId,
      }),
  })
  let unfollow = connection.tokens.onChange(follow)

  function openStore(): OneAccount<CopilotRecord> {
    if (account === undefined) return showOneAccount(all, all.current, followChoice)
    return showOneAccount(all, async (options) => findAccount(await all.list(options), account))
  }

  function connect(): CopilotConnection {
    return deps.service.connect({ ...shared, store, account }, config())
  }

  function follow(token: CopilotToken | undefined): void {
    accountData.forget()
    models.follow(token?.recordId)
    deps.onToken?.(token)
  }

  /** Connects as the account in use if that is another one. */
  async function followChoice(): Promise<void> {
    const used = store
    if (githubToken !== undefined || used.accountId() === undefined) return
    // A record that cannot be read is reported by the connection itself.
    const chosen = await all.current({ leaveCorrupt: true }).catch(() => undefined)
    if (used === store && chosen !== undefined && chosen.id !== used.accountId()) reconnect()
  }

  /** Looks at the records for a request that would fail: another account may have logged in since the last check. */
  function followLogin(): Promise<void> | undefined {
    return account === undefined && connection.tokens.status().state !== 'ok' ? followChoice() : undefined
  }

  function reconnect(): void {
    unfollow()
    accountData.forget()
    deps.retire(connection)
    store = openStore()
    connection = connect()
    unfollow = connection.tokens.onChange(follow)
  }

  return {
    models,
    /** The connection for requests that begin now. */
    connection: () => connection,
    /** Call before a request begins. Undefined if there is nothing to wait for. */
    followLogin,
    /** GitHub's data about the account. */
    async account(signal: AbortSignal) {
      await followLogin()
      return accountData.get(signal)
    },
    /** Call after the settings of Copilot have changed. */
    reconnect,
    async close(): Promise<void> {
      unfollow()
      models.refresh.stop()
      await connection.close()
    },
  }
}

export type CopilotSide = ReturnType<typeof createCopilotSide>
