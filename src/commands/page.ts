import { openBrowser } from './login/desktop.ts'
import { CommandFailure, exitCode } from './shared/command.ts'
import type { CommandContext, ExitCode, PageFlags } from './shared/command.ts'
import { findDaemon, findOwnerToken } from './shared/find-daemon.ts'
import { requestPageAddress } from './shared/page-code.ts'
import { loadSettings } from './shared/settings.ts'

/** A daemon on a busy machine may take longer than most commands wait. Ms. */
const answerTimeoutMs = 5000

/** Opens the page of the running daemon as its owner. */
export async function page(context: CommandContext, flags: PageFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const { url, health } = await findDaemon(context, settings, { timeoutMs: answerTimeoutMs })
  if (health === undefined) {
    throw new CommandFailure(exitCode.failed, 'copilot-proxy is not running. Run: copilot-proxy start --workspace DIR')
  }
  const token = await findOwnerToken(context, settings, url)
  if (token === undefined) {
    const message =
      `${settings.dataDir} has no token of the copilot-proxy at ${url}, which is of another version or uses another ` +
      'COPILOT_PROXY_HOME. Run: copilot-proxy restart'
    throw new CommandFailure(exitCode.failed, message)
  }
  const address = await requestPageAddress(context, { url, token })
  if (address === undefined) {
    const message =
      `copilot-proxy at ${url} has no workspace, so it has no page. Add a folder to workspaces in ${settings.configFile}, ` +
      'or run: copilot-proxy serve --workspace DIR'
    throw new CommandFailure(exitCode.failed, message)
  }
  const isOpened = !flags.print && openBrowser(address, context)
  if (isOpened) {
    context.stdout.write(`Opening ${url}/ in the browser. To print an address instead: copilot-proxy page --print\n`)
  } else {
    context.stdout.write(`${address}\n`)
    if (!flags.print) context.stderr.write('Open this address in a browser. It works once, within 10 minutes.\n')
  }
  return exitCode.done
}
