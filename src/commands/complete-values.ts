import { z } from 'zod'
import { modelRow } from '../api/models.ts'
import { namedApiKeys } from '../config/api-keys.ts'
import { accountName } from '../auth/copilot/find-account.ts'
import { isLoopbackHost } from '../config/loopback.ts'
import { copilotRecordKind } from '../auth/copilot/record.ts'
import { openRecordStore } from '../auth/records/open-record-store.ts'
import { silentLog } from '../logging/logger.ts'
import { recordPlace } from './shared/accounts.ts'
import { exitCode } from './shared/command.ts'
import type { CommandContext, ExitCode } from './shared/command.ts'
import { daemonUrl } from './shared/find-daemon.ts'
import { readSettings } from './shared/settings.ts'
import type { LoadedSettings } from './shared/settings.ts'
import { openDaemonView } from './shared/view.ts'

/** The kinds of values that a completion script requests while the user types. */
export type ValueKind = 'models' | 'keys' | 'accounts'

/** For each of at most three requests on this machine: the user waits at the prompt. Ms. */
const timeoutMs = 300

/** `compgen -W` of bash expands its words, so anything that a shell could interpret is left out. */
const plainWord = /^[\w.:/@+-]+$/

/** Prints one value per line; nothing if they are unknown. Never fails. */
export async function completeValues(context: CommandContext, kind: ValueKind): Promise<ExitCode> {
  const values = await findValues(context, kind).catch(() => [])
  const words = [...new Set(values)].filter((value) => plainWord.test(value))
  context.stdout.write(words.map((word) => `${word}\n`).join(''))
  return exitCode.done
}

async function findValues(context: CommandContext, kind: ValueKind): Promise<readonly string[]> {
  const read = await readSettings(context, undefined)
  if (!read.ok) return []
  const { server, models } = read.settings.config
  if (kind === 'accounts') return listAccounts(context, read.settings)
  if (kind === 'keys') return namedApiKeys(server.apiKeys).map(({ name }) => name)
  return [...(await listModels(context, read.settings).catch(() => [])), ...Object.keys(models.aliases)]
}

async function listAccounts(context: CommandContext, settings: LoadedSettings): Promise<readonly string[]> {
  // A note would stand in the line that the user types.
  const store = openRecordStore(copilotRecordKind, recordPlace(context, settings), silentLog, { isReadOnly: true })
  return (await store.list()).map(accountName)
}

const modelList = z.object({ data: z.array(modelRow.pick({ id: true })) })

async function listModels(context: CommandContext, settings: LoadedSettings): Promise<readonly string[]> {
  const { hostname } = new URL(daemonUrl(settings.config.server))
  if (!isLoopbackHost(hostname)) return []
  const view = await openDaemonView(context, settings, timeoutMs)
  const list = await view?.get('/v1/models', modelList, { timeoutMs })
  return list?.data.map(({ id }) => id) ?? []
}
