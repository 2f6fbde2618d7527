import { setTimeout as sleep } from 'node:timers/promises'
import type { LoginFlow, LogoutReport, ProviderLogin } from '../api/logins.ts'
import { chatgptPlanName, planName, planNameOfSku } from '../api/plan-name.ts'
import { codexClientId } from '../auth/codex/identity.ts'
import { finishCodexDeviceLogin, startCodexDeviceLogin } from '../auth/codex/login.ts'
import { toCodexRecord, withForeignFields } from '../auth/codex/record.ts'
import type { CodexLoginStatus } from '../auth/codex/credentials.ts'
import type { CodexRecord } from '../auth/codex/record.ts'
import { findLoginInUse } from '../auth/copilot/account-in-use.ts'
import { accountName } from '../auth/copilot/find-account.ts'
import { describeFailure } from '../auth/copilot/github-failure.ts'
import type { ExchangedToken } from '../auth/copilot/github-api.ts'
import { pollForToken, startDeviceFlow } from '../auth/copilot/login.ts'
import { openAccount, toCopilotRecord } from '../auth/copilot/new-login.ts'
import type { CopilotTokenStatus } from '../auth/copilot/token.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import type { DeviceCode, DevicePollDeps, DeviceStart } from '../auth/device-poll.ts'
import { RecordStoreError } from '../auth/records/record-fs.ts'
import { newestLogin } from '../auth/records/record-kind.ts'
import type { StoredRecord } from '../auth/records/record-kind.ts'
import type { RecordStore } from '../auth/records/record-store.ts'
import type { Config } from '../config/schema.ts'
import { Fault } from '../errors.ts'
import { connectLogin } from '../executors/connect-login.ts'
import type { ProviderId } from '../executors/executor.ts'
import type { Logins } from '../http/routes/login-routes.ts'
import type { Logger } from '../logging/logger.ts'
import { parseCopilotModels } from '../models/copilot-model.ts'
import { loginRefusal, tryList } from '../models/try-list.ts'
import type { NoteSecrets } from '../redaction/known-secrets.ts'
import { readLoginStatus, toAccountList } from './login-status.ts'

export interface LoginStores {
  readonly copilot: RecordStore<CopilotRecord>
  readonly codex: RecordStore<CodexRecord>
}

