import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { jsonReply, streamReply, textReply } from '../upstreams/http/outcome.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

const sdk = ({ daemon }: Proxy) => new OpenAI({ baseURL: `${daemon.url}/v1`, apiKey: 'any', maxRetries: 0 })
const sent = ({ demo }: Proxy) => demo.log.filter(({ route }) => route === '/v1/engines/{id}/completions')
const model = 'gpt-41-copilot'
const prompt = 'function add(a, b) {\n  return '
const suffix = '\n}\n'
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const route = '/v1/engines/{id}/completions'

test('completions.create of the SDK gets the code between prompt and suffix; upstream gets the form of GitHub’s editors', async () => {
  const proxy = await openProxy()
  const answer = await sdk(proxy).completions.create({
    model,
    prompt,
    suffix,
    max_tokens: 40,
    temperature: 0,
    stop: '\n\n',
  })
  expect(answer).toMatchObject({
    object: 'text_completion',
    model,
    choices: [{ index: 0, text: 'a + b', finish_reason: 'stop', logprobs: null }],
    usage: { completion_tokens: expect.any(Number) },
  })
  const [request] = sent(proxy)
  expect(JSON.parse(request?.body ?? '')).toEqual({
    prompt,
    suffix,
    max_tokens: 40,
    temperature: 0,
    n: 1,
    stop: ['\n\n'],
    stream: true,
  })
  expect(request).toMatchObject({
    path: '/v1/engines/gpt-41-copilot/completions',
    headers: { 'openai-intent': 'copilot-ghost', 'openai-organization': 'github-copilot', 'x-initiator': 'user' },
  })
  expect(JSON.parse((await proxy.send('/requests')).text).requests).toMatchObject([
    { api: 'completions', route: 'copilot/completions', status: 200, stream: false },
  ])
})

test('streamed, the SDK gets each piece, several choices and the usage that it asks for', async () => {
  const proxy = await openProxy()
  const stream = await sdk(proxy).completions.create({
    model,
    prompt,
    n: 2,
    stream: true,
    stream_options: { include_usage: true },
  })
  const texts = new Map<number, string>()
  let usage: unknown
  for await (const chunk of stream) {
    expect(chunk).toMatchObject({ object: 'text_completion', model, id: expect.stringMatching(/^cmpl-/) })
    for (const { index, text } of chunk.choices) texts.set(index, (texts.get(index) ?? '') + text)
    usage = chunk.usage ?? usage
  }
  expect([...texts]).toEqual([
    [0, 'a + b\n'],
    [1, 'a + b\n'],
  ])
  expect(usage).toMatchObject({ total_tokens: expect.any(Number) })
  const raw = await proxy.send('/completions', { body: JSON.stringify({ model, prompt, stream: true }) })
  expect(raw.headers['content-type']).toBe('text/event-stream; charset=utf-8')
  expect(raw.text.endsWith('data: [DONE]\n\n')).toBe(true)
  expect(raw.text).not.toContain('usage')
})

test.each([
  [{ model: 'gpt-5-mini', prompt }, 400, 'does not complete code. Models for this request: gpt-41-copilot'],
  [{ model: 'no-such', prompt }, 404, 'no-such'],
  [{ model }, 400, 'prompt'],
  [{ model, prompt: [1, 2, 3] }, 400, 'token ids'],
  [{ model, prompt: ['one', 'two'] }, 400, 'several prompts'],
  [{ model, prompt, max_tokens: 0 }, 400, 'max_tokens'],
  [{ model, prompt, n: 11 }, 400, 'at most 10'],
])('%j is refused with %i before anything goes upstream', async (body, status, words) => {
  const proxy = await openProxy()
  const reply = await proxy.send('/v1/completions', { body: JSON.stringify(body) })
  expect([reply.status, JSON.parse(reply.text).error.message]).toEqual([status, expect.stringContaining(words)])
  expect(sent(proxy)).toEqual([])
})

test('a model for code completion says where it can be used; the public engine works unlisted', async () => {
  const proxy = await openProxy()
  const chat = await proxy.chat({ model })
  expect([chat.status, chat.text]).toEqual([400, expect.stringContaining('Use /v1/completions')])
  const list = jsonReply(200, { object: 'list', data: [{ id: 'gpt-5-mini' }] })
  const without = await openProxy({ prepare: (demo) => demo.script('/models', { outcome: list, times: 9 }) })
  const reply = await without.send('/v1/completions', { body: JSON.stringify({ model, prompt }) })
  expect(reply.status).toBe(200)
  expect(sent(without)[0]?.path).toBe('/v1/engines/gpt-41-copilot/completions')
})

test('members that upstream does not take are dropped with a warning, or refused if chat.strict is on', async () => {
  const body = JSON.stringify({
    model,
    prompt: [prompt],
    best_of: 3,
    echo: false,
    user: 'me',
    extra: { language: 'ts' },
  })
  const proxy = await openProxy()
  const reply = await proxy.send('/v1/completions', { body })
  expect([reply.status, reply.headers['x-copilot-proxy-warnings']]).toEqual([200, 'dropped;best_of, dropped;user'])
  expect(JSON.parse(sent(proxy)[0]?.body ?? '')).toMatchObject({ prompt, extra: { language: 'ts' } })
  const strict = await openProxy({ file: 'chat: { strict: true }' })
  expect((await strict.send('/v1/completions', { body })).status).toBe(400)
})

test('failures before and within the stream have OpenAI’s envelope', async () => {
  const proxy = await openProxy()
  const ask = (stream: boolean) => proxy.send('/v1/completions', { body: JSON.stringify({ model, prompt, stream }) })
  proxy.demo.script(route, { outcome: textReply(402, 'free completions exhausted'), times: 2 })
  for (const stream of [false, true]) {
    const refused = await ask(stream)
    expect([refused.status, refused.headers['x-should-retry']]).toEqual([402, 'false'])
    expect(JSON.parse(refused.text).error.message).toContain('free completions exhausted')
  }
  const piece = event({ choices: [{ text: 'a', index: 0, finish_reason: null }] })
  proxy.demo.script(route, { outcome: streamReply([piece]), times: 2 })
  const cut = await ask(false)
  expect([cut.status, JSON.parse(cut.text).error.code]).toEqual([502, 'upstream_truncated'])
  const cutStream = await ask(true)
  expect(cutStream.status).toBe(200)
  expect(cutStream.text).toContain('"text":"a"')
  expect(cutStream.text).toContain('upstream_truncated')
  proxy.demo.script(route, {
    outcome: streamReply([piece, event({ error: { message: 'filtered', code: 'content_filter' } })]),
  })
  expect((await ask(true)).text).toContain('filtered')
})

test('a caller that leaves ends the stream upstream', async () => {
  const proxy = await openProxy()
  const gate = proxy.demo.gateNext(route)
  const opening = proxy.open('/v1/completions', { body: JSON.stringify({ model, prompt, stream: true }) })
  await gate.opened
  gate.release(1)
  const reply = await opening
  reply.leave()
  expect(await gate.closed).toBe('aborted')
})

test('the token goes to the completions host of the login', async () => {
  const proxy = await openProxy()
  const ask = () => proxy.send('/v1/completions', { body: JSON.stringify({ model, prompt }) })
  expect((await ask()).status).toBe(200)
  expect(sent(proxy)).toHaveLength(1)
})
