import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import type { ExchangedToken } from '../../auth/copilot/github-api.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import type { CopilotRecord } from '../../auth/copilot/wire.ts'
import { createMemoryRecordStore } from '../../auth/records/memory-record-store.ts'
import { Fault } from '../../errors.ts'
import type { ProxyError } from '../../errors.ts'
import { connectCopilot } from '../../executors/copilot-connection.ts'
import type { Executor } from '../../executors/executor.ts'
import { parseCopilotModels } from '../../models/copilot-model.ts'
import type { ModelListing } from '../../models/model.ts'
import { silentLog } from '../../logging/logger.ts'
import type { CommandContext } from './command.ts'
import type { LoadedSettings } from './settings.ts'

/** The outcome of a request for a provider's models. */
export type ListingOutcome =
  | { readonly kind: 'listed'; readonly listing: ModelListing }
  /** The answer is no model list. */
  | { readonly kind: 'unusable' }
  | { readonly kind: 'fault'; readonly error: ProxyError }

interface ListingOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** @throws the signal's reason on abort */
export async function tryList(
  executor: Pick<Executor, 'listModels'>,
  parse: (reply: unknown) => ModelListing | undefined,
  { signal, timeoutMs }: ListingOptions,
): Promise<ListingOutcome> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const listing = parse(await executor.listModels({ signal: AbortSignal.any([signal, timeout]) }))
    return listing === undefined ? { kind: 'unusable' } : { kind: 'listed', listing }
  } catch (error) {
    if (error instanceof Fault) return { kind: 'fault', error: error.error }
    if (!timeout.aborted) throw error
    return { kind: 'fault', error: { kind: 'upstream_silent', phase: 'headers', afterMs: timeoutMs } }
  }
}

/** The dependencies that the connections to both providers have in common. Their callers report warnings. */
export function connectionDeps({ env, fetch, now, secrets }: CommandContext) {
  return { env, fetch, now, log: silentLog, noteSecrets: secrets.note, redact: secrets.redact }
}

/** For a login without a record. */
export const nobodysRecord: CopilotRecord = {
  id: 'copilot-nobody',
  provider: 'copilot',
  label: '',
  attributes: {},
  metadata: { github_access_token: '-' },
}

/** Asks Copilot with the token of the exchange, as a daemon would. The token is stored nowhere. */
export async function listCopilotModels(
  context: CommandContext,
  settings: LoadedSettings,
  { githubToken, record = nobodysRecord }: Pick<LoginInUse, 'githubToken' | 'record'>,
  { token, refreshInSeconds, apiBaseUrl }: ExchangedToken,
  options: ListingOptions,
): Promise<ListingOutcome> {
  const metadata = {
    ...record.metadata,
    github_access_token: githubToken,
    access_token: token,
    refresh_in: refreshInSeconds,
    obtained_at: Math.floor(context.now() / 1000),
    ...(apiBaseUrl !== undefined && { base_url: apiBaseUrl }),
  }
  const store = createMemoryRecordStore(copilotRecordKind, [{ ...record, metadata }])
  const connection = connectCopilot({ ...connectionDeps(context), store, githubToken: undefined }, settings.config)
  try {
    return await tryList(connection.executor, parseCopilotModels, options)
  } finally {
    await connection.close()
  }
}
