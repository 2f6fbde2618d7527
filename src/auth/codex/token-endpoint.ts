import { z } from 'zod'
import { redactText } from '../../redaction/redact.ts'
import {
  isHeaderSafe,
  parseJson,
  sendRequest,
  toPlainLine,
  type Reply,
  type RequestDeps,
  type RequestOutcome,
} from '../http-json.ts'

/** How a request to the token endpoint ended. `detail` is a sentence without its period; it holds no credential. */
export type TokenOutcome<Tokens> =
  | { readonly kind: 'ok'; readonly tokens: Tokens }
  /** The same request can never succeed: only a new login helps. `code` is the server's, `''` where it gave none. */
  | { readonly kind: 'permanent'; readonly detail: string; readonly code: string }
  /** Network, time limit, 5xx, or a reply that is not the login server's: worth another try. */
  | {
      readonly kind: 'transient'
      readonly detail: string
      readonly retryAfterSeconds?: number
      /** The server may have redeemed the token: the request was sent, and no answer refused it. */
      readonly inDoubt: boolean
    }
  /** The signal was aborted. */
  | { readonly kind: 'aborted' }

/** What a login gives. */
export interface LoginTokens {
  /** A JWT that can be sent in a header. */
  readonly accessToken: string
  /** Opaque; single use. */
  readonly refreshToken: string
  readonly idToken?: string
  /** From now. */
  readonly expiresInSeconds?: number
}

/** What a renewal gives; what is absent stays as it was (docs/codex-wire.md, "Login"). At least one token is there. */
export type RenewedTokens = Partial<LoginTokens>

export interface CodeRedemption {
  /** `codex.issuer`, no slash at the end. */
  readonly issuer: string
  readonly clientId: string
  readonly code: string
  /** The PKCE verifier that belongs to the code. */
  readonly verifier: string
  /** The redirect URI that the code was requested with. */
  readonly redirectUri: string
}

export interface Renewal {
  readonly issuer: string
  readonly clientId: string
  readonly refreshToken: string
}

/** Trades an authorization code for tokens. One request, never repeated here; a code can be redeemed once. */
export async function redeemCode(
  deps: RequestDeps,
  { issuer, clientId, code, verifier, redirectUri }: CodeRedemption,
  signal: AbortSignal,
): Promise<TokenOutcome<LoginTokens>> {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
    code_verifier: verifier,
  })
  const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
  const init = { method: 'POST', headers, body: form.toString() } as const
  const outcome = await sendRequest(deps, `${issuer}/oauth/token`, init, signal)
  if (outcome.kind !== 'reply' || !isOk(outcome)) return toFailure(outcome, toCodeRefusal, [code, verifier])
  const tokens = readTokens(outcome)
  const { accessToken, refreshToken } = tokens ?? {}
  if (accessToken === undefined || refreshToken === undefined) return unusable(outcome)
  return { kind: 'ok', tokens: { ...tokens, accessToken, refreshToken } }
}

/**
 * Redeems a refresh token, which is single use: when this ends with `ok` it is spent, and after `aborted` or a
 * `transient` that is in doubt it may be. One request, never repeated here.
 */
export async function refreshTokens(
  deps: RequestDeps,
  { issuer, clientId, refreshToken }: Renewal,
  signal: AbortSignal,
): Promise<TokenOutcome<RenewedTokens>> {
  const body = JSON.stringify({ client_id: clientId, grant_type: 'refresh_token', refresh_token: refreshToken })
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  const outcome = await sendRequest(deps, `${issuer}/oauth/token`, { method: 'POST', headers, body }, signal)
  if (outcome.kind !== 'reply' || !isOk(outcome)) return toFailure(outcome, toRenewalRefusal, [refreshToken])
  const tokens = readTokens(outcome)
  return tokens === undefined ? unusable(outcome) : { kind: 'ok', tokens }
}

const lenientText = z.string().min(1).nullish().catch(null)

/** Reply of POST /oauth/token. Not even the access token is certain in the reply to a renewal. */
const tokenReply = z.looseObject({
  access_token: lenientText,
  refresh_token: lenientText,
  id_token: lenientText,
  expires_in: z.coerce.number().positive().nullish().catch(null),
})

/** Undefined when there is no token in it. A refresh token is kept whatever else is wrong: there is no other. */
function readTokens(reply: Reply): RenewedTokens | undefined {
  const parsed = tokenReply.safeParse(parseJson(reply.text))
  if (!parsed.success) return undefined
  const { access_token: access, refresh_token: refresh, id_token: id, expires_in: expiresIn } = parsed.data
  const tokens = {
    ...(access && isHeaderSafe(access) && { accessToken: access }),
    ...(refresh && { refreshToken: refresh }),
    ...(id && { idToken: id }),
  }
  if (Object.keys(tokens).length === 0) return undefined
  return { ...tokens, ...(expiresIn && { expiresInSeconds: expiresIn }) }
}

function isOk({ status }: Reply): boolean {
  return status >= 200 && status < 300
}

