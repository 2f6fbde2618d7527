import type { CommandContext } from './context.ts'
import { ensureLogin } from './ensure-login.ts'
import type { ExitCode } from './exit-code.ts'
import type { ServeFlags } from './flags.ts'
import { serve } from './serve.ts'
import { loadSettings } from './settings.ts'

/** What `copilot-proxy` does without a command: logs in to Copilot if there is no login at all, then serves. */
export async function start(context: CommandContext, flags: ServeFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  if (!flags.demo) await ensureLogin(context, settings, flags.config)
  return serve(context, flags)
}
