import { describeWebPage, toPlainLine, type Reply, type RequestOutcome } from '../http-json.ts'
import { explainNotification } from './notifications.ts'
import { toRetrySeconds } from '../../errors.ts'
import { nameRequestId } from '../../upstream-errors/message.ts'
import { githubErrorBody, type GithubErrorBody } from './wire.ts'
import { parseJson } from '../../json/json.ts'

/** Why a call with a GitHub token failed. `detail` is a plain sentence without credentials. */
export type GithubFailure =
  /** 401, or a token that cannot be sent. The token is invalid or revoked; only a new login or another token helps. */
  | { readonly kind: 'bad_credentials'; readonly detail: string; readonly fix: string }
  /** 403: the account or the kind of token may not use Copilot. */
  | {
      readonly kind: 'no_access'
      readonly detail: string
      readonly fix: string
      /** The page that GitHub suggests, if neither `detail` nor `fix` names it. */
      readonly url?: string
    }
  | { readonly kind: 'rate_limited'; readonly detail: string; readonly retryAfterSeconds?: number }
  /** 404: this kind of token has no such endpoint, or the account lives on another host. */
  | { readonly kind: 'not_available'; readonly detail: string; readonly fix: string }
  /** A network error, the time limit, a 5xx, or a reply that is not GitHub's. A later attempt may succeed. */
  | { readonly kind: 'transient'; readonly detail: string; readonly timedOut: boolean }
  | { readonly kind: 'redirected'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** A GitHub failure and its remedy, in sentences. */
export function describeFailure(failure: GithubFailure): string {
  switch (failure.kind) {
    case 'bad_credentials':
    case 'not_available':
      return `${failure.detail}. ${failure.fix}`
    case 'no_access': {
      const page = failure.url === undefined ? '' : `\nGitHub's page about it: ${failure.url}`
      return `${failure.detail}\n${failure.fix}.${page}`
    }
    case 'rate_limited': {
      const { retryAfterSeconds: seconds } = failure
      return `${failure.detail}. Try again in ${seconds === undefined ? 'a few minutes' : `${seconds} seconds`}.`
    }
    case 'redirected':
      return `${failure.detail}.`
    case 'transient':
      return `${failure.detail}. Try again in a moment.`
    case 'aborted':
      return 'Interrupted.'
  }
}

/** Longer waits are shortened to this. Seconds. */
const MAX_RETRY_AFTER_SECONDS = 3600

const TOKEN_KIND_FIX = 'Log in with a code, which creates the right kind of token: copilot-proxy login'

/** How to use a classic personal access token; fine-grained ones work (docs/copilot-wire.md, "Without exchange"). */
export const personalTokenFailure = {
  kind: 'no_access',
  detail: 'A classic personal access token (ghp_…) cannot be used for Copilot.',
  fix: TOKEN_KIND_FIX,
} as const

/** The token of a call, and its origin. */
export interface GithubCall {
  /** Redacted in upstream's text. */
  readonly githubToken: string
  readonly tokenOrigin: TokenOrigin
  /** Since epoch. Needed for `retry-after` dates. */
  readonly nowMs: number
}

/** Turns any outcome but a usable 2xx into a failure. */
export function toGithubFailure(outcome: RequestOutcome, call: GithubCall): GithubFailure {
  switch (outcome.kind) {
    case 'aborted':
    case 'redirected':
      return outcome
    case 'timed_out':
    case 'unreachable':
      return { kind: 'transient', detail: outcome.detail, timedOut: outcome.kind === 'timed_out' }
    case 'reply':
      return toStatusFailure(outcome, call)
  }
}

/** A reply with a 2xx status that does not have the API's form. */
export function toUnusableReply(reply: Reply, what: string): GithubFailure {
  const detail = `${describeGithubPage(reply) ?? what}${requestIdOf(reply)}`
  return { kind: 'transient', detail, timedOut: false }
}

/**
 * States that a web page came instead of GitHub’s answer; undefined for any other reply, and for GitHub’s own pages.
 */
export function describeGithubPage(reply: Reply): string | undefined {
  return isFromGithub(reply) ? undefined : describeWebPage(reply, 'GitHub’s')
}

/** GitHub puts `x-github-request-id` on every reply. GitHub's own language server checks for it in the same way. */
function isFromGithub({ headers }: Reply): boolean {
  return headers.has('x-github-request-id')
}

/** GitHub's request id, for the end of a sentence; '' if the reply has none. */
export function requestIdOf({ headers }: Reply): string {
  const id = nameRequestId((name) => headers.get(name))
  return id === undefined ? '' : ` (${id})`
}

function toStatusFailure(reply: Reply, { githubToken, tokenOrigin, nowMs }: GithubCall): GithubFailure {
  const { name, fix } = originWords[tokenOrigin]
  const parsed = githubErrorBody.safeParse(parseJson(reply.text))
  const body: GithubErrorBody = parsed.success ? parsed.data : {}
  const words = withoutPlaceholders(toPlainLine(body.error_details?.message ?? body.message ?? '', [githubToken]))
  const said = words === '' ? '' : `: ${words}`

  const id = requestIdOf(reply)

  // 403 has three meanings; GitHub's client distinguishes them by the wording (copilot_internal, 2026-03).
  if (reply.status === 429 || (reply.status === 403 && /rate limit/i.test(body.message ?? ''))) {
    const retryAfterSeconds = retryAfterSecondsOf(reply.headers, nowMs)
    const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
    return { kind: 'rate_limited', detail: `GitHub asks to slow down${said}${id}`, ...wait }
  }
  // Something between here and GitHub sent a 401, 403 or 404 that is not JSON, so it says nothing about the account.
  if (parsed.success && reply.status === 401) {
    return { kind: 'bad_credentials', detail: `GitHub does not accept ${name}${said}${id}`, fix }
  }
  if (parsed.success && reply.status === 403) {
    const failure = toNoAccess(body, words)
    return { ...failure, detail: `${failure.detail}${id}` }
  }
  if (parsed.success && reply.status === 404) {
    const detail =
      'GitHub has no Copilot endpoint for this login: the token is of the wrong kind, or the account is on another host (GHE.com)'
    return { kind: 'not_available', detail: `${detail}${id}`, fix }
  }
  const stranger = isFromGithub(reply)
    ? ''
    : ' (the reply does not look like GitHub’s own: a proxy or firewall may have answered)'
  return toUnusableReply(reply, `GitHub answered ${reply.status}${said}${stranger}`)
}

function toNoAccess(body: GithubErrorBody, words: string): Extract<GithubFailure, { kind: 'no_access' }> {
  const explained = explainNotification(body.error_details?.notification_id ?? '')
  const personalToken = /personal access token/i.test(body.message ?? '')
  const detail =
    explained?.message ??
    (personalToken
      ? 'A personal access token cannot be used for Copilot.'
      : `GitHub refused Copilot for this account${words === '' ? '' : `: ${words}`}`)
  const fix = explained?.fix ?? (personalToken ? TOKEN_KIND_FIX : 'See https://github.com/settings/copilot')
  const url = withoutPlaceholders(toPlainLine(body.error_details?.url ?? ''))
  const isNews = url.startsWith('https://') && !urlsIn(`${detail} ${fix}`).includes(toComparable(url))
  return { kind: 'no_access', detail, fix, ...(isNews && { url }) }
}

/** Removes query parameters that an editor should fill in, as in `https://support.github.com?editor={EDITOR}`. */
function withoutPlaceholders(text: string): string {
  const pairs = /([?&])[\w.-]+=\{[^}\s]*\}(?:&[\w.-]+=\{[^}\s]*\})*(&?)/g
  return text.replaceAll(pairs, (_, before: string, after: string) => (after === '' ? '' : before))
}

