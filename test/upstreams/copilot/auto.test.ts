import { expect, test } from 'vitest'
import type { CopilotUpstream } from '../copilot.ts'
import { ask, post, openCopilot } from './test-client.ts'

const newest = { headers: { 'x-github-api-version': '2026-08-01' } }

interface Choice {
  readonly session_token: string
  readonly expires_at: number
  readonly selected_model: { readonly id: string; readonly supported_endpoints: readonly string[] }
}

/** What the simulation sends; the casts below have no other proof. */
interface Session {
  readonly session_token: string
  readonly available_models: readonly string[]
}

async function choose(demo: CopilotUpstream, prompt: string, more = {}): Promise<Choice> {
  return (await (await post(demo, '/auto', { prompt, ...more }, newest)).json()) as Choice
}

const askWith = (demo: CopilotUpstream, token: string, model: string) =>
  ask(demo, 'Hi', { model }, { headers: { 'copilot-session-token': token } })

test('chooses by the prompt or an image, and describes the model', async () => {
  const demo = await openCopilot({ now: () => 1000 })
  const short = await choose(demo, 'Hi')
  expect(short).toMatchObject({ expires_at: 86_401, selected_model: { id: 'gpt-5-mini' } })
  expect(short.selected_model.supported_endpoints).toContain('/responses')
  expect((await choose(demo, 'Hi', { has_image: true })).selected_model.id).toBe('claude-sonnet-5')
})

test('a session token is good for its model, until its end', async () => {
  let nowMs = 0
  const demo = await openCopilot({ now: () => nowMs })
  const { session_token: token } = await choose(demo, 'Hi')
  expect((await askWith(demo, token, 'gpt-5-mini')).status).toBe(200)
  const others = [await askWith(demo, token, 'gpt-4.1'), await askWith(demo, 'made-up', 'gpt-5-mini')]
  nowMs = 86_400_000
  demo.tokens.expireAll()
  others.push(await askWith(demo, token, 'gpt-5-mini'))
  for (const reply of others) {
    expect(reply.status).toBe(401)
    expect(await reply.text()).toBe('Invalid auto-mode selector\n')
  }
})

test('a token of the older way is good for each of its models', async () => {
  const demo = await openCopilot()
  const reply = await post(demo, '/models/session', { auto_mode: { model_hints: ['auto'] } })
  const { session_token: token, available_models: models } = (await reply.json()) as Session
  expect(models).toContain('gpt-5-mini')
  expect((await askWith(demo, token, 'gpt-5-mini')).status).toBe(200)
})

test.for([
  ['/auto', { prompt: 'Hi' }, { headers: { 'x-github-api-version': '2026-06-01' } }, 404, 'invalid apiVersion\n'],
  ['/auto', {}, newest, 400, 'prompt is required'],
  ['/models/session', {}, newest, 400, 'auto_mode is required'],
] as const)('%s refuses %j: %#', async ([path, body, options, status, words]) => {
  const demo = await openCopilot()
  const reply = await post(demo, path, body, options)
  expect(reply.status).toBe(status)
  expect(await reply.text()).toContain(words)
})

test('either way can be missing', async () => {
  const demo = await openCopilot({ settings: { autoWays: 'session' } })
  const statuses = async () => [
    (await post(demo, '/auto', { prompt: 'Hi' }, newest)).status,
    (await post(demo, '/models/session', { auto_mode: {} })).status,
  ]
  expect(await statuses()).toEqual([404, 200])
  demo.configure({ autoWays: 'none' })
  expect(await statuses()).toEqual([404, 404])
})
