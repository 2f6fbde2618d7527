import { openBrowser } from './login/desktop.ts'
import { exitCode } from './shared/command.ts'
import type { CommandContext, ExitCode, PageFlags } from './shared/command.ts'
import { requestPageAddress } from './shared/page-code.ts'
import { loadSettings } from './shared/settings.ts'
import { requireOwnedDaemon } from './shared/view.ts'

/** Opens the page of the running daemon as its owner. */
export async function page(context: CommandContext, flags: PageFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const daemon = await requireOwnedDaemon(context, settings)
  const { url } = daemon
  const address = await requestPageAddress(context, daemon)
  const isOpened = !flags.print && openBrowser(address, context)
  if (isOpened) {
    context.stdout.write(`Opening ${url}/ in the browser. To print an address instead: copilot-proxy page --print\n`)
  } else {
    context.stdout.write(`${address}\n`)
    if (!flags.print) context.stderr.write('Open this address in a browser. It works once, within 10 minutes.\n')
  }
  return exitCode.done
}
