import type { AccountList, LoginStatus } from '../../api/status.ts'
import { readLoginStatus, toAccountList } from '../../daemon/login-status.ts'
import { openRecords, tokenOfEnvironment } from './accounts.ts'
import type { CommandContext } from './command.ts'
import { loginReaders } from './logins.ts'
import type { LoadedSettings } from './settings.ts'

/** The answers to `GET /status` and `GET /accounts`, from the files of this user. It loads little: `status` is often called. */
export function readOwnFiles(
  context: CommandContext,
  settings: LoadedSettings,
  path: '/status' | '/accounts',
): Promise<LoginStatus | AccountList> {
  return path === '/status'
    ? readLoginStatus(loginReaders(context, settings, { isReadOnly: true }))
    : listAccounts(context, settings)
}

async function listAccounts(context: CommandContext, settings: LoadedSettings): Promise<AccountList> {
  const records = await openRecords(context, settings, { isReadOnly: true }).list()
  return toAccountList(records, settings.config, tokenOfEnvironment(context) !== undefined)
}
