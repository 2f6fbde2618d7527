import OpenAI from 'openai'
import { expect, test } from 'vitest'
import type { CodexUpstream } from '../codex.ts'
import { openCodex } from './test-client.ts'

function sdkFor(codex: CodexUpstream): OpenAI {
  const { accessToken, accountId } = codex.login()
  return new OpenAI({
    apiKey: accessToken,
    baseURL: codex.baseUrl,
    maxRetries: 0,
    defaultHeaders: { 'chatgpt-account-id': accountId, originator: 'test-program', 'user-agent': 'test-program/1.0' },
  })
}

const prompt = {
  model: 'gpt-5.5',
  instructions: 'Be brief.',
  input: [{ type: 'message' as const, role: 'user' as const, content: 'Hi' }],
  store: false,
  stream: true as const,
}

test('OpenAI’s stream helper reads an answer of the ChatGPT backend, asides apart', async () => {
  const codex = await openCodex({ settings: { sendsAsides: false } })
  let text = ''
  const stream = sdkFor(codex).responses.stream(prompt)
  stream.on('response.output_text.delta', ({ delta }) => {
    text += delta
  })
  const { status, model } = await stream.finalResponse()
  expect({ status, model }).toEqual({ status: 'completed', model: 'gpt-5.5' })
  expect(text).toContain('You said: Hi')
  codex.configure({ sendsAsides: true })
  await expect(sdkFor(codex).responses.stream(prompt).finalResponse()).rejects.toThrow(
    'Unhandled response stream event',
  )
})

test('OpenAI’s client sees a refusal as the error it is', async () => {
  const codex = await openCodex()
  const asked = sdkFor(codex).responses.create({ ...prompt, model: 'gpt-0' })
  await expect(asked).rejects.toMatchObject({ status: 400 })
})

test('OpenAI’s client reads the key API', async () => {
  const codex = await openCodex()
  const openai = new OpenAI({ apiKey: codex.apiKey, baseURL: codex.apiBaseUrl, maxRetries: 0 })
  const final = await openai.responses.stream({ model: 'gpt-5.5', input: 'Hi' }).finalResponse()
  expect(final.output_text).toContain('You said: Hi')
  expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'message'])
  const ids: string[] = []
  for await (const { id } of openai.models.list()) ids.push(id)
  expect(ids).toContain('gpt-5.5')
})
