import { http, HttpResponse, passthrough } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { exchangeCopilotToken, type GithubApiDeps } from '../../../src/auth/copilot/github-api.ts'
import { retryAfterSecondsOf } from '../../../src/auth/copilot/github-failure.ts'
import { explainNotification } from '../../../src/auth/copilot/notifications.ts'
import { fixture, lateFetch, listen } from '../support.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const nowMs = Date.UTC(2026, 10, 20)
const deps: GithubApiDeps = {
  fetch: lateFetch,
  apiBaseUrl: 'https://api.github.com',
  headers: { 'editor-version': 'vscode/1.0', 'user-agent': 'GitHubCopilotChat/0.26.7' },
  timeoutMs: 5_000,
  now: () => nowMs,
}
const never = new AbortController().signal
const ENDPOINT = 'https://api.github.com/copilot_internal/v2/token'

const answer = (
  body: Record<string, unknown> | string,
  init?: { status: number; headers?: Record<string, string> },
): void =>
  server.use(
    http.get(ENDPOINT, () =>
      typeof body === 'string'
        ? new HttpResponse(body, init ?? {})
        : HttpResponse.json(body, { ...init, headers: { 'x-github-request-id': 'EXAMPLE', ...init?.headers } }),
    ),
  )
const requestId = ' (GitHub request id EXAMPLE)'
/** Exchanges a token. Removes GitHub's request id, which ends every refusal, from the outcome. */
const exchange = async (changed: Partial<GithubApiDeps> = {}): ReturnType<typeof exchangeCopilotToken> => {
  const outcome = await exchangeCopilotToken({ ...deps, ...changed }, 'ghu_example', never)
  return 'detail' in outcome ? { ...outcome, detail: outcome.detail.replace(requestId, '') } : outcome
}

describe('a good reply', () => {
  test('gives token, times, host and sku', async () => {
    answer(fixture('exchange-full'))
    expect(await exchange()).toEqual({
      kind: 'ok',
      token: fixture('exchange-full')['token'],
      expiresAtSeconds: 1767225600,
      refreshInSeconds: 1500,
      apiBaseUrl: 'https://api.individual.githubcopilot.com',
      completionsUrl: 'https://proxy.individual.githubcopilot.com',
      sku: 'monthly_subscriber_quota',
    })
  })

  test.each(['exchange-minimal', 'exchange-odd-types'])('needs no more than three fields: %s', async (name) => {
    answer(fixture(name))
    expect(await exchange()).toEqual({
      kind: 'ok',
      token: fixture(name)['token'],
      expiresAtSeconds: 1767225600,
      refreshInSeconds: 1500,
    })
  })

  test('is asked for with the GitHub token and the editor’s identity', async () => {
    let headers: Headers | undefined
    server.use(
      http.get(ENDPOINT, ({ request }) => {
        headers = request.headers
        return HttpResponse.json(fixture('exchange-minimal'))
      }),
    )
    await exchange()
    expect(headers?.get('authorization')).toBe('token ghu_example')
    expect(headers?.get('editor-version')).toBe('vscode/1.0')
    expect(headers?.get('user-agent')).toBe('GitHubCopilotChat/0.26.7')
    expect(headers?.get('accept')).toBe('application/json')
  })
})

