import { isLoopbackHost } from '../../config/loopback.ts'
import { describeRefusal, parseJsonOrForm, accessTokenReply, deviceCodeReply } from './wire.ts'
import { isShowableCode, pollDevice, type DevicePollDeps, type PollAnswer } from '../device-poll.ts'
import { describeWebPage, isHeaderSafe, sendRequest, type Reply, type RequestOutcome } from '../http-json.ts'
import { nameRequestId } from '../../upstream-errors/request-id.ts'

export interface DeviceFlowOptions {
  /** `https://github.com` or `https://SUB.ghe.com`, no slash at the end. */
  readonly githubBaseUrl: string
  readonly clientId: string
  /** Space separated. */
  readonly scope: string
}

/** What the person needs: the code to type, and where. `deviceCode` is ours and secret. */
export interface DeviceCode {
  readonly userCode: string
  readonly verificationUri: string
  readonly expiresAtMs: number
  readonly intervalSeconds: number
  readonly deviceCode: string
}

export type DeviceStart =
  | { readonly kind: 'started'; readonly code: DeviceCode }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

export type DevicePoll =
  | { readonly kind: 'authorized'; readonly githubToken: string }
  /** The person did not finish in time; a new start gives a new code. */
  | { readonly kind: 'expired' }
  /** The person pressed Cancel. */
  | { readonly kind: 'denied' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** RFC 8628 §3.2 and §3.5: poll no faster than this where the server names no interval, and add this on slow_down. */
const MIN_INTERVAL_SECONDS = 5
/** GitHub's own clients wait 1…3 s longer than the interval: a poll that comes too early costs a slow_down. */
const MARGIN_SECONDS = 1
/** For a reply without a lifetime: the lifetime that GitHub gives today. */
const DEFAULT_LIFETIME_SECONDS = 900

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const HEADERS = { accept: 'application/json', 'content-type': 'application/json' }

/** Asks for a code: POST /login/device/code. */
export async function startDeviceFlow(
  deps: DevicePollDeps,
  options: DeviceFlowOptions,
  signal: AbortSignal,
): Promise<DeviceStart> {
  const outcome = await post(deps, options, '/login/device/code', { scope: options.scope }, signal)
  if (outcome.kind === 'aborted') return outcome
  if (outcome.kind !== 'reply') return { kind: 'failed', detail: outcome.detail }
  const body = parseJsonOrForm(outcome.text)
  const reply = deviceCodeReply.safeParse(body)
  if (!reply.success) {
    const refusal = accessTokenReply.safeParse(body)
    const detail =
      refusal.success && refusal.data.error
        ? `GitHub gave no login code: ${describeRefusal(refusal.data)}`
        : (describeWebPage(outcome) ?? `GitHub gave no login code (status ${outcome.status})`)
    return { kind: 'failed', detail: `${detail}${requestIdOf(outcome)}` }
  }
  const { device_code, user_code, verification_uri, expires_in, interval } = reply.data
  if (!isOwnPage(verification_uri, options.githubBaseUrl)) {
    return { kind: 'failed', detail: 'The reply names a login page that is not GitHub’s; it was not opened' }
  }
  if (!isShowableCode(user_code)) return { kind: 'failed', detail: 'The login code cannot be shown' }
  return {
    kind: 'started',
    code: {
      userCode: user_code,
      verificationUri: verification_uri,
      expiresAtMs: deps.now() + (expires_in ?? DEFAULT_LIFETIME_SECONDS) * 1000,
      intervalSeconds: Math.max(MIN_INTERVAL_SECONDS, interval ?? 0),
      deviceCode: device_code,
    },
  }
}

/**
 * Waits until the person has decided or the code has expired. A lost network, a 5xx or a page of HTML is no answer:
 * polling goes on (handochan/aelix-ai#184). Aborting `signal` ends it at once, also during a wait.
 */
export async function pollForToken(
  deps: DevicePollDeps,
  options: DeviceFlowOptions,
  code: DeviceCode,
  signal: AbortSignal,
): Promise<DevicePoll> {
  const question = { device_code: code.deviceCode, grant_type: DEVICE_GRANT }
  const ask = async (intervalSeconds: number) =>
    readPoll(await post(deps, options, '/login/oauth/access_token', question, signal), intervalSeconds)
  const end = await pollDevice(deps, code, MARGIN_SECONDS, ask, signal)
  return typeof end === 'string' ? { kind: end } : end
}

function readPoll(outcome: RequestOutcome, intervalSeconds: number): PollAnswer<DevicePoll> {
  const done = (result: DevicePoll): PollAnswer<DevicePoll> => ({ kind: 'done', result })
  const pending = { kind: 'pending', intervalSeconds } as const
  if (outcome.kind === 'aborted') return done(outcome)
  if (outcome.kind === 'redirected') return done({ kind: 'failed', detail: outcome.detail })
  if (outcome.kind !== 'reply' || outcome.status >= 500) return pending
  const slower = { kind: 'pending', intervalSeconds: intervalSeconds + MIN_INTERVAL_SECONDS } as const
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
        : done({ kind: 'failed', detail: 'GitHub’s reply holds no usable token' })
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

/** For the end of a sentence; '' where the reply names none. */
function requestIdOf({ headers }: Reply): string {
  const id = nameRequestId((name) => headers.get(name))
  return id === undefined ? '' : ` (${id})`
}

function post(
  deps: DevicePollDeps,
  options: DeviceFlowOptions,
  path: string,
  body: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<RequestOutcome> {
  return sendRequest(
    deps,
    `${options.githubBaseUrl}${path}`,
    { method: 'POST', headers: HEADERS, body: JSON.stringify({ client_id: options.clientId, ...body }) },
    signal,
  )
}

/** RFC 8628 §5.4: a login page elsewhere would be phishing, so only the very host that was asked may name itself. */
function isOwnPage(verificationUri: string, githubBaseUrl: string): boolean {
  if (!URL.canParse(verificationUri) || /[@\\\s]/.test(verificationUri)) return false
  const page = new URL(verificationUri)
  const github = new URL(githubBaseUrl)
  return page.host === github.host && (page.protocol === 'https:' || isLoopbackHost(page.hostname))
}
