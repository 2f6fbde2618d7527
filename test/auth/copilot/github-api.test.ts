import { http, HttpResponse } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { exchangeCopilotToken } from '../../../src/auth/copilot/github-api.ts'
import { fetchCopilotUser, fetchGithubUser } from '../../../src/auth/copilot/github-api.ts'
import { fixture, lateFetch } from '../support.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const deps = { fetch: lateFetch, apiBaseUrl: 'https://api.octo.ghe.com', headers: {}, timeoutMs: 5_000, now: Date.now }
const never = new AbortController().signal

test('names the account of a token, on the account’s own host', async () => {
  server.use(
    http.get('https://api.octo.ghe.com/user', ({ request }) =>
      request.headers.get('authorization') === 'token ghu_example'
        ? HttpResponse.json(fixture('github-user'))
        : HttpResponse.json(fixture('github-401'), { status: 401 }),
    ),
  )
  expect(await fetchGithubUser(deps, 'ghu_example', never)).toEqual({ kind: 'ok', login: 'octocat' })
  expect(await fetchGithubUser(deps, 'ghu_other', never)).toMatchObject({ kind: 'bad_credentials' })
})

test('each path of GitHub’s REST API gets the version it knows, and never what means the model host alone', async () => {
  const seen = new Map<string, Headers>()
  const keep = (body: Record<string, unknown>) =>
    http.get(/https:\/\/api\.octo\.ghe\.com\//, ({ request }) => {
      seen.set(new URL(request.url).pathname, request.headers)
      return HttpResponse.json(body)
    })
  server.use(keep({ login: 'octocat', ...fixture('exchange-minimal') }))
  const configured = {
    'x-github-api-version': '2026-08-01',
    'openai-intent': 'auto',
    'editor-version': 'vscode/1.126.0',
  }
  const asked = { ...deps, headers: configured }
  await fetchGithubUser(asked, 'ghu_example', never)
  await fetchCopilotUser(asked, 'ghu_example', never)
  await exchangeCopilotToken(asked, 'ghu_example', never)
  expect([...seen].map(([path, headers]) => [path, headers.get('x-github-api-version')])).toEqual([
    ['/user', null],
    ['/copilot_internal/user', '2025-04-01'],
    ['/copilot_internal/v2/token', '2025-04-01'],
  ])
  for (const headers of seen.values()) {
    expect(headers.get('editor-version')).toBe('vscode/1.126.0')
    expect(headers.has('openai-intent')).toBe(false)
  }
})

test('reads plan and quota', async () => {
  server.use(
    http.get('https://api.octo.ghe.com/copilot_internal/user', () => HttpResponse.json(fixture('user-ai-credits'))),
  )
  expect(await fetchCopilotUser(deps, 'ghu_example', never)).toMatchObject({
    kind: 'ok',
    account: { plan: 'business', tokenBasedBilling: true },
  })
})

test('distinguishes a token without the quota endpoint from one without access', async () => {
  server.use(
    http.get('https://api.octo.ghe.com/copilot_internal/user', () =>
      HttpResponse.json(fixture('github-404'), { status: 404 }),
    ),
  )
  expect(await fetchCopilotUser(deps, 'ghu_example', never)).toMatchObject({ kind: 'not_available' })
})

test.each(['[]', '"text"', '', '{"login":7}'])('a 200 with %j instead of a user is no user', async (body) => {
  server.use(http.get('https://api.octo.ghe.com/user', () => new HttpResponse(body)))
  expect(await fetchGithubUser(deps, 'ghu_example', never)).toMatchObject({ kind: 'transient' })
})

test('a 200 that is not JSON is no quota', async () => {
  server.use(http.get('https://api.octo.ghe.com/copilot_internal/user', () => new HttpResponse('<html>')))
  expect(await fetchCopilotUser(deps, 'ghu_example', never)).toMatchObject({ kind: 'transient' })
})
