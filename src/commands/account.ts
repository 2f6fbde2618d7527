import { accountList } from '../api/status.ts'
import { accountName, findAccounts } from '../auth/copilot/find-account.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import { newestLogin, usedSince } from '../auth/records/record-kind.ts'
import { formatTable } from '../terminal/table.ts'
import type { TableColumn } from '../terminal/table.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { openRecords, tokenOfEnvironment } from './shared/accounts.ts'
import { CommandFailure, exitCode, writeJson } from './shared/command.ts'
import type { AccountFlags, CommandContext, ExitCode, ReportFlags } from './shared/command.ts'
import { loadSettings } from './shared/settings.ts'
import { openDaemonView, readOwn } from './shared/view.ts'

const environmentNote =
  'COPILOT_GITHUB_TOKEN is set and takes precedence. To use a stored account, unset it and run: copilot-proxy restart\n'

/** Lists the stored GitHub accounts. */
export async function listAccounts(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const remote = await openDaemonView(context, settings)
  const list = await readOwn(context, settings, '/accounts', accountList, remote)
  const { accounts: rows, environment_token: hasToken } = list
  const { stdout, stderr } = context
  if (flags.json) writeJson(context, list)
  else if (rows.length === 0) stdout.write('No GitHub account is stored. To log in, run: copilot-proxy login\n')
  else {
    const columns: readonly TableColumn<(typeof rows)[number]>[] = [
      { title: 'ACCOUNT', cell: ({ name }) => visible(name) },
      { title: 'HOST', cell: ({ host }) => visible(host) },
      { title: 'IN USE', cell: ({ in_use: isUsed }) => (isUsed ? 'yes' : '') },
      { title: 'KEYS', cell: ({ keys }) => visible(keys.join(' ')) },
    ]
    stdout.write(formatTable(columns, rows, stdout))
  }
  if (hasToken) stderr.write(environmentNote)
  return exitCode.done
}

/** Makes a stored GitHub account the one in use. A running copilot-proxy notices. */
export async function accountUse(context: CommandContext, flags: AccountFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const store = openRecords(context, settings)
  const records = await store.list()
  const record = only(records, flags.name)
  const before = newestLogin(records)
  // Later than every login, whatever the clock says.
  const latest = Math.max(...records.map(usedSince))
  const selected_at = Math.max(context.now() / 1000, latest + 0.001)
  const isSame = before?.id === record.id
  if (!isSame) {
    const choose = (stored: CopilotRecord) => ({ ...stored, metadata: { ...stored.metadata, selected_at } })
    const chosen = await store.update(record.id, choose, { signal: context.signal })
    if (chosen === undefined) throw new CommandFailure(exitCode.failed, `${accountName(record)} has been logged out.`)
  }
  const { stdout, stderr } = context
  if (flags.json) writeJson(context, { account: accountName(record), changed: !isSame })
  else {
    const effect = isSame ? '' : ' Requests that run now finish as the account that they began with.'
    stdout.write(visibleLines(`${isSame ? 'Already using' : 'Now using'} ${accountName(record)}.${effect}\n`))
  }
  if (tokenOfEnvironment(context) !== undefined) stderr.write(environmentNote)
  return exitCode.done
}

function namesOf(records: readonly CopilotRecord[]): string {
  return records.map(accountName).join(', ')
}

/** @throws CommandFailure `failed` */
function only(records: readonly CopilotRecord[], name: string): CopilotRecord {
  const [found, ...others] = findAccounts(records, name)
  if (found !== undefined && others.length === 0) return found
  if (found !== undefined) {
    throw new CommandFailure(
      exitCode.failed,
      `Several accounts have this name: ${namesOf([found, ...others])}. Name one.`,
    )
  }
  const known = records.length === 0 ? 'No GitHub account is stored' : `The stored accounts are ${namesOf(records)}`
  const advice = 'To add an account, run: copilot-proxy login'
  throw new CommandFailure(exitCode.failed, `${known}; none is named ${JSON.stringify(name)}. ${advice}`)
}
