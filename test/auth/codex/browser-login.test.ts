import { createHash } from 'node:crypto'
import { createServer, request as httpRequest, type Server } from 'node:http'
import { networkInterfaces } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CODEX_REDIRECT_PORTS, runCodexBrowserLogin, type CodexBrowserOutcome } from '../../../src/auth/codex/login.ts'
import type { BrowserLoginDeps } from '../../../src/auth/callback-listener.ts'
import { openIssuer, type Answer, type Asked } from './issuer.ts'

const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'))

interface Running {
  readonly outcome: Promise<CodexBrowserOutcome>
  /** What the browser is sent to. */
  readonly url: URL
  readonly redirect: URL
  readonly issuer: string
  readonly asked: readonly Asked[]
  readonly stop: AbortController
  /** The redirect with this query and the right state. */
  readonly back: (query: Record<string, string>) => string
}

const tokens: Answer = {
  body: {
    access_token: 'example-access',
    refresh_token: 'example-refresh',
    id_token: 'example-id',
    expires_in: 864_000,
  },
}

const deps = (onUrl: BrowserLoginDeps['onUrl']): BrowserLoginDeps => ({
  fetch,
  timeoutMs: 5_000,
  randomBytes: (size) => new Uint8Array(size).fill(size),
  onUrl,
})

async function start(
  answer: Answer = tokens,
  change: { ports?: readonly number[]; waitMs?: number } = {},
): Promise<Running> {
  const { url: issuer, asked } = await openIssuer({ '/oauth/token': [answer] })
  const stop = new AbortController()
  const opened = Promise.withResolvers<string>()
  const outcome = runCodexBrowserLogin(
    deps(opened.resolve),
    { issuer, clientId: 'example-client', originator: 'copilot-proxy', ports: [0], waitMs: 10_000, ...change },
    stop.signal,
  )
  onTestFinished(async () => {
    stop.abort()
    await outcome
  })
  const url = new URL(await opened.promise)
  const redirect = new URL(url.searchParams.get('redirect_uri') ?? '')
  const state = url.searchParams.get('state') ?? ''
  const back = (query: Record<string, string>): string =>
    `${redirect.href}?${new URLSearchParams({ state, ...query }).toString()}`
  return { outcome, url, redirect, issuer, asked, stop, back }
}

/** A visit as the browser makes it, by this address of the machine whatever `localhost` resolves to. */
function visit(
  url: string,
  {
    address = '127.0.0.1',
    method = 'GET',
    headers = {},
  }: { address?: string; method?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: string }> {
  const { port, pathname, search, host } = new URL(url)
  const options = { host: address, port, path: pathname + search, method, headers: { host, ...headers } }
  return new Promise((resolve, reject) => {
    httpRequest(options, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on('error', reject)
      .end()
  })
}

/** Holds a port on one loopback address until the test ends. */
async function hold(port: number, address: string): Promise<number> {
  const server: Server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, address, resolve))
  onTestFinished(() => void server.close())
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('not a TCP server')
  return bound.port
}

test('sends the browser off with exactly the documented parameters, and redeems the code it brings back', async () => {
  const flow = await start()
  expect(flow.url.origin + flow.url.pathname).toBe(`${flow.issuer}/oauth/authorize`)
  const verifier = Buffer.from(new Uint8Array(64).fill(64)).toString('base64url')
  expect(Object.fromEntries(flow.url.searchParams)).toEqual({
    response_type: 'code',
    client_id: 'example-client',
    redirect_uri: expect.stringMatching(/^http:\/\/localhost:\d+\/auth\/callback$/),
    scope: 'openid profile email offline_access',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    id_token_add_organizations: 'true',
    codex_cli_simplified_flow: 'true',
    state: Buffer.from(new Uint8Array(32).fill(32)).toString('base64url'),
    originator: 'copilot-proxy',
  })
  const page = await visit(flow.back({ code: 'example-code' }))
  expect(page).toMatchObject({ status: 200, body: expect.stringContaining('OpenAI answered') })
  expect(await flow.outcome).toEqual({
    kind: 'authorized',
    tokens: {
      accessToken: 'example-access',
      refreshToken: 'example-refresh',
      idToken: 'example-id',
      expiresInSeconds: 864_000,
    },
  })
  expect(flow.asked.map(({ path, body }) => [path, Object.fromEntries(new URLSearchParams(body))])).toEqual([
    [
      '/oauth/token',
      {
        grant_type: 'authorization_code',
        client_id: 'example-client',
        code: 'example-code',
        redirect_uri: flow.redirect.href,
        code_verifier: verifier,
      },
    ],
  ])
})

test('the ports are those that the issuer allows', () => {
  expect(CODEX_REDIRECT_PORTS).toEqual([1455, 1457])
})

test.runIf(hasIpv6)('a browser that takes localhost for ::1 arrives too', async () => {
  const flow = await start()
  expect(await visit(flow.back({ code: 'example-code' }), { address: '::1' })).toMatchObject({ status: 200 })
  expect(await flow.outcome).toMatchObject({ kind: 'authorized' })
})