export interface LoginsDeps {
  readonly config: () => Config
  readonly stores: LoginStores
  /** The stores that `auth.store` does not name, which may hold earlier logins; undefined: there are none. */
  readonly otherStores: LoginStores | undefined
  readonly demo: boolean
  /** `COPILOT_GITHUB_TOKEN`. */
  readonly githubToken: string | undefined
  readonly codexHome: string | undefined
  readonly copilotStatus: () => CopilotTokenStatus
  /** Undefined if Codex is switched off. */
  readonly codexStatus: () => CodexLoginStatus | undefined
  readonly noteSecrets: NoteSecrets
  readonly redact: (text: string) => string
  /** The environment in which to look for proxies. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Logger
}

/** A login under way. The secret part of its code stays in `run`. */
interface Attempt {
  readonly stop: AbortController
  /** Resolves when the person has something to do, or the attempt has ended. */
  readonly begun: Promise<void>
  flow: LoginFlow
}

/** The end of a login: the account, or a sentence that says why there is none. */
type End = { readonly account: string; readonly plan: string | null } | { readonly problem: string }

/** For one request to the provider, headers and body. Ms. */
const timeoutMs = 30_000

/** Lists the stored logins, and runs logins with a code: the same steps as `copilot-proxy login`, one at a time per provider. */
export function createLogins(deps: LoginsDeps): Logins & { readonly close: () => void } {
  const { config, stores, otherStores, githubToken, noteSecrets, log } = deps
  const closing = new AbortController()
  const attempts = new Map<ProviderId, Attempt>()
  const poll: DevicePollDeps = {
    fetch: globalThis.fetch,
    now: Date.now,
    timeoutMs,
    sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
  }

  function begin(provider: ProviderId): Attempt {
    const stop = new AbortController()
    const { promise: begun, resolve } = Promise.withResolvers<void>()
    const attempt: Attempt = { stop, begun, flow: { state: 'starting' } }
    const show = (flow: LoginFlow): void => {
      attempt.flow = flow
      if (flow.state !== 'starting') resolve()
    }
    void run(provider, stop.signal, show)
    return attempt
  }

  /** Runs a login to its end. Never rejects. */
  async function run(provider: ProviderId, signal: AbortSignal, show: (flow: LoginFlow) => void): Promise<void> {
    const logIn = provider === 'copilot' ? logInToCopilot : logInToCodex
    const end = await logIn(signal, show).catch((error: unknown): End => {
      log.warn({ err: error, provider }, 'a login in the page failed')
      return { problem: 'The login could not be stored. The log of copilot-proxy shows the cause.' }
    })
    if ('account' in end) log.info({ provider }, 'a login in the page was stored')
    show('account' in end ? { state: 'done', ...end } : { state: 'failed', message: deps.redact(end.problem) })
  }

  /** Asks for a code and shows it. Undefined: the attempt has ended. */
  async function showCode(
    started: DeviceStart | { readonly kind: 'not_offered' },
    show: (flow: LoginFlow) => void,
  ): Promise<DeviceCode | End> {
    switch (started.kind) {
      case 'started': {
        const { code } = started
        noteSecrets(code.deviceCode)
        const { userCode, verificationUri, expiresAtMs } = code
        const expires_at = new Date(expiresAtMs).toISOString()
        show({ state: 'waiting', user_code: userCode, verification_uri: verificationUri, expires_at })
        return code
      }
      case 'not_offered':
        return {
          problem: 'OpenAI or your workspace does not allow a login with a code. Run: copilot-proxy login codex',
        }
      case 'failed':
        return { problem: `The login could not be started. ${started.detail}. Try again.` }
      case 'aborted':
        return cancelled
    }
  }

  async function logInToCopilot(signal: AbortSignal, show: (flow: LoginFlow) => void): Promise<End> {
    const { copilot, copilotOauth } = config()
    const { githubClientId: clientId, githubScope: scope } = copilotOauth
    const hosts = { baseUrl: copilotOauth.githubBaseUrl, apiBaseUrl: copilotOauth.githubApiBaseUrl }
    const flow = { githubBaseUrl: hosts.baseUrl, clientId, scope }
    const code = await showCode(await startDeviceFlow(poll, flow, signal), show)
    if (!('deviceCode' in code)) return code
    const answer = await pollForToken(poll, flow, code, signal)
    if (answer.kind !== 'authorized') return toEnd(answer, 'GitHub')
    show({ state: 'checking' })
    noteSecrets(answer.githubToken)
    const { fetch, now } = poll
    const { apiBaseUrl } = hosts
    const api = { fetch, now, apiBaseUrl, tokenOrigin: 'given', headers: copilot.headers, timeoutMs } as const
    const account = await openAccount(api, answer.githubToken, copilot.auth, signal)
    if (account.kind === 'aborted') return cancelled
    if (account.kind !== 'ok') return { problem: describeFailure(account) }
    noteSecrets(account.opened.token)
    const record = await toCopilotRecord(stores.copilot, { hosts, account, nowMs: now() })
    const refusal = account.opened.direct ? await tryDirectly(record, account.opened, signal) : undefined
    if (refusal !== undefined) return { problem: `${refusal} Nothing was stored.` }
    signal.throwIfAborted()
    await stores.copilot.write(record, { signal })
    await otherStores?.copilot.remove(record.id).catch(() => false)
    const plan = account.plan === undefined ? planNameOfSku(account.opened.sku) : planName(account.plan)
    return { account: accountName(record), plan: plan ?? null }
  }

  /** Tests a login by a request to Copilot, since no token exchange has verified it. Undefined if Copilot accepts it. */
  async function tryDirectly(record: CopilotRecord, opened: ExchangedToken, signal: AbortSignal) {
    const { env, redact } = deps
    const { fetch, now } = poll
    const login = { record, githubToken: record.metadata.github_access_token }
    const connection = connectLogin({ env, redact, log, noteSecrets, fetch, now }, config(), login, opened)
    try {
      return loginRefusal(await tryList(connection.executor, parseCopilotModels, { signal, timeoutMs }))
    } finally {
      await connection.close()
    }
  }

  async function logInToCodex(signal: AbortSignal, show: (flow: LoginFlow) => void): Promise<End> {
    const { issuer } = config().codex
    const clientId = codexClientId
    const code = await showCode(await startCodexDeviceLogin(poll, { issuer, clientId }, signal), show)
    if (!('deviceCode' in code)) return code
    const answer = await finishCodexDeviceLogin(poll, { issuer, clientId }, code, signal)
    if (answer.kind !== 'authorized') return toEnd(answer, 'OpenAI')
    show({ state: 'checking' })
    const { tokens } = answer
    noteSecrets(tokens.accessToken, tokens.refreshToken, tokens.idToken)
    const record = toCodexRecord(tokens, { nowMs: poll.now(), issuer })
    if (record === undefined) return { problem: 'OpenAI did not report a ChatGPT account. Try again.' }
    signal.throwIfAborted()
    await stores.codex.write(withForeignFields(record, await stores.codex.read(record.id)), { signal })
    await otherStores?.codex.remove(record.id).catch(() => false)
    const { plan } = record.metadata
    return { account: record.label, plan: plan === undefined ? null : chatgptPlanName(plan) }
  }

  /** Null as `flow` after a cancel. */
  const flowOf = (provider: ProviderId): LoginFlow | null => attempts.get(provider)?.flow ?? null

  async function reportCopilot(): Promise<ProviderLogin> {
    const { state, detail, fix } = deps.copilotStatus()
    const source = deps.demo ? 'demo' : githubToken !== undefined ? 'environment' : 'stored'
    const accounts = await accountsOf(stores.copilot, source === 'stored', (record) => ({
      name: accountName(record),
      plan: planNameOfSku(record.metadata.sku),
    }))
    return { state, detail, fix, source, accounts, flow: flowOf('copilot') }
  }

  async function reportCodex(): Promise<ProviderLogin> {
    const status = deps.codexStatus()
    const off = { state: 'off', detail: 'Codex is off.', fix: 'Set codex.enabled to true' } as const
    const { state, detail, fix } = status ?? off
    const own = status?.source ?? 'login'
    const source = deps.demo ? 'demo' : own === 'login' ? 'stored' : own
    const accounts = await accountsOf(stores.codex, own === 'login', ({ label, metadata: { plan } }) => ({
      name: label,
      plan: plan === undefined ? undefined : chatgptPlanName(plan),
    }))
    return { state, detail, fix, source, accounts, flow: flowOf('codex') }
  }

  return {
    async report() {
      const [copilot, codex] = await Promise.all([reportCopilot(), reportCodex()])
      return { stored: placeInWords(deps), copilot, codex }
    },

    async status() {
      const { githubApiBaseUrl } = config().copilotOauth
      return readLoginStatus({
        config: config(),
        findCopilot: () => findLoginInUse({ store: leaving(stores.copilot), githubToken, githubApiBaseUrl }),
        findCodex: leaving(stores.codex).current,
        locateCopilot: stores.copilot.locationOf,
        locateCodex: stores.codex.locationOf,
        codexHome: deps.codexHome,
        now: poll.now,
        sleep: (ms) => sleep(ms, undefined, { signal: closing.signal, ref: false }).catch(() => {}),
        signal: closing.signal,
      })
    },

    async accounts() {
      return toAccountList(await leaving(stores.copilot).list(), config(), githubToken !== undefined)
    },

    async start(provider) {
      if (deps.demo) {
        throw new Fault({ kind: 'invalid_request', path: '', detail: 'the demo has a simulated account and no login' })
      }
      const known = attempts.get(provider)
      const attempt = known === undefined || isOver(known.flow) ? begin(provider) : known
      attempts.set(provider, attempt)
      await attempt.begun
    },

    cancel(provider) {
      attempts.get(provider)?.stop.abort()
      attempts.delete(provider)
    },

    async logOut(provider) {
      // The end of an earlier login is no longer true.
      const known = attempts.get(provider)
      if (known !== undefined && isOver(known.flow)) attempts.delete(provider)
      return provider === 'copilot'
        ? logOutOf(stores.copilot, otherStores?.copilot, accountName)
        : logOutOf(stores.codex, otherStores?.codex, ({ label }) => label)
    },

    close() {
      closing.abort()
      for (const { stop } of attempts.values()) stop.abort()
    },
  }
}

const cancelled: End = { problem: 'The login was cancelled.' }

function isOver({ state }: LoginFlow): boolean {
  return state === 'done' || state === 'failed'
}

function toEnd(
  answer: { readonly kind: 'expired' | 'denied' | 'aborted' } | { readonly kind: 'failed'; readonly detail: string },
  issuer: string,
): End {
  switch (answer.kind) {
    case 'expired':
      return { problem: 'The code expired before it was entered. Start again to get a new one.' }
    case 'denied':
      return { problem: `The login was cancelled at ${issuer}.` }
    case 'failed':
      return { problem: `The login failed. ${answer.detail}.` }
    case 'aborted':
      return cancelled
  }
}

function placeInWords({ demo, config }: LoginsDeps): string {
  if (demo) return 'The demo stores nothing.'
  return config().auth.store === 'keychain'
    ? 'Logins are in a file, encrypted with a key in the system keychain.'
    : 'Logins are in a file that only you can read.'
}

/** Reads records and leaves a corrupt one in its place: another program may be writing it. */
function leaving<Stored extends StoredRecord>(
  store: RecordStore<Stored>,
): Pick<RecordStore<Stored>, 'current' | 'list'> {
  const how = { leaveCorrupt: true }
  return { current: () => store.current(how), list: () => store.list(how) }
}

async function accountsOf<Stored extends StoredRecord>(
  store: RecordStore<Stored>,
  isStoredUsed: boolean,
  describe: (record: Stored) => { readonly name: string; readonly plan: string | undefined },
): Promise<ProviderLogin['accounts']> {
  const records = await leaving(store).list()
  const used = isStoredUsed ? newestLogin(records)?.id : undefined
  return records.map((record) => {
    const { name, plan = null } = describe(record)
    return { name, plan, used: record.id === used }
  })
}

async function logOutOf<Stored extends StoredRecord>(
  store: RecordStore<Stored>,
  other: RecordStore<Stored> | undefined,
  nameOf: (record: Stored) => string,
): Promise<LogoutReport> {
  try {
    const current = await store.current()
    if (current === undefined) return { account: null, next: null }
    await store.remove(current.id)
    await other?.remove(current.id)
    const next = newestLogin(await store.list())
    return { account: nameOf(current), next: next === undefined ? null : nameOf(next) }
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    const detail = 'The stored login cannot be read or deleted.'
    throw new Fault({ kind: 'copilot_unavailable', detail, fix: 'Run: copilot-proxy logout' }, { cause: error })
  }
}
