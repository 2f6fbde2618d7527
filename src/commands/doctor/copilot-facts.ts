import type { ExchangedToken } from '../../auth/copilot-exchange.ts'
import { copilotRecordKind } from '../../auth/copilot-record-kind.ts'
import { endpointCandidates } from '../../auth/endpoint.ts'
import { findLoginInUse } from '../../auth/login-in-use.ts'
import type { LoginInUse } from '../../auth/login-in-use.ts'
import type { CopilotRecord } from '../../auth/wire.ts'
import { githubHostsOf } from '../../config/upstream-hosts.ts'
import type { LoginState } from '../../doctor/login-check.ts'
import type { ListingOutcome } from '../../doctor/models-check.ts'
import { createPool } from '../../executors/agent.ts'
import { createCopilotExecutor } from '../../executors/copilot.ts'
import { parseCopilotModels } from '../../models/copilot-model.ts'
import { quietLog, tokenOfEnvironment } from '../account.ts'
import type { CommandContext } from '../context.ts'
import { planNameOfSku } from '../plan-name.ts'
import type { LoadedSettings } from '../settings.ts'
import { findStored, problemState } from './stored-login.ts'
import { connectTimeoutMs, requestTimeoutMs } from './timeouts.ts'
import { tryList } from './try-list.ts'

interface CopilotLogin {
  readonly login: LoginInUse | undefined
  readonly state: LoginState
}

export async function findCopilotLogin(context: CommandContext, settings: LoadedSettings): Promise<CopilotLogin> {
  const { found, problem } = await findStored(context, settings, copilotRecordKind, (store) =>
    findLoginInUse({
      store,
      githubToken: tokenOfEnvironment(context),
      githubApiBaseUrl: settings.config.copilotOauth.githubApiBaseUrl,
    }),
  )
  if (problem !== undefined) {
    return { login: undefined, state: problemState(problem, copilotRecordKind.loginCommand) }
  }
  if (found === undefined) return { login: undefined, state: { kind: 'nobody' } }
  context.secrets.note(found.githubToken, found.record?.metadata.access_token)
  return { login: found, state: { kind: 'login', who: describeCopilot(found) } }
}

function describeCopilot({ record }: LoginInUse): string {
  if (record === undefined) return 'The token in COPILOT_GITHUB_TOKEN'
  const plan = planNameOfSku(record.metadata.sku)
  return plan === undefined ? record.label : `${record.label}, ${plan}`
}

const nobodysRecord: CopilotRecord = {
  id: 'copilot-nobody',
  provider: 'copilot',
  label: '',
  attributes: {},
  metadata: { github_access_token: '-' },
}

/** Where Copilot requests of this account go, in the order to try. */
export function endpointsOf(
  { config }: LoadedSettings,
  record: CopilotRecord | undefined,
  learned: Partial<CopilotRecord['metadata']> = {},
): readonly string[] {
  const { attributes, metadata, ...rest } = record ?? nobodysRecord
  const { githubBaseUrl, githubApiBaseUrl } = config.copilotOauth
  return endpointCandidates(
    { ...rest, attributes, metadata: { ...metadata, ...learned } },
    { explicitBaseUrl: config.copilot.baseUrl, githubHosts: githubHostsOf([githubBaseUrl, githubApiBaseUrl]) },
  ).candidates
}

/** With the token that was just given out, and which is not stored. */
export async function listCopilotModels(
  { env, secrets, signal }: CommandContext,
  settings: LoadedSettings,
  { record }: Pick<LoginInUse, 'record'>,
  { token: value, direct, apiBaseUrl }: ExchangedToken,
): Promise<ListingOutcome> {
  const { headers, timeouts } = settings.config.copilot
  const learned = { access_token: value, ...(apiBaseUrl !== undefined && { base_url: apiBaseUrl }) }
  const candidates = endpointsOf(settings, record, learned)
  const token = {
    value,
    recordId: record?.id ?? nobodysRecord.id,
    candidates,
    expiresAtMs: Infinity,
    ...(direct && { direct }),
  }
  const give = () => Promise.resolve(token)
  const connectMs = Math.min(timeouts.connectSeconds * 1000, connectTimeoutMs)
  const executor = createCopilotExecutor(
    {
      tokens: { get: give, replace: give, renewBeforeNext: () => {} },
      pool: createPool({ connectMs, env }),
      log: quietLog,
      redact: secrets.redact,
    },
    { refreshOnUnauthorized: false, headers, connectMs, headersMs: requestTimeoutMs, idleMs: requestTimeoutMs },
  )
  try {
    return await tryList(executor, parseCopilotModels, { signal, timeoutMs: requestTimeoutMs })
  } finally {
    await executor.close()
  }
}
