import { execFile } from 'node:child_process'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { serveDemo } from './demo-process.ts'

const demo = serveDemo()
const program = fileURLToPath(new URL('../../bin/copilot-proxy.cjs', import.meta.url))

async function json(path: string, body: object): Promise<unknown> {
  return (await demo.post(path, body)).json()
}

test('lists the models of both providers, each as simulated', async () => {
  const { data } = (await demo.get('/v1/models')) as { readonly data: readonly { id: string; owned_by: string }[] }
  const ids = data.map(({ id }) => id)
  for (const id of ['gpt-5-mini', 'claude-sonnet-5', 'gemini-3-pro-preview', 'grok-code-fast-1', 'gpt-6-sol', 'auto'])
    expect(ids).toContain(id)
  // Both providers have it.
  expect(ids).toContain('codex/gpt-5.3-codex')
  const named = data.filter(({ id }) => !id.startsWith('auto'))
  expect(named.filter(({ owned_by: owner }) => !/^Simulated .+ \(demo\)$/.test(owner))).toEqual([])
})

async function answerOf(model: string, content: string, more: object = {}): Promise<string> {
  return JSON.stringify(await json('/v1/chat/completions', { model, messages: [{ role: 'user', content }], ...more }))
}

test('chooses a model for auto: by length, by tier or by marker', async () => {
  expect(await answerOf('auto', 'Hi')).toContain('Hello from gpt-5-mini')
  expect(await answerOf('auto', 'long '.repeat(50))).toContain('Hello from claude-sonnet-5')
  expect(await answerOf('auto:balance', 'Hi there')).toContain('Hello from gpt-5.4')
  expect(await answerOf('auto', '[demo:auto gemini-3-pro-preview]')).toContain('Hello from gemini-3-pro-preview')
})

test('searches the web for a model with and for one without a web search', async () => {
  const own = await json('/v1/responses', { model: 'gpt-5.4', input: 'Owls', tools: [{ type: 'web_search' }] })
  expect(JSON.stringify(own)).toMatch(/"query":"Owls".*"url_citation"/)
  const emulated = await json('/v1/messages', {
    model: 'claude-sonnet-4.5',
    max_tokens: 500,
    messages: [{ role: 'user', content: 'Owls' }],
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
  })
  expect(JSON.stringify(emulated)).toMatch(/web_search_tool_result.*example\.com\/owls/)
})

test('embeds texts: unit vectors, the same for the same text', async () => {
  const body = { model: 'text-embedding-3-small', input: ['a', 'b', 'a'], dimensions: 8 }
  const { data } = (await json('/v1/embeddings', body)) as { readonly data: readonly { embedding: number[] }[] }
  const [first = [], second = [], third] = data.map(({ embedding }) => embedding)
  expect(third).toEqual(first)
  expect(second).not.toEqual(first)
  expect(Math.hypot(...first)).toBeCloseTo(1)
})

test('completes code, makes images and counts tokens', async () => {
  const completion = await json('/v1/completions', { model: 'gpt-41-copilot', prompt: 'x =', stop: ['\n'] })
  expect(completion).toMatchObject({ choices: [{ text: 'a + b', finish_reason: 'stop' }] })
  const images = await json('/v1/images/generations', { model: 'gpt-image-2.5-flare', prompt: 'An owl', n: 2 })
  expect(images).toMatchObject({ data: [{ b64_json: expect.stringMatching(/^iVBOR/) }, {}] })
  const messages = [{ role: 'user', content: 'Hi' }]
  const count = await json('/v1/messages/count_tokens', { model: 'claude-sonnet-4.5', messages })
  expect(count).toEqual({ input_tokens: expect.any(Number) })
})

function classify(command: string): Promise<string> {
  const tool = { type: 'function', function: { name: 'report_verdicts', parameters: { type: 'object' } } }
  const calls = `<calls>\n{"call":1,"arguments":{"command":"${command}"}}\n</calls>`
  return answerOf('gpt-5-mini', calls, { tools: [tool], tool_choice: 'required' })
}

test('flags dangerous calls in auto mode', async () => {
  expect(await classify('rm -rf build')).toContain(String.raw`\"outcome\":\"flagged\"`)
  expect(await classify('ls')).toContain(String.raw`\"outcome\":\"not_flagged\"`)
})

test('states a quota, the use of both plans and the cost of answers, and that all of it is simulated', async () => {
  await json('/v1/chat/completions', { model: 'codex/gpt-5.5', messages: [{ role: 'user', content: 'Hi' }] })
  await json('/v1/chat/completions', { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hi' }] })
  expect(await demo.get('/usage')).toMatchObject({
    demo: true,
    login: 'demo-user',
    quotas: expect.arrayContaining([expect.objectContaining({ id: 'premium_interactions', remaining: 267 })]),
    codex: { plan: 'plus', windows: [{ used_percent: 12.5 }, { used_percent: 40 }] },
    totals: { today: expect.arrayContaining([expect.objectContaining({ model: 'gpt-5-mini', estimated: false })]) },
  })
  expect(await demo.get('/healthz')).toMatchObject({ demo: true, copilot: 'ok', codex: 'ok' })
})

test.for([
  ['status', /simulated \(--demo\)/],
  ['models', /These models are simulated \(--demo\)/],
  ['usage', /copilot-proxy runs with --demo, so the quota is simulated/],
  ['requests', /copilot-proxy runs with --demo, so all answers are simulated/],
] as const)('copilot-proxy %s says that the demo runs', { timeout: 120_000 }, async ([command, words]) => {
  const env = { COPILOT_PROXY_HOME: demo.home(), COPILOT_PROXY_SERVER_PORT: new URL(demo.url()).port }
  // Without a login, `status` ends with another code than 0.
  const run = async (): Promise<string> => {
    const { stdout, stderr } = await promisify(execFile)(execPath, [program, command], { env }).catch(
      (error: { readonly stdout: string; readonly stderr: string }) => error,
    )
    return stdout + stderr
  }
  // Commands wait a second for a daemon, which may be long on a busy machine.
  await expect.poll(run, { timeout: 110_000 }).toMatch(words)
})
