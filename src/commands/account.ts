import type { GithubApiDeps } from '../auth/copilot-exchange.ts'
import { copilotRecordKind } from '../auth/copilot-record-kind.ts'
import type { GithubFailure } from '../auth/github-failure.ts'
import { createSystemKeychain, type Keychain } from '../auth/keychain.ts'
import { findLoginInUse } from '../auth/login-in-use.ts'
import type { LoginInUse } from '../auth/login-in-use.ts'
import { openRecordStore, otherPlace } from '../auth/open-record-store.ts'
import type { RecordPlace } from '../auth/open-record-store.ts'
import { RecordStoreError } from '../auth/record-fs.ts'
import type { RecordKind, StoredRecord } from '../auth/record-kind.ts'
import type { RecordStore } from '../auth/record-store.ts'
import type { CopilotRecord } from '../auth/wire.ts'
import type { Logger } from '../log.ts'
import { visibleLines } from '../terminal/visible.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { LoadedSettings } from './settings.ts'

/** For one exchange with GitHub, headers and body. Ms. */
export const githubTimeoutMs = 30_000

export const loginAdvice = 'Nobody is logged in. Log in first: copilot-proxy login, or: copilot-proxy login codex'
const copilotLoginAdvice = 'Nobody is logged in to Copilot. Log in first: copilot-proxy login'

const stayQuiet = (): void => {}

/** For parts whose troubles somebody else tells. */
export const quietLog: Logger = { debug: stayQuiet, info: stayQuiet, warn: stayQuiet, error: stayQuiet }

function tellTroubles(tell: (sentence: string) => void): Logger {
  const onTrouble = (first: string | Readonly<Record<string, unknown>>, message = ''): void =>
    tell(typeof first === 'string' ? first : message)
  return { ...quietLog, warn: onTrouble, error: onTrouble }
}

function writeNote(context: CommandContext, trouble: string): void {
  context.stderr.write(visibleLines(`Note: ${trouble}\n`))
}

/** What the parts tell while a command runs: troubles on stderr, for a person; everything else stays quiet. */
export function troubleLog(context: CommandContext): Logger {
  return tellTroubles((trouble) => writeNote(context, trouble))
}

/** What it takes to know where logins are kept. */
export type AuthSettings = Pick<LoadedSettings, 'authDir' | 'config'>

export function recordPlace(context: CommandContext, { authDir, config }: AuthSettings): RecordPlace {
  return { dir: authDir, rules: config.auth, keychain: keychainOf(context) }
}

export function keychainOf({ env, keychain }: CommandContext): Keychain {
  return keychain ?? createSystemKeychain({ env })
}

export function openRecords(context: CommandContext, settings: AuthSettings): RecordStore<CopilotRecord> {
  return openRecordStore(copilotRecordKind, recordPlace(context, settings), troubleLog(context))
}

/**
 * Before somebody takes the trouble to log in: whether the login could be stored.
 * @throws RecordStoreError `keychain`
 */
export async function requireStore(context: CommandContext, settings: AuthSettings): Promise<void> {
  const { rules, keychain } = recordPlace(context, settings)
  if (rules.store !== 'keychain') return
  // Reading alone tells nothing of a keychain that is locked or full.
  await keychain.set('trial', 'trial')
  await keychain.remove('trial')
}

/** A login is kept in one place: what the store that is not in use has of this account goes. Never fails. */
export async function leaveOtherStore<Stored extends StoredRecord>(
  context: CommandContext,
  settings: AuthSettings,
  kind: RecordKind<Stored>,
  id: string,
): Promise<void> {
  const other = openRecordStore(kind, otherPlace(recordPlace(context, settings)), quietLog)
  try {
    const removed = await other.remove(id, { signal: context.signal })
    if (removed) context.stdout.write(`The earlier one was removed: ${other.locationOf(id)}\n`)
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    writeNote(context, error.message)
  }
}

/** Ends the sentence “the login is stored in …”. */
export function describePlace(location: string, { config }: AuthSettings): string {
  return config.auth.store === 'keychain'
    ? `${location}, sealed with a key in the keychain of this system`
    : `${location}, readable by you alone`
}

/** `COPILOT_GITHUB_TOKEN` where it is set. */
export function tokenOfEnvironment(context: CommandContext): string | undefined {
  return context.env['COPILOT_GITHUB_TOKEN']?.trim() || undefined
}

/**
 * Runs a look into the store; what is wrong there is told on stderr, each trouble once.
 * @throws what `look` throws. What a RecordStoreError says is not in the notes on stderr.
 */
export async function tellingTroubles<T>(context: CommandContext, look: (log: Logger) => Promise<T>): Promise<T> {
  const troubles = new Set<string>()
  try {
    return await look(tellTroubles((trouble) => troubles.add(trouble)))
  } catch (error) {
    if (error instanceof RecordStoreError) troubles.delete(error.message)
    throw error
  } finally {
    for (const trouble of troubles) writeNote(context, trouble)
  }
}

/**
 * The environment's token, else the newest record; undefined when nobody is logged in to Copilot.
 * @throws RecordStoreError when there are records and none can be read. What it says is not in the notes on stderr.
 */
export async function findLogin(context: CommandContext, settings: LoadedSettings): Promise<LoginInUse | undefined> {
  const login = await tellingTroubles(context, (log) =>
    findLoginInUse({
      store: openRecordStore(copilotRecordKind, recordPlace(context, settings), log),
      githubToken: tokenOfEnvironment(context),
      githubApiBaseUrl: settings.config.copilotOauth.githubApiBaseUrl,
    }),
  )
  context.secrets.note(login?.githubToken, login?.record?.metadata.access_token)
  return login
}

/** @throws CommandFailure `notLoggedIn` */
export async function requireLogin(context: CommandContext, settings: LoadedSettings): Promise<LoginInUse> {
  const login = await findLogin(context, settings)
  if (login === undefined) throw new CommandFailure(exitCode.notLoggedIn, copilotLoginAdvice)
  return login
}

/** Why GitHub did not answer as it should, and what helps: sentences for a person. */
export function describeFailure(failure: GithubFailure): string {
  switch (failure.kind) {
    case 'bad_credentials':
    case 'not_available':
      return `${failure.detail}. ${failure.fix}`
    case 'no_access':
      return `${failure.detail}
${failure.fix}.${
        failure.url === undefined
          ? ''
          : `
GitHub's page about it: ${failure.url}`
      }`
    case 'rate_limited':
      return failure.retryAfterSeconds === undefined
        ? `${failure.detail}. Try again in a few minutes.`
        : `${failure.detail}. Try again in ${failure.retryAfterSeconds} seconds.`
    case 'redirected':
      return `${failure.detail}.`
    case 'transient':
      return `${failure.detail}. Try again in a moment.`
    case 'aborted':
      return 'Interrupted.'
  }
}

/** How GitHub's API is asked with this configuration. */
export function githubApi(
  context: CommandContext,
  settings: LoadedSettings,
  { apiBaseUrl, tokenOrigin }: Pick<LoginInUse, 'apiBaseUrl' | 'tokenOrigin'>,
): GithubApiDeps {
  const { fetch, now } = context
  return { fetch, now, apiBaseUrl, tokenOrigin, headers: settings.config.copilot.headers, timeoutMs: githubTimeoutMs }
}