describe('a refusal', () => {
  test('401 means logging in again', async () => {
    answer(fixture('github-401'), { status: 401 })
    expect(await exchange()).toEqual({
      kind: 'bad_credentials',
      detail: 'GitHub does not accept the stored login: Bad credentials',
      fix: 'Run: copilot-proxy login',
    })
  })

  test.each([
    ['environment', 'GitHub does not accept the token in COPILOT_GITHUB_TOKEN: Bad credentials', 'Set COPILOT_GITHUB'],
    ['given', 'GitHub does not accept this token: Bad credentials', 'Log in with a code'],
  ] as const)('401 speaks of the token by its origin: %s', async (tokenOrigin, detail, fix) => {
    answer(fixture('github-401'), { status: 401 })
    expect(await exchange({ tokenOrigin })).toEqual({
      kind: 'bad_credentials',
      detail,
      fix: expect.stringContaining(fix),
    })
  })

  test.each(['', 'ghu example', 'ghu_example\nx: y', 'ghü'])(
    'a token like %j is refused here, unsent',
    async (token) => {
      for (const [tokenOrigin, words] of [
        ['record', 'The stored login has no usable token'],
        ['environment', 'COPILOT_GITHUB_TOKEN is not a valid token'],
        ['given', 'This is not a valid token'],
      ] as const) {
        expect(await exchangeCopilotToken({ ...deps, tokenOrigin }, token, never)).toMatchObject({
          kind: 'bad_credentials',
          detail: expect.stringContaining(words),
        })
      }
    },
  )

  test.each([401, 403, 404, 429, 500])('%i names GitHub’s request', async (status) => {
    answer({ message: 'Words' }, { status })
    expect(await exchangeCopilotToken(deps, 'ghu_example', never)).toMatchObject({
      detail: expect.stringMatching(/ \(GitHub request id EXAMPLE\)$/),
    })
  })

  test('403 with a known reason gets our own text', async () => {
    answer(fixture('exchange-403-spammy'), { status: 403 })
    expect(await exchange()).toEqual({
      kind: 'no_access',
      detail: 'GitHub has flagged this account.',
      fix: expect.stringContaining('support.github.com'),
    })
  })

  test.each([
    ['https://github.com/x?editor={EDITOR}', 'https://github.com/x'],
    ['https://github.com/x?a={A}&editor={EDITOR}', 'https://github.com/x'],
    ['https://github.com/x?editor={EDITOR}&a=1#b', 'https://github.com/x?a=1#b'],
    ['https://github.com/x?a=1&editor={EDITOR}', 'https://github.com/x?a=1'],
    ['https://github.com/settings', 'https://github.com/settings'],
    ['https://github.com/settings/copilot/', undefined],
    ['https://github.com/settings/copilot?editor={EDITOR}', undefined],
    ['https://github.com/help', undefined],
    ['http://github.com/x', undefined],
  ])('403 with the page %s shows it as %s: filled in, and once', async (url, shown) => {
    const message = 'See https://github.com/help?editor={EDITOR}. Why?'
    answer({ message: 'no', error_details: { message, notification_id: 'new', url } }, { status: 403 })
    const outcome = await exchange()
    expect(outcome).toMatchObject({
      kind: 'no_access',
      detail: 'GitHub refused Copilot for this account: See https://github.com/help. Why?',
    })
    expect(outcome).toHaveProperty('fix', 'See https://github.com/settings/copilot')
    expect('url' in outcome ? outcome.url : undefined).toBe(shown)
  })

  test('403 with an unknown reason keeps GitHub’s message', async () => {
    answer(fixture('exchange-403-new-reason'), { status: 403 })
    expect(await exchange()).toMatchObject({
      kind: 'no_access',
      detail: 'GitHub refused Copilot for this account: Copilot is paused for octocat.',
    })
  })

  test('403 for a personal access token says which kind of token works', async () => {
    answer(fixture('github-403-pat'), { status: 403 })
    expect(await exchange()).toMatchObject({
      kind: 'no_access',
      detail: 'A personal access token cannot be used for Copilot.',
      fix: expect.stringContaining('copilot-proxy login'),
    })
  })

  test('403 that is a rate limit is no refusal of the account', async () => {
    answer(fixture('github-403-rate-limit'), { status: 403, headers: { 'retry-after': '17' } })
    expect(await exchange()).toMatchObject({ kind: 'rate_limited', retryAfterSeconds: 17 })
  })

  test('429 carries its wait, or none', async () => {
    answer({ message: 'slow down' }, { status: 429 })
    expect(await exchange()).toEqual({ kind: 'rate_limited', detail: 'GitHub asks to slow down: slow down' })
  })

  test('404 means another kind of token or another host', async () => {
    answer(fixture('github-404'), { status: 404 })
    expect(await exchange()).toMatchObject({ kind: 'not_available' })
  })

  test('a reflected token does not reach the message', async () => {
    answer({ message: 'token ghu_example is unknown' }, { status: 401 })
    expect(JSON.stringify(await exchange())).not.toContain('ghu_example')
  })
})

