import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { http, HttpResponse, passthrough } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runWebFlow, type WebFlowOutcome } from '../../../src/auth/copilot/login.ts'
import { lateFetch, listen } from '../support.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
beforeEach(() => server.use(http.all('http://127.0.0.1:*', () => passthrough())))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const options = {
  authUrl: 'https://github.com/login/oauth/authorize',
  tokenUrl: 'https://github.com/login/oauth/access_token',
  clientId: 'example-client',
  scope: 'openid email',
  redirectPort: 0,
  waitMs: 10_000,
}

interface Running {
  readonly outcome: Promise<WebFlowOutcome>
  /** What the browser is sent to. */
  readonly url: URL
  readonly redirectUri: string
  readonly state: string
  readonly stop: AbortController
}

async function start(changes: Partial<typeof options> = {}): Promise<Running> {
  const stop = new AbortController()
  const opened = Promise.withResolvers<string>()
  let filled = 0
  const outcome = runWebFlow(
    {
      fetch: lateFetch,
      timeoutMs: 5_000,
      randomBytes: (size) => new Uint8Array(size).fill((filled += 1)),
      onUrl: opened.resolve,
    },
    { ...options, ...changes },
    stop.signal,
  )
  const url = new URL(await opened.promise)
  return {
    outcome,
    url,
    redirectUri: url.searchParams.get('redirect_uri') ?? '',
    state: url.searchParams.get('state') ?? '',
    stop,
  }
}

/** A visit as the browser makes it; node:http, because fetch does not let a test choose the Host line. */
function visit(
  url: string,
  init: { method?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    httpRequest(url, init, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }))
    })
      .on('error', reject)
      .end()
  })
}

const back = (flow: Running, query: Record<string, string>): string =>
  `${flow.redirectUri}?${new URLSearchParams({ state: flow.state, ...query }).toString()}`

function answerExchange(body: Record<string, unknown>, status = 200): URLSearchParams[] {
  const forms: URLSearchParams[] = []
  server.use(
    http.post(options.tokenUrl, async ({ request }) => {
      forms.push(new URLSearchParams(await request.text()))
      return HttpResponse.json(body, { status })
    }),
  )
  return forms
}

test('sends the browser off with PKCE and state, and redeems the code it brings back', async () => {
  const forms = answerExchange({ access_token: 'gho_example', token_type: 'bearer' })
  const flow = await start()
  expect(flow.url.origin + flow.url.pathname).toBe(options.authUrl)
  const verifier = Buffer.from(new Uint8Array(32).fill(2)).toString('base64url')
  expect(Object.fromEntries(flow.url.searchParams)).toEqual({
    response_type: 'code',
    client_id: 'example-client',
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    scope: 'openid email',
    state: Buffer.from(new Uint8Array(32).fill(1)).toString('base64url'),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const page = await visit(back(flow, { code: 'example-code' }))
  expect(page.status).toBe(200)
  expect(await flow.outcome).toEqual({ kind: 'authorized', githubToken: 'gho_example' })
  expect(Object.fromEntries(forms[0] ?? [])).toEqual({
    grant_type: 'authorization_code',
    client_id: 'example-client',
    code: 'example-code',
    redirect_uri: flow.redirectUri,
    code_verifier: verifier,
  })
})

describe('a visit that is not the expected one', () => {
  test.each([
    ['a wrong state', (flow: Running) => visit(back(flow, { code: 'x', state: 'guess' })), 400],
    ['no state', (flow: Running) => visit(`${flow.redirectUri}?code=x`), 400],
    ['neither code nor error', (flow: Running) => visit(back(flow, {})), 400],
    ['another path', (flow: Running) => visit(back(flow, { code: 'x' }).replace('/callback', '/callback/')), 404],
    ['another method', (flow: Running) => visit(back(flow, { code: 'x' }), { method: 'POST' }), 405],
    [
      'another host name',
      (flow: Running) => visit(back(flow, { code: 'x' }), { headers: { host: 'rebound.evil.example' } }),
      400,
    ],
  ])('%s is refused and the wait goes on', async (_what, knock, status) => {
    const forms = answerExchange({ access_token: 'gho_example' })
    const flow = await start()
    expect((await knock(flow)).status).toBe(status)
    await visit(back(flow, { code: 'right' }))
    expect(await flow.outcome).toMatchObject({ kind: 'authorized' })
    expect(forms.map((form) => form.get('code'))).toEqual(['right'])
  })

  test('gets nothing of its input back, in pages that may load nothing', async () => {
    const flow = await start()
    const page = await visit(`${flow.redirectUri}?state=%3Cscript%3Ealert(1)%3C/script%3E&code=canary`)
    expect(page.body).not.toMatch(/script|canary/)
    expect(page.headers).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    flow.stop.abort()
    await flow.outcome
  })
})

test('the listener is gone afterwards', async () => {
  answerExchange({ access_token: 'gho_example' })
  const flow = await start()
  await visit(back(flow, { code: 'x' }))
  await flow.outcome
  await expect(visit(back(flow, { code: 'x' }))).rejects.toThrow('ECONNREFUSED')
})

test.each([
  ['Cancel', { error: 'access_denied' }, { kind: 'denied', detail: '' }],
  [
    'another error',
    { error: 'application_suspended', error_description: 'Suspended\u001B[2J' },
    { kind: 'failed', detail: 'Suspended [2J' },
  ],
])('%s in the browser ends it', async (_what, query, outcome) => {
  const flow = await start()
  await visit(back(flow, query))
  expect(await flow.outcome).toEqual(outcome)
})

test.each([
  [
    'an error',
    { error: 'bad_verification_code', error_description: 'The code is incorrect or expired.' },
    'The code is incorrect or expired.',
  ],
  ['no token', {}, 'The token endpoint answered 200 without a usable token'],
])('a token endpoint that answers %s is a failure', async (_what, body, detail) => {
  answerExchange(body)
  const flow = await start()
  await visit(back(flow, { code: 'x' }))
  expect(await flow.outcome).toEqual({ kind: 'failed', detail })
})

test('a redirect of the token endpoint is not followed', async () => {
  server.use(
    http.post(
      options.tokenUrl,
      () => new HttpResponse(null, { status: 302, headers: { location: 'https://evil.example' } }),
    ),
  )
  const flow = await start()
  await visit(back(flow, { code: 'x' }))
  expect(await flow.outcome).toMatchObject({
    kind: 'failed',
    detail: expect.stringContaining('answered with a redirect'),
  })
})

test('nobody comes: it ends after the time limit', async () => {
  const flow = await start({ waitMs: 30 })
  expect(await flow.outcome).toEqual({ kind: 'timed_out' })
})

test('Ctrl-C ends it at once, before and during the wait', async () => {
  const flow = await start()
  flow.stop.abort()
  expect(await flow.outcome).toEqual({ kind: 'aborted' })
  const deps = {
    fetch: lateFetch,
    timeoutMs: 5_000,
    randomBytes: (size: number) => new Uint8Array(size),
    onUrl: () => {},
  }
  expect(await runWebFlow(deps, options, AbortSignal.abort())).toEqual({ kind: 'aborted' })
})

test('a taken port is named', async () => {
  const other = await listen(() => {})
  const port = Number(new URL(other.url).port)
  const deps = {
    fetch: lateFetch,
    timeoutMs: 5_000,
    randomBytes: (size: number) => new Uint8Array(size),
    onUrl: () => {},
  }
  expect(await runWebFlow(deps, { ...options, redirectPort: port }, new AbortController().signal)).toEqual({
    kind: 'ports_taken',
  })
  await other.close()
})
