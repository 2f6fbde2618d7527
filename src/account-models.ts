import type { ProxyError } from './errors.ts'
import type { ProviderId } from './executors/executor.ts'
import type { Model } from './models/model.ts'
import { providerOfName } from './models/names.ts'
import type { ModelRefresh } from './models/refresh.ts'
import type { ModelRegistry } from './models/registry.ts'

export interface AccountModelsOptions {
  readonly provider: ProviderId
  /** What is offered until the account's own list is known. */
  readonly seeds: readonly Model[]
  readonly seedClientId: string
  /** Whether the seeds are offered while nobody is logged in. */
  readonly seedsWithoutLogin: boolean
  readonly registry: Pick<ModelRegistry, 'register' | 'unregister' | 'reregister'>
  /** Made once; `clientId` says whose list is fetched. */
  readonly createRefresh: (clientId: () => string) => ModelRefresh
}

/** The models of one provider's account in use. */
export interface AccountModels {
  readonly provider: ProviderId
  /** Requests are made as this account from now on; undefined: nobody is logged in (any more). */
  readonly follow: (accountId: string | undefined) => void
  readonly isInUse: () => boolean
  readonly refresh: ModelRefresh
}

/**
 * The models belong to the account in use: its record's id takes the place of the seeds' or the last account's, and the
 * seeds are back when there is none. The first list is fetched as soon as there is an account, before anybody asks,
 * which also opens the first connection.
 */
export function createAccountModels(options: AccountModelsOptions): AccountModels {
  const { provider, registry, seeds, seedClientId, seedsWithoutLogin } = options
  let clientId = seedClientId
  let inUse = false
  if (seedsWithoutLogin) registry.register(seedClientId, seeds)
  const refresh = options.createRefresh(() => clientId)

  return {
    provider,
    refresh,
    isInUse: () => inUse,
    follow(accountId) {
      inUse = accountId !== undefined
      const next = accountId ?? seedClientId
      if (next !== clientId) {
        if (clientId === seedClientId && seedsWithoutLogin) registry.reregister(clientId, next)
        else {
          registry.unregister(clientId)
          if (inUse || seedsWithoutLogin) registry.register(next, seeds)
        }
        clientId = next
      }
      if (inUse) refresh.tokenChanged()
    },
  }
}

export interface CompletionOptions {
  /** Also asks for lists that could not be fetched the last time. */
  readonly retry: boolean
  readonly signal: AbortSignal
}

/**
 * Waits until every list is known that could hold a model of this name and was never fetched.
 * @returns why one of them could not be fetched; undefined where all are known
 * @throws the signal's reason on abort
 */
export async function completeModels(
  all: readonly AccountModels[],
  name: string,
  { retry, signal }: CompletionOptions,
): Promise<ProxyError | undefined> {
  const wanted = providerOfName(name)
  const used = all.filter((models) => models.isInUse() && (wanted === undefined || models.provider === wanted))
  // Without any login that would do, Copilot's own words say what is to be done.
  const asked = used.length === 0 && wanted !== 'codex' ? all.filter(({ provider }) => provider === 'copilot') : used
  const outcomes = await Promise.all(
    asked
      .filter(({ refresh }) => {
        const { loadedAtMs, problem } = refresh.state()
        return loadedAtMs === undefined && (retry || problem === undefined)
      })
      .map(({ refresh }) => refresh.refresh({ signal })),
  )
  return outcomes.flatMap((outcome) => (outcome.kind === 'kept' ? outcome.error : []))[0]
}
