import { http, HttpResponse } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { fetchCopilotUser, fetchGithubUser } from '../../src/auth/github-api.ts'
import { fixture, lateFetch } from './support.ts'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const deps = { fetch: lateFetch, apiBaseUrl: 'https://api.octo.ghe.com', headers: {}, timeoutMs: 5_000, now: Date.now }
const never = new AbortController().signal

test('names the account behind a token, on the account’s own host', async () => {
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

test('reads plan and quota', async () => {
  server.use(
    http.get('https://api.octo.ghe.com/copilot_internal/user', () => HttpResponse.json(fixture('user-ai-credits'))),
  )
  expect(await fetchCopilotUser(deps, 'ghu_example', never)).toMatchObject({
    kind: 'ok',
    account: { plan: 'business', tokenBasedBilling: true },
  })
})

test('a token without the quota endpoint is told apart from one without access', async () => {
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
