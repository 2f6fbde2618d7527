import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ServeFlags } from './flags.ts'
import { findLogin, loginAdvice } from './account.ts'
import { serve } from './serve.ts'
import { loadSettings } from './settings.ts'

/**
 * What `copilot-proxy` does without a command: logs in if nobody is, then serves. The login needs a person, so without
 * a terminal it is refused instead of waiting for nobody.
 */
export async function start(context: CommandContext, flags: ServeFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  if (!flags.demo && (await findLogin(context, settings)) === undefined) {
    if (!context.interactive) throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
    const { connectAccount } = await import('./login.ts')
    await connectAccount(context, { config: flags.config, provider: 'copilot', browser: true })
    context.stdout.write('\n')
  }
  return serve(context, flags)
}
