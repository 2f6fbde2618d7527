import { expect, test } from 'vitest'
import { ask, chunksOf, contentOf, editorHeaders, post, readPiece, readRest, openCopilot } from './test-client.ts'

test('streams an answer with usage and [DONE]', async () => {
  const demo = await openCopilot()
  const reply = await ask(demo, 'Hi')
  expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const stream = await reply.text()
  expect(contentOf(stream)).toContain('You said: Hi')
  expect(chunksOf(stream).at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 1 } })
  expect(stream.endsWith('data: [DONE]\n\n')).toBe(true)
  await demo.until(() => demo.openStreams() === 0)
  expect(demo.aborted()).toBe(0)
})

test('a gate sends headers at once, then one event per release', async () => {
  const demo = await openCopilot()
  const gate = demo.gateNext()
  const reply = await ask(demo, 'Hi')
  await gate.opened
  const reader = reply.body?.getReader() ?? expect.fail('no body')
  gate.release()
  expect(await readPiece(reader)).toContain('prompt_filter_results')
  gate.release(2)
  await gate.waiting()
  expect(demo.openStreams()).toBe(1)
  gate.open()
  expect(await readRest(reader)).toContain('[DONE]')
  expect(await gate.closed).toBe('finished')
})

test('notices a client that leaves while the stream is held, and not as its own doing', async () => {
  const demo = await openCopilot()
  const gate = demo.gateNext()
  const abort = new AbortController()
  await ask(demo, 'Hi', {}, { signal: abort.signal })
  await gate.waiting()
  abort.abort()
  await demo.until(() => demo.aborted() === 1)
  expect(await gate.closed).toBe('aborted')
  expect(demo.openStreams()).toBe(0)
})

test('[demo:hang] sends headers and then nothing', async () => {
  const demo = await openCopilot()
  const abort = new AbortController()
  const reply = await ask(demo, '[demo:hang]', {}, { signal: abort.signal })
  expect(reply.status).toBe(200)
  expect(demo.openStreams()).toBe(1)
  abort.abort()
  await demo.until(() => demo.openStreams() === 0)
  expect(demo.aborted()).toBe(1)
})

test('[demo:silent] sends nothing at all', async () => {
  const demo = await openCopilot()
  const abort = new AbortController()
  const reply = ask(demo, '[demo:silent]', {}, { signal: abort.signal })
  await demo.until(() => demo.count('/chat/completions') === 1)
  abort.abort()
  await expect(reply).rejects.toThrow('aborted')
  await demo.until(() => demo.aborted() === 1)
})

test('[demo:cut] breaks the connection after some of the text', async () => {
  const demo = await openCopilot()
  const reply = await ask(demo, '[demo:cut]')
  const reader = reply.body?.getReader() ?? expect.fail('no body')
  expect(await readPiece(reader)).toContain('data: ')
  await expect(readRest(reader)).rejects.toThrow('terminated')
  await demo.until(() => demo.openStreams() === 0)
  expect(demo.aborted()).toBe(0)
})

test.for([
  ['[demo:eof]', false],
  ['[demo:error-mid]', false],
  ['[demo:no-done]', true],
] as const)('%s ends cleanly without [DONE]', async ([marker, isFinished]) => {
  const demo = await openCopilot()
  const stream = await (await ask(demo, marker)).text()
  expect(stream).not.toContain('[DONE]')
  expect(stream.includes('"finish_reason":"stop"')).toBe(isFinished)
  expect(stream.includes('"code":"server_error"')).toBe(marker === '[demo:error-mid]')
})

test('[demo:slow] waits before each event', async () => {
  const demo = await openCopilot()
  const startMs = performance.now()
  const stream = await (await ask(demo, '[demo:slow 5] [demo:frames 10 2]')).text()
  expect(contentOf(stream)).toBe(' prepared'.repeat(10))
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(7 * 4)
})

