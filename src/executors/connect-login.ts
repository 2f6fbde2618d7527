import type { ExchangedToken } from '../auth/copilot/github-api.ts'
import { copilotRecordKind } from '../auth/copilot/record.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import { createMemoryRecordStore } from '../auth/records/memory-record-store.ts'
import type { Config } from '../config/schema.ts'
import { connectCopilot } from './copilot-connection.ts'
import type { CopilotConnection, CopilotConnectionDeps } from './copilot-connection.ts'

/** Connects to Copilot with the token of an exchange, as a daemon with this login would. The token is stored nowhere. */
export function connectLogin(
  deps: Omit<CopilotConnectionDeps, 'store' | 'githubToken'>,
  config: Config,
  { record, githubToken }: { readonly record: CopilotRecord; readonly githubToken: string },
  { token, refreshInSeconds, apiBaseUrl }: ExchangedToken,
): CopilotConnection {
  const metadata = {
    ...record.metadata,
    github_access_token: githubToken,
    access_token: token,
    refresh_in: refreshInSeconds,
    obtained_at: Math.floor(deps.now() / 1000),
    ...(apiBaseUrl !== undefined && { base_url: apiBaseUrl }),
  }
  const store = createMemoryRecordStore(copilotRecordKind, [{ ...record, metadata }])
  return connectCopilot({ ...deps, store, githubToken: undefined }, config)
}
