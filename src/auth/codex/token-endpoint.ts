import { z } from 'zod'
import { redactText } from '../../redaction/redact.ts'
import { nameRequestId } from '../../upstream-errors/message.ts'
import type { AuthorizationCode } from '../callback-listener.ts'
import {
  describeWebPage,
  isHeaderSafe,
  isOk,
  sendRequest,
  toPlainLine,
  type Reply,
  type RequestDeps,
} from '../http-json.ts'
import { parseJson } from '../../json/json.ts'

export interface LoginTokens {
  /** A JWT that can be sent in a header. */
  readonly accessToken: string
  /** Opaque and single use. */
  readonly refreshToken: string
  readonly idToken?: string
  /** Lifetime from now. */
  readonly expiresInSeconds?: number
}

/** The tokens of a renewal. At least one is present; absent ones do not change (docs/codex-wire.md, "Login"). */
export type RenewedTokens = Partial<LoginTokens>

interface Issuer {
  /** `codex.issuer`, without a final slash. */
  readonly issuer: string
  readonly clientId: string
}

export type RedeemedLogin =
  | { readonly kind: 'authorized'; readonly tokens: LoginTokens }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/**
 * Redeems an authorization code for tokens: the last step of both kinds of login. Sends one request, because a code
 * that was sent once may be spent.
 */
export async function redeemLogin(
  deps: RequestDeps,
  { issuer, clientId }: Issuer,
  { code, verifier, redirectUri }: AuthorizationCode,
  signal: AbortSignal,
): Promise<RedeemedLogin> {
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
    code_verifier: verifier,
  }
  const outcome = await sendRequest(deps, `${issuer}/oauth/token`, { form }, signal)
  if (outcome.kind === 'aborted') return outcome
  if (outcome.kind !== 'reply') return { kind: 'failed', detail: outcome.detail }
  const tokens = isOk(outcome) ? readTokens(outcome) : undefined
  const { accessToken, refreshToken } = tokens ?? {}
  if (accessToken !== undefined && refreshToken !== undefined) {
    return { kind: 'authorized', tokens: { ...tokens, accessToken, refreshToken } }
  }
  if (isOk(outcome) || describeWebPage(outcome, '') !== undefined) {
    return { kind: 'failed', detail: describeUnusable(outcome) }
  }
  const { status } = outcome
  const what =
    status >= 500 || status === 408 || status === 429
      ? `The login server answered ${status}`
      : 'OpenAI did not accept this login'
  return { kind: 'failed', detail: what + suffix(readFailure(outcome, [code, verifier]).words) }
}

/** The outcome of a renewal. `detail` is a sentence without its period; it holds no credential. */
export type RenewalOutcome =
  | { readonly kind: 'ok'; readonly tokens: RenewedTokens }
  /** The request can never succeed; only a new login helps. */
  | { readonly kind: 'permanent'; readonly detail: string }
  /** A network error, the time limit, a 5xx, or a reply that is not the login server's. A later attempt may succeed. */
  | {
      readonly kind: 'transient'
      readonly detail: string
      readonly retryAfterSeconds?: number
      /** The server may have redeemed the token, because the request was sent and no answer refused it. */
      readonly inDoubt: boolean
    }
  /** The signal was aborted. */
  | { readonly kind: 'aborted' }

/**
 * Redeems a refresh token, which is single use. After `ok` it is spent. After `aborted`, or a `transient` with doubt,
 * it may be spent. Sends one request and never repeats it.
 */
export async function refreshTokens(
  deps: RequestDeps,
  { issuer, clientId, refreshToken }: Issuer & { readonly refreshToken: string },
  signal: AbortSignal,
): Promise<RenewalOutcome> {
  const json = { client_id: clientId, grant_type: 'refresh_token', refresh_token: refreshToken }
  const outcome = await sendRequest(deps, `${issuer}/oauth/token`, { json }, signal)
  switch (outcome.kind) {
    case 'aborted':
      return outcome
    case 'redirected':
      return { kind: 'transient', detail: outcome.detail, inDoubt: false }
    case 'timed_out':
      return { kind: 'transient', detail: outcome.detail, inDoubt: true }
    case 'unreachable':
      return { kind: 'transient', detail: outcome.detail, inDoubt: outcome.unsent !== true }
    case 'reply':
      return readRenewal(outcome, refreshToken)
  }
}

