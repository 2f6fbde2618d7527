import { z } from 'zod'
import { authorizeInBrowser, type BrowserLoginDeps, type BrowserLoginFailure } from '../callback-listener.ts'
import {
  DEFAULT_INTERVAL_SECONDS,
  isShowableCode,
  pollDevice,
  type DeviceCode,
  type DevicePollDeps,
  type DeviceStart,
  type PollAnswer,
} from '../device-poll.ts'
import { isOk, sendRequest, type RequestOutcome } from '../http-json.ts'
import { describeIssuerPage, describeIssuerReply, redeemLogin, type LoginTokens } from './token-endpoint.ts'
import { parseJson } from '../../json/json.ts'

export interface CodexDeviceOptions {
  /** `https://auth.openai.com`, without a final slash. */
  readonly issuer: string
  readonly clientId: string
}

export type CodexDeviceStart =
  | DeviceStart
  /** The issuer, or the workspace, does not allow login with a code. */
  | { readonly kind: 'not_offered' }

interface Authorized {
  readonly kind: 'authorized'
  readonly tokens: LoginTokens
}

export type CodexDeviceOutcome =
  | Authorized
  /** The user did not finish in time. `detail`: the unusual reply to the last polls, '' if there was none. */
  | { readonly kind: 'expired'; readonly detail: string }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** The lifetime of every code. The reply does not state it (docs/codex-wire.md, "Login"). */
const LIFETIME_MS = 15 * 60_000

/** Reply to POST /api/accounts/deviceauth/usercode (docs/codex-wire.md, "Login"). The code has either name. */
const userCodeReply = z.looseObject({
  device_auth_id: z.string().min(1),
  user_code: z.string().nullish().catch(null),
  usercode: z.string().nullish().catch(null),
  /** Seconds between polls, as digits or a number. */
  interval: z.coerce.number().nullish().catch(null),
})

/** Reply to a poll after the user has agreed. The issuer made the PKCE pair and sends the verifier. */
const deviceGrant = z.looseObject({ authorization_code: z.string().min(1), code_verifier: z.string().min(1) })

/** Requests a code. */
export async function startCodexDeviceLogin(
  deps: DevicePollDeps,
  { issuer, clientId }: CodexDeviceOptions,
  signal: AbortSignal,
): Promise<CodexDeviceStart> {
  const url = `${issuer}/api/accounts/deviceauth/usercode`
  const outcome = await sendRequest(deps, url, { json: { client_id: clientId } }, signal)
  if (outcome.kind === 'aborted') return outcome
  if (outcome.kind !== 'reply') return { kind: 'failed', detail: outcome.detail }
  if (outcome.status === 404) return { kind: 'not_offered' }
  const reply = userCodeReply.safeParse(isOk(outcome) ? parseJson(outcome.text) : undefined)
  if (!reply.success) return { kind: 'failed', detail: describeIssuerReply(outcome) }
  const { device_auth_id: deviceCode, user_code, usercode, interval } = reply.data
  const userCode = user_code || usercode || ''
  if (!isShowableCode(userCode)) return { kind: 'failed', detail: 'The login code cannot be shown' }
  return {
    kind: 'started',
    code: {
      userCode,
      // Use the configured address and not the reply's: a page elsewhere would be phishing (RFC 8628 §5.4).
      verificationUri: `${issuer}/codex/device`,
      expiresAtMs: deps.now() + LIFETIME_MS,
      intervalSeconds: interval && interval >= 1 ? interval : DEFAULT_INTERVAL_SECONDS,
      deviceCode,
    },
  }
}

/**
 * Waits until the user has agreed or the code has expired, then redeems the code that the issuer returns. Polling
 * continues after a network error or a 5xx. Aborting `signal` ends the wait at once.
 */
