import { createHash } from 'node:crypto'
import { htmlReply, jsonReply } from '../http/outcome.ts'
import { ACCESS_TOKEN_SECONDS, tokenFields } from './account.ts'
import type { Outcome } from '../http/outcome.ts'
import type { CodexLogins, CodexPerson } from './logins.ts'
import type { CodexUpstreamSettings } from './settings.ts'
import type { CodexRoute } from './routes.ts'

/** The parts of a request that the issuer's routes read. */
interface IssuerCall {
  readonly route: CodexRoute
  /** Includes the query. */
  readonly path: string
  readonly contentType: string
  readonly body: string
  /** Counts the requests of the route from 1. */
  readonly number: number
}

export interface IssuerDeps {
  readonly settings: () => CodexUpstreamSettings
  readonly logins: CodexLogins
  readonly now: () => number
  /** The issuer's base URL, without a trailing slash. */
  readonly url: string
  /** The person who approves. */
  readonly person: () => CodexPerson
}

type IssuerRoute = (call: IssuerCall) => Outcome

/** Undefined for paths that are not the issuer's. */
type Issuer = (call: IssuerCall) => Outcome | undefined

/** An authorization code that was issued and not used yet. */
interface Grant {
  readonly redirectUri: string
  /** base64url of the SHA-256 of the verifier. */
  readonly challenge: string
}

/** The simulated auth.openai.com: PKCE in the browser, device code, renewal, revocation (docs/codex-wire.md, "Login"). */
export function createIssuer({ settings, logins, now, url, person }: IssuerDeps): Issuer {
  const grants = new Map<string, Grant>()
  const deviceCodes = new Map<string, { readonly userCode: string; readonly expiresAtMs: number }>()

  let grantCount = 0

  const grant = (given: Grant): string => {
    grantCount += 1
    const code = `ac_demo_${grantCount}`
    grants.set(code, given)
    return code
  }

  const authorize: IssuerRoute = ({ path }) => {
    const query = new URL(path, url).searchParams
    const { clientId } = settings()
    const redirectUri = query.get('redirect_uri') ?? ''
    const wrong = isListedRedirect(redirectUri) ? wrongParameter(query, clientId) : 'redirect_uri'
    // A wrong request is not redirected, because its address may be wrong too.
    if (wrong !== undefined) return htmlReply(400, `Authentication error: invalid ${wrong}`)
    const state = query.get('state') ?? ''
    const code = grant({ redirectUri, challenge: query.get('code_challenge') ?? '' })
    const answer = { code, scope: query.get('scope') ?? '', state }
    const location = `${redirectUri}?${new URLSearchParams(answer).toString()}`
    return { kind: 'whole', status: 302, headers: { location }, body: '' }
  }

  const exchange = (fields: URLSearchParams): Outcome => {
    const code = fields.get('code') ?? ''
    const given = grants.get(code)
    grants.delete(code)
    const isRight =
      given !== undefined &&
      given.redirectUri === fields.get('redirect_uri') &&
      given.challenge === challengeOf(fields.get('code_verifier') ?? '') &&
      fields.get('client_id') === settings().clientId
    if (!isRight) return jsonReply(400, { error: 'invalid_grant', error_description: 'Could not validate the code.' })
    const issued = logins.start(person(), { lifetimeSeconds: ACCESS_TOKEN_SECONDS })
    return jsonReply(200, tokenFields(issued, issued.expiresInSeconds))
  }

  const renew = (fields: URLSearchParams): Outcome => {
    if (fields.get('client_id') !== settings().clientId) return jsonReply(401, { error: 'invalid_client' })
    const issued = logins.renew(fields.get('refresh_token') ?? '', { lifetimeSeconds: ACCESS_TOKEN_SECONDS })
    return typeof issued === 'string'
      ? refusedRenewal(issued)
      : jsonReply(200, tokenFields(issued, issued.expiresInSeconds))
  }

  const token: IssuerRoute = ({ contentType, body }) => {
    const isJson = contentType.startsWith('application/json')
    const fields = isJson ? fieldsOfJson(body) : new URLSearchParams(body)
    switch (fields.get('grant_type')) {
      case 'authorization_code':
        return isJson ? jsonReply(400, { error: 'invalid_request' }) : exchange(fields)
      case 'refresh_token':
        return renew(fields)
      default:
        return jsonReply(400, { error: 'unsupported_grant_type' })
    }
  }

  const userCode: IssuerRoute = ({ body, number }) => {
    if (fieldsOfJson(body).get('client_id') !== settings().clientId)
      return jsonReply(400, { error: { code: 'invalid_client' } })
    const id = `deviceauth_demo_${number}`
    const code = `DEMO-${String(number).padStart(5, '0')}`
    deviceCodes.set(id, { userCode: code, expiresAtMs: now() + DEVICE_CODE_MS })
    return jsonReply(200, { device_auth_id: id, user_code: code, interval: '1' })
  }

  const deviceToken: IssuerRoute = ({ body, number }) => {
    const fields = fieldsOfJson(body)
    const id = fields.get('device_auth_id') ?? ''
    const known = deviceCodes.get(id)
    const isKnown = known !== undefined && known.userCode === fields.get('user_code') && now() < known.expiresAtMs
    // The issuer answers pending and wrong codes alike (docs/codex-wire.md, "Login").
    if (!isKnown) return jsonReply(404, { error: { code: 'deviceauth_authorization_unknown' } })
    deviceCodes.delete(id)
    // In this flow the issuer makes both halves of the PKCE pair.
    const verifier = createHash('sha512').update(`demo verifier ${number}`).digest('base64url')
    const challenge = challengeOf(verifier)
    const code = grant({ redirectUri: `${url}/deviceauth/callback`, challenge })
    return jsonReply(200, { authorization_code: code, code_challenge: challenge, code_verifier: verifier })
  }

  const revoke: IssuerRoute = ({ contentType, body }) => {
    const isJson = contentType.startsWith('application/json')
    const fields = isJson ? fieldsOfJson(body) : new URLSearchParams(body)
    // RFC 7009 §2.2: the revocation of an unknown token succeeds.
    logins.revoke(fields.get('token') ?? '')
    return jsonReply(200, {})
  }

  return (call) => {
    switch (call.route) {
      case '/oauth/authorize':
        return authorize(call)
      case '/oauth/token':
        return token(call)
      case '/oauth/revoke':
        return revoke(call)
      case '/api/accounts/deviceauth/usercode':
        return userCode(call)
      case '/api/accounts/deviceauth/token':
        return deviceToken(call)
      case '/codex/device':
        return htmlReply(200, 'Simulated OpenAI: the demo account approves every code by itself')
      default:
        return undefined
    }
  }
}

