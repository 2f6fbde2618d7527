import { createHash } from 'node:crypto'
import { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { streamReply } from '../upstreams/http/outcome.ts'
import { contentOf, dataOf, saying } from './client.ts'
import { openProxy } from './harness.ts'
import { isThorough } from '../thorough.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** An upstream event that says this text. */
function event(content: string, finish: string | null = null): string {
  const choice = { index: 0, delta: { role: 'assistant', content }, finish_reason: finish }
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5-mini', choices: [choice] })}\n\n`
}

const done = 'data: [DONE]\n\n'

test('the head comes with the first event, which does not wait for a second', async () => {
  const { openChat, demo } = await openProxy()
  demo.script('/chat/completions', { outcome: streamReply([event('one '), event('two'), event('', 'stop'), done]) })
  const gate = demo.gateNext()
  const opening = openChat()
  gate.release(1)
  const reply = await opening
  expect(reply.status).toBe(200)
  expect(reply.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  expect(reply.headers).not.toHaveProperty('content-length')
  expect(reply.headers).not.toHaveProperty('content-encoding')
  expect(contentOf(`${await reply.next()}\n\n`)).toBe('one ')
  gate.release(1)
  expect(contentOf(`${await reply.next()}\n\n`)).toBe('two')
  gate.open()
  expect(dataOf(await reply.rest()).at(-1)).toBe('[DONE]')
})

test('after the end mark the reply ends, whether or not upstream closes its side', async () => {
  const { openChat, demo, chat } = await openProxy()
  const outcome = streamReply([event('all', 'stop'), done], { ending: 'hold' })
  demo.script('/chat/completions', { outcome }, { outcome })
  expect(contentOf(await (await openChat()).rest())).toBe('all')
  expect((await chat()).json()).toMatchObject({ choices: [{ message: { content: 'all' } }] })
})

/** Moves the heartbeats on, step by step, until the caller has the head of its answer. */
async function beatUntil<Reply>(opening: Promise<Reply>): Promise<Reply> {
  for (;;) {
    const tick = new Promise<undefined>((resolve) => setImmediate(resolve, undefined))
    const reply = await Promise.race([opening, tick])
    if (reply !== undefined) return reply
    vi.advanceTimersByTime(15_000)
  }
}

/** The next event that is no heartbeat. */
async function nextEvent(reply: { readonly next: () => Promise<string | undefined> }): Promise<string | undefined> {
  for (;;) {
    const text = await reply.next()
    if (text !== ': keepalive') return text
  }
}

test('E05 comments are sent while upstream is silent', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const { openChat, demo } = await openProxy()
  const gate = demo.gateNext()
  demo.script('/chat/completions', { outcome: streamReply([event('one'), event('', 'stop'), done]) })
  const opening = openChat()
  await gate.opened
  const reply = await beatUntil(opening)
  expect(reply.status).toBe(200)
  expect(await reply.next()).toBe(': keepalive')
  gate.release(1)
  expect(contentOf(`${await nextEvent(reply)}\n\n`)).toBe('one')
  vi.advanceTimersByTime(15_000)
  expect(await reply.next()).toBe(': keepalive')
  gate.open()
  expect(dataOf(await reply.rest()).at(-1)).toBe('[DONE]')
})

test.each([
  ['chat', '/v1/chat/completions', ': keepalive', 'upstream_timeout'],
  ['responses', '/v1/responses', ': keepalive', 'upstream_timeout'],
  ['messages', '/v1/messages', 'event: ping\ndata: {"type":"ping"}', 'timeout_error'],
] as const)(
  'a %s caller gets a heartbeat before upstream answers, and a failure as an event',
  async (_, path, heartbeat, type) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { open, demo, log } = await openProxy({ file: 'copilot: { timeouts: { headers-seconds: 0.5 } }' })
    const content = '[demo:silent]'
    const messages = [{ role: 'user', content }]
    const body = path === '/v1/responses' ? { input: content } : { max_tokens: 100, messages }
    const opening = open(path, { body: JSON.stringify({ model: 'gpt-5-mini', stream: true, ...body }) })
    await demo.until(() => demo.openStreams() === 1)
    const reply = await beatUntil(opening)
    expect(reply.status).toBe(200)
    expect(reply.headers['x-copilot-proxy-route']).toMatch(/^copilot\//)
    const text = await reply.rest()
    expect(text).toContain(heartbeat)
    expect(text).toContain(type)
    expect(text).not.toContain('[DONE]')
    const logged = log.filter(({ message }) => message === 'stream ended in an error event')
    expect(logged).toMatchObject([
      { fields: { route: expect.stringMatching(/^copilot\//), status: 504, httpStatus: 200 } },
    ])
    await demo.until(() => demo.aborted() === 1)
  },
)

const shortTimeouts = 'copilot: { timeouts: { headers-seconds: 0.2, idle-seconds: 0.2 } }'

test('E04 an upstream that never answers is a 504', async () => {
  const { chat, demo } = await openProxy({ file: shortTimeouts })
  for (const stream of [true, false]) {
    const reply = await chat({ ...saying('[demo:silent]'), stream })
    expect(reply.status).toBe(504)
    expect(reply.json()).toMatchObject({
      error: { type: 'timeout_error', code: 'upstream_timeout', message: expect.stringContaining('0.2 s') },
    })
  }
  await demo.until(() => demo.aborted() === 2)
})

test('E04 an upstream that falls silent before its first event is a 504', async () => {
  const { chat, demo } = await openProxy({ file: shortTimeouts })
  for (const stream of [true, false]) {
    const reply = await chat({ ...saying('[demo:hang]'), stream })
    expect(reply.status).toBe(504)
    expect(reply.json()).toMatchObject({ error: { code: 'upstream_timeout' } })
  }
  await demo.until(() => demo.aborted() === 2 && demo.openStreams() === 0)
})

test('E04 an upstream that falls silent in mid-stream ends in an error event, or is a 504', async () => {
  const { chat, openChat, demo } = await openProxy({ file: shortTimeouts })
  const outcome = streamReply([event('one ')], { ending: 'hold' })
  demo.script('/chat/completions', { outcome }, { outcome })
  const text = await (await openChat()).rest()
  expect(contentOf(text)).toBe('one ')
  expect(JSON.parse(dataOf(text).at(-1) ?? '')).toMatchObject({
    error: { type: 'timeout_error', code: 'upstream_timeout' },
  })
  expect((await chat()).status).toBe(504)
  await demo.until(() => demo.aborted() === 2)
})

test.runIf(isThorough)(
  'E05 a stream that lasts longer than the idle limit is served if no pause is that long',
  async () => {
    const { openChat } = await openProxy({ file: 'copilot: { timeouts: { idle-seconds: 1 } }' })
    const startedMs = performance.now()
    const text = await (await openChat(saying('[demo:slow 150] one two three four five six seven eight'))).rest()
    expect(dataOf(text).at(-1)).toBe('[DONE]')
    expect(performance.now() - startedMs).toBeGreaterThan(1000)
  },
)

const broken = [
  ['[demo:cut] one two three', 'upstream_truncated'],
  ['[demo:eof] one two three', 'upstream_truncated'],
  ['[demo:error-mid] one two three', undefined],
] as const

test.each(broken)(
  'E06 E07 %s ends in an error event without an end mark, or is a 502 without streaming',
  async (prompt, code) => {
    for (const model of ['gpt-5-mini', 'claude-sonnet-4.5', 'gemini-2.5-pro', 'grok-code-fast-1']) {
      const { openChat, chat, demo, log } = await openProxy()
      const reply = await openChat({ model, ...saying(prompt) })
      expect(reply.status).toBe(200)
      const events = dataOf(await reply.rest())
      expect(events).not.toContain('[DONE]')
      const last = JSON.parse(events.at(-1) ?? '')
      expect(last).toEqual({
        error: { message: expect.any(String), type: expect.any(String), param: null, code: code ?? expect.anything() },
      })
      expect(last).not.toHaveProperty('choices')
      expect(events.slice(0, -1).some((data) => data.includes('"finish_reason":"'))).toBe(false)
      const whole = await chat({ model, ...saying(prompt) })
      expect(whole.status).toBe(502)
      // Each message ends with the id of its own request.
      const id = / \(GitHub request id DEMO:\d+\)/
      expect([last.error.message, whole.text]).toEqual([expect.stringMatching(id), expect.stringMatching(id)])
      expect(JSON.parse(whole.text.replace(id, ''))).toMatchObject({
        error: { code: last.error.code, message: last.error.message.replace(id, '') },
      })
      expect(demo.count('/chat/completions')).toBe(2)
      expect(log.find(({ message }) => message.includes('error event'))).toMatchObject({ level: 'warn' })
    }
  },
)

test('E30 a web page instead of a stream is a 502 that contains none of the page', async () => {
  const { chat } = await openProxy()
  for (const stream of [true, false]) {
    const reply = await chat({ ...saying('[demo:html]'), stream })
    expect(reply.status).toBe(502)
    expect(reply.json()).toMatchObject({
      error: { code: 'upstream_unusable', message: expect.stringContaining('web page') },
    })
    expect(reply.text).not.toContain('<')
  }
})

test('an empty stream is a 502', async () => {
  const { chat, demo } = await openProxy()
  const outcome = streamReply([])
  demo.script('/chat/completions', { outcome }, { outcome })
  for (const stream of [true, false]) expect((await chat({ stream })).status).toBe(502)
})

test('E10 an error in the very first event is a status, not a stream', async () => {
  const { chat, demo } = await openProxy()
  const outcome = streamReply([`data: {"error":{"message":"quota used up","code":"quota_exceeded"}}\n\n`])
  demo.script('/chat/completions', { outcome }, { outcome })
  for (const stream of [true, false]) {
    const reply = await chat({ stream })
    expect(reply.status).toBe(402)
    expect(reply.json()).toMatchObject({
      error: { message: expect.stringMatching(/^quota used up\. /), code: 'quota_exceeded' },
    })
  }
})

test('E08 a complete answer without the end mark is complete', async () => {
  const { chat, openChat } = await openProxy()
  const text = await (await openChat(saying('[demo:no-done] one two'))).rest()
  expect(dataOf(text).at(-1)).toBe('[DONE]')
  expect(contentOf(text)).toContain('one two')
  expect((await chat(saying('[demo:no-done] one two'))).json()).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
})

/** Text in which every character that framing could trip over occurs. */
const oddText =
  '\u2028\u2029\u0085\u000b\u000c\r\n\r\ndata: [DONE]\n\n: no comment\nevent: x\nid: 1\n\u0000\u001b[31m\uFEFF\u200d👩‍👩‍👧‍👦é e\u0301 ﷽ 𝕏 \\n \\" </script> %0A \t end'

test('E25 text arrives character by character as upstream wrote it, wherever its bytes are cut', async () => {
  const bytes = Buffer.from(event(oddText) + event('', 'stop') + done)
  for (const size of [1, 2, 3, 7, 64, bytes.length]) {
    const { openChat, chat, demo } = await openProxy()
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    const outcome = streamReply(pieces)
    demo.script('/chat/completions', { outcome }, { outcome })
    expect(contentOf(await (await openChat()).rest())).toBe(oddText)
    expect((await chat()).json()).toMatchObject({ choices: [{ message: { content: oddText } }] })
  }
})

test('E25 lone surrogates, which JSON can hold and UTF-8 cannot, keep their escapes', async () => {
  const { openChat, demo } = await openProxy()
  const said = event('X').replace('"X"', String.raw`"\ud83d"`)
  demo.script('/chat/completions', { outcome: streamReply([said, event('', 'stop'), done]) })
  expect(await (await openChat()).rest()).toContain(String.raw`"\ud83d"`)
})

test('unknown fields of upstream pass unchanged', async () => {
  const { openChat, demo } = await openProxy()
  const said = event('one').replace('"choices"', '"new_field":{"a":[1.50,1e3,null]},"choices"')
  demo.script('/chat/completions', { outcome: streamReply([said, event('', 'stop'), done]) })
  expect(await (await openChat()).rest()).toContain('"new_field":{"a":[1.50,1e3,null]}')
})

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

test(
  'E03 a slow caller slows upstream, memory stays bounded, and every byte arrives',
  // 48 MB: seconds on an idle machine.
  { timeout: 180_000 },
  async () => {
    const { openChat, demo } = await openProxy()
    const count = 3000
    const text = 'x'.repeat(16_000)
    let sent = 0
    const events = Array.from({ length: count }, (_, at) => event(`${at}:${text}`))
    const pieces = Object.assign([...events, event('', 'stop'), done], {
      *[Symbol.iterator](this: readonly string[]) {
        for (let at = 0; at < this.length; at += 1) {
          sent += 1
          yield this[at] ?? ''
        }
      },
    })
    demo.script('/chat/completions', { outcome: streamReply(pieces) })
    const before = process.memoryUsage().arrayBuffers
    const reply = await openChat()
    expect(await reply.next()).toContain('0:xxx')
    // Nothing is read: what the sockets and buffers between take is taken, then upstream stands still.
    let earlier = -1
    while (sent !== earlier) {
      earlier = sent
      await wait(150)
    }
    expect(sent).toBeLessThan(count / 2)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024)
    const rest = await reply.rest()
    expect(dataOf(rest).at(-1)).toBe('[DONE]')
    const expected = Array.from({ length: count - 1 }, (_, at) => `${at + 1}:${text}`).join('')
    expect(hash(contentOf(rest))).toBe(hash(expected))
  },
)

test('waiting for a slow caller leaves no listener on its response', async () => {
  const { openChat, demo } = await openProxy()
  const large = event('x'.repeat(200_000))
  const pieces = [...Array.from({ length: 30 }, () => large), event('', 'stop'), done]
  demo.script('/chat/completions', { outcome: streamReply(pieces) })
  const writeHead = vi.spyOn(ServerResponse.prototype, 'writeHead')
  const reply = await openChat()
  await reply.next()
  const responses = writeHead.mock.contexts.filter((each) => each instanceof ServerResponse)
  const response = responses.find(({ req }) => req.url === '/v1/chat/completions')
  const before = response?.listenerCount('close') ?? Number.NaN
  let most = 0
  while ((await reply.next()) !== undefined) most = Math.max(most, response?.listenerCount('close') ?? Number.NaN)
  writeHead.mockRestore()
  // The wait that is going on has one.
  expect(most).toBeLessThanOrEqual(before + 1)
})

test('E03 a caller that reads nothing for the idle limit is disconnected', async () => {
  const { openChat, demo, log } = await openProxy({ file: shortTimeouts })
  const pieces = Array.from({ length: 3000 }, () => event('x'.repeat(16_000)))
  demo.script('/chat/completions', { outcome: streamReply(pieces) })
  const reply = await openChat()
  await reply.next()
  await demo.until(() => demo.aborted() === 1 && demo.openStreams() === 0)
  await expect(reply.rest()).rejects.toThrow()
  expect(log.filter(({ level }) => level === 'error')).toEqual([])
})

test('E01 a caller that stops reading and then leaves closes the upstream connection', async () => {
  const { openChat, demo } = await openProxy()
  demo.script('/chat/completions', {
    outcome: streamReply(Array.from({ length: 3000 }, () => event('x'.repeat(16_000)))),
  })
  const reply = await openChat()
  await reply.next()
  reply.leave()
  await demo.until(() => demo.aborted() === 1 && demo.openStreams() === 0)
})

test('E24 an event of more than 16 MB is refused instead of kept', async () => {
  const { chat, demo } = await openProxy()
  const huge = streamReply(['data: ', ...Array.from({ length: 20 }, () => 'x'.repeat(1024 * 1024))])
  demo.script('/chat/completions', { outcome: huge })
  const reply = await chat({ stream: true })
  expect(reply.status).toBe(502)
  expect(reply.json()).toMatchObject({ error: { code: 'upstream_unusable' } })
  await demo.until(() => demo.openStreams() === 0)
})

test('100 streams at once each get their own text', async () => {
  const { openChat } = await openProxy({ file: 'server: { max-concurrent-requests: 100 }' })
  const texts = await Promise.all(
    Array.from({ length: 100 }, async (_, at) =>
      contentOf(await (await openChat(saying(`caller ${at} [demo:slow 1]`))).rest()),
    ),
  )
  texts.forEach((text, at) => expect(text).toContain(`You said: caller ${at} `))
})