export async function finishCodexDeviceLogin(
  deps: DevicePollDeps,
  options: CodexDeviceOptions,
  code: DeviceCode,
  signal: AbortSignal,
): Promise<CodexDeviceOutcome> {
  const { issuer } = options
  const url = `${issuer}/api/accounts/deviceauth/token`
  const json = { device_auth_id: code.deviceCode, user_code: code.userCode }
  let oddity = ''
  const ask = async (intervalSeconds: number): Promise<PollAnswer<Exclude<Poll, { kind: 'pending' }>>> => {
    const poll = readPoll(await sendRequest(deps, url, { json }, signal), code)
    if (poll.kind !== 'pending') return { kind: 'done', result: poll }
    oddity = poll.oddity
    return { kind: 'pending', intervalSeconds: intervalSeconds + (poll.slower ? DEFAULT_INTERVAL_SECONDS : 0) }
  }
  const end = await pollDevice(deps, code, 0, ask, signal)
  if (end.kind === 'expired') return { kind: 'expired', detail: oddity }
  if (end.kind !== 'granted') return end
  return redeemLogin(deps, options, { ...end, redirectUri: `${issuer}/deviceauth/callback` }, signal)
}

type Poll =
  | { readonly kind: 'pending'; readonly slower?: boolean; readonly oddity: string }
  | { readonly kind: 'granted'; readonly code: string; readonly verifier: string }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** Interprets the reply to a poll. 403 and 404 both mean "not yet" (docs/codex-wire.md, "Login"). */
function readPoll(outcome: RequestOutcome, { deviceCode, userCode }: DeviceCode): Poll {
  if (outcome.kind === 'aborted') return outcome
  // A redirect leads away from the issuer, and every later poll would be redirected too.
  if (outcome.kind === 'redirected') return { kind: 'failed', detail: outcome.detail }
  if (outcome.kind !== 'reply') return { kind: 'pending', oddity: outcome.detail }
  const { status } = outcome
  if (status === 403 || status === 404) return { kind: 'pending', oddity: describeIssuerPage(outcome) ?? '' }
  const grant = isOk(outcome) ? deviceGrant.safeParse(parseJson(outcome.text)).data : undefined
  if (grant !== undefined) return { kind: 'granted', code: grant.authorization_code, verifier: grant.code_verifier }
  const detail = describeIssuerReply(outcome, [deviceCode, userCode])
  return isOk(outcome) || status === 408 || status === 429 || status >= 500
    ? { kind: 'pending', slower: status === 429, oddity: detail }
    : { kind: 'failed', detail }
}

/** The issuer allows redirects to these two ports only (docs/codex-wire.md, "Login"). */
export const CODEX_REDIRECT_PORTS = [1455, 1457] as const

export interface CodexBrowserOptions extends CodexDeviceOptions {
  /** The name of this program. */
  readonly originator: string
  /** Tried in this order; `CODEX_REDIRECT_PORTS` for the real issuer. */
  readonly ports: readonly number[]
  /** Total time limit for the user. Ms. */
  readonly waitMs: number
}

export type CodexBrowserOutcome = Authorized | BrowserLoginFailure

/** ChatGPT login through a browser on this machine. Aborting `signal` closes the listener at once. */
export async function runCodexBrowserLogin(
  deps: BrowserLoginDeps,
  options: CodexBrowserOptions,
  signal: AbortSignal,
): Promise<CodexBrowserOutcome> {
  const { issuer, clientId, originator, ports, waitMs } = options
  const result = await authorizeInBrowser(
    deps,
    {
      authorizeUrl: `${issuer}/oauth/authorize`,
      clientId,
      // Scope and query: docs/codex-wire.md, "Login".
      scope: 'openid profile email offline_access',
      query: { id_token_add_organizations: 'true', codex_cli_simplified_flow: 'true', originator },
      verifierBytes: 64,
      ports,
      // As registered. The issuer refuses `127.0.0.1`.
      host: 'localhost',
      path: '/auth/callback',
      site: 'OpenAI',
      waitMs,
    },
    signal,
  )
  return result.kind === 'code' ? redeemLogin(deps, options, result, signal) : result
}
