import { expect, test } from 'vitest'
import { serveDemo } from './demo-process.ts'

const demo = serveDemo()

function ask(prompt: string, model = 'gpt-4.1'): Promise<Response> {
  return demo.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: prompt }] })
}

test.for<[marker: string, status: number, words: RegExp]>([
  ['error 400 editor-version', 400, /"editor_version_refused"/],
  ['error 401', 401, /Invalid API key/],
  ['error 402', 402, /"quota_exceeded"/],
  ['error 402 free_quota_exceeded', 402, /start a paid plan/],
  ['error 403 policy', 403, /"policy_refused"/],
  ['error 413', 413, /Simulated error 413/],
  ['error 429', 429, /weekly limit/],
  ['error 429 user_global_rate_limited', 429, /five-hour session limit/],
  ['error 500', 500, /Simulated error 500/],
  ['error 503', 503, /overloaded/],
  ['overflow', 400, /exceeds the limit of 128000/],
])('[demo:%s] fails as Copilot does', async ([marker, status, words]) => {
  const reply = await ask(`[demo:${marker}] Hi`)
  expect([reply.status, await reply.text()]).toEqual([status, expect.stringMatching(words)])
})

test('a number after the status says when to try again', async () => {
  const reply = await ask('[demo:error 503 7] Hi')
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '7'])
})

test('the simulated Codex fails as OpenAI does', async () => {
  const spent = await ask('[demo:error 429]', 'codex/gpt-5.5')
  expect([spent.status, await spent.text()]).toEqual([429, expect.stringContaining('usage_limit_reached')])
  const full = await ask('[demo:overflow]', 'codex/gpt-5.5')
  expect([full.status, await full.text()]).toEqual([400, expect.stringContaining('context_length_exceeded')])
})

test('a step of a script fails for one model only', async () => {
  const script = '[demo:script [{"error":{"status":503,"models":["gpt-4.1"]},"text":"Fine."}]]'
  expect((await ask(script)).status).toBe(503)
  expect(await (await ask(script, 'gpt-5-mini')).text()).toContain('Fine.')
})

test('a request without JSON, and one for an unknown model, are refused before they reach the demo', async () => {
  expect((await demo.post('/v1/chat/completions', { model: 'gpt-5-mini' })).status).toBe(400)
  expect((await ask('Hi', 'gpt-0')).status).toBe(404)
})
