import { codexLoginFix, codexRecordKind } from '../../auth/codex/record.ts'
import type { CodexRecord } from '../../auth/codex/record.ts'
import { openRecordStore } from '../../auth/open-record-store.ts'
import { connectCodex } from '../../codex-connection.ts'
import type { CodexConnection } from '../../codex-connection.ts'
import type { LoginState } from '../../doctor/login-check.ts'
import { Fault } from '../../errors.ts'
import { quietLog, recordPlace } from '../account.ts'
import { findCodexHome } from '../codex-home.ts'
import type { CommandContext } from '../context.ts'
import type { LoadedSettings } from '../settings.ts'
import { problemState } from './stored-login.ts'
import type { Stored } from './stored-login.ts'

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
  if (!enabled) return { kind: 'off', detail: 'Off: codex.enabled is false' }
  if (apiKey !== '') return { kind: 'login', who: 'The API key in codex.api-key' }
  if (useCliLogin) return findCliLogin(context, await codexConnection())
  const { found, problem } = await codexRecord()
  if (problem !== undefined) return problemState(problem, codexRecordKind.loginCommand)
  if (found === undefined) return { kind: 'nobody' }
  const { plan, access_token: access, refresh_token: refresh, id_token: id } = found.metadata
  context.secrets.note(access, refresh, id)
  return { kind: 'login', who: plan === undefined ? found.label : `${found.label}, ChatGPT plan ${plan}` }
}

/** It was asked for, so that none is a trouble. */
async function findCliLogin({ signal }: CommandContext, connection: CodexConnection | undefined): Promise<LoginState> {
  // What is wrong is in its status too.
  await connection?.credentials.get(signal).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error
  })
  const { state, detail = '', fix = codexLoginFix, email } = connection?.credentials.status() ?? {}
  return state === 'ok' || state === 'expired'
    ? { kind: 'login', who: `${email ?? 'Codex CLI'} (login of Codex CLI, read-only)` }
    : { kind: 'problem', detail, fix }
}

/** The same way as a daemon goes, its lock included: a refresh token is redeemed where a request would redeem it. */
export function openCodex(context: CommandContext, settings: LoadedSettings): CodexConnection | undefined {
  const { env, fetch, now, version, beforeExit, secrets } = context
  return connectCodex(
    {
      store: openRecordStore(codexRecordKind, recordPlace(context, settings), quietLog),
      codexHome: findCodexHome(context),
      ...(beforeExit && { beforeExit }),
      log: quietLog,
      noteSecrets: secrets.note,
      redact: secrets.redact,
      onModelsChanged: () => {},
      fetch,
      now,
      env,
      version,
    },
    settings.config,
  )
}
