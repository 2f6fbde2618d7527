import { fetchAccountInUse } from '../auth/copilot/account-in-use.ts'
import { connectCodex } from '../executors/codex-connection.ts'
import { connectCopilot } from '../executors/copilot-connection.ts'
import { parseCodexModels } from '../models/codex-model.ts'
import type { ProviderServices } from './providers.ts'

/** GitHub Copilot and OpenAI Codex. */
export const providerServices: ProviderServices = {
  copilot: { connect: connectCopilot, fetchAccount: fetchAccountInUse },
  codex: { connect: connectCodex, parseModels: parseCodexModels },
}
