import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { streamReply } from '../upstreams/http/outcome.ts'
import { saying } from './client.ts'
import { openProxy } from './harness.ts'

test.each([true, false])(
  'no prompt and no answer is logged unless log.bodies asks for it (stream: %s)',
  async (stream) => {
    const { chat, log } = await openProxy()
    await chat({ stream, ...saying('a private question') })
    expect(inspect(log, { depth: 20 })).not.toMatch(/private|question/)
  },
)

test.each([true, false])('log.bodies logs what was asked and what was answered (stream: %s)', async (stream) => {
  const { chat, log } = await openProxy({ file: 'log: { bodies: true }' })
  const reply = await chat({ stream, ...saying('a private question') })
  const textOf = (message: string) =>
    log
      .filter((line) => line.message === message)
      .map(({ fields }) => fields['text'])
      .join('')
  expect(textOf('request')).toContain('a private question')
  expect(textOf('answer')).toBe(reply.text)
})

function chatEvent(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', model: 'gpt-5-mini', choices })}\n\n`
}

test.each([true, false])(
  'bodies in the log and in the list have no key, although it arrives in pieces (stream: %s)',
  async (stream) => {
    const key = 'example-key-4711'
    const proxy = await openProxy({ file: `codex: { api-key: ${key} }\nlog: { bodies: true }` })
    const pieces = `It is ${key}, I think`.match(/.{1,3}/g) ?? []
    const frames = [...pieces.map((content) => chatEvent({ content })), chatEvent({}, 'stop'), 'data: [DONE]\n\n']
    proxy.demo.script('/chat/completions', { outcome: streamReply(frames) })
    const parts = [key.slice(0, 9), key.slice(9)].map((text) => ({ type: 'text', text }))
    const messages = [{ role: 'user', content: parts }]
    const body = JSON.stringify({ model: 'gpt-5-mini', messages, stream })
    const reply = await proxy.send('/v1/chat/completions', { body })
    expect(reply.status).toBe(200)

    const list = (await proxy.send('/requests')).json() as { requests: readonly { id: string }[] }
    const found = await proxy.send(`/requests/${list.requests[0]?.id}`)
    const kept = found.json() as { request_body: string; answer_body: string }
    const logged = (message: string) =>
      proxy.log.filter((line) => line.message === message).map(({ fields }) => fields['text'])
    expect(logged('request')).toEqual([kept.request_body])
    expect(logged('answer')).toEqual([kept.answer_body])
    const contents = [kept.request_body, kept.answer_body].map((text) =>
      [...text.matchAll(/"(?:content|text)":"([^"]*)"/g)].map(([, each]) => each).join(''),
    )
    expect(contents).toEqual(['[redacted]', 'It is [redacted], I think'])
    // What the caller gets is unchanged.
    if (!stream) expect(reply.text).toContain(key)
  },
)

test('the log has no key of a caller. The caller’s own list shows what it sent, so that it tells nobody about other keys', async () => {
  const [own, other] = ['example-key-4711', 'another-key-4711']
  const proxy = await openProxy({ file: `server: { api-keys: [${own}, ${other}] }\nlog: { bodies: true }` })
  const headers = { authorization: `Bearer ${own}` }
  const reply = await proxy.chat({ messages: [{ role: 'user', content: `${own} ${other}` }] }, { headers })
  const found = await proxy.send(`/requests/${String(reply.headers['x-request-id'])}`, { headers })
  expect(found.text).toContain(`${own} ${other}`)
  expect(JSON.stringify(proxy.log)).toContain('[redacted] [redacted]')
  expect(JSON.stringify(proxy.log)).not.toMatch(/-key-4711/)
})

test('a served request is one line that says what it cost', async () => {
  const { chat, log } = await openProxy()
  await chat({ max_completion_tokens: 100, model: 'claude-sonnet-4.5' })
  expect(log.filter(({ message }) => message === 'request served')).toEqual([
    {
      level: 'info',
      message: 'request served',
      fields: {
        requestId: expect.any(String),
        model: 'claude-sonnet-4.5',
        route: 'copilot/chat',
        stream: false,
        status: 200,
        ms: expect.any(Number),
        tokensIn: expect.any(Number),
        tokensOut: expect.any(Number),
        tokensCached: 0,
        serviceRequestId: expect.stringMatching(/^demo-service-\d+$/),
        credits: expect.any(Number),
      },
    },
  ])
})

test('a change without a loss is a line at debug, a loss is part of the line of the request', async () => {
  const { chat, log } = await openProxy()
  await chat({ max_tokens: 100, temperature: 0.2 })
  expect(log.filter(({ fields }) => 'adapted' in fields)).toMatchObject([
    { level: 'debug', fields: { adapted: [expect.stringContaining('max_tokens')] } },
  ])
  expect(log.filter(({ fields }) => 'warnings' in fields)).toMatchObject([
    {
      level: 'info',
      message: 'request served',
      fields: { warnings: [expect.stringContaining('dropped;temperature')] },
    },
  ])
})

test('the line of an unknown path names the likely route and no other', async () => {
  const { send, log } = await openProxy()
  await send('/v1/chat/completion', { body: '{}' })
  const error = {
    kind: 'route_not_found',
    method: 'POST',
    path: '/v1/chat/completion',
    suggestion: 'POST /v1/chat/completions',
  }
  expect(log.filter(({ message }) => message === 'request refused').map(({ fields }) => fields)).toEqual([
    { requestId: expect.any(String), status: 404, error },
  ])
})

test('a refused request is one line with its route and its warnings', async () => {
  const { chat, log } = await openProxy()
  await chat({ temperature: 0.2, ...saying('[demo:error 429]') })
  expect(log.filter(({ message }) => message === 'request refused')).toMatchObject([
    {
      level: 'info',
      fields: {
        status: 429,
        route: 'copilot/chat',
        warnings: [expect.stringContaining('temperature')],
        error: { kind: 'upstream_status' },
        serviceRequestId: expect.stringMatching(/^demo-service-\d+$/),
      },
    },
  ])
})
