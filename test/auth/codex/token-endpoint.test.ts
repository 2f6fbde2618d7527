import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { redeemLogin, refreshTokens } from '../../../src/auth/codex/token-endpoint.ts'
import { lateFetch } from '../support.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const issuer = 'https://auth.example.com'
const deps = { fetch: lateFetch, timeoutMs: 5_000 }
const never = new AbortController().signal
const renewal = { issuer, clientId: 'app-example', refreshToken: 'rt-example' }
const login = { issuer, clientId: 'app-example' }
const grant = {
  code: 'code-example',
  verifier: 'verifier-example',
  redirectUri: 'http://localhost:1455/auth/callback',
}

interface Asked {
  readonly type: string | null
  readonly text: string
}

function answer(reply: () => Response): Asked[] {
  const asked: Asked[] = []
  server.use(
    http.post(`${issuer}/oauth/token`, async ({ request }) => {
      asked.push({ type: request.headers.get('content-type'), text: await request.text() })
      return reply()
    }),
  )
  return asked
}

const refusals: readonly [string, Record<string, unknown> | string, number, 'permanent' | 'transient', string][] = [
  ['a spent token', { error: { code: 'refresh_token_reused', message: 'x' } }, 401, 'permanent', 'used before'],
  ['an expired one, whatever the status', { error: { code: 'refresh_token_expired' } }, 400, 'permanent', 'expired'],
  ['an invalidated one, code at the top', { code: 'refresh_token_invalidated' }, 403, 'permanent', 'revoked'],
  ['OAuth’s own word', { error: 'invalid_grant', error_description: 'no' }, 400, 'permanent', 'no longer valid'],
  ['a 401 of any kind', { error: { message: 'Who are you?' } }, 401, 'permanent', 'Who are you?'],
  ['a 401 without a body', '', 401, 'permanent', 'no longer accepts'],
  ['a code this program does not know', { error: { code: 'constructor' } }, 400, 'transient', '400: constructor'],
  ['too many requests', { error: 'slow_down' }, 429, 'transient', '429'],
  ['a server that is down', 'oops', 500, 'transient', '500'],
]

describe('a renewal', () => {
  test('sends JSON, and hands over what came', async () => {
    const asked = answer(() =>
      HttpResponse.json({ access_token: 'a', refresh_token: 'r', id_token: 'i', expires_in: 60, scope: 'x' }),
    )
    expect(await refreshTokens(deps, renewal, never)).toEqual({
      kind: 'ok',
      tokens: { accessToken: 'a', refreshToken: 'r', idToken: 'i', expiresInSeconds: 60 },
    })
    expect(asked).toEqual([{ type: 'application/json', text: expect.any(String) }])
    expect(JSON.parse(asked[0]?.text ?? '')).toEqual({
      client_id: 'app-example',
      grant_type: 'refresh_token',
      refresh_token: 'rt-example',
    })
  })

  test.each([
    ['only an access token', { access_token: 'a' }, { accessToken: 'a' }],
    ['only a refresh token', { refresh_token: 'r' }, { refreshToken: 'r' }],
    [
      'nulls and wrong types beside one',
      { access_token: null, id_token: 7, refresh_token: 'r' },
      { refreshToken: 'r' },
    ],
    [
      'an access token that no header can carry',
      { access_token: 'a\nb', refresh_token: 'r', expires_in: -1 },
      { refreshToken: 'r' },
    ],
  ])('%s is taken as it is', async (_what, body, tokens) => {
    answer(() => HttpResponse.json(body))
    expect(await refreshTokens(deps, renewal, never)).toEqual({ kind: 'ok', tokens })
  })

  test.each(refusals)('%s', async (_what, body, status, kind, words) => {
    answer(() => (typeof body === 'string' ? new Response(body, { status }) : HttpResponse.json(body, { status })))
    const outcome = await refreshTokens(deps, renewal, never)
    expect(outcome).toMatchObject({ kind, detail: expect.stringContaining(words) })
  })

  test('retry-after is handed over, within an hour', async () => {
    answer(() => new Response('', { status: 429, headers: { 'retry-after': '99999' } }))
    expect(await refreshTokens(deps, renewal, never)).toMatchObject({ kind: 'transient', retryAfterSeconds: 3600 })
  })

  test.each([
    ['a web page with 401, which no login server sends', 401, '<html>Sign in to the network</html>'],
    ['a web page with 200', 200, '<!doctype html>'],
    ['JSON without a token', 200, '{}'],
    ['JSON that is no object', 200, '[]'],
    ['half of it', 200, '{"access_token":"a'],
  ])('%s is worth another try', async (_what, status, text) => {
    answer(() => new Response(text, { status }))
    expect(await refreshTokens(deps, renewal, never)).toMatchObject({ kind: 'transient' })
  })

  test('a redirect is not followed: the request carries the login', async () => {
    answer(() => new Response(null, { status: 307, headers: { location: 'https://evil.example/oauth/token' } }))
    expect(await refreshTokens(deps, renewal, never)).toMatchObject({
      kind: 'transient',
      detail: expect.stringContaining('redirect to evil.example'),
    })
  })

  test('what upstream reflects of the secret is blotted out', async () => {
    answer(() => HttpResponse.json({ error: { message: 'bad rt-example and eyJhbGciOi.eyJz.s' } }, { status: 401 }))
    const outcome = await refreshTokens(deps, renewal, never)
    expect(JSON.stringify(outcome)).not.toMatch(/rt-example|eyJ/)
  })

  test('ends at once with the signal', async () => {
    answer(() => HttpResponse.json({ access_token: 'a' }))
    expect(await refreshTokens(deps, renewal, AbortSignal.abort())).toEqual({ kind: 'aborted' })
  })

  test('no network is worth another try', async () => {
    answer(() => HttpResponse.error())
    expect(await refreshTokens(deps, renewal, never)).toMatchObject({
      kind: 'transient',
      detail: expect.stringContaining('auth.example.com'),
    })
  })
})

