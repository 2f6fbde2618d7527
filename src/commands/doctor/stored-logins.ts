import * as nodeFs from 'node:fs/promises'
import { codexRecordKind, codexLoginFix } from '../../auth/codex/record.ts'
import type { CodexRecord } from '../../auth/codex/record.ts'
import { findLoginInUse } from '../../auth/copilot/account-in-use.ts'
import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import type { RecordFs } from '../../auth/records/record-fs.ts'
import type { RecordKind, StoredRecord } from '../../auth/records/record-kind.ts'
import type { RecordStore } from '../../auth/records/record-store.ts'
import { Fault } from '../../errors.ts'
import type { CodexConnection } from '../../executors/codex-connection.ts'
import type { Logger } from '../../logging/logger.ts'
import { silentLog, tokenOfEnvironment, recordPlace } from '../shared/accounts.ts'
import type { CommandContext } from '../shared/command.ts'
import { planNameOfSku } from '../shared/plan-name.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import type { LoginState } from './account-checks.ts'

/*
 * The logins of this user, as the checks of doctor see them: nothing on the disk changes.
 */

export async function findCopilotLogin(
  context: CommandContext,
  settings: LoadedSettings,
): Promise<{ readonly login: LoginInUse | undefined; readonly state: LoginState }> {
  const { login, problem } = await findStored(context, settings, copilotRecordKind, (store) =>
    findLoginInUse({
      store,
      githubToken: tokenOfEnvironment(context),
      githubApiBaseUrl: settings.config.copilotOauth.githubApiBaseUrl,
    }),
  )
  if (problem !== undefined) {
    return { login: undefined, state: problemState(problem, copilotRecordKind.loginCommand) }
  }
  if (login === undefined) return { login, state: { kind: 'nobody' } }
  context.secrets.note(login.githubToken, login.record?.metadata.access_token)
  const { record } = login
  const plan = planNameOfSku(record?.metadata.sku)
  const who = record === undefined ? 'Token from COPILOT_GITHUB_TOKEN' : [record.label, plan ?? []].flat().join(', ')
  return { login, state: { kind: 'login', who } }
}

interface CodexSources {
  readonly codexRecord: () => Promise<Stored<CodexRecord>>
  readonly codexConnection: () => Promise<CodexConnection | undefined>
}

export async function findCodexLogin(
  context: CommandContext,
  settings: LoadedSettings,
  { codexRecord, codexConnection }: CodexSources,
): Promise<LoginState> {
  const { enabled, apiKey, useCliLogin } = settings.config.codex
  if (!enabled) return { kind: 'off', detail: 'Off (codex.enabled: false)' }
  if (apiKey !== '') return { kind: 'login', who: 'API key from codex.api-key' }
  if (useCliLogin) return findCliLogin(context, await codexConnection())
  const { login, problem } = await codexRecord()
  if (problem !== undefined) return problemState(problem, codexRecordKind.loginCommand)
  if (login === undefined) return { kind: 'nobody' }
  const { plan, access_token: access, refresh_token: refresh, id_token: id } = login.metadata
  context.secrets.note(access, refresh, id)
  return { kind: 'login', who: plan === undefined ? login.label : `${login.label}, ChatGPT plan ${plan}` }
}

/** Codex CLI's login was configured explicitly, so a missing one is a problem. */
async function findCliLogin({ signal }: CommandContext, connection: CodexConnection | undefined): Promise<LoginState> {
  // The status of the credentials reports the same failure.
  await connection?.credentials.get(signal).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error
  })
  const { state, detail = '', fix = codexLoginFix, email } = connection?.credentials.status() ?? {}
  return state === 'ok' || state === 'expired'
    ? { kind: 'login', who: `${email ?? 'Codex CLI'} (login of Codex CLI, read-only)` }
    : { kind: 'problem', detail, fix }
}

interface Stored<Login> {
  readonly login: Login | undefined
  /** Why an existing file cannot be used: a sentence that names it. */
  readonly problem: string | undefined
}

/** Reads the store without changing it, not even unusable records. */
export async function findStored<Record extends StoredRecord, Login>(
  context: CommandContext,
  settings: LoadedSettings,
  kind: RecordKind<Record>,
  look: (store: RecordStore<Record>) => Promise<Login | undefined>,
): Promise<Stored<Login>> {
  const warnings: string[] = []
  const warn: Logger['warn'] = (first: unknown, message?: unknown) => void warnings.push(String(message ?? first))
  const log: Logger = { ...silentLog, warn }
  try {
    const login = await look(openRecordStore(kind, recordPlace(context, settings), log, readOnlyFs))
    const unusable = warnings.find((sentence) => / is not us(?:able:|ed,) /.test(sentence))
    // Doctor moves no files, so that part is no problem.
    const [problem] = unusable?.split(', and cannot be moved: ') ?? []
    return { login, problem: login === undefined ? problem : undefined }
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    return { login: undefined, problem: error.message }
  }
}

function problemState(problem: string, loginCommand: string): LoginState {
  return { kind: 'problem', detail: problem, fix: `Fix that, or log in again: ${loginCommand}` }
}

/** Read-only access for a record store: modes are not tightened, and unusable records are not set aside. */
const readOnlyFs: RecordFs = {
  ...nodeFs,
  async open(path, flags) {
    const file = await nodeFs.open(path, flags)
    file.chmod = unchanged
    return file
  },
  chmod: unchanged,
  link: refused,
  mkdir: refused,
  rename: refused,
  unlink: refused,
}

function unchanged(): Promise<void> {
  return Promise.resolve()
}

function refused(): Promise<never> {
  return Promise.reject(Object.assign(new Error('This check changes no files'), { code: 'EROFS' }))
}
