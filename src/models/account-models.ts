import type { ProxyError } from '../errors.ts'
import type { ProviderId } from '../executors/executor.ts'
import type { Model } from './model.ts'
import { providerOfName } from './names.ts'
import type { ModelRefresh } from './refresh.ts'
import type { ModelRegistry } from './registry.ts'

export interface AccountModelsOptions {
  readonly provider: ProviderId
  /** Offered until the account's own list is known. */
  readonly seeds: readonly Model[]
  readonly seedClientId: string
  /** Whether to offer the seeds without a login. */
  readonly seedsWithoutLogin: boolean
  /** Whether a missing login is an error, also if there are models of another provider. Default: false. */
  readonly isRequired?: boolean
  readonly registry: Pick<ModelRegistry, 'register' | 'unregister' | 'reregister'>
  /** Called once; `clientId` returns the account whose list to fetch. */
  readonly createRefresh: (clientId: () => string) => ModelRefresh
}

/** The models of one provider's account in use. */
export interface AccountModels {
  readonly provider: ProviderId
  /** Switches to this account; undefined: logged out. */
  readonly follow: (accountId: string | undefined) => void
  readonly isInUse: () => boolean
  readonly isRequired: boolean
  readonly refresh: ModelRefresh
}

/**
 * Registers the models of the account in use in the place of the seeds or of the last account's. A login fetches the list
 * at once, which also opens the first connection.
 */
export function createAccountModels(options: AccountModelsOptions): AccountModels {
  const { provider, registry, seeds, seedClientId, seedsWithoutLogin, isRequired = false } = options
  let clientId = seedClientId
  let inUse = false
  if (seedsWithoutLogin) registry.register(seedClientId, seeds)
  const refresh = options.createRefresh(() => clientId)

  return {
    provider,
    refresh,
    isInUse: () => inUse,
    isRequired,
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
  /** Also fetch lists that failed the last time. */
  readonly retry: boolean
  readonly signal: AbortSignal
}

/**
 * Fetches every list that could hold a model of this name and was never fetched.
 * @returns the first failure; undefined if all lists are known
 * @throws the signal's reason on abort
 */
export async function completeModels(
  all: readonly AccountModels[],
  name: string,
  { retry, signal }: CompletionOptions,
): Promise<ProxyError | undefined> {
  const wanted = providerOfName(name)
  const used = all.filter(
    (models) => (models.isInUse() || models.isRequired) && (wanted === undefined || models.provider === wanted),
  )
  // Without a login, Copilot's error tells the user to log in.
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
