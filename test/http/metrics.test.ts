import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { textReply } from '../upstreams/http/outcome.ts'
import { saying } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'
import { readExposition } from './read-exposition.ts'
import type { Sample } from './read-exposition.ts'

type Labels = Readonly<Record<string, string>>

async function samplesOf({ send }: Pick<Proxy, 'send'>): Promise<readonly Sample[]> {
  const reply = await send('/metrics')
  expect(reply.status).toBe(200)
  expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  return readExposition(reply.text).flatMap(({ samples }) => samples)
}

/** The value of the only sample that has these labels; undefined where there is none. */
function valueOf(samples: readonly Sample[], name: string, labels: Labels = {}): number | undefined {
  const wanted = Object.entries(labels)
  const found = samples.filter(
    (sample) =>
      sample.name === `copilot_proxy_${name}` && wanted.every(([label, text]) => sample.labels[label] === text),
  )
  expect(found.length).toBeLessThan(2)
  return found[0]?.value
}

test('requests are counted by dialect, route, model and status, with what they cost', async () => {
  const proxy = await openProxy({ codexLogin: 'stored' })
  const { chat, send } = proxy
  const { usage } = (await chat()).json() as { usage: { prompt_tokens: number; completion_tokens: number } }
  await chat({ stream: true })
  await chat({ model: 'codex/gpt-5.5' })
  await chat({ model: 'no-such-model' })
  await chat(saying('[demo:error 429]'))
  const message = { model: 'claude-sonnet-4.5', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
  const failing = { ...message, ...saying('[demo:error-mid]'), stream: true }
  await send('/v1/messages', { body: JSON.stringify(failing) })
  await send('/v1/messages/count_tokens', { body: JSON.stringify(message) })
  await send('/v1/embeddings', { body: '{"model":"text-embedding-3-small","input":"a"}' })
  await send('/nowhere')

  const samples = await samplesOf(proxy)
  const requests = (labels: Labels) => valueOf(samples, 'requests_total', labels)
  expect(requests({ api: 'chat', route: 'copilot/chat', model: 'gpt-5-mini', status: '200' })).toBe(2)
  expect(requests({ api: 'chat', route: 'copilot/chat', model: 'gpt-5-mini', status: '429' })).toBe(1)
  expect(requests({ api: 'chat', route: 'codex/responses', model: 'gpt-5.5', status: '200' })).toBe(1)
  expect(requests({ api: 'chat', route: 'none', model: 'other', status: '404' })).toBe(1)
  expect(requests({ api: 'messages', route: 'copilot/messages', model: 'claude-sonnet-4.5' })).toBe(1)
  expect(requests({ api: 'messages', status: '200' })).toBeUndefined()
  expect(requests({ api: 'count_tokens', status: '200' })).toBe(1)
  expect(requests({ api: 'embeddings', route: 'copilot/embeddings', status: '200' })).toBe(1)
  expect(valueOf(samples, 'refused_requests_total', { status: '404' })).toBe(1)
  expect(JSON.stringify(samples)).not.toContain('no-such-model')

  const model = { provider: 'copilot', model: 'gpt-5-mini' }
  expect(usage.prompt_tokens).toBeGreaterThan(0)
  expect(valueOf(samples, 'input_tokens_total', model)).toBe(2 * usage.prompt_tokens)
  expect(valueOf(samples, 'output_tokens_total', model)).toBe(2 * usage.completion_tokens)
  expect(valueOf(samples, 'cached_input_tokens_total', model)).toBe(0)

  expect(valueOf(samples, 'request_duration_seconds_count', { api: 'chat', route: 'copilot/chat' })).toBe(3)
  expect(valueOf(samples, 'time_to_first_byte_seconds_count', { api: 'chat', route: 'copilot/chat' })).toBe(1)
  expect(valueOf(samples, 'upstream_responses_total', { provider: 'copilot', status: '429' })).toBe(1)
  expect(valueOf(samples, 'upstream_responses_total', { provider: 'codex', status: '200' })).toBeGreaterThan(0)
  expect(valueOf(samples, 'token_refreshes_total', { provider: 'copilot', outcome: 'ok' })).toBe(1)
  expect(valueOf(samples, 'active_requests')).toBe(0)
  expect(valueOf(samples, 'build_info', { version: '0.0.0-test', node: process.version })).toBe(1)
})

test('running and waiting requests are shown as such, and a caller that disconnects is a 499', async () => {
  const proxy = await openProxy({ file: 'server: { max-concurrent-requests: 1 }' })
  const { chat, openChat, demo } = proxy
  await chat()
  const held = Promise.withResolvers<void>()
  demo.script('/chat/completions', { outcome: { kind: 'silent' }, after: held.promise })
  const running = new AbortController()
  const waiting = new AbortController()
  const first = openChat({}, { signal: running.signal })
  await demo.until(() => demo.count('/chat/completions') === 2)
  const second = chat({}, { signal: waiting.signal })
  const left = Promise.allSettled([first, second])
  await expect.poll(async () => valueOf(await samplesOf(proxy), 'queued_requests')).toBe(1)
  expect(valueOf(await samplesOf(proxy), 'active_requests')).toBe(1)
  waiting.abort()
  await expect.poll(async () => valueOf(await samplesOf(proxy), 'queued_requests')).toBe(0)
  running.abort()
  await left
  await expect.poll(async () => valueOf(await samplesOf(proxy), 'active_requests')).toBe(0)
  const samples = await samplesOf(proxy)
  expect(valueOf(samples, 'requests_total', { status: '499', model: 'gpt-5-mini' })).toBe(1)
  expect(valueOf(samples, 'requests_total', { status: '499', model: 'other' })).toBe(1)
  held.resolve()
})

test('invalid HTTP is counted as a refused request', async () => {
  const proxy = await openProxy()
  const socket = connect(proxy.port, '127.0.0.1')
  socket.end('no HTTP\r\n\r\n')
  const answer = await textOf(socket)
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(valueOf(await samplesOf(proxy), 'refused_requests_total', { status: '400' })).toBe(1)
})

function isOfOneWhoLeft({ message }: { readonly message: string }): boolean {
  return message.startsWith('the caller disconnected')
}

test('a caller that disconnects in mid-stream is counted once, with its input tokens, and has a log line', async () => {
  const proxy = await openProxy()
  const body = { model: 'claude-sonnet-4.5', max_tokens: 10, stream: true, ...saying('[demo:slow 50] [demo:long 500]') }
  const caller = new AbortController()
  const head = { 'content-type': 'application/json' }
  const { signal } = caller
  const url = `${proxy.daemon.url}/v1/messages`
  const reply = await fetch(url, { method: 'POST', headers: head, body: JSON.stringify(body), signal })
  await reply.body?.getReader().read()
  caller.abort()
  await expect.poll(() => proxy.log.filter(isOfOneWhoLeft).length).toBe(1)
  const model = { model: 'claude-sonnet-4.5', route: 'copilot/messages' }
  const read = proxy.log.find(isOfOneWhoLeft)?.fields
  expect(read).toMatchObject({ ...model, status: 499, tokensIn: expect.any(Number), ms: expect.any(Number) })
  const samples = await samplesOf(proxy)
  expect(valueOf(samples, 'requests_total', { ...model, status: '499' })).toBe(1)
  expect(valueOf(samples, 'input_tokens_total')).toBe(read?.['tokensIn'])
  expect(read?.['tokensIn']).toBeGreaterThan(0)
})

test('a failed token renewal is counted', async () => {
  const proxy = await openProxy({
    prepare: (demo) => demo.script('/copilot_internal/v2/token', { outcome: textReply(500, 'no'), times: 9 }),
  })
  expect((await proxy.chat()).status).toBe(503)
  const samples = await samplesOf(proxy)
  expect(valueOf(samples, 'token_refreshes_total', { provider: 'copilot', outcome: 'failed' })).toBeGreaterThan(0)
  expect(valueOf(samples, 'token_refreshes_total', { outcome: 'ok' })).toBeUndefined()
})

test('metrics require a key if there are keys', async () => {
  const { send } = await openProxy({ file: 'server: { api-keys: [a-key-of-mine] }' })
  expect((await send('/metrics')).status).toBe(401)
  const reply = await send('/metrics', { headers: { authorization: 'Bearer a-key-of-mine' } })
  expect(reply.status).toBe(200)
  expect(reply.text).toContain('copilot_proxy_refused_requests_total{status="401"} 1\n')
})
