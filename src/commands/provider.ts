import type { ProviderId } from '../executors/executor.ts'
import { CommandFailure, exitCode } from './exit-code.ts'

/** What people know the accounts of a provider by. */
export const providerNames: Readonly<Record<ProviderId, string>> = { copilot: 'Copilot', codex: 'Codex' }

/** @throws CommandFailure `usage` for a name that is no provider's */
export function parseProvider(name: string): ProviderId {
  if (name === 'copilot' || name === 'codex') return name
  throw new CommandFailure(
    exitCode.usage,
    `copilot-proxy does not know the provider ${JSON.stringify(name)}; it can log in to copilot and to codex.`,
  )
}
