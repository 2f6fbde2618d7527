import { hasCodexLogin, readCodexState } from './codex-status.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ServeFlags } from './flags.ts'
import { findLogin, loginAdvice } from './account.ts'
import { serve } from './serve.ts'
import { loadSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'

/**
 * What `copilot-proxy` does without a command: logs in to Copilot if there is no login at all, then serves. The login
 * needs a person, so without a terminal it is refused instead of waiting for nobody.
 */
export async function start(context: CommandContext, flags: ServeFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  if (!flags.demo && !(await hasLogin(context, settings))) {
    if (!context.interactive) throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
    const { connectAccount } = await import('./login.ts')
    await connectAccount(context, { config: flags.config, browser: true })
    context.stdout.write('\n')
  }
  return serve(context, flags)
}

/** @throws RecordStoreError, CommandFailure `failed` when it is not known because a stored login cannot be read */
async function hasLogin(context: CommandContext, settings: LoadedSettings): Promise<boolean> {
  if ((await findLogin(context, settings)) !== undefined) return true
  const codex = await readCodexState(context, settings)
  if (codex.kind === 'problem') throw new CommandFailure(exitCode.failed, codex.problem)
  return hasCodexLogin(codex)
}