describe('no answer of GitHub’s', () => {
  test.each([500, 502, 503])('%i is worth another try', async (status) => {
    answer({ message: 'oops' }, { status })
    expect(await exchange()).toEqual({ kind: 'transient', detail: `GitHub answered ${status}: oops`, timedOut: false })
  })

  test.each([200, 401, 403, 404])('HTML with status %i says nothing about the account', async (status) => {
    answer('<html>Please log in to the guest network</html>', { status })
    expect(await exchange()).toMatchObject({ kind: 'transient', detail: expect.not.stringContaining('html') })
  })

  test.each([200, 403, 502])('E30 a web page is called one, with status %i', async (status) => {
    for (const text of ['<html></html>', ' <!DOCTYPE html>', 'Please sign in']) {
      const type = text.includes('<') ? 'text/plain' : 'Text/HTML; charset=utf-8'
      answer(text, { status, headers: { 'content-type': type } })
      expect(await exchange()).toMatchObject({
        kind: 'transient',
        detail: `Got a web page instead of GitHub’s answer (status ${status}). Possible causes: a sign-in page of this network, a company proxy, a firewall`,
      })
    }
  })

  test('a page from GitHub itself means a failure at GitHub', async () => {
    answer('<html>Unicorn!</html>', { status: 502, headers: { 'x-github-request-id': 'EXAMPLE' } })
    expect(await exchange()).toMatchObject({ detail: 'GitHub answered 502' })
  })

  test('a missing request id hints at a firewall', async () => {
    answer('blocked', { status: 403 })
    expect(await exchange()).toMatchObject({ detail: expect.stringContaining('proxy or firewall') })
  })

  test.each([
    ['no token', {}],
    ['an empty token', { token: '', expires_at: 1, refresh_in: 1 }],
    ['a token with a line break', { token: 'a\nb', expires_at: 1, refresh_in: 1 }],
    ['no refresh_in', { token: 'tid=example', expires_at: 1 }],
  ])('a 200 with %s is not used', async (_what, body) => {
    answer(body)
    expect(await exchange()).toMatchObject({ kind: 'transient' })
  })

  test('E24 an endless reply is cut off', async () => {
    answer('x'.repeat(2 * 1024 * 1024))
    expect(await exchange()).toMatchObject({ kind: 'transient', detail: expect.stringContaining('too large') })
  })

  test('distinguishes a lost network from a silent server', async () => {
    server.use(http.get(ENDPOINT, () => HttpResponse.error()))
    expect(await exchange()).toMatchObject({ kind: 'transient', timedOut: false })
    server.use(http.get(ENDPOINT, () => new Promise(() => {})))
    expect(await exchangeCopilotToken({ ...deps, timeoutMs: 20 }, 'ghu_example', never)).toMatchObject({
      kind: 'transient',
      timedOut: true,
    })
  })

  test('a refused connection is named by its code', async () => {
    const closed = await listen(() => {})
    await closed.close()
    server.use(http.all('http://127.0.0.1:*', () => passthrough()))
    const outcome = await exchangeCopilotToken({ ...deps, apiBaseUrl: closed.url }, 'ghu_example', never)
    expect(outcome).toMatchObject({
      kind: 'transient',
      detail: `Could not reach ${new URL(closed.url).host}: the connection was refused (ECONNREFUSED)`,
    })
  })

  test('an abort is its own outcome', async () => {
    answer(fixture('exchange-minimal'))
    expect(await exchangeCopilotToken(deps, 'ghu_example', AbortSignal.abort())).toEqual({ kind: 'aborted' })
  })
})

test.each([301, 302, 303, 307, 308])('E30 a redirect with %i is not followed', async (status) => {
  server.use(http.all('http://127.0.0.1:*', () => passthrough()))
  let hits = 0
  const elsewhere = await listen((_request, response) => {
    hits += 1
    response.end('{}')
  })
  const github = await listen((_request, response) => {
    response.writeHead(status, { location: `${elsewhere.url}/steal?t=1` }).end('moved')
  })
  expect(await exchangeCopilotToken({ ...deps, apiBaseUrl: github.url }, 'ghu_example', never)).toEqual({
    kind: 'redirected',
    detail: `${new URL(github.url).host} answered with a redirect to ${new URL(elsewhere.url).host}. Possible causes: a sign-in page of this network, a company proxy, a firewall`,
  })
  expect(hits).toBe(0)
  await Promise.all([elsewhere.close(), github.close()])
})

test.each([
  'no_copilot_access',
  'not_signed_up',
  'subscription_ended',
  'enterprise_managed_user_account',
  'feature_flag_blocked',
  'spammy_user',
  'billing_locked',
  'trade_restricted',
  'trade_restricted_country',
  'codespaces_demo_inactive',
  'snippy_not_configured',
  'expired_coupon',
  'revoked_coupon',
  'go_http_client',
  'programmatic_token_generation',
  'access_revoked',
  'server_error',
])('the reason %s has a sentence and a way out', (id) => {
  expect(explainNotification(id)).toEqual({ message: expect.stringMatching(/\w\.$/), fix: expect.stringMatching(/\w/) })
})

test('unknown reasons, and names every object has, are not explained', () => {
  expect(explainNotification('brand_new')).toBeUndefined()
  expect(explainNotification('constructor')).toBeUndefined()
})

describe('how long to wait', () => {
  const inAnHour = new Date(nowMs + 3_000_000).toUTCString()
  test.each([
    [{ 'retry-after': '30' }, 30],
    [{ 'retry-after': '0' }, 1],
    [{ 'retry-after': inAnHour }, 3000],
    [{ 'retry-after': '86400' }, 3600],
    [{ 'retry-after': '-1' }, 1],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'x-ratelimit-reset': String(nowMs / 1000 + 90) }, 90],
    [{}, undefined],
  ])('E28 %j is %s s', (headers, seconds) => {
    expect(retryAfterSecondsOf(new Headers(headers), nowMs)).toBe(seconds)
  })
})
