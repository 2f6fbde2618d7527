import { expect, onTestFinished, test } from 'vitest'
import { startDemoCodex } from '../../src/demo/codex/server.ts'
import type { DemoCodex } from '../../src/demo/codex/server.ts'
import { startDemoServer } from '../../src/demo/server.ts'
import type { DemoServer } from '../../src/demo/server.ts'

// The demo as `--demo` starts it, without the strict parts that other tests plug in.

async function openDemo(): Promise<DemoServer> {
  const demo = await startDemoServer()
  onTestFinished(() => demo.close())
  return demo
}

async function openDemoCodex(): Promise<DemoCodex> {
  const codex = await startDemoCodex()
  onTestFinished(() => codex.close())
  return codex
}

type Fields = Readonly<Record<string, unknown>>

async function fieldsOf(reply: Response): Promise<Fields> {
  return JSON.parse(await reply.text())
}

function jsonHeaders(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
}

/** A Copilot token, from an exchange as the daemon makes it. */
async function tokenOf({ url, tokens }: DemoServer): Promise<string> {
  const headers = { authorization: `token ${tokens.issueGithub()}` }
  return String((await fieldsOf(await fetch(`${url}/copilot_internal/v2/token`, { headers })))['token'])
}

async function post(demo: DemoServer, path: string, body: unknown): Promise<Response> {
  return fetch(`${demo.url}${path}`, {
    method: 'POST',
    headers: jsonHeaders(await tokenOf(demo)),
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const messages = [{ role: 'user', content: 'Hi there' }]

test.for<[string, Fields]>([
  ['/chat/completions', { model: 'gpt-4.1', messages }],
  ['/chat/completions', { model: 'claude-sonnet-4.5', messages, temperature: 9, unheard_of: true }],
  ['/responses', { model: 'gpt-5.4', input: 'Hi there', store: true }],
  ['/v1/messages', { model: 'claude-sonnet-4.5', messages, max_tokens: 1_000_000 }],
])('%s answers what it can read, however odd: %j', async ([path, body]) => {
  const reply = await post(await openDemo(), path, body)
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-type')).toContain('text/event-stream')
  expect(await reply.text()).toMatch(/Hello/)
})

test.for<[string, string, unknown, RegExp]>([
  ['JSON that is none', '/chat/completions', '{', /failed to parse request body/],
  ['no model', '/chat/completions', { messages }, /model: /],
  ['no messages', '/v1/messages', { model: 'claude-sonnet-4.5' }, /messages: /],
  ['an unknown model', '/responses', { model: 'gpt-0', input: 'Hi' }, /model_not_supported/],
  ['a model of another route', '/chat/completions', { model: 'gpt-5.4', messages }, /unsupported_api_for_model/],
])('refuses %s', async ([, path, body, words]) => {
  const reply = await post(await openDemo(), path, body)
  expect(reply.status).toBe(400)
  expect(await reply.text()).toMatch(words)
})

test('takes its own tokens only, and serves its own paths only', async () => {
  const demo = await openDemo()
  const headers = { authorization: 'Bearer tid=unknown' }
  expect((await fetch(`${demo.url}/models`, { headers })).status).toBe(401)
  expect((await post(demo, '/v1/chat/completions', {})).status).toBe(404)
})

test('says who is logged in, and how much of the plan is used', async () => {
  const demo = await openDemo()
  const headers = { authorization: `token ${demo.tokens.issueGithub()}` }
  const [user, account] = await Promise.all(
    ['/user', '/copilot_internal/user'].map(async (path) => fieldsOf(await fetch(`${demo.url}${path}`, { headers }))),
  )
  expect(user).toMatchObject({ login: 'demo-user' })
  expect(account).toMatchObject({
    copilot_plan: 'individual',
    quota_snapshots: { premium_interactions: { entitlement: 300, remaining: 267 } },
  })
})

test('[demo:vertex] refuses what Google does not have', async () => {
  const body = { model: 'claude-opus-4.6', max_tokens: 10, messages: [{ role: 'user', content: '[demo:vertex]' }] }
  const demo = await openDemo()
  const managed = await post(demo, '/v1/messages', { ...body, context_management: {} })
  expect(await managed.text()).toContain('context_management: Extra inputs are not permitted')
  const format = { type: 'json_schema', schema: {} }
  const formatted = await post(demo, '/v1/messages', { ...body, output_config: { format } })
  expect(await formatted.text()).toContain('structured_outputs')
})

test('the simulated Codex lists models, answers, and renews a login', async () => {
  const codex = await openDemoCodex()
  const { accessToken, refreshToken } = codex.login()
  const listed = await fetch(`${codex.baseUrl}/models?client_version=1.0.0`, { headers: jsonHeaders(accessToken) })
  expect(await listed.text()).toContain('"slug":"gpt-6-sol"')

  const renewed = await fieldsOf(
    await fetch(`${codex.issuer}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    }),
  )
  const ask = (token: string, body: unknown) =>
    fetch(`${codex.baseUrl}/responses`, { method: 'POST', headers: jsonHeaders(token), body: JSON.stringify(body) })
  const answer = await ask(String(renewed['access_token']), { model: 'gpt-5.5', input: 'Hi there' })
  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain('response.completed')
  expect((await ask('made-up', { model: 'gpt-5.5', input: 'Hi' })).status).toBe(401)
  expect((await ask(accessToken, { model: 'gpt-0', input: 'Hi' })).status).toBe(400)
})
