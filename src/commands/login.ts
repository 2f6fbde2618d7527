import { exchangeCopilotToken } from '../auth/copilot-exchange.ts'
import type { ExchangedToken } from '../auth/copilot-exchange.ts'
import { fetchCopilotUser, fetchGithubUser } from '../auth/github-api.ts'
import type { GithubFailure } from '../auth/github-failure.ts'
import { parseGithubHost } from '../auth/github-hosts.ts'
import type { GithubHosts } from '../auth/github-hosts.ts'
import { copilotRecordKind } from '../auth/copilot-record-kind.ts'
import { copilotRecordId } from '../auth/record-id.ts'
import type { CopilotRecord } from '../auth/wire.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { LoginFlags } from './flags.ts'
import {
  describeFailure,
  describePlace,
  githubApi,
  leaveOtherStore,
  openRecords,
  requireStore,
  tokenOfEnvironment,
} from './account.ts'
import { loginFailed, loginInterrupted } from './login-failure.ts'
import { askInBrowser, askWithCode, readToken } from './obtain-token.ts'
import { planName, planNameOfSku } from './plan-name.ts'
import { parseProvider } from './provider.ts'
import { loadSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'

/** What GitHub says about a token that works. */
interface Account {
  readonly githubToken: string
  /** Undefined when GitHub does not tell. */
  readonly login: string | undefined
  /** For people; undefined when GitHub does not tell. */
  readonly plan: string | undefined
  readonly exchanged: ExchangedToken
}

/** What an account is called whose name GitHub does not tell. A second one of the same host takes its place. */
const namelessAccount = 'account'

/** Options that one provider's login has and the other's has not, and what there is instead. */
const ownOptions = [
  { flag: 'device', option: '--device', provider: 'codex', instead: 'the login of Copilot works with a code anyway' },
  { flag: 'host', option: '--host', provider: 'copilot', instead: 'codex.issuer says where ChatGPT accounts live' },
  { flag: 'web', option: '--web', provider: 'copilot', instead: 'the login of Codex uses the browser anyway' },
  {
    flag: 'tokenStdin',
    option: '--token-stdin',
    provider: 'copilot',
    instead: 'codex.api-key takes an OpenAI API key',
  },
] as const

/**
 * The command: connects an account, and says what comes next.
 * @throws CommandFailure `usage`, `failed`, `interrupted`; RecordStoreError
 */
export async function login(context: CommandContext, flags: LoginFlags): Promise<ExitCode> {
  const provider = parseProvider(flags.provider)
  const foreign = ownOptions.find((own) => own.provider !== provider && flags[own.flag] !== undefined)
  if (foreign !== undefined) {
    throw new CommandFailure(
      exitCode.usage,
      `${foreign.option} is an option of login ${foreign.provider}; ${foreign.instead}.`,
    )
  }
  if (provider === 'codex') {
    const { connectCodexAccount } = await import('./login-codex.ts')
    await connectCodexAccount(context, flags)
  } else {
    await connectAccount(context, flags)
  }
  context.stdout.write('\nNext: copilot-proxy serve\n')
  return exitCode.done
}

/**
 * Obtains a GitHub token, checks that it opens Copilot, and stores it as the Copilot account in use.
 * @throws CommandFailure `usage`, `failed`, `interrupted`; RecordStoreError
 */
export async function connectAccount(context: CommandContext, flags: Omit<LoginFlags, 'provider'>): Promise<void> {
  const settings = await loadSettings(context, flags.config)
  const hosts = githubHosts(settings, flags.host)
  await requireStore(context, settings)
  const githubToken = await obtainToken(context, flags, settings, hosts)
  context.secrets.note(githubToken)
  const account = await checkAccount(context, settings, hosts, githubToken)
  const location = await storeAccount(context, settings, hosts, account)

  const { stdout } = context
  const { plan } = account
  const name = account.login ?? namelessAccount
  const words = `Logged in${account.login === undefined ? '' : ` as ${account.login}`}${plan === undefined ? '' : `, with ${plan}`}.`
  const untold = [...(account.login === undefined ? ['the name'] : []), ...(plan === undefined ? ['the plan'] : [])]
  const note = untold.length === 0 ? '' : ` GitHub does not tell ${untold.join(' or ')}.`
  stdout.write(`\n${stdout.style.green(words)}${note}\n`)
  stdout.write(`The login is stored in ${describePlace(location, settings)}.\n`)
  await leaveOtherStore(context, settings, copilotRecordKind, copilotRecordId(name, hosts.baseUrl))
  if (tokenOfEnvironment(context) !== undefined) {
    stdout.write('COPILOT_GITHUB_TOKEN is set and is used instead of this login for as long as it is.\n')
  }
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
  flags: Omit<LoginFlags, 'provider'>,
  settings: LoadedSettings,
  hosts: GithubHosts,
): Promise<string> {
  const oauth = settings.config.copilotOauth
  if (flags.tokenStdin) return readToken(context)
  if (flags.web) {
    if (oauth.clientId === '') {
      throw new CommandFailure(
        exitCode.usage,
        'login --web needs an OAuth app of your own: set copilot-oauth.client-id. Without one: copilot-proxy login',
      )
    }
    return askInBrowser(context, oauth, flags.browser)
  }
  const { githubClientId: clientId, githubScope: scope } = oauth
  return askWithCode(context, { githubBaseUrl: hosts.baseUrl, clientId, scope }, flags.browser)
}

/** @throws CommandFailure `failed`, in the words of what is wrong with the account; `interrupted` */
async function checkAccount(
  context: CommandContext,
  settings: LoadedSettings,
  hosts: GithubHosts,
  githubToken: string,
): Promise<Account> {
  const { signal } = context
  const api = githubApi(context, settings, { apiBaseUrl: hosts.apiBaseUrl, tokenOrigin: 'given' })
  const [user, exchanged, copilotUser] = await Promise.all([
    fetchGithubUser(api, githubToken, signal),
    exchangeCopilotToken(api, githubToken, signal),
    fetchCopilotUser(api, githubToken, signal),
  ])
  // Whether Copilot opens decides alone; who it is and which plan are for show.
  if (exchanged.kind !== 'ok') throw refused(exchanged)
  if (signal.aborted) throw loginInterrupted()
  const known = copilotUser.kind === 'ok' ? copilotUser.account : undefined
  const plan = known === undefined ? planNameOfSku(exchanged.sku) : planName(known.plan)
  return { githubToken, login: user.kind === 'ok' ? user.login : known?.login, plan, exchanged }
}

function refused(failure: GithubFailure): CommandFailure {
  return failure.kind === 'aborted' ? loginInterrupted() : loginFailed(describeFailure(failure), '\n')
}

/**
 * Writes the record; what the user configured in an older record of the account stays.
 * @returns where it is
 * @throws RecordStoreError
 */
async function storeAccount(
  context: CommandContext,
  settings: LoadedSettings,
  hosts: GithubHosts,
  account: Account,
): Promise<string> {
  const { signal } = context
  const records = openRecords(context, settings)
  const label = account.login ?? namelessAccount
  const id = copilotRecordId(label, hosts.baseUrl)
  const earlier = await records.read(id)
  const nowSeconds = Math.floor(context.now() / 1000)
  const { exchanged } = account
  const record: CopilotRecord = {
    ...earlier,
    id,
    provider: 'copilot',
    label,
    attributes: earlier?.attributes ?? {},
    metadata: {
      github_access_token: account.githubToken,
      access_token: exchanged.token,
      expires_at: exchanged.expiresAtSeconds,
      refresh_in: exchanged.refreshInSeconds,
      obtained_at: nowSeconds,
      ...(exchanged.apiBaseUrl !== undefined && { base_url: exchanged.apiBaseUrl }),
      ...(exchanged.sku !== undefined && { sku: exchanged.sku }),
      ...(account.login !== undefined && { login: account.login }),
      github_base_url: hosts.baseUrl,
      github_api_base_url: hosts.apiBaseUrl,
      logged_in_at: nowSeconds,
    },
  }
  await records.write(record, { signal })
  return records.locationOf(id)
}
