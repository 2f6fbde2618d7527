import type { GithubApiDeps } from '../auth/copilot-exchange.ts'
import type { GithubFailure } from '../auth/github-failure.ts'
import { findLoginInUse } from '../auth/login-in-use.ts'
import type { LoginInUse } from '../auth/login-in-use.ts'
import { createRecordStore } from '../auth/record-store.ts'
import type { RecordStore } from '../auth/record-store.ts'
import type { Logger } from '../log.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { LoadedSettings } from './settings.ts'

/** For one exchange with GitHub, headers and body. Ms. */
export const githubTimeoutMs = 30_000

export const loginAdvice = 'Nobody is logged in. Log in first: copilot-proxy login'

const stayQuiet = (): void => {}

/** What the parts tell while a command runs: troubles on stderr, for a person; everything else stays quiet. */
export function troubleLog(context: CommandContext): Logger {
  const tell = (first: string | Readonly<Record<string, unknown>>, message?: string): void => {
    context.stderr.write(`Note: ${typeof first === 'string' ? first : message}\n`)
  }
  return { debug: stayQuiet, info: stayQuiet, warn: tell, error: tell }
}

export function openRecords(context: CommandContext, settings: Pick<LoadedSettings, 'authDir'>): RecordStore {
  return createRecordStore({ dir: settings.authDir, log: troubleLog(context) })
}

/** `COPILOT_GITHUB_TOKEN` where it is set. */
export function tokenOfEnvironment(context: CommandContext): string | undefined {
  return context.env['COPILOT_GITHUB_TOKEN']?.trim() || undefined
}

/**
 * The environment's token, else the newest record; undefined when nobody is logged in.
 * @throws RecordStoreError when there are records and none can be read
 */
export async function findLogin(context: CommandContext, settings: LoadedSettings): Promise<LoginInUse | undefined> {
  return findLoginInUse({
    store: openRecords(context, settings),
    githubToken: tokenOfEnvironment(context),
    githubApiBaseUrl: settings.config.copilotOauth.githubApiBaseUrl,
  })
}

/** @throws CommandFailure `notLoggedIn` */
export async function requireLogin(context: CommandContext, settings: LoadedSettings): Promise<LoginInUse> {
  const login = await findLogin(context, settings)
  if (login === undefined) throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  return login
}

/** Why GitHub did not answer as it should, and what helps: sentences for a person. */
export function describeFailure(failure: GithubFailure): string {
  switch (failure.kind) {
    case 'bad_credentials':
      return `${failure.detail}. Log in again: copilot-proxy login`
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
    case 'not_available':
    case 'redirected':
      return `${failure.detail}.`
    case 'transient':
      return `${failure.detail}. Try again in a moment.`
    case 'aborted':
      return 'Interrupted.'
  }
}

/** How GitHub's API is asked with this configuration. */
export function githubApi(context: CommandContext, settings: LoadedSettings, apiBaseUrl: string): GithubApiDeps {
  const { fetch, now } = context
  return { fetch, now, apiBaseUrl, headers: settings.config.copilot.headers, timeoutMs: githubTimeoutMs }
}

/** @throws CommandFailure `usage` for a provider that this version does not serve */
export function requireCopilot(provider: string): void {
  if (provider === 'copilot') return
  throw new CommandFailure(
    exitCode.usage,
    `This version of copilot-proxy does not support ${provider} yet; copilot is what it can log in to.`,
  )
}
