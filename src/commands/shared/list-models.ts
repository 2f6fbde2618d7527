import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import type { ExchangedToken } from '../../auth/copilot/github-api.ts'
import type { CopilotRecord } from '../../auth/copilot/wire.ts'
import { connectLogin } from '../../executors/connect-login.ts'
import { parseCopilotModels } from '../../models/copilot-model.ts'
import { tryList } from '../../models/try-list.ts'
import type { ListingOptions, ListingOutcome } from '../../models/try-list.ts'
import { silentLog } from '../../logging/logger.ts'
import type { CommandContext } from './command.ts'
import type { LoadedSettings } from './settings.ts'

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

/** Asks Copilot with the token of the exchange, as a daemon would. */
export async function listCopilotModels(
  context: CommandContext,
  { config }: LoadedSettings,
  { githubToken, record = nobodysRecord }: Pick<LoginInUse, 'githubToken' | 'record'>,
  opened: ExchangedToken,
  options: ListingOptions,
): Promise<ListingOutcome> {
  const connection = connectLogin(connectionDeps(context), config, { record, githubToken }, opened)
  try {
    return await tryList(connection.executor, parseCopilotModels, options)
  } finally {
    await connection.close()
  }
}
