import { CODEX_REDIRECT_PORTS } from '../auth/codex/browser-login.ts'
import { codexRecord, codexRecordKind, toCodexRecord } from '../auth/codex/record.ts'
import type { CodexRecord } from '../auth/codex/record.ts'
import type { Config } from '../config/schema.ts'
import { visible } from '../terminal/visible.ts'
import { describePlace, leaveOtherStore, requireStore } from './account.ts'
import { openCodexRecords } from './codex-account.ts'
import type { CommandContext } from './context.ts'
import type { LoginFlags } from './flags.ts'
import { chatgptPlanName } from './plan-name.ts'
import { loginFailed } from './login-failure.ts'
import { askCodexInBrowser, askCodexWithCode } from './obtain-codex-login.ts'
import { loadSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'

/**
 * Logs in to ChatGPT and stores the login as the Codex account in use.
 * @throws CommandFailure `usage`, `failed`, `interrupted`; RecordStoreError
 */
export async function connectCodexAccount(
  context: CommandContext,
  flags: Pick<LoginFlags, 'browser' | 'config' | 'device'>,
  ports: readonly number[] = CODEX_REDIRECT_PORTS,
): Promise<void> {
  const settings = await loadSettings(context, flags.config)
  const { codex } = settings.config
  const mayOpenBrowser = flags.browser
  await requireStore(context, settings)
  const tokens = await (flags.device
    ? askCodexWithCode(context, codex, { mayOpenBrowser })
    : askCodexInBrowser(context, codex, { mayOpenBrowser, ports }))
  context.secrets.note(tokens.accessToken, tokens.refreshToken, tokens.idToken)
  const record = toCodexRecord(tokens, { nowMs: context.now(), issuer: codex.issuer })
  if (record === undefined) throw loginFailed('OpenAI’s answer names no ChatGPT account.')
  const location = await storeRecord(context, settings, record)

  const { stdout } = context
  const { plan } = record.metadata
  const account = `${visible(record.label)}${plan === undefined ? '' : `, with ${visible(chatgptPlanName(plan))}`}`
  const untold = plan === undefined ? ' OpenAI does not tell the plan.' : ''
  stdout.write(`\n${stdout.style.green(`Logged in to Codex as ${account}.`)}${untold}\n`)
  stdout.write(`The login is stored in ${describePlace(location, settings)}.\n`)
  await leaveOtherStore(context, settings, codexRecordKind, record.id)
  const reason = whyUnused(codex)
  if (reason !== undefined) stdout.write(`${reason}\n`)
}

/** Why requests are not made with a stored login; undefined where they are. */
function whyUnused({ enabled, apiKey, useCliLogin }: Config['codex']): string | undefined {
  if (!enabled) return 'codex.enabled is false, so no Codex model is offered until that is changed.'
  if (apiKey !== '') return 'codex.api-key is set and is used instead of this login for as long as it is.'
  if (useCliLogin) return 'codex.use-cli-login is on: the login of Codex CLI is used instead of this one while it is.'
  return undefined
}

/**
 * Writes the record; what others put into an older record of the account stays.
 * @returns where it is
 * @throws RecordStoreError
 */
async function storeRecord(context: CommandContext, settings: LoadedSettings, record: CodexRecord): Promise<string> {
  const records = openCodexRecords(context, settings)
  const earlier = await records.read(record.id)
  const known = codexRecord.shape.metadata.shape
  const foreign = Object.entries(earlier?.metadata ?? {}).filter(([key]) => !Object.hasOwn(known, key))
  await records.write(
    {
      ...earlier,
      ...record,
      attributes: earlier?.attributes ?? record.attributes,
      metadata: { ...Object.fromEntries(foreign), ...record.metadata },
    },
    { signal: context.signal },
  )
  return records.locationOf(record.id)
}
