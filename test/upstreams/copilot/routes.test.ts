import { expect, test } from 'vitest'
import { editorHeaders, post, readPiece, openCopilot } from './test-client.ts'

const messages = [{ role: 'user', content: 'Hi' }]
const claude = { model: 'claude-sonnet-4.5', max_tokens: 100, stream: true, messages }
const gpt = { model: 'gpt-5.4', stream: true, input: 'Hi' }

test.for([
  ['/responses', gpt, 'event: response.created\n'],
  ['/v1/messages', claude, 'event: message_start\n'],
  ['/v1/messages?beta=true', claude, 'event: message_start\n'],
] as const)('POST %s streams', async ([path, body, opening]) => {
  const demo = await openCopilot()
  const reply = await post(demo, path, body)
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(reply.headers.has('x-quota-snapshot-premium_interactions')).toBe(true)
  expect(await reply.text()).toContain(opening)
  await demo.until(() => demo.openStreams() === 0)
})

test('POST /v1/messages/count_tokens counts', async () => {
  const demo = await openCopilot()
  const reply = await post(demo, '/v1/messages/count_tokens', { model: 'claude-haiku-4.5', messages })
  expect(reply.status).toBe(200)
  expect(await reply.json()).toEqual({ input_tokens: 4 })
})

test.for(['/responses', '/v1/messages', '/v1/messages/count_tokens'])('%s wants a POST with a token', async (path) => {
  const demo = await openCopilot()
  expect((await fetch(`${demo.url}${path}`, { headers: editorHeaders(demo) })).status).toBe(404)
  const refused = await post(demo, path, {}, { headers: { authorization: 'Bearer tid=unknown' } })
  expect(refused.status).toBe(401)
})

test('paths of OpenAI’s kind are not served', async () => {
  const demo = await openCopilot()
  expect((await post(demo, '/v1/responses', gpt)).status).toBe(404)
  expect((await post(demo, '/messages', claude)).status).toBe(404)
  expect((await post(demo, '/responses/compact', gpt)).status).toBe(404)
})

test('reads the list of anthropic-beta, and an empty one', async () => {
  const demo = await openCopilot()
  const ask = (beta: string): Promise<Response> =>
    post(demo, '/v1/messages', claude, { headers: { 'anthropic-beta': beta } })
  const refused = await ask('interleaved-thinking-2025-05-14, a-1 ,b-2')
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('unsupported beta header(s): a-1, b-2"')
  expect((await ask('')).status).toBe(200)
})

test('headers of Claude’s backend are present on its own route', async () => {
  const demo = await openCopilot()
  const reply = await post(demo, '/v1/messages', claude)
  expect(reply.headers.get('request-id')).toBe('req_vrtx_demo_1')
  expect(reply.headers.get('anthropic-ratelimit-requests-remaining')).toBe('999')
})

test.for([
  ['/responses', gpt],
  ['/v1/messages', claude],
] as const)('a gate holds %s, and a client that leaves is noticed', async ([path, body]) => {
  const demo = await openCopilot()
  const gate = demo.gateNext(path)
  const abort = new AbortController()
  const reply = await post(demo, path, body, { signal: abort.signal })
  expect(demo.openStreams()).toBe(1)
  gate.release()
  const reader = reply.body?.getReader() ?? expect.fail('no body')
  expect(await readPiece(reader)).toMatch(/^event: \S+\ndata: \{.*\}\n\n$/)
  abort.abort()
  expect(await gate.closed).toBe('aborted')
  await demo.until(() => demo.openStreams() === 0)
})

test('the measuring models answer on their own routes, whatever the prompt', async () => {
  const demo = await openCopilot()
  const responses = await post(demo, '/responses', { ...gpt, model: 'demo-bench-responses' })
  expect((await responses.text()).split('" prepared"')).toHaveLength(101)
  const native = await post(demo, '/v1/messages', { ...claude, model: 'demo-bench-messages' })
  expect((await native.text()).split('" prepared"')).toHaveLength(101)
})