describe('a visit that is not the expected one', () => {
  test.each([
    ['a wrong state', (flow: Running) => visit(flow.back({ code: 'x', state: 'guess' })), 400],
    ['no state', (flow: Running) => visit(`${flow.redirect.href}?code=x`), 400],
    ['an error without the state', (flow: Running) => visit(`${flow.redirect.href}?error=access_denied`), 400],
    ['neither code nor error', (flow: Running) => visit(flow.back({})), 400],
    ['another path', (flow: Running) => visit(flow.back({ code: 'x' }).replace('/auth/callback', '/callback')), 404],
    ['another method', (flow: Running) => visit(flow.back({ code: 'x' }), { method: 'POST' }), 405],
    [
      'the address instead of the name',
      (flow: Running) => visit(flow.back({ code: 'x' }), { headers: { host: `127.0.0.1:${flow.redirect.port}` } }),
      400,
    ],
    [
      'the name without the port',
      (flow: Running) => visit(flow.back({ code: 'x' }), { headers: { host: 'localhost' } }),
      400,
    ],
    [
      'a name that only resolves here',
      (flow: Running) =>
        visit(flow.back({ code: 'x' }), { headers: { host: `rebound.example:${flow.redirect.port}` } }),
      400,
    ],
  ])('%s is refused and the wait goes on', async (_what, knock, status) => {
    const flow = await start()
    expect((await knock(flow)).status).toBe(status)
    await visit(flow.back({ code: 'right' }))
    expect(await flow.outcome).toMatchObject({ kind: 'authorized' })
    expect(flow.asked.map(({ body }) => new URLSearchParams(body).get('code'))).toEqual(['right'])
  })
})

const notOpened = (): never => expect.unreachable()

describe('ports', () => {
  test('a port that is taken gives way to the next', async () => {
    const taken = await hold(0, '127.0.0.1')
    const flow = await start(tokens, { ports: [taken, 0] })
    expect(flow.redirect.port).not.toBe(String(taken))
    await visit(flow.back({ code: 'x' }))
    expect(await flow.outcome).toMatchObject({ kind: 'authorized' })
  })

  test.runIf(hasIpv6)('a port that is taken on ::1 alone is taken: the browser might go there', async () => {
    const taken = await hold(0, '::1')
    const flow = await start(tokens, { ports: [taken, 0] })
    expect(flow.redirect.port).not.toBe(String(taken))
    // What was opened on 127.0.0.1 before that was seen is closed again.
    expect(await hold(taken, '127.0.0.1')).toBe(taken)
  })

  test('with all of them taken, nothing is opened and the outcome says so', async () => {
    const ports = [await hold(0, '127.0.0.1'), await hold(0, '127.0.0.1')]
    const options = { issuer: 'http://127.0.0.1:1', clientId: 'x', originator: 'x', ports, waitMs: 10_000 }
    expect(await runCodexBrowserLogin(deps(notOpened), options, new AbortController().signal)).toEqual({
      kind: 'ports_taken',
    })
  })

  test('the listener is gone afterwards', async () => {
    const flow = await start()
    await visit(flow.back({ code: 'x' }))
    await flow.outcome
    expect(await hold(Number(flow.redirect.port), '127.0.0.1')).toBe(Number(flow.redirect.port))
    if (hasIpv6) await hold(Number(flow.redirect.port), '::1')
  })
})

test.each([
  ['Cancel', { error: 'access_denied' }, { kind: 'denied', detail: '' }],
  [
    'a workspace that forbids it',
    { error: 'access_denied', error_description: 'Your workspace\u001B[2J does not allow it' },
    { kind: 'denied', detail: 'Your workspace [2J does not allow it' },
  ],
  [
    'another error',
    { error: 'server_error', error_description: 'Try again' },
    { kind: 'failed', detail: 'OpenAI said: Try again' },
  ],
  ['an error without words', { error: 'server_error' }, { kind: 'failed', detail: 'OpenAI said: server_error' }],
])('%s in the browser ends it', async (_what, query, outcome) => {
  const flow = await start()
  await visit(flow.back(query))
  expect(await flow.outcome).toEqual(outcome)
  expect(flow.asked).toEqual([])
})

test.each<[string, Answer]>([
  [
    'refuses the code',
    { status: 400, body: { error: 'invalid_grant', error_description: 'Code example-code is spent' } },
  ],
  ['is down', { status: 503, body: { error: { message: 'busy' } } }],
  ['answers with a web page', { body: '<!doctype html><title>Guest network</title>' }],
  ['gives no token', { body: {} }],
  ['redirects', { status: 302, body: '', headers: { location: 'https://elsewhere.example' } }],
])('a token endpoint that %s is asked once, and its failure is reported without the code', async (_what, answer) => {
  const flow = await start(answer)
  await visit(flow.back({ code: 'example-code' }))
  const outcome = await flow.outcome
  expect(outcome).toMatchObject({ kind: 'failed', detail: expect.stringMatching(/\w/) })
  expect(JSON.stringify(outcome)).not.toContain('example-code')
  expect(flow.asked).toHaveLength(1)
})

test('nobody comes: it ends after the time limit', async () => {
  const flow = await start(tokens, { waitMs: 30 })
  expect(await flow.outcome).toEqual({ kind: 'timed_out' })
})

test('Ctrl-C ends it at once, before and during the wait', async () => {
  const flow = await start()
  flow.stop.abort()
  expect(await flow.outcome).toEqual({ kind: 'aborted' })
  const options = { issuer: flow.issuer, clientId: 'x', originator: 'x', ports: [0], waitMs: 10_000 }
  expect(
    await runCodexBrowserLogin(
      deps(() => {}),
      options,
      AbortSignal.abort(),
    ),
  ).toEqual({ kind: 'aborted' })
})