function urlsIn(text: string): readonly string[] {
  return (text.match(/https:\/\/[^\s,;()]+/g) ?? []).map(toComparable)
}

function toComparable(url: string): string {
  return url.replace(/[./:]+$/, '').toLowerCase()
}

/** Reads `retry-after` in seconds or as a date, otherwise `x-ratelimit-reset` (seconds since epoch). */
export function retryAfterSecondsOf(headers: Headers, nowMs: number): number | undefined {
  const retryAfter = headers.get('retry-after')
  const reset = headers.get('x-ratelimit-reset')
  let seconds = Number.NaN
  if (retryAfter !== null) {
    seconds = toRetrySeconds(retryAfter, nowMs)
  } else if (reset !== null) {
    seconds = Number(reset) - nowMs / 1000
  }
  return Number.isFinite(seconds) ? Math.min(Math.max(1, Math.ceil(seconds)), MAX_RETRY_AFTER_SECONDS) : undefined
}

/**
 * The origin of a GitHub token: a stored record, the environment, or the user just now (`--token-stdin`, a login that
 * has just finished).
 */
export type TokenOrigin = 'record' | 'environment' | 'given'

/** The texts about a token that does not work, by its origin. */
interface OriginWords {
  /** As in "GitHub does not accept …". */
  readonly name: string
  /** A sentence without its period. */
  readonly unusable: string
  readonly fix: string
}

export const loginFix = 'Run: copilot-proxy login'

export const originWords: Readonly<Record<TokenOrigin, OriginWords>> = {
  record: { name: 'the stored login', unusable: 'The stored login has no usable token', fix: loginFix },
  environment: {
    name: 'the token in COPILOT_GITHUB_TOKEN',
    unusable: 'COPILOT_GITHUB_TOKEN is not a valid token: tokens have no spaces, line breaks or accented letters',
    fix: 'Set COPILOT_GITHUB_TOKEN to a valid token',
  },
  given: {
    name: 'this token',
    unusable: 'This is not a valid token: tokens have no spaces, line breaks or accented letters',
    fix: 'Log in with a code instead: copilot-proxy login',
  },
}
