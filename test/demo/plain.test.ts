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

const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const asks = [{ role: 'user', content: '[demo:reasoning][demo:tools] go' }]
const named = { name: 'read', description: 'reads' }

/** Requests for two calls after some thinking, and what their streams have to say. */
const thinkingCalls: readonly [string, Fields, readonly RegExp[]][] = [
  [
    '/chat/completions',
    {
      model: 'gemini-3-pro-preview',
      messages: asks,
      tools: [{ type: 'function', function: { ...named, parameters } }],
    },
    [/"reasoning_text":"The "/, /"index":1,"id":"call_/, /"reasoning_opaque":"\w/, /"finish_reason":"tool_calls"/],
  ],
  [
    '/responses',
    {
      model: 'gpt-5.4',
      input: asks,
      tools: [{ type: 'function', ...named, parameters }],
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    },
    [/response.reasoning_summary_text.delta/, /"encrypted_content":"\w/, /"type":"function_call"/, /copilot_usage/],
  ],
  [
    '/v1/messages',
    {
      model: 'claude-sonnet-4.5',
      messages: asks,
      max_tokens: 4096,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      tools: [{ ...named, input_schema: parameters }],
    },
    [/"thinking_delta"/, /"signature_delta"/, /"type":"tool_use"/, /"stop_reason":"tool_use"/],
  ],
]

test.for(thinkingCalls)('%s thinks and makes two calls', async ([path, body, words]) => {
  const text = await (await post(await openDemo(), path, body)).text()
  for (const word of words) expect(text).toMatch(word)
})

test('chat refuses in its own field, and states tokens and credits at the end', async () => {
  const body = { model: 'gpt-4.1', messages: [{ role: 'user', content: '[demo:refusal]' }] }
  const text = await (await post(await openDemo(), '/chat/completions', body)).text()
  expect(text).toContain('"delta":{"refusal":"I "}')
  expect(text).toMatch(/"usage":\{"prompt_tokens":.*"copilot_usage":.*\n\ndata: \[DONE\]/)
})

test.for<[string, RegExp]>([
  ['[demo:failed slow_down]', /^data: .*"type":"response.failed".*"code":"slow_down"/m],
  ['[demo:error-event slow_down]', /^data: .*"type":"error","sequence_number":\d+,"code":"slow_down"/m],
  ['[demo:length]', /"reason":"max_output_tokens"/],
  ['[demo:reasoning]', /response.reasoning_summary_part.added/],
])('/responses of both services: %s', async ([prompt, words]) => {
  const demo = await openDemo()
  const body = { input: prompt, reasoning: { summary: 'auto' } }
  expect(await (await post(demo, '/responses', { model: 'gpt-5.4', ...body })).text()).toMatch(words)
  const codex = await openDemoCodex()
  const reply = await fetch(`${codex.baseUrl}/responses`, {
    method: 'POST',
    headers: jsonHeaders(codex.login().accessToken),
    body: JSON.stringify({ model: 'gpt-5.5', ...body }),
  })
  expect(await reply.text()).toMatch(words)
})

test('the simulated Codex fails as its backend does, with the limits of the plan', async () => {
  const codex = await openDemoCodex()
  const headers = jsonHeaders(codex.login().accessToken)
  const ask = (input: string) =>
    fetch(`${codex.baseUrl}/responses`, { method: 'POST', headers, body: JSON.stringify({ model: 'gpt-5.5', input }) })
  const spent = await ask('[demo:error 429]')
  expect(spent.headers.get('x-codex-primary-used-percent')).toBe('100')
  expect(await fieldsOf(spent)).toMatchObject({ error: { type: 'usage_limit_reached', plan_type: 'plus' } })
  const slow = await ask('[demo:error 503 7]')
  expect([slow.status, slow.headers.get('retry-after')]).toEqual([503, '7'])
  expect(await (await ask('[demo:overflow]')).text()).toContain('context_length_exceeded')
  const answered = await ask('Hi')
  expect(answered.headers.get('x-codex-primary-used-percent')).toBe('12.5')
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
