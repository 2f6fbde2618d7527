import { expect, test } from 'vitest'
import type { CodexUpstream } from '../codex.ts'
import { ask, authorizeUrl, claimsOf, loginHeaders, promptOf, replyOf, openCodex, VERIFIER } from './test-client.ts'
import type { Fields } from './test-client.ts'

const CLIENT_ID = 'app_EMoamEEZ73f0CkXaXp7hrann'

/** The address that the browser is redirected to. */
async function redirectOf(url: string): Promise<URL> {
  const response = await fetch(url, { redirect: 'manual' })
  expect(response.status).toBe(302)
  return new URL(response.headers.get('location') ?? '')
}

function exchange(codex: CodexUpstream, code: string, change: Record<string, string> = {}): Promise<Response> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: 'http://localhost:1455/auth/callback',
    client_id: CLIENT_ID,
    code_verifier: VERIFIER,
    ...change,
  })
  return fetch(`${codex.issuer}/oauth/token`, { method: 'POST', body })
}

function renew(codex: CodexUpstream, token: string, clientId = CLIENT_ID): Promise<Response> {
  return fetch(`${codex.issuer}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: clientId, grant_type: 'refresh_token', refresh_token: token }),
  })
}

async function tokensOf(response: Response): Promise<Record<string, string>> {
  expect(response.status).toBe(200)
  return JSON.parse(await response.text())
}

test('sends the browser back with code and state, and exchanges the code once for tokens that work', async () => {
  const codex = await openCodex()
  const back = await redirectOf(authorizeUrl(codex))
  expect(back.href).toMatch(/^http:\/\/localhost:1455\/auth\/callback\?/)
  expect(back.searchParams.get('state')).toBe('the-state')
  const code = back.searchParams.get('code') ?? ''
  const tokens = await tokensOf(await exchange(codex, code))
  expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 864_000 })
  const login = codex.login()
  const headers = loginHeaders({ ...login, accessToken: tokens['access_token'] ?? '' })
  expect((await ask(codex, promptOf('Hi'), headers)).status).toBe(200)
  expect(await replyOf(await exchange(codex, code))).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
})

test('puts account, plan, address and expiry into the claims of both tokens', async () => {
  const codex = await openCodex({ now: () => 1_800_000_000_000 })
  const { accessToken, idToken, accountId } = codex.login({ plan: 'pro', lifetimeSeconds: 60 })
  const auth = { chatgpt_account_id: accountId, chatgpt_plan_type: 'pro' }
  expect(claimsOf(accessToken)).toMatchObject({
    exp: 1_800_000_060,
    'https://api.openai.com/auth': auth,
    'https://api.openai.com/profile': { email: 'demo@example.com' },
  })
  expect(claimsOf(idToken)).toMatchObject({
    email: 'demo@example.com',
    'https://api.openai.com/auth': { ...auth, organizations: [{ id: 'org-demo' }] },
  })
  expect(accessToken.endsWith('.test')).toBe(true)
})

test.for<[string, Record<string, string | null>]>([
  ['redirect_uri', { redirect_uri: 'http://127.0.0.1:1455/auth/callback' }],
  ['redirect_uri', { redirect_uri: 'http://localhost:1456/auth/callback' }],
  ['redirect_uri', { redirect_uri: 'http://localhost:1455/callback' }],
  ['client_id', { client_id: 'app_other' }],
  ['code_challenge_method', { code_challenge_method: 'plain' }],
  ['code_challenge', { code_challenge: 'short' }],
  ['state', { state: null }],
  ['scope', { scope: 'openid' }],
  ['originator', { originator: null }],
  ['codex_cli_simplified_flow', { codex_cli_simplified_flow: null }],
  ['id_token_add_organizations', { id_token_add_organizations: null }],
  ['response_type', { response_type: 'token' }],
])('stays on its own page when %s is wrong', async ([name, change]) => {
  const codex = await openCodex()
  const response = await fetch(authorizeUrl(codex, change), { redirect: 'manual' })
  expect(response.status).toBe(400)
  expect(await response.text()).toContain(`invalid ${name}`)
})

test.for<[string, Record<string, string>]>([
  ['verifier', { code_verifier: 'another' }],
  ['redirect', { redirect_uri: 'http://localhost:1457/auth/callback' }],
  ['client', { client_id: 'app_other' }],
])('refuses a code with another %s, and the code is gone', async ([, change]) => {
  const codex = await openCodex()
  const code = (await redirectOf(authorizeUrl(codex))).searchParams.get('code') ?? ''
  expect((await exchange(codex, code, change)).status).toBe(400)
  expect((await exchange(codex, code)).status).toBe(400)
})

test('exchanges a code for a form only', async () => {
  const codex = await openCodex()
  const code = (await redirectOf(authorizeUrl(codex))).searchParams.get('code') ?? ''
  const response = await fetch(`${codex.issuer}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'authorization_code', code, code_verifier: VERIFIER, client_id: CLIENT_ID }),
  })
  expect(await replyOf(response)).toEqual({ status: 400, body: { error: 'invalid_request' } })
})

