import { expect, test } from 'vitest'
import { saying } from './client.ts'
import { chatsOf, openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

/** Holds a request upstream until it is let go. */
async function occupy({ demo, chat }: Proxy) {
  const gate = demo.gateNext()
  const reply = chat(saying('occupies the place'))
  await gate.opened
  return {
    leave: async () => {
      gate.open()
      expect((await reply).status).toBe(200)
    },
  }
}

/** The prompts of the requests that upstream received, in order. */
function saidTo({ demo }: Proxy): readonly string[] {
  return chatsOf(demo).map(({ body }) => JSON.parse(body).messages[0].content)
}

/**
 * Resolves once everything sent before has arrived and its caller is known: requests over loopback are read in the order they
 * came, and the check of one caller waits for those before it.
 */
async function arrived({ send }: Proxy): Promise<void> {
  for (let round = 0; round < 3; round += 1) await send('/caller')
}

test('if the queue is full, a request is a 429 with retry-after', async () => {
  const proxy = await openProxy({ file: 'server: { max-concurrent-requests: 1, max-queued-requests: 1 }' })
  const { leave } = await occupy(proxy)
  const waiting = proxy.chat(saying('waits'))
  await arrived(proxy)
  for (const ask of [
    () => proxy.chat(),
    () => proxy.chat({ stream: true }),
    () => proxy.send('/v1/embeddings', { body: '{}' }),
  ]) {
    const reply = await ask()
    expect(reply.status).toBe(429)
    expect(reply.headers['retry-after']).toBe('2')
    expect(reply.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } })
  }
  // What needs no place is answered all the same.
  for (const path of ['/healthz', '/readyz', '/v1/models', '/usage']) expect((await proxy.send(path)).status).toBe(200)
  await leave()
  expect((await waiting).status).toBe(200)
  expect(saidTo(proxy)).toEqual(['occupies the place', 'waits'])
})

test('a refused upload is not read before it is refused', async () => {
  const proxy = await openProxy({ file: 'server: { max-concurrent-requests: 1, max-queued-requests: 0 }' })
  const { leave } = await occupy(proxy)
  const reply = await proxy.chat(saying('a'.repeat(5_000_000)))
  expect(reply.status).toBe(429)
  await leave()
})

test('the next request is admitted however a request ends', async () => {
  const proxy = await openProxy({ file: 'server: { max-concurrent-requests: 1, max-queued-requests: 0 }' })
  const ends = [
    '[demo:error 500]',
    '[demo:error 429]',
    '[demo:html]',
    '[demo:cut]',
    '[demo:eof]',
    '[demo:error-mid]',
    '[demo:no-done]',
    'Hello',
  ]
  for (const end of ends) {
    for (const stream of [true, false]) {
      const { status } = await proxy.chat({ ...saying(`${end} one two`), stream })
      expect([end, status === 429 && end !== '[demo:error 429]']).toEqual([end, false])
    }
  }
  expect((await proxy.send('/v1/chat/completions', { body: 'not JSON' })).status).toBe(400)
  expect((await proxy.send('/v1/embeddings', { body: 'not JSON' })).status).toBe(400)
  expect((await proxy.chat({ model: 'nothing' })).status).toBe(404)
  expect((await proxy.chat()).status).toBe(200)
})

test.each([
  ['keys', { authorization: 'Bearer busy-key' }, { authorization: 'Bearer calm-key' }],
  [
    'keys, whatever else comes with them,',
    { authorization: 'Bearer made-up AT', 'x-api-key': 'busy-key' },
    { authorization: 'Bearer calm-key' },
  ],
  [
    'programs',
    { authorization: 'Bearer busy-key', 'user-agent': 'busy' },
    { 'x-api-key': 'calm-key', 'user-agent': 'busy' },
  ],
])('two %s take turns, so that a busy one does not starve the other', async (_what, busy, calm) => {
  const proxy = await openProxy({
    file: 'server: { max-concurrent-requests: 1, max-queued-requests: 20, api-keys: [busy-key, calm-key] }',
  })
  const gate = proxy.demo.gateNext()
  const replies = [proxy.chat(saying('busy 0'), { headers: busy })]
  await gate.opened
  for (const at of [1, 2, 3, 4]) {
    const headers = { ...busy, authorization: busy.authorization.replace('AT', String(at)) }
    replies.push(proxy.chat(saying(`busy ${at}`), { headers }))
    await arrived(proxy)
  }
  for (const at of [1, 2]) {
    replies.push(proxy.chat(saying(`calm ${at}`), { headers: calm }))
    await arrived(proxy)
  }
  gate.open()
  for (const reply of replies) expect((await reply).status).toBe(200)
  expect(saidTo(proxy)).toEqual(['busy 0', 'busy 1', 'calm 1', 'busy 2', 'calm 2', 'busy 3', 'busy 4'])
})

test('without keys, programs are distinguished by their user agent', async () => {
  const proxy = await openProxy({ file: 'server: { max-concurrent-requests: 1, max-queued-requests: 20 }' })
  const gate = proxy.demo.gateNext()
  const ask = (text: string, agent: string) => proxy.chat(saying(text), { headers: { 'user-agent': agent } })
  const replies = [ask('busy 0', 'busy')]
  await gate.opened
  for (const at of [1, 2]) {
    replies.push(ask(`busy ${at}`, 'busy'))
    await arrived(proxy)
  }
  replies.push(ask('calm 1', 'calm'))
  await arrived(proxy)
  gate.open()
  await Promise.all(replies)
  expect(saidTo(proxy)).toEqual(['busy 0', 'busy 1', 'calm 1', 'busy 2'])
})
