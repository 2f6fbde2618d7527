import type { CodexAccount, CodexCredential, CodexCredentialSource } from '../auth/codex/credentials.ts'
import type { CopilotAccount } from '../auth/copilot/quota.ts'
import type { CopilotToken, CopilotTokenSource } from '../auth/copilot/token.ts'
import type { CredentialSource } from '../auth/credential/credential.ts'
import type { Config } from '../config/schema.ts'
import { Fault } from '../errors.ts'
import type { CodexConnection, CodexConnectionDeps } from '../executors/codex-connection.ts'
import type { CopilotConnection, CopilotConnectionDeps } from '../executors/copilot-connection.ts'
import { codexModels } from './codex-models.ts'
import { copilotModels } from './copilot-models.ts'
import { createDemoExecutor } from './executor.ts'

const login = 'demo-user'
const token: CopilotToken = { value: 'demo', recordId: 'copilot-demo', candidates: [''], completionsUrl: '' }

/** A connection to the simulated Copilot, which accepts every account. */
export function connectDemoCopilot({ onStatus }: Pick<CopilotConnectionDeps, 'onStatus'>): CopilotConnection {
  const tokens: CopilotTokenSource = {
    ...permanent(token, token),
    renewBeforeNext() {},
    status: () => ({ state: 'ok', detail: 'The account is simulated (--demo)', fix: '', login }),
  }
  const executor = createDemoExecutor({ provider: 'copilot', models: copilotModels, headers: quotaHeaders, onStatus })
  return { tokens, executor, close: executor.close }
}

const codexCredential: CodexCredential = { kind: 'chatgpt', value: 'demo', accountId: 'demo', isFedramp: false }
const codexAccount: CodexAccount = { id: 'codex-demo', label: 'demo@example.com' }

/** A connection to the simulated Codex. Undefined if Codex is switched off. */
export function connectDemoCodex(
  { onStatus }: Pick<CodexConnectionDeps, 'onStatus'>,
  { codex }: Config,
): CodexConnection | undefined {
  if (!codex.enabled) return undefined
  const credentials: CodexCredentialSource = {
    ...permanent(codexCredential, codexAccount),
    kind: 'chatgpt',
    markAccepted() {},
    markRevoked() {},
    refused: (upstreamMessage) => new Fault({ kind: 'upstream_unauthorized', upstreamMessage }),
    status: () => ({
      state: 'ok',
      detail: 'The account is simulated (--demo)',
      fix: '',
      source: 'login',
      recordId: codexAccount.id,
      email: codexAccount.label,
      plan: 'plus',
    }),
  }
  const executor = createDemoExecutor({ provider: 'codex', models: codexModels, headers: planHeaders, onStatus })
  return { credentials, executor, close: executor.close }
}

/** A credential that never changes. */
function permanent<Credential, Account>(
  credential: Credential,
  account: Account,
): CredentialSource<Credential, Account> {
  const give = async (signal: AbortSignal): Promise<Credential> => {
    signal.throwIfAborted()
    return credential
  }
  const listeners = new Set<(account: Account) => void>()
  // Called later, so that the creator of the source can add a listener first.
  queueMicrotask(() => {
    for (const listener of listeners) listener(account)
  })
  return {
    get: give,
    replace: (_rejected, signal) => give(signal),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: async () => {},
  }
}

/** First moment of the next month, UTC. */
function nextMonth(): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString()
}

const month = { entitlement: 300, remaining: 267, percentRemaining: 89.1 }

/** Plan and quota of the simulated GitHub account. The numbers never change. */
export async function fetchDemoAccount(): Promise<CopilotAccount> {
  return {
    login,
    plan: 'individual',
    sku: 'monthly_subscriber_quota',
    tokenBasedBilling: false,
    quotas: [
      { id: 'chat', unlimited: true },
      { id: 'completions', unlimited: true },
      { id: 'premium_interactions', unlimited: false, ...month, overageCount: 0, overagePermitted: false },
    ],
    resetsAt: nextMonth(),
  }
}

function quotaHeaders(): Readonly<Record<string, string>> {
  const reset = encodeURIComponent(nextMonth())
  return {
    'x-quota-snapshot-premium_interactions': `ent=${month.entitlement}&ov=0.0&ovPerm=false&rem=${month.percentRemaining}&rst=${reset}`,
  }
}

function planHeaders(): Readonly<Record<string, string>> {
  const nowSeconds = Math.floor(Date.now() / 1000)
  return {
    'x-codex-plan-type': 'plus',
    'x-codex-primary-used-percent': '12.5',
    'x-codex-primary-window-minutes': '300',
    'x-codex-primary-reset-at': String(nowSeconds + 13_872),
    'x-codex-secondary-used-percent': '40',
    'x-codex-secondary-window-minutes': '10080',
    'x-codex-secondary-reset-at': String(nowSeconds + 345_600),
  }
}
