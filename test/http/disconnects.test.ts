import { expect, test } from 'vitest'
import { chatBody, saying } from './client.ts'
import { openProxy, tokenReply } from './harness.ts'
import type { Proxy } from './harness.ts'

/** Serves one request at a time, so that a place that is not given back shows at once. */
const onePlace = 'server: { max-concurrent-requests: 1, max-queued-requests: 5 }'

const left = 'the caller disconnected before the answer was complete'

/** The place is free, nothing is open upstream, and no line of the log speaks of a failure. */
async function expectClean({ chat, demo, log }: Proxy): Promise<void> {
  expect((await chat()).status).toBe(200)
  await demo.until(() => demo.openStreams() === 0)
  expect(log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
}

async function logged({ log }: Proxy, message: string): Promise<void> {
  await expect.poll(() => log.map((line) => line.message)).toContain(message)
}

async function expectGauge({ send }: Proxy, name: string, value: number): Promise<void> {
  const line = new RegExp(`^copilot_proxy_${name} ${value}$`, 'm')
  await expect.poll(async () => (await send('/metrics')).text).toMatch(line)
}

const ways = [
  ['streaming', true],
  ['not streaming', false],
] as const

test('a caller that disconnects during its upload leaves nothing open', async () => {
  const proxy = await openProxy({ file: onePlace })
  const client = await proxy.socket()
  client.write(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"model":',
  )
  await expectGauge(proxy, 'active_requests', 1)
  // The only place is taken: the next request has to wait until this one is gone.
  const next = proxy.chat()
  client.destroy()
  expect((await next).status).toBe(200)
  await logged(proxy, left)
  await expectClean(proxy)
  expect(proxy.demo.count('/chat/completions')).toBe(2)
})

test('a caller that disconnects before it is known leaves nothing open', async () => {
  const proxy = await openProxy({ file: onePlace })
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  for (let i = 0; i < 10; i++) {
    const client = await proxy.socket()
    client.end(`${head}Content-Length: 1000\r\n\r\n{"model":`)
    client.destroy()
  }
  await expectClean(proxy)
})

test('a caller that disconnects during a compressed upload leaves nothing open', async () => {
  const proxy = await openProxy({ file: onePlace })
  const client = await proxy.socket()
  client.write(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n',
  )
  client.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0]))
  await expectGauge(proxy, 'active_requests', 1)
  const next = proxy.chat()
  client.destroy()
  expect((await next).status).toBe(200)
  await logged(proxy, left)
  await expectClean(proxy)
})

test('a caller that leaves while it waits in the queue never reaches upstream', async () => {
  const proxy = await openProxy({ file: onePlace })
  const gate = proxy.demo.gateNext()
  const first = proxy.chat()
  await gate.opened
  const controller = new AbortController()
  const waiting = proxy.chat(saying('never sent'), { signal: controller.signal })
  const last = proxy.chat(saying('sent'))
  await expectGauge(proxy, 'queued_requests', 2)
  controller.abort()
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
  await logged(proxy, left)
  gate.open()
  expect((await first).status).toBe(200)
  expect((await last).status).toBe(200)
  expect(proxy.demo.log.map(({ body }) => body).join()).not.toContain('never sent')
  await expectClean(proxy)
})

test.each(ways)(
  'E02 a caller that leaves before upstream answers closes the upstream connection (%s)',
  async (_how, stream) => {
    const proxy = await openProxy({ file: onePlace })
    const controller = new AbortController()
    const pending = proxy.chat({ ...saying('[demo:silent]'), stream }, { signal: controller.signal })
    await proxy.demo.until(() => proxy.demo.count('/chat/completions') === 1)
    controller.abort()
    await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
    await proxy.demo.until(() => proxy.demo.aborted() === 1)
    await logged(proxy, left)
    await expectClean(proxy)
  },
)

test('E02 a caller that leaves between the upstream headers and the first event closes the upstream connection', async () => {
  const proxy = await openProxy({ file: onePlace })
  const gate = proxy.demo.gateNext()
  const controller = new AbortController()
  const pending = proxy.chat({ stream: true }, { signal: controller.signal })
  await gate.opened
  controller.abort()
  await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
  expect(await gate.closed).toBe('aborted')
  await expectClean(proxy)
})

test.each(ways)('E01 a caller that leaves in mid-answer closes the upstream connection (%s)', async (_how, stream) => {
  const proxy = await openProxy({ file: onePlace })
  const gate = proxy.demo.gateNext()
  gate.release(3)
  const controller = new AbortController()
  const pending = proxy.open('/v1/chat/completions', { body: chatBody({ stream }), signal: controller.signal })
  await gate.opened
  if (stream) await (await pending).next()
  await gate.waiting()
  controller.abort()
  if (!stream) await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
  expect(await gate.closed).toBe('aborted')
  await logged(proxy, left)
  await expectClean(proxy)
})

test('a caller that leaves while embeddings are made closes the upstream connection', async () => {
  const proxy = await openProxy({ file: onePlace })
  const held = Promise.withResolvers<void>()
  proxy.demo.script('/embeddings', { outcome: { kind: 'silent' }, after: held.promise })
  const controller = new AbortController()
  const pending = proxy.send('/v1/embeddings', {
    body: '{"model":"text-embedding-3-small","input":"a"}',
    signal: controller.signal,
  })
  await proxy.demo.until(() => proxy.demo.count('/embeddings') === 1)
  controller.abort()
  await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
  await proxy.demo.until(() => proxy.demo.aborted() === 1)
  held.resolve()
  await expectClean(proxy)
})

test('a caller that disconnects while the first token is fetched does not cancel the fetch for others', async () => {
  const held = Promise.withResolvers<void>()
  const proxy = await openProxy({
    prepare: (demo) => {
      demo.script('/copilot_internal/v2/token', { outcome: tokenReply(demo), after: held.promise })
    },
  })
  const controller = new AbortController()
  const gone = proxy.chat({}, { signal: controller.signal })
  const stays = proxy.chat()
  // One that is aborted before it arrives is no caller.
  await expectGauge(proxy, 'active_requests', 2)
  await proxy.demo.until(() => proxy.demo.exchanges() === 1)
  controller.abort()
  await expect(gone).rejects.toMatchObject({ name: 'AbortError' })
  await logged(proxy, left)
  held.resolve()
  expect((await stays).status).toBe(200)
  expect(proxy.demo.exchanges()).toBe(1)
  expect(proxy.demo.count('/chat/completions')).toBe(1)
})

test('200 callers that disconnect at different moments leak nothing', { timeout: 20_000 }, async () => {
  const proxy = await openProxy({ file: 'server: { max-concurrent-requests: 50, max-queued-requests: 200 }' })
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, async (_, at) => {
      const signal = AbortSignal.timeout(5 + at)
      await proxy.chat({ ...saying('[demo:slow 20] one two three four five six'), stream: at % 2 === 0 }, { signal })
    }),
  )
  expect(results.some(({ status }) => status === 'rejected')).toBe(true)
  await proxy.demo.until(() => proxy.demo.openStreams() === 0)
  await expectClean(proxy)
})