test.for([
  [400, 'invalid_request_body'],
  [401, 'unauthorized: token expired'],
  [402, 'quota_exceeded'],
  [403, 'not authorized'],
  [404, 'not found'],
  [408, 'user_request_timeout'],
  [413, 'Request Entity Too Large'],
  [421, 'Misdirected Request'],
  [429, 'user_weekly_rate_limited'],
  [466, 'no longer supported'],
  [500, 'internal server error'],
  [502, '<html>'],
  [503, 'upstream_provider_rate_limit'],
  [504, '<html>'],
  [529, 'simulated error 529'],
] as const)('[demo:error %i] has the body of the real service', async ([status, text]) => {
  const demo = await openCopilot()
  const reply = await ask(demo, `[demo:error ${status}]`)
  expect(reply.status).toBe(status)
  expect(await reply.text()).toContain(text)
})

test('retry-after is a date on 402 and seconds on 429', async () => {
  const demo = await openCopilot({ now: () => 0 })
  expect((await ask(demo, '[demo:error 402]')).headers.get('retry-after')).toBe('Fri, 02 Jan 1970 00:00:00 GMT')
  expect((await ask(demo, '[demo:error 429]')).headers.get('retry-after')).toBe('30')
})

test('[demo:html] is a page with status 200', async () => {
  const demo = await openCopilot()
  const reply = await ask(demo, '[demo:html]')
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-type')).toContain('text/html')
})

test('a stream much larger than the socket takes at once arrives whole', async () => {
  const demo = await openCopilot()
  const reply = await ask(demo, '[demo:frames 20000 500]', { model: 'demo-bench' })
  expect((await reply.text()).split(' prepared')).toHaveLength(20_001)
})

test('notices a client that leaves while the socket is full', async () => {
  const demo = await openCopilot()
  const abort = new AbortController()
  await ask(demo, '[demo:frames 1000000 1000]', { model: 'demo-bench' }, { signal: abort.signal })
  abort.abort()
  await demo.until(() => demo.openStreams() === 0)
  expect(demo.aborted()).toBe(1)
})

test('joins as many events into one write as the settings say', async () => {
  const demo = await openCopilot({ settings: { eventsPerWrite: 1000 } })
  const gate = demo.gateNext()
  const reply = await ask(demo, 'Hi')
  const reader = reply.body?.getReader() ?? expect.fail('no body')
  gate.release()
  expect(await readPiece(reader)).toContain('[DONE]')
  gate.open()
  await gate.closed
})

async function transcript(): Promise<string> {
  const demo = await openCopilot({ now: () => 1_000_000 })
  const tools = [{ type: 'function', function: { name: 'x' } }]
  const replies = [await ask(demo, '[demo:reasoning]'), await ask(demo, '[demo:tool]', { tools })]
  return (await Promise.all(replies.map((reply) => reply.text()))).join('')
}

test('the same requests get the same bytes from a fresh server', async () => {
  expect(await transcript()).toBe(await transcript())
})

test('overlapping requests have ids of their own', async () => {
  const demo = await openCopilot()
  const headers = editorHeaders(demo)
  const replies = await Promise.all(Array.from({ length: 20 }, () => ask(demo, 'Hi', {}, { headers })))
  const streams = await Promise.all(replies.map((reply) => reply.text()))
  const ids = streams.map((stream) => /"id":"(chatcmpl-[^"]+)"/.exec(stream)?.[1])
  expect(new Set(ids).size).toBe(20)
})

test('[demo:failed] fails inside a 200 before any output', async () => {
  const demo = await openCopilot()
  const chat = await ask(demo, '[demo:failed slow_down]')
  expect(chat.status).toBe(200)
  expect(await chat.text()).toMatch(/^data: \{"error":\{"code":"slow_down"[^\n]*\n\n$/)
  const body = { model: 'gpt-5.4', input: '[demo:failed]', stream: true }
  const types = (await (await post(demo, '/responses', body)).text()).match(/(?<=^event: ).*$/gm)
  expect(types).toEqual(['response.created', 'response.in_progress', 'response.failed'])
})