/** Lifetime of a device code. */
const DEVICE_CODE_MS = 15 * 60_000

const SCOPES = ['openid', 'profile', 'email', 'offline_access']

/** The first parameter that differs from docs/codex-wire.md, "Login". */
function wrongParameter(query: URLSearchParams, clientId: string): string | undefined {
  const exact: Readonly<Record<string, string>> = {
    response_type: 'code',
    client_id: clientId,
    code_challenge_method: 'S256',
    id_token_add_organizations: 'true',
    codex_cli_simplified_flow: 'true',
  }
  const wrong = Object.entries(exact).find(([name, value]) => query.get(name) !== value)
  if (wrong !== undefined) return wrong[0]
  const scopes = (query.get('scope') ?? '').split(' ')
  if (!SCOPES.every((each) => scopes.includes(each))) return 'scope'
  if (!/^[\w-]{43}$/.test(query.get('code_challenge') ?? '')) return 'code_challenge'
  return ['state', 'originator'].find((name) => (query.get(name) ?? '') === '')
}

/** Redirects are registered for the name `localhost`, not for its address. */
function isListedRedirect(uri: string): boolean {
  return /^http:\/\/localhost:(?:1455|1457)\/auth\/callback$/.test(uri)
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

function refusedRenewal(code: string): Outcome {
  const message = 'Your refresh token cannot be used. Please try signing in again.'
  return jsonReply(401, { error: { message, type: 'invalid_request_error', param: null, code } })
}

/** The texts of a JSON object; none for any other body. */
function fieldsOfJson(body: string): URLSearchParams {
  try {
    const value: unknown = JSON.parse(body)
    const pairs = typeof value === 'object' && value !== null ? Object.entries(value) : []
    return new URLSearchParams(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'))
  } catch {
    return new URLSearchParams()
  }
}
