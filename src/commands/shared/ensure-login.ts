import type { ProviderId } from '../../executors/executor.ts'
import { findLogin, loginAdvice } from './accounts.ts'
import { hasCodexLogin, readCodexState } from './codex-login.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import type { LoadedSettings } from './settings.ts'

/**
 * Logs in to Copilot if no login exists. Without a terminal nobody could complete the login, so it fails.
 * @returns the providers with a login: at least one
 * @throws CommandFailure `notLoggedIn`; `failed` where a stored login cannot be read; RecordStoreError
 */
export async function ensureLogin(
  context: CommandContext,
  settings: LoadedSettings,
  configFlag: string | undefined,
): Promise<readonly ProviderId[]> {
  const logins = await findLogins(context, settings)
  if (logins.length > 0) return logins
  if (!context.interactive) throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  const { connectAccount } = await import('../login/login.ts')
  await connectAccount(context, { config: configFlag, browser: true })
  context.stdout.write('\n')
  return ['copilot']
}

/** @throws CommandFailure `failed`, RecordStoreError */
export async function findLogins(context: CommandContext, settings: LoadedSettings): Promise<readonly ProviderId[]> {
  const login = await findLogin(context, settings)
  const codex = await readCodexState(context, settings)
  // A Copilot login is enough to serve, even if the Codex login cannot be read.
  if (login === undefined && codex.kind === 'problem') throw new CommandFailure(exitCode.failed, codex.problem)
  return [...(login === undefined ? [] : (['copilot'] as const)), ...(hasCodexLogin(codex) ? (['codex'] as const) : [])]
}
