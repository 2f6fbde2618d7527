import type { GithubApiDeps } from '../auth/copilot-exchange.ts'
import { copilotRecordKind } from '../auth/copilot-record-kind.ts'
import type { GithubFailure } from '../auth/github-failure.ts'
import { findLoginInUse } from '../auth/login-in-use.ts'
import type { LoginInUse } from '../auth/login-in-use.ts'
import { RecordStoreError } from '../auth/record-fs.ts'
import { createRecordStore } from '../auth/record-store.ts'
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

export function openRecords(
  context: CommandContext,
  settings: Pick<LoadedSettings, 'authDir'>,
): RecordStore<CopilotRecord> {
  return createRecordStore({ kind: copilotRecordKind, dir: settings.authDir, log: troubleLog(context) })
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
export function findLogin(context: CommandContext, settings: LoadedSettings): Promise<LoginInUse | undefined> {
  return tellingTroubles(context, (log) =>
    findLoginInUse({
      store: createRecordStore({ kind: copilotRecordKind, dir: settings.authDir, log }),
      githubToken: tokenOfEnvironment(context),
      githubApiBaseUrl: settings.config.copilotOauth.githubApiBaseUrl,
    }),
  )
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