const outcomeOf = async (status: number): Promise<unknown> => {
  answer(() => new Response('', { status }))
  return refreshTokens(deps, renewal, never)
}
const error = (fields: Record<string, unknown>): Error => Object.assign(new Error('x'), fields)

describe('a renewal that failed for now', () => {
  test.each([400, 403, 429, 503])('is known not to have been made when the answer is %i', async (status) => {
    expect(await outcomeOf(status)).toMatchObject({ kind: 'transient', inDoubt: false })
  })

  test.each([200, 408, 500, 502, 504, 524])('may have been made when the answer is %i', async (status) => {
    expect(await outcomeOf(status)).toMatchObject({ kind: 'transient', inDoubt: true })
  })

  test.each([
    ['there was no connection', false, error({ code: 'ETIMEDOUT', syscall: 'connect' })],
    ['there was none by either protocol', false, new AggregateError([error({ syscall: 'connect' })])],
    ['the name was not known', false, error({ code: 'ENOTFOUND', syscall: 'getaddrinfo' })],
    ['the certificate was not trusted', false, error({ code: 'SELF_SIGNED_CERT_IN_CHAIN' })],
    ['the proxy on the way refused it', false, error({ code: 'UND_ERR_ABORTED' })],
    ['the connection was reset', true, error({ code: 'ECONNRESET', syscall: 'read' })],
    ['the connection fell silent', true, error({ code: 'ETIMEDOUT', syscall: 'read' })],
    ['the other side hung up', true, error({ code: 'UND_ERR_SOCKET' })],
    ['nothing tells why', true, error({})],
  ])('%s: in doubt is %s', async (_what, inDoubt, cause) => {
    const fetch = (): Promise<Response> => Promise.reject(new TypeError('fetch failed', { cause }))
    const outcome = await refreshTokens({ ...deps, fetch }, renewal, never)
    expect(outcome).toMatchObject({ kind: 'transient', inDoubt })
  })

  test('may have been made when no answer came in time', async () => {
    server.use(http.post(`${issuer}/oauth/token`, () => new Promise(() => {})))
    const outcome = await refreshTokens({ ...deps, timeoutMs: 10 }, renewal, never)
    expect(outcome).toMatchObject({ kind: 'transient', inDoubt: true })
  })
})

describe('the exchange of a code', () => {
  test('sends a form', async () => {
    const asked = answer(() => HttpResponse.json({ access_token: 'a', refresh_token: 'r', id_token: 'i' }))
    expect(await redeemLogin(deps, login, grant, never)).toEqual({
      kind: 'authorized',
      tokens: { accessToken: 'a', refreshToken: 'r', idToken: 'i' },
    })
    expect(asked[0]?.type).toBe('application/x-www-form-urlencoded')
    expect(Object.fromEntries(new URLSearchParams(asked[0]?.text))).toEqual({
      grant_type: 'authorization_code',
      code: 'code-example',
      redirect_uri: 'http://localhost:1455/auth/callback',
      client_id: 'app-example',
      code_verifier: 'verifier-example',
    })
  })

  test.each([
    ['access token', { refresh_token: 'r' }],
    ['refresh token', { access_token: 'a' }],
  ])('without a %s is of no use', async (_what, body) => {
    answer(() => HttpResponse.json(body))
    expect(await redeemLogin(deps, login, grant, never)).toEqual({
      kind: 'failed',
      detail: 'The login server’s reply has no usable token',
    })
  })

  test.each([
    [400, 'OpenAI did not accept this login: '],
    [403, 'OpenAI did not accept this login: '],
    [429, 'The login server answered 429: '],
    [502, 'The login server answered 502: '],
  ])('answered %d fails without the code in the message', async (status, detail) => {
    answer(() => HttpResponse.json({ error: { message: 'code-example and verifier-example' } }, { status }))
    const outcome = await redeemLogin(deps, login, grant, never)
    expect(outcome).toMatchObject({ kind: 'failed', detail: expect.stringContaining(detail) })
    expect(JSON.stringify(outcome)).not.toMatch(/code-example|verifier-example/)
  })
})
