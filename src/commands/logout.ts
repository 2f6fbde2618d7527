import type { CopilotRecord } from '../auth/wire.ts'
import { visible } from '../terminal/visible.ts'
import type { CommandContext } from './context.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { LogoutFlags } from './flags.ts'
import { openRecords, requireCopilot, tokenOfEnvironment } from './account.ts'
import { findFiles } from './settings.ts'

/** Deletes the account in use, or all of them. Works with any configuration, also one that is not valid. */
export async function logout(context: CommandContext, flags: LogoutFlags): Promise<ExitCode> {
  requireCopilot(flags.provider)
  const { stdout, signal } = context
  const records = openRecords(context, findFiles(context, flags.config))
  const current = await records.current()
  const leaving = flags.all ? await records.list() : current === undefined ? [] : [current]
  if (leaving.length === 0) stdout.write('Nobody is logged in; there is nothing to remove.\n')
  for (const record of leaving) {
    // One after the other, so that what has been said is what has been done when one fails.
    await records.remove(record.id, { signal })
    stdout.write(`Logged out ${nameOf(record)}; removed ${records.locationOf(record.id)}\n`)
  }
  const next = await records.current()
  if (next !== undefined) stdout.write(`The account in use is now ${nameOf(next)}.\n`)
  if (leaving.length > 0) {
    stdout.write('GitHub itself still lists the authorization: https://github.com/settings/apps/authorizations\n')
  }
  if (tokenOfEnvironment(context) !== undefined) {
    stdout.write('COPILOT_GITHUB_TOKEN is still set, and still used.\n')
  }
  return exitCode.done
}

/** Records can be edited by hand, so what they say is shown and not obeyed. */
function nameOf(record: CopilotRecord): string {
  return visible(record.label || record.id)
}
