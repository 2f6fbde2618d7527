import type { ProviderId } from '../executors/executor.ts'
import { findLogin, loginAdvice } from './account.ts'
import { hasCodexLogin, readCodexState } from './codex-status.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { LoadedSettings } from './settings.ts'

/**
 * Logs in to Copilot if there is no login at all. That needs a person, so without a terminal it is refused instead of
 * waiting for nobody.
 * @returns the providers that somebody is logged in to: at least one
 * @throws CommandFailure `notLoggedIn`; `failed` when it is not known because a stored login cannot be read;
 * RecordStoreError
 */
export async function ensureLogin(
  context: CommandContext,
  settings: LoadedSettings,
  configFlag: string | undefined,
): Promise<readonly ProviderId[]> {
  const logins = await findLogins(context, settings)
  if (logins.length > 0) return logins
  if (!context.interactive) throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  const { connectAccount } = await import('./login.ts')
  await connectAccount(context, { config: configFlag, browser: true })
  context.stdout.write('\n')
  return ['copilot']
}

/** @throws CommandFailure `failed`, RecordStoreError */
export async function findLogins(context: CommandContext, settings: LoadedSettings): Promise<readonly ProviderId[]> {
  const login = await findLogin(context, settings)
  const codex = await readCodexState(context, settings)
  // With a login for Copilot there is something to serve, whatever is wrong with the other one.
  if (login === undefined && codex.kind === 'problem') throw new CommandFailure(exitCode.failed, codex.problem)
  return [...(login === undefined ? [] : (['copilot'] as const)), ...(hasCodexLogin(codex) ? (['codex'] as const) : [])]
}
