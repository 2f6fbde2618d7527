import type { ExchangedToken } from '../../auth/copilot/github-api.ts'
import { codexRecordKind } from '../../auth/codex/record.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import { describeFailure } from '../../auth/copilot/github-failure.ts'
import type { GithubFailure } from '../../auth/copilot/github-failure.ts'
import { parseGithubHost } from '../../auth/copilot/github-hosts.ts'
import type { GithubHosts } from '../../auth/copilot/github-hosts.ts'
import { openAccount, toCopilotRecord } from '../../auth/copilot/new-login.ts'
import type { OpenedAccount } from '../../auth/copilot/new-login.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import type { CopilotRecord } from '../../auth/copilot/wire.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { silentLog } from '../../logging/logger.ts'
import {
  describePlace,
  githubApi,
  githubTimeoutMs,
  removeFromOtherStore,
  openRecords,
  providerNames,
  recordPlace,
  requireStore,
  tokenOfEnvironment,
  parseProvider,
} from '../shared/accounts.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode, LoginFlags } from '../shared/command.ts'
import { confirm } from '../shared/confirm.ts'
import { planName, planNameOfSku } from '../../api/plan-name.ts'
import { loadLoginSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { askInBrowser, askWithCode, readToken } from './github-token.ts'
import { loginFailed, loginInterrupted } from './prompts.ts'

/** Options of one provider's login, and the option of the other provider that replaces it. */
const providerOptions = [
  { flag: 'device', option: '--device', provider: 'codex', instead: 'A Copilot login always uses a code' },
  {
    flag: 'host',
    option: '--host',
    provider: 'copilot',
    instead: 'To change the server of ChatGPT accounts, set codex.issuer',
  },
  { flag: 'web', option: '--web', provider: 'copilot', instead: 'A Codex login always uses the browser' },
  {
    flag: 'tokenStdin',
    option: '--token-stdin',
    provider: 'copilot',
    instead: 'To use an OpenAI API key, set codex.api-key',
  },
] as const

/**
 * The command: connects an account, and prints the next step.
 * @throws CommandFailure `usage`, `failed`, `interrupted`; RecordStoreError
 */
export async function login(context: CommandContext, flags: LoginFlags): Promise<ExitCode> {
  const provider = parseProvider(flags.provider)
  const foreign = providerOptions.find((own) => own.provider !== provider && flags[own.flag] !== undefined)
  if (foreign !== undefined) {
    throw new CommandFailure(
      exitCode.usage,
      `${foreign.option} is only for copilot-proxy login ${foreign.provider}. ${foreign.instead}.`,
    )
  }
  const settings = await loadLoginSettings(context, flags.config)
  if (!(await wantsLogin(context, settings, flags, provider))) {
    context.stderr.write('Nothing changed.\n')
    return exitCode.done
  }
  if (provider === 'codex') {
    const { connectCodexAccount } = await import('./codex.ts')
    await connectCodexAccount(context, settings, flags)
  } else {
    await connectAccount(context, settings, flags)
  }
  context.stdout.write('\nNext: copilot-proxy launch claude, or for your own programs: copilot-proxy serve\n')
  return exitCode.done
}

/**
 * Asks a person who is logged in already. A token on standard input and a run without a terminal need no answer: they
 * replace the login of the account, or add another account.
 */
async function wantsLogin(
  context: CommandContext,
  settings: LoadedSettings,
  flags: LoginFlags,
  provider: ProviderId,
): Promise<boolean> {
  if (!context.interactive || flags.yes || flags.tokenStdin) return true
  const place = recordPlace(context, settings)
  const records =
    provider === 'copilot'
      ? openRecordStore(copilotRecordKind, place, silentLog)
      : openRecordStore(codexRecordKind, place, silentLog)
  // A new login replaces one that cannot be read.
  const current = await records.current().catch((error: unknown) => {
    if (!(error instanceof RecordStoreError)) throw error
    return undefined
  })
  if (current === undefined) return true
  context.stderr.write(visibleLines(`${providerNames[provider]}: already logged in as ${current.label}.\n`))
  return confirm(context, 'Log in again, or with another account?')
}

type ConnectFlags = Omit<LoginFlags, 'provider' | 'config'>

/**
 * Obtains a GitHub token, checks that it opens Copilot, and stores it as the Copilot account in use.
 * @throws CommandFailure `usage`, `failed`, `interrupted`; RecordStoreError
 */
export async function connectAccount(
  context: CommandContext,
  settings: LoadedSettings,
  flags: ConnectFlags,
): Promise<void> {
  const hosts = githubHosts(settings, flags.host)
  await requireStore(context, settings)
  const githubToken = await obtainToken(context, flags, settings, hosts)
  context.secrets.note(githubToken)
  const account = await checkAccount(context, settings, hosts, githubToken)
  const records = openRecords(context, settings)
  const record = await toCopilotRecord(records, { hosts, account, nowMs: context.now() })
  if (account.opened.direct) await tryDirectly(context, settings, record, account.opened)
  await records.write(record, { signal: context.signal })

  const { stdout } = context
  const { login: name } = account
  const plan = planOf(account)
  const greeting = `Logged in${name === undefined ? '' : ` as ${name}`}${plan === undefined ? '' : `, with ${plan}`}.`
  const untold = [...(name === undefined ? ['name'] : []), ...(plan === undefined ? ['plan'] : [])]
  const note = untold.length === 0 ? '' : ` GitHub did not report the ${untold.join(' and ')}.`
  stdout.write(`\n${stdout.style.green(greeting)}${note}\n`)
  if (account.opened.direct) stdout.write(directNote(account, settings))
  stdout.write(`Stored in ${describePlace(records.locationOf(record.id), settings)}.\n`)
  await removeFromOtherStore(context, settings, copilotRecordKind, record.id)
  if (tokenOfEnvironment(context) !== undefined) {
    stdout.write('COPILOT_GITHUB_TOKEN is set and takes precedence. To use this login, unset it.\n')
  }
}

/** Why the login is not exchanged, and the consequences. */
function directNote(account: OpenedAccount, { config }: LoadedSettings): string {
  const why =
    config.copilot.auth === 'direct'
      ? 'copilot.auth is direct'
      : 'GitHub does not exchange this kind of token for a Copilot token'
  const differences = [
    'Models and policies are those of Copilot CLI (copilot-integration-id: copilot-developer-cli).',
    ...(planOf(account) === undefined ? ['Plan and quota are unknown.'] : []),
    'The login is valid until you revoke it.',
  ]
  return `${why}, so copilot-proxy sends the token directly to Copilot. The differences:\n${differences.map((line) => `  ${line}\n`).join('')}`
}

/** @throws CommandFailure `usage` for a host that cannot be GitHub's */
function githubHosts(settings: LoadedSettings, host: string | undefined): GithubHosts {
  const { githubBaseUrl, githubApiBaseUrl } = settings.config.copilotOauth
  if (host === undefined) return { baseUrl: githubBaseUrl, apiBaseUrl: githubApiBaseUrl }
  const parsed = parseGithubHost(host)
  if (!parsed.ok) throw new CommandFailure(exitCode.usage, `--host: ${parsed.detail}.`)
  return parsed.value
}

function obtainToken(
  context: CommandContext,
  flags: ConnectFlags,
  settings: LoadedSettings,
  hosts: GithubHosts,
): Promise<string> {
  const oauth = settings.config.copilotOauth
  if (flags.tokenStdin) return readToken(context)
  if (flags.web) {
    if (oauth.clientId === '') {
      throw new CommandFailure(
        exitCode.usage,
        'login --web needs your own OAuth app. Set copilot-oauth.client-id, or log in with a code: copilot-proxy login',
      )
    }
    return askInBrowser(context, oauth, flags.browser)
  }
  const { githubClientId: clientId, githubScope: scope } = oauth
  return askWithCode(context, { githubBaseUrl: hosts.baseUrl, clientId, scope }, flags.browser)
}

/** @throws CommandFailure `failed`, with the reason; `interrupted` */
async function checkAccount(
  context: CommandContext,
  settings: LoadedSettings,
  hosts: GithubHosts,
  githubToken: string,
): Promise<OpenedAccount> {
  const api = githubApi(context, settings, { apiBaseUrl: hosts.apiBaseUrl, tokenOrigin: 'given' })
  const account = await openAccount(api, githubToken, settings.config.copilot.auth, context.signal)
  if (account.kind !== 'ok') throw refused(account)
  if (context.signal.aborted) throw loginInterrupted()
  return account
}

/** The plan's marketing name; undefined if GitHub does not report it. */
function planOf({ plan, opened }: OpenedAccount): string | undefined {
  return plan === undefined ? planNameOfSku(opened.sku) : planName(plan)
}

function refused(failure: GithubFailure): CommandFailure {
  return failure.kind === 'aborted' ? loginInterrupted() : loginFailed(describeFailure(failure), '\n')
}

/**
 * Tests the login by a request to Copilot, since no token exchange has verified it.
 * @throws CommandFailure `failed`, with Copilot's message
 */
async function tryDirectly(
  context: CommandContext,
  settings: LoadedSettings,
  record: CopilotRecord,
  opened: ExchangedToken,
): Promise<void> {
  // Imports the HTTP client, which other logins do not need.
  const { listCopilotModels } = await import('../shared/list-models.ts')
  const { loginRefusal } = await import('../../models/try-list.ts')
  const { signal } = context
  const own = { githubToken: record.metadata.github_access_token, record }
  const outcome = await listCopilotModels(context, settings, own, opened, { signal, timeoutMs: githubTimeoutMs })
  if (signal.aborted) throw loginInterrupted()
  const refusal = loginRefusal(outcome)
  if (refusal !== undefined) throw loginFailed(refusal, '\n')
}