test('renews from JSON and from a form, with another refresh token each time', async () => {
  const codex = await openCodex()
  const { refreshToken, accessToken } = codex.login()
  const first = await tokensOf(await renew(codex, refreshToken))
  expect(first['refresh_token']).not.toBe(refreshToken)
  expect(first['access_token']).not.toBe(accessToken)
  const fields = { client_id: CLIENT_ID, grant_type: 'refresh_token', refresh_token: first['refresh_token'] ?? '' }
  const form = { method: 'POST', body: new URLSearchParams({ ...fields, scope: 'openid profile email' }) }
  const second = await tokensOf(await fetch(`${codex.issuer}/oauth/token`, form))
  expect(second['refresh_token']).not.toBe(first['refresh_token'])
  // The earlier access token stays valid until it expires.
  expect(codex.logins.accessState(accessToken)).toMatchObject({ is: 'live' })
})

test('a refresh token that is used twice ends the login with all it was given', async () => {
  const codex = await openCodex()
  const { refreshToken, accessToken } = codex.login()
  const other = codex.login()
  const next = await tokensOf(await renew(codex, refreshToken))
  expect(await replyOf(await renew(codex, refreshToken))).toMatchObject({
    status: 401,
    body: { error: { code: 'refresh_token_reused' } },
  })
  expect(await replyOf(await renew(codex, next['refresh_token'] ?? ''))).toMatchObject({
    status: 401,
    body: { error: { code: 'refresh_token_invalidated' } },
  })
  expect(codex.logins.accessState(accessToken)).toEqual({ is: 'revoked' })
  expect(codex.logins.accessState(next['access_token'] ?? '')).toEqual({ is: 'revoked' })
  expect(codex.logins.accessState(other.accessToken)).toMatchObject({ is: 'live' })
})

test('says so when a refresh token is expired, unknown, or of another client', async () => {
  const codex = await openCodex()
  const { refreshToken } = codex.login()
  codex.logins.expireRefresh()
  const refused = async (token: string, clientId?: string) => replyOf(await renew(codex, token, clientId))
  expect(await refused(refreshToken)).toMatchObject({ status: 401, body: { error: { code: 'refresh_token_expired' } } })
  expect(await refused('rt_unknown')).toMatchObject({ body: { error: { code: 'refresh_token_invalidated' } } })
  expect(await refused(refreshToken, 'app_other')).toEqual({ status: 401, body: { error: 'invalid_client' } })
})

test('holds its own answer until a script lets it go', async () => {
  const codex = await openCodex()
  const { promise, resolve } = Promise.withResolvers<void>()
  codex.script('/oauth/token', { after: promise })
  const reply = renew(codex, codex.login().refreshToken)
  await codex.until(() => codex.count('/oauth/token') === 1)
  resolve()
  expect((await reply).status).toBe(200)
})

test('a revoked login is dead for the backend', async () => {
  const codex = await openCodex()
  const login = codex.login()
  const body = JSON.stringify({ token: login.refreshToken, token_type_hint: 'refresh_token', client_id: CLIENT_ID })
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(`${codex.issuer}/oauth/revoke`, { method: 'POST', headers, body })).status).toBe(200)
  expect(await replyOf(await ask(codex, promptOf('Hi'), loginHeaders(login)))).toMatchObject({
    status: 401,
    body: { error: { code: 'token_invalidated' } },
  })
})

async function postJson(codex: CodexUpstream, path: string, body: Fields) {
  const headers = { 'content-type': 'application/json' }
  return replyOf(await fetch(`${codex.issuer}${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
}

test('gives a device code, then hands out code and verifier', async () => {
  const codex = await openCodex()
  const start = await postJson(codex, '/api/accounts/deviceauth/usercode', { client_id: CLIENT_ID })
  const { device_auth_id: id = '', user_code: code = '' } = start.body as Record<string, string>
  expect(start.body).toMatchObject({ interval: '1' })
  const approved = await postJson(codex, '/api/accounts/deviceauth/token', { device_auth_id: id, user_code: code })
  const { authorization_code: grant = '', code_verifier: verifier = '' } = approved.body as Record<string, string>
  const redirect = `${codex.issuer}/deviceauth/callback`
  const tokens = await tokensOf(await exchange(codex, grant, { code_verifier: verifier, redirect_uri: redirect }))
  expect(tokens['refresh_token']).toMatch(/^rt_demo_/)
})

test('a wrong user code looks pending, and so does one that is too old', async () => {
  let nowMs = 1_800_000_000_000
  const codex = await openCodex({ now: () => nowMs })
  const { body } = await postJson(codex, '/api/accounts/deviceauth/usercode', { client_id: CLIENT_ID })
  const { device_auth_id: id = '', user_code: code = '' } = body as Record<string, string>
  const poll = (text: string) =>
    postJson(codex, '/api/accounts/deviceauth/token', { device_auth_id: id, user_code: text })
  expect((await poll('WRONG')).status).toBe(404)
  nowMs += 15 * 60_000
  expect((await poll(code)).status).toBe(404)
})
