import { expect, test } from 'vitest'
import { jsonReply, streamReply, textReply } from './http/outcome.ts'
import { startCopilot } from './copilot.ts'
import { ask, readPiece, openCopilot } from './copilot/test-client.ts'

test('scripted replies come in order, the stated number of times, before every check', async () => {
  const demo = await openCopilot()
  demo.script(
    '/user',
    { outcome: jsonReply(500, { message: 'one' }), times: 2 },
    { outcome: textReply(418, 'two', { 'x-demo': 'yes' }) },
  )
  const status = async () => (await fetch(`${demo.url}/user`)).status
  expect([await status(), await status(), await status(), await status()]).toEqual([500, 500, 418, 401])
})

test('a scripted reply waits for its promise', async () => {
  const demo = await openCopilot()
  const { promise, resolve } = Promise.withResolvers<void>()
  demo.script('/_ping', { outcome: textReply(200, 'late'), after: promise })
  const reply = fetch(`${demo.url}/_ping`)
  await demo.until(() => demo.count('/_ping') === 1)
  resolve()
  expect(await (await reply).text()).toBe('late\n')
})

test('a scripted exchange can hang, be dropped, or be counted', async () => {
  const demo = await openCopilot()
  demo.script('/copilot_internal/v2/token', { outcome: { kind: 'drop' } }, { outcome: { kind: 'silent' } })
  const exchange = (signal?: AbortSignal) =>
    fetch(`${demo.url}/copilot_internal/v2/token`, signal === undefined ? {} : { signal })
  await expect(exchange()).rejects.toThrow('fetch failed')
  const abort = new AbortController()
  const hanging = exchange(abort.signal)
  await demo.until(() => demo.exchanges() === 2)
  abort.abort()
  await expect(hanging).rejects.toThrow('aborted')
  expect(demo.exchanges()).toBe(2)
})

test('a scripted stream keeps its chunk boundaries under a gate', async () => {
  const demo = await openCopilot()
  const gate = demo.gateNext()
  demo.script('/chat/completions', { outcome: streamReply(['data: {"a', Buffer.from('":1}\n\n')], { ending: 'cut' }) })
  const reply = await ask(demo, 'Hi')
  const reader = reply.body?.getReader() ?? expect.fail('no body')
  gate.release()
  expect(await readPiece(reader)).toBe('data: {"a')
  gate.release()
  expect(await readPiece(reader)).toBe('":1}\n\n')
  gate.release()
  await expect(readPiece(reader)).rejects.toThrow('terminated')
  expect(await gate.closed).toBe('cut')
})

test('records the newest requests when asked to', async () => {
  const demo = await openCopilot({ record: 2 })
  await fetch(`${demo.url}/_ping`)
  await fetch(`${demo.url}/_ping?n=2`)
  await (await ask(demo, 'Hi')).text()
  expect(demo.log.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /_ping?n=2', 'POST /chat/completions'])
  expect(demo.log[1]?.body).toContain('"content":"Hi"')
  expect(demo.log[1]?.headers['editor-version']).toBe('vscode/1.126.0')
})

test('records nothing by default', async () => {
  const demo = await openCopilot()
  await fetch(`${demo.url}/_ping`)
  expect(demo.log).toEqual([])
  expect(demo.count('/_ping')).toBe(1)
})

test('dropped sockets end replies in the middle and are not counted as aborts', async () => {
  const demo = await openCopilot()
  const reply = await ask(demo, '[demo:hang]')
  demo.dropSockets()
  await expect(reply.text()).rejects.toThrow('terminated')
  await demo.until(() => demo.openStreams() === 0)
  expect(demo.aborted()).toBe(0)
})

test('close ends open streams and frees the port', async () => {
  const demo = await startCopilot()
  const reply = await ask(demo, '[demo:hang]')
  await demo.close()
  await expect(reply.text()).rejects.toThrow('terminated')
  const again = await openCopilot({ port: demo.port })
  expect(again.url).toBe(demo.url)
})

test('says so when the port is taken', async () => {
  const demo = await openCopilot()
  await expect(startCopilot({ port: demo.port })).rejects.toThrow('EADDRINUSE')
})