function readRenewal(reply: Reply, refreshToken: string): RenewalOutcome {
  const { status, headers } = reply
  const tokens = isOk(reply) ? readTokens(reply) : undefined
  if (tokens !== undefined) return { kind: 'ok', tokens }
  // Gateways answer 5xx if they lost the server's answer. A server that did nothing answers 503.
  const inDoubt = status < 300 || status === 408 || (status >= 500 && status !== 503)
  // Something between here and the login server sent this page, so it says nothing about the login.
  if (isOk(reply) || describeWebPage(reply, '') !== undefined) {
    return { kind: 'transient', detail: describeUnusable(reply), inDoubt }
  }
  const { code, words } = readFailure(reply, [refreshToken])
  const known = Object.hasOwn(finalCodes, code) ? finalCodes[code] : undefined
  if (known !== undefined) return { kind: 'permanent', detail: known }
  if (status === 401) {
    return { kind: 'permanent', detail: `OpenAI no longer accepts the ChatGPT login${suffix(words)}` }
  }
  const retryAfter = Number(headers.get('retry-after') ?? '')
  return {
    kind: 'transient',
    detail: `The login server answered ${status}${suffix(words)}`,
    inDoubt,
    ...(retryAfter > 0 && retryAfter < Infinity && { retryAfterSeconds: Math.min(retryAfter, 3600) }),
  }
}

/** Error codes that end a login, and their meanings. */
const finalCodes: Readonly<Record<string, string>> = {
  refresh_token_expired: 'The ChatGPT login has expired',
  refresh_token_reused: 'The ChatGPT login has ended: its refresh token had been used before',
  refresh_token_invalidated: 'The ChatGPT login was revoked',
  invalid_grant: 'The ChatGPT login is no longer valid',
}

const lenientText = z.string().min(1).nullish().catch(null)

/** Reply to POST /oauth/token. The reply to a renewal may lack even the access token. */
const tokenReply = z.looseObject({
  access_token: lenientText,
  refresh_token: lenientText,
  id_token: lenientText,
  expires_in: z.coerce.number().positive().nullish().catch(null),
})

/**
 * Undefined if the reply has no token. A refresh token is kept even if the rest is invalid, because there is no other
 * copy.
 */
function readTokens(reply: Reply): RenewedTokens | undefined {
  const { data } = tokenReply.safeParse(parseJson(reply.text))
  if (data === undefined) return undefined
  const { access_token: access, refresh_token: refresh, id_token: id, expires_in: expiresIn } = data
  const tokens = {
    ...(access && isHeaderSafe(access) && { accessToken: access }),
    ...(refresh && { refreshToken: refresh }),
    ...(id && { idToken: id }),
  }
  if (Object.keys(tokens).length === 0) return undefined
  return { ...tokens, ...(expiresIn && { expiresInSeconds: expiresIn }) }
}

function describeUnusable(reply: Reply): string {
  const page = describeWebPage(reply, 'the login server’s')
  return page ?? 'The login server’s reply has no usable token'
}

function suffix(words: string): string {
  return words === '' ? '' : `: ${words}`
}

/** The forms of the issuer's errors (docs/codex-wire.md, "Login"). Any member may be absent. */
const failureReply = z.looseObject({
  error: z
    .union([z.string(), z.looseObject({ code: lenientText, message: lenientText })])
    .nullish()
    .catch(null),
  error_description: lenientText,
  code: lenientText,
  message: lenientText,
})

/**
 * The issuer's code and message, sanitised; '' if it sends none.
 * @param secrets values that were sent and may be reflected
 */
function readFailure({ text }: Reply, secrets: readonly string[]): { readonly code: string; readonly words: string } {
  const { data = {} } = failureReply.safeParse(parseJson(text))
  const { error } = data
  const [inner, message] = typeof error === 'string' ? [error] : [error?.code, error?.message]
  const code = toPlainLine(inner ?? data.code ?? '', secrets)
  const words = data.error_description ?? message ?? data.message ?? code
  return { code, words: redactText(toPlainLine(words, secrets)) }
}

/**
 * Why the issuer's reply is unusable, as a sentence without its period. Includes the issuer's own message if there is
 * one.
 * @param secrets values that were sent and may be reflected
 */
export function describeIssuerReply(reply: Reply, secrets: readonly string[] = []): string {
  const page = describeIssuerPage(reply)
  if (page !== undefined) return page
  const { words } = readFailure(reply, secrets)
  const what = `OpenAI answered ${reply.status}${words === '' ? ' with an unexpected reply' : `: ${words}`}`
  // The reply's `x-request-id` is OpenAI's. The proxy passes it to callers under this header name.
  const id = nameRequestId((name) => reply.headers.get(name === 'x-oai-request-id' ? 'x-request-id' : name))
  return id === undefined ? what : `${what} (${id})`
}

/** States that a web page came instead of an answer; undefined for any other reply. */
export function describeIssuerPage(reply: Reply): string | undefined {
  return describeWebPage(reply, 'OpenAI’s', 'a robot check, ')
}