/** Gateways answer 5xx if they lost the server's answer; a server that did nothing answers 503. */
function isInDoubt({ status }: Reply): boolean {
  return status < 300 || status === 408 || (status >= 500 && status !== 503)
}

/**
 * The shapes of a failure: `{error: {code, message}}`, `{error, error_description}`, `{code}` (docs/codex-wire.md,
 * "Login").
 */
const failureReply = z.looseObject({
  error: z
    .union([z.string(), z.looseObject({ code: lenientText, message: lenientText })])
    .nullish()
    .catch(null),
  error_description: lenientText,
  code: lenientText,
  message: lenientText,
})

/** A reply with a status other than 2xx. */
interface Refusal {
  readonly status: number
  readonly code: string
  /** The server's own, harmless; '' if there are none. */
  readonly words: string
}

/** The sentence of a refusal that is final; undefined when another try may succeed. */
type ReadRefusal = (refusal: Refusal) => string | undefined

/** Codes that end a login, and what they mean. */
const finalCodes: Readonly<Record<string, string>> = {
  refresh_token_expired: 'The ChatGPT login has expired',
  refresh_token_reused: 'The ChatGPT login has ended: its refresh token had been used before',
  refresh_token_invalidated: 'The ChatGPT login was revoked',
  invalid_grant: 'The ChatGPT login is no longer valid',
}

function toRenewalRefusal({ status, code, words }: Refusal): string | undefined {
  const known = Object.hasOwn(finalCodes, code) ? finalCodes[code] : undefined
  if (known !== undefined) return known
  return status === 401 ? `OpenAI no longer accepts the ChatGPT login${suffix(words)}` : undefined
}

/** A code that was refused once is spent, whatever the reason. */
function toCodeRefusal({ status, words }: Refusal): string | undefined {
  const worthAnotherTry = status >= 500 || status === 408 || status === 429
  return worthAnotherTry ? undefined : `OpenAI did not accept this login${suffix(words)}`
}

function toFailure(
  outcome: RequestOutcome,
  readRefusal: ReadRefusal,
  secrets: readonly string[],
): Exclude<TokenOutcome<never>, { kind: 'ok' }> {
  switch (outcome.kind) {
    case 'aborted':
      return outcome
    case 'redirected':
      return { kind: 'transient', detail: outcome.detail, inDoubt: false }
    case 'timed_out':
      return { kind: 'transient', detail: outcome.detail, inDoubt: true }
    case 'unreachable':
      return { kind: 'transient', detail: outcome.detail, inDoubt: outcome.unsent !== true }
    case 'reply': {
      // A page comes from something between here and the login server, and says nothing about the login.
      if (isPage(outcome)) return unusable(outcome)
      const refusal = readFailure(outcome, secrets)
      const detail = readRefusal(refusal)
      if (detail !== undefined) return { kind: 'permanent', detail, code: refusal.code }
      const retryAfter = Number(outcome.headers.get('retry-after') ?? '')
      return {
        kind: 'transient',
        detail: `The login server answered ${outcome.status}${suffix(refusal.words)}`,
        inDoubt: isInDoubt(outcome),
        ...(retryAfter > 0 && retryAfter < Infinity && { retryAfterSeconds: Math.min(retryAfter, 3600) }),
      }
    }
  }
}

function readFailure({ status, text }: Reply, secrets: readonly string[]): Refusal {
  const { data = {} } = failureReply.safeParse(parseJson(text))
  const inner: { code?: string | null | undefined; message?: string | null | undefined } =
    typeof data.error === 'string' ? { code: data.error } : (data.error ?? {})
  const code = toPlainLine(inner.code ?? data.code ?? '', secrets)
  const words = data.error_description ?? inner.message ?? data.message ?? code
  return { status, code, words: redactText(toPlainLine(words, secrets)) }
}

function suffix(words: string): string {
  return words === '' ? '' : `: ${words}`
}

function isPage({ headers, text }: Reply): boolean {
  return /^text\/html\b/i.test(headers.get('content-type') ?? '') || text.trimStart().startsWith('<')
}

function unusable(reply: Reply): Extract<TokenOutcome<never>, { kind: 'transient' }> {
  return {
    kind: 'transient',
    detail: isPage(reply)
      ? `A web page came back instead of the login server’s answer (status ${reply.status}): the sign-in page of a ` +
        'network, a company proxy or firewall may be in the way'
      : 'The reply of the login server holds no usable token',
    inDoubt: isInDoubt(reply),
  }
}

export type RedeemedLogin =
  | { readonly kind: 'authorized'; readonly tokens: LoginTokens }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'aborted' }

/** The last step of both logins. A code that was sent once may be spent, so no failure is worth another try. */
export async function redeemLogin(
  deps: RequestDeps,
  redemption: CodeRedemption,
  signal: AbortSignal,
): Promise<RedeemedLogin> {
  const outcome = await redeemCode(deps, redemption, signal)
  switch (outcome.kind) {
    case 'ok':
      return { kind: 'authorized', tokens: outcome.tokens }
    case 'permanent':
    case 'transient':
      return { kind: 'failed', detail: outcome.detail }
    case 'aborted':
      return outcome
  }
}
