import { z } from 'zod'
import { isShowableCode, pollDevice, type DevicePollDeps, type PollAnswer } from '../device-poll.ts'
import { parseJson, sendRequest, type Reply, type RequestOutcome } from '../http-json.ts'
import { describeIssuerPage, describeIssuerReply } from './issuer-reply.ts'
import { redeemLogin, type LoginTokens } from './token-endpoint.ts'

export interface CodexDeviceOptions {
  /** `https://auth.openai.com`, no slash at the end. */
  readonly issuer: string
  readonly clientId: string
}

/** What the person needs: the code to type, and where. `deviceAuthId` is ours and secret. */
export interface CodexDeviceCode {
  readonly userCode: string
  readonly verificationUri: string
  readonly expiresAtMs: number
  readonly intervalSeconds: number
  readonly deviceAuthId: string
}

export type CodexDeviceStart =
  | { readonly kind: 'started'; readonly code: CodexDeviceCode }
  /** The issuer, or the workspace, has no login with a code. */
  | { readonly kind: 'not_offered' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

export type CodexDeviceOutcome =
  | { readonly kind: 'authorized'; readonly tokens: LoginTokens }
  /** The person did not finish in time. `detail`: the unusual reply to the last polls; '' if there was none. */
  | { readonly kind: 'expired'; readonly detail: string }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** The lifetime of every code; the reply names none (docs/codex-wire.md, "Login"). */
const LIFETIME_MS = 15 * 60_000
/** The default interval, and what a 429 adds. */
const DEFAULT_INTERVAL_SECONDS = 5

/** Reply to POST /api/accounts/deviceauth/usercode (docs/codex-wire.md, "Login"). Both names of the code occur. */
const userCodeReply = z.looseObject({
  device_auth_id: z.string().min(1),
  user_code: z.string().nullish().catch(null),
  usercode: z.string().nullish().catch(null),
  /** Seconds between polls; digits or a number. */
  interval: z.coerce.number().nullish().catch(null),
})

/** Reply to a poll once the person has agreed: the issuer made the PKCE pair, and hands over its half. */
const deviceGrant = z.looseObject({ authorization_code: z.string().min(1), code_verifier: z.string().min(1) })

/** Asks for a code. */
export async function startCodexDeviceLogin(
  deps: DevicePollDeps,
  options: CodexDeviceOptions,
  signal: AbortSignal,
): Promise<CodexDeviceStart> {
  const { issuer, clientId } = options
  const outcome = await post(deps, `${issuer}/api/accounts/deviceauth/usercode`, { client_id: clientId }, signal)
  if (outcome.kind === 'aborted') return outcome
  if (outcome.kind !== 'reply') return { kind: 'failed', detail: outcome.detail }
  if (outcome.status === 404) return { kind: 'not_offered' }
  const reply = userCodeReply.safeParse(isOk(outcome) ? parseJson(outcome.text) : undefined)
  if (!reply.success) return { kind: 'failed', detail: describeIssuerReply(outcome) }
  const { device_auth_id: deviceAuthId, user_code, usercode, interval } = reply.data
  const userCode = user_code || usercode || ''
  if (!isShowableCode(userCode)) return { kind: 'failed', detail: 'The login code cannot be shown' }
  return {
    kind: 'started',
    code: {
      userCode,
      // Ours, not the reply's: a page elsewhere would be phishing (RFC 8628 §5.4).
      verificationUri: `${issuer}/codex/device`,
      expiresAtMs: deps.now() + LIFETIME_MS,
      intervalSeconds: interval && interval >= 1 ? interval : DEFAULT_INTERVAL_SECONDS,
      deviceAuthId,
    },
  }
}

/**
 * Waits until the person has agreed or the code has expired, then redeems what the issuer gives. A lost network or a
 * 5xx is no answer: polling goes on. Aborting `signal` ends it at once, also during a wait.
 */
export async function finishCodexDeviceLogin(
  deps: DevicePollDeps,
  options: CodexDeviceOptions,
  code: CodexDeviceCode,
  signal: AbortSignal,
): Promise<CodexDeviceOutcome> {
  const { issuer } = options
  const question = { device_auth_id: code.deviceAuthId, user_code: code.userCode }
  let oddity = ''
  const ask = async (intervalSeconds: number): Promise<PollAnswer<Exclude<Poll, { kind: 'pending' }>>> => {
    const poll = readPoll(await post(deps, `${issuer}/api/accounts/deviceauth/token`, question, signal), code)
    if (poll.kind !== 'pending') return { kind: 'done', result: poll }
    oddity = poll.oddity
    return { kind: 'pending', intervalSeconds: intervalSeconds + (poll.slower ? DEFAULT_INTERVAL_SECONDS : 0) }
  }
  const end = await pollDevice(deps, code, 0, ask, signal)
  if (end === 'expired') return { kind: 'expired', detail: oddity }
  if (end === 'aborted') return { kind: 'aborted' }
  if (end.kind !== 'granted') return end
  const redirectUri = `${issuer}/deviceauth/callback`
  return redeemLogin(deps, { ...options, code: end.code, verifier: end.verifier, redirectUri }, signal)
}

type Poll =
  | { readonly kind: 'pending'; readonly slower: boolean; readonly oddity: string }
  | { readonly kind: 'granted'; readonly code: string; readonly verifier: string }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** One poll's meaning. 403 and 404 both stand for "not yet" (docs/codex-wire.md, "Login"). */
function readPoll(outcome: RequestOutcome, { deviceAuthId, userCode }: CodexDeviceCode): Poll {
  if (outcome.kind === 'aborted') return outcome
  // A redirect leads away from the issuer, and every later poll would get it too.
  if (outcome.kind === 'redirected') return { kind: 'failed', detail: outcome.detail }
  if (outcome.kind !== 'reply') return { kind: 'pending', slower: false, oddity: outcome.detail }
  const { status } = outcome
  const secrets = [deviceAuthId, userCode]
  if (isOk(outcome)) {
    const grant = deviceGrant.safeParse(parseJson(outcome.text))
    return grant.success
      ? { kind: 'granted', code: grant.data.authorization_code, verifier: grant.data.code_verifier }
      : { kind: 'pending', slower: false, oddity: describeIssuerReply(outcome, secrets) }
  }
  if (status === 403 || status === 404) return { kind: 'pending', slower: false, oddity: describeIssuerPage(outcome) }
  if (status === 408 || status === 429 || status >= 500) {
    return { kind: 'pending', slower: status === 429, oddity: describeIssuerReply(outcome, secrets) }
  }
  return { kind: 'failed', detail: describeIssuerReply(outcome, secrets) }
}

function isOk({ status }: Reply): boolean {
  return status >= 200 && status < 300
}

function post(
  deps: DevicePollDeps,
  url: string,
  body: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<RequestOutcome> {
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  return sendRequest(deps, url, { method: 'POST', headers, body: JSON.stringify(body) }, signal)
}
