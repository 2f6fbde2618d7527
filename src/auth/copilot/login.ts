import { z } from 'zod'
import { isLoopbackHost } from '../../config/loopback.ts'
import {
  authorizeInBrowser,
  type AuthorizationCode,
  type BrowserLoginDeps,
  type BrowserLoginFailure,
} from '../callback-listener.ts'
import {
  DEFAULT_INTERVAL_SECONDS,
  isShowableCode,
  pollDevice,
  type DeviceCode,
  type DevicePollDeps,
  type DeviceStart,
  type PollAnswer,
} from '../device-poll.ts'
import { isHeaderSafe, sendRequest, toPlainLine, type RequestOutcome } from '../http-json.ts'
import { describeGithubPage, requestIdOf } from './github-failure.ts'
import { parseJson } from '../../json/json.ts'

export interface DeviceFlowOptions {
  /** `https://github.com` or `https://SUB.ghe.com`, without a final slash. */
  readonly githubBaseUrl: string
  readonly clientId: string
  /** Space separated. */
  readonly scope: string
}

interface Authorized {
  readonly kind: 'authorized'
  readonly githubToken: string
}

export type DevicePoll =
  | Authorized
  /** The user did not finish in time. A new attempt gets a new code. */
  | { readonly kind: 'expired' }
  /** The user pressed Cancel. */
  | { readonly kind: 'denied' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** GitHub's own clients wait 1…3 s longer than the interval, because a poll that comes too early causes a slow_down. */
const MARGIN_SECONDS = 1
/** GitHub's current lifetime of a code, for a reply that states none. */
const DEFAULT_LIFETIME_SECONDS = 900

/**
 * Reply to POST /login/device/code. Source: "Authorizing OAuth apps", device flow (docs.github.com, 2026-11);
 * test/fixtures/auth/device-code.json. Numbers are coerced because a form-encoded reply has digits.
 */
const deviceCodeReply = z.looseObject({
  device_code: z.string().min(1),
  user_code: z.string().min(1),
  verification_uri: z.string().min(1),
  /** Seconds; 899 or 900 today. */
  expires_in: z.coerce.number().positive().nullish().catch(null),
  /** Seconds between polls. */
  interval: z.coerce.number().nullish().catch(null),
})

/** Reply to POST /login/oauth/access_token. GitHub answers both success and errors with 200. */
const accessTokenReply = z.looseObject({
  access_token: z.string().nullish(),
  error: z.string().nullish(),
  error_description: z.string().nullish(),
  /** Seconds; comes with `slow_down`. */
  interval: z.coerce.number().nullish().catch(null),
})

/** Requests a code: POST /login/device/code. */
export async function startDeviceFlow(
  deps: DevicePollDeps,
  { githubBaseUrl, clientId, scope }: DeviceFlowOptions,
  signal: AbortSignal,
): Promise<DeviceStart> {
  const json = { client_id: clientId, scope }
  const outcome = await sendRequest(deps, `${githubBaseUrl}/login/device/code`, { json }, signal)
  if (outcome.kind === 'aborted') return outcome
  if (outcome.kind !== 'reply') return { kind: 'failed', detail: outcome.detail }
  const body = parseJsonOrForm(outcome.text)
  const reply = deviceCodeReply.safeParse(body)
  if (!reply.success) {
    const refusal = accessTokenReply.safeParse(body)
    const detail = refusal.data?.error
      ? `GitHub gave no login code: ${describeRefusal(refusal.data)}`
      : (describeGithubPage(outcome) ?? `GitHub gave no login code (status ${outcome.status})`)
    return { kind: 'failed', detail: `${detail}${requestIdOf(outcome)}` }
  }
  const { device_code, user_code, verification_uri, expires_in, interval } = reply.data
  if (!isOwnPage(verification_uri, githubBaseUrl)) {
    return { kind: 'failed', detail: 'The reply names a login page that is not GitHub’s; it was not opened' }
  }
  if (!isShowableCode(user_code)) return { kind: 'failed', detail: 'The login code cannot be shown' }
  return {
    kind: 'started',
    code: {
      userCode: user_code,
      verificationUri: verification_uri,
      expiresAtMs: deps.now() + (expires_in ?? DEFAULT_LIFETIME_SECONDS) * 1000,
      intervalSeconds: Math.max(DEFAULT_INTERVAL_SECONDS, interval ?? 0),
      deviceCode: device_code,
    },
  }
}

/**
 * Waits until the user has decided or the code has expired. Polling continues after a network error, a 5xx or an HTML
 * page (handochan/aelix-ai#184). Aborting `signal` ends the wait at once.
 */
export async function pollForToken(
  deps: DevicePollDeps,
  { githubBaseUrl, clientId }: DeviceFlowOptions,
  code: DeviceCode,
  signal: AbortSignal,
): Promise<DevicePoll> {
  const url = `${githubBaseUrl}/login/oauth/access_token`
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const json = { client_id: clientId, device_code: code.deviceCode, grant_type }
  const ask = async (intervalSeconds: number) =>
    readPoll(await sendRequest(deps, url, { json }, signal), intervalSeconds)
  return pollDevice(deps, code, MARGIN_SECONDS, ask, signal)
}

function readPoll(outcome: RequestOutcome, intervalSeconds: number): PollAnswer<DevicePoll> {
  const done = (result: DevicePoll): PollAnswer<DevicePoll> => ({ kind: 'done', result })
  const pending = { kind: 'pending', intervalSeconds } as const
  if (outcome.kind === 'aborted') return done(outcome)
  if (outcome.kind === 'redirected') return done({ kind: 'failed', detail: outcome.detail })
  if (outcome.kind !== 'reply' || outcome.status >= 500) return pending
  const slower = { kind: 'pending', intervalSeconds: intervalSeconds + DEFAULT_INTERVAL_SECONDS } as const
  if (outcome.status === 429) return slower
  const reply = accessTokenReply.safeParse(parseJsonOrForm(outcome.text))
  if (!reply.success) return pending
  const { access_token, error, interval } = reply.data
  switch (error) {
    case null:
    case undefined:
    case '':
      if (!access_token) return pending
      return isHeaderSafe(access_token)
        ? done({ kind: 'authorized', githubToken: access_token })
        : done({ kind: 'failed', detail: 'GitHub’s reply has no usable token' })
    case 'authorization_pending':
      return pending
    case 'slow_down':
      return interval && interval > slower.intervalSeconds ? { kind: 'pending', intervalSeconds: interval } : slower
    case 'expired_token':
      return done({ kind: 'expired' })
    case 'access_denied':
      return done({ kind: 'denied' })
    // incorrect_client_credentials, incorrect_device_code, unsupported_grant_type, device_flow_disabled and new ones
    default:
      return done({ kind: 'failed', detail: `${describeRefusal(reply.data)}${requestIdOf(outcome)}` })
  }
}

/** RFC 8628 §5.4: a login page elsewhere would be phishing, so the page must be on the host that was asked. */
function isOwnPage(verificationUri: string, githubBaseUrl: string): boolean {
  if (!URL.canParse(verificationUri) || /[@\\\s]/.test(verificationUri)) return false
  const page = new URL(verificationUri)
  const github = new URL(githubBaseUrl)
  return page.host === github.host && (page.protocol === 'https:' || isLoopbackHost(page.hostname))
}

export interface WebFlowOptions {
  readonly authUrl: string
  readonly tokenUrl: string
  readonly clientId: string
  /** Space separated. */
  readonly scope: string
  /** Port on 127.0.0.1 that the browser returns to; 0 selects a free one. */
  readonly redirectPort: number
  /** Total time limit for the user. Ms. */
  readonly waitMs: number
}

export type WebFlowOutcome = Authorized | BrowserLoginFailure

/** Login through a browser on this machine. Aborting `signal` closes the listener at once. */
export async function runWebFlow(
  deps: BrowserLoginDeps,
  options: WebFlowOptions,
  signal: AbortSignal,
): Promise<WebFlowOutcome> {
  const { authUrl, clientId, scope, redirectPort, waitMs } = options
  const result = await authorizeInBrowser(
    deps,
    {
      authorizeUrl: authUrl,
      clientId,
      scope,
      verifierBytes: 32,
      ports: [redirectPort],
      host: '127.0.0.1',
      // Registered with the OAuth app.
      path: '/callback',
      site: 'GitHub',
      waitMs,
    },
    signal,
  )
  return result.kind === 'code' ? redeemCode(deps, options, result, signal) : result
}

async function redeemCode(
  deps: BrowserLoginDeps,
  { tokenUrl, clientId }: WebFlowOptions,
  { code, verifier, redirectUri }: AuthorizationCode,
  signal: AbortSignal,
): Promise<WebFlowOutcome> {
  const form = {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  }
  const outcome = await sendRequest(deps, tokenUrl, { form }, signal)
  if (outcome.kind === 'aborted') return outcome
  if (outcome.kind !== 'reply') return { kind: 'failed', detail: outcome.detail }
  const { data: reply } = accessTokenReply.safeParse(parseJsonOrForm(outcome.text))
  if (reply?.error) return { kind: 'failed', detail: describeRefusal(reply) }
  if (reply?.access_token && isHeaderSafe(reply.access_token)) {
    return { kind: 'authorized', githubToken: reply.access_token }
  }
  const detail = describeGithubPage(outcome) ?? `The token endpoint answered ${outcome.status} without a usable token`
  return { kind: 'failed', detail }
}

/**
 * Parses an OAuth reply: JSON, or the form encoding that GitHub uses if something on the way removes the Accept header.
 */
function parseJsonOrForm(text: string): unknown {
  return parseJson(text) ?? Object.fromEntries(new URLSearchParams(text))
}

/** The error's own description, otherwise its code. */
function describeRefusal({ error, error_description }: z.infer<typeof accessTokenReply>): string {
  return toPlainLine(error_description || error || 'no reason given')
}
