import { randomBytes } from 'node:crypto'
import { codexClientId, codexOriginator } from '../../auth/codex/identity.ts'
import {
  CODEX_REDIRECT_PORTS,
  finishCodexDeviceLogin,
  runCodexBrowserLogin,
  startCodexDeviceLogin,
} from '../../auth/codex/login.ts'
import { codexRecordKind, toCodexRecord, withForeignFields } from '../../auth/codex/record.ts'
import type { CodexRecord } from '../../auth/codex/record.ts'
import type { LoginTokens } from '../../auth/codex/token-endpoint.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import type { Config } from '../../config/schema.ts'
import { visible } from '../../terminal/visible.ts'
import { describePlace, recordPlace, removeFromOtherStore, requireStore, warningLog } from '../shared/accounts.ts'
import type { CommandContext, LoginFlags } from '../shared/command.ts'
import { chatgptPlanName } from '../../api/plan-name.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { browserCommand } from './desktop.ts'
import { browserWaitMs, loginEnded, loginFailed, loginInterrupted, showAddress, showCode } from './prompts.ts'

/**
 * Logs in to ChatGPT and stores the login as the Codex account in use.
 * @throws CommandFailure `usage`, `failed`, `interrupted`; RecordStoreError
 */
export async function connectCodexAccount(
  context: CommandContext,
  settings: LoadedSettings,
  flags: Pick<LoginFlags, 'browser' | 'device'>,
  ports: readonly number[] = CODEX_REDIRECT_PORTS,
): Promise<void> {
  const { codex } = settings.config
  const mayOpenBrowser = flags.browser
  await requireStore(context, settings)
  const tokens = await (flags.device
    ? askCodexWithCode(context, codex, { mayOpenBrowser })
    : askCodexInBrowser(context, codex, { mayOpenBrowser, ports }))
  context.secrets.note(tokens.accessToken, tokens.refreshToken, tokens.idToken)
  const record = toCodexRecord(tokens, { nowMs: context.now(), issuer: codex.issuer })
  if (record === undefined) throw loginFailed('OpenAI did not report a ChatGPT account.')
  const location = await storeRecord(context, settings, record)

  const { stdout } = context
  const { plan } = record.metadata
  const account = `${visible(record.label)}${plan === undefined ? '' : `, with ${visible(chatgptPlanName(plan))}`}`
  const untold = plan === undefined ? ' OpenAI did not report the plan.' : ''
  stdout.write(`\n${stdout.style.green(`Logged in to Codex as ${account}.`)}${untold}\n`)
  stdout.write(`Stored in ${describePlace(location, settings)}.\n`)
  await removeFromOtherStore(context, settings, codexRecordKind, record.id)
  const reason = whyUnused(codex)
  if (reason !== undefined) stdout.write(`${reason}\n`)
}

/** Why requests do not use a stored login; undefined if they do. */
function whyUnused({ enabled, apiKey, useCliLogin }: Config['codex']): string | undefined {
  if (!enabled) return 'codex.enabled is false, so Codex models are off. To use them: set codex.enabled to true.'
  if (apiKey !== '') return 'codex.api-key is set and takes precedence. To use this login, remove it.'
  if (useCliLogin)
    return 'codex.use-cli-login is on, so the login of Codex CLI takes precedence. To use this login, turn it off.'
  return undefined
}

/**
 * Writes the record, and keeps fields that other programs added to an older record of the account.
 * @returns its location
 * @throws RecordStoreError
 */
async function storeRecord(context: CommandContext, settings: LoadedSettings, record: CodexRecord): Promise<string> {
  const records = openRecordStore(codexRecordKind, recordPlace(context, settings), warningLog(context))
  await records.write(withForeignFields(record, await records.read(record.id)), { signal: context.signal })
  return records.locationOf(record.id)
}

/** For one request to OpenAI, headers and body. Ms. */
const timeoutMs = 30_000

const withCode = 'copilot-proxy login codex --device'

/**
 * Sends the person to ChatGPT in a browser on this machine and waits for the redirect.
 * @param ports on this machine that OpenAI may redirect to
 * @throws CommandFailure `failed`, `interrupted`
 */
async function askCodexInBrowser(
  context: CommandContext,
  { issuer }: Config['codex'],
  { mayOpenBrowser, ports }: { readonly mayOpenBrowser: boolean; readonly ports: readonly number[] },
): Promise<LoginTokens> {
  const { fetch, signal, stdout } = context
  const onUrl = (url: string): void => {
    showAddress(context, url, mayOpenBrowser)
    if (browserCommand(context) === undefined) {
      stdout.write(`No browser on this machine? Log in with a code: ${withCode}\n`)
    }
    stdout.write('Waiting for OpenAI. Press Ctrl-C to cancel.\n')
  }
  const answer = await runCodexBrowserLogin(
    { fetch, timeoutMs, randomBytes, onUrl },
    { issuer, clientId: codexClientId, originator: codexOriginator, ports, waitMs: browserWaitMs },
    signal,
  )
  switch (answer.kind) {
    case 'authorized':
      return answer.tokens
    case 'denied':
      throw loginFailed(
        answer.detail === '' ? 'The login was cancelled at OpenAI.' : `OpenAI refused the login: ${answer.detail}.`,
      )
    case 'ports_taken':
      throw loginFailed(
        `${ports.length === 1 ? 'Port' : 'Ports'} ${ports.join(' and ')} (for the redirect from OpenAI) ` +
          `${ports.length === 1 ? 'is' : 'are'} in use, perhaps by another login. Cancel that login, or log in with a code: ${withCode}`,
        '\n',
      )
    default:
      throw loginEnded(answer)
  }
}

/**
 * Shows a code to enter at OpenAI and waits for the login.
 * @throws CommandFailure `failed`, `interrupted`
 */
async function askCodexWithCode(
  context: CommandContext,
  { issuer }: Config['codex'],
  { mayOpenBrowser }: { readonly mayOpenBrowser: boolean },
): Promise<LoginTokens> {
  const { fetch, now, sleep, signal } = context
  const deps = { fetch, now, sleep, timeoutMs }
  const started = await startCodexDeviceLogin(deps, { issuer, clientId: codexClientId }, signal)
  switch (started.kind) {
    case 'started':
      break
    case 'not_offered':
      throw loginFailed(
        `${new URL(issuer).host} or your workspace does not allow a login with a code. ` +
          'Log in on a machine with a browser: copilot-proxy login codex',
        '\n',
      )
    case 'failed':
      throw loginFailed(`Could not start the login. ${started.detail}.`)
    case 'aborted':
      throw loginInterrupted()
  }

  const { code } = started
  context.secrets.note(code.deviceCode)
  const caution = 'Never enter a code that somebody else sent you, and never share yours.'
  const stopWaiting = await showCode(context, code, { issuer: 'OpenAI', mayOpenBrowser, caution })
  const answer = await finishCodexDeviceLogin(deps, { issuer, clientId: codexClientId }, code, signal).finally(
    stopWaiting,
  )
  switch (answer.kind) {
    case 'authorized':
      return answer.tokens
    case 'expired':
      throw loginFailed(
        `The code expired.${answer.detail === '' ? '' : ` ${answer.detail}.`} Get a new one: ${withCode}`,
        '\n',
      )
    default:
      throw loginEnded(answer)
  }
}
