import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { chatBody, readAll } from '../http/client.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'

/** A POST of a chat request as bytes on the wire. */
function rawChat(stream: boolean, version = '1.1'): string {
  const body = chatBody({ stream })
  const head = `POST /v1/chat/completions HTTP/${version}\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  return `${head}Content-Length: ${body.length}\r\n\r\n${body}`
}

/** Everything the server says, while it says it. */
function listenTo(socket: Socket) {
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece
  })
  return {
    text: () => text,
    seen: async (pattern: RegExp) => {
      while (!pattern.test(text)) await once(socket, 'data')
    },
  }
}

const interim = 'HTTP/1.1 100 Continue\r\n\r\n'

/** The final response, without the interim ones before it. */
function finalOf(text: string): string {
  return text.replaceAll(interim, '')
}

async function expectClean({ demo, chat, log }: Proxy): Promise<void> {
  expect((await chat()).status).toBe(200)
  await demo.until(() => demo.openStreams() === 0)
  expect(log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
}

test('D17 a request that is answered at once is answered also after the client closed its side', async () => {
  const { socket } = await openProxy()
  for (const version of ['1.0', '1.1']) {
    const client = await socket()
    client.end(`GET /healthz HTTP/${version}\r\nHost: localhost\r\n\r\n`)
    expect(await readAll(client)).toMatch(/^HTTP\/1\.1 200 .*"ok":true/s)
  }
})

test.each([
  ['not streaming', false],
  ['streaming', true],
])('D17 a client that closes its side after the request gets its answer (%s)', async (_how, stream) => {
  const proxy = await openProxy()
  const gate = proxy.demo.gateNext()
  const client = await proxy.socket()
  const listener = listenTo(client)
  client.end(rawChat(stream))
  await gate.opened
  // The second word: the first would have been refused, were the client gone.
  await listener.seen(/(?:100 Continue\r\n\r\n[^]*){2}/)
  if (stream) {
    gate.release(2)
    // Once the stream has begun, the words are comments in it.
    await listener.seen(/\r\n:\n\n\r\n[^]*\r\n:\n\n\r\n/)
  }
  gate.open()
  await once(client, 'end')
  expect(await gate.closed).toBe('finished')
  const answer = finalOf(listener.text())
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
  if (!stream) expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ object: 'chat.completion' })
  else expect(answer).toContain('data: [DONE]')
  await expectClean(proxy)
})

test('D17 what is pipelined before the client closes its side is answered in order', async () => {
  const proxy = await openProxy()
  const gate = proxy.demo.gateNext()
  const client = await proxy.socket()
  const listener = listenTo(client)
  client.end(`${rawChat(false)}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await gate.opened
  await listener.seen(/100 Continue/)
  gate.open()
  await once(client, 'end')
  expect(finalOf(listener.text())).toMatch(/^HTTP\/1\.1 200 .*"chat\.completion".*HTTP\/1\.1 200 .*"ok":true/s)
  await expectClean(proxy)
})

test.each([
  ['before the answer', false, 0],
  ['before the stream', true, 0],
  ['in the stream', true, 2],
])('D17 a client that closes its side and then leaves %s is gone', async (_when, stream, events) => {
  const proxy = await openProxy()
  const gate = proxy.demo.gateNext()
  gate.release(events)
  const client = await proxy.socket()
  const listener = listenTo(client)
  client.end(rawChat(stream))
  await gate.opened
  await listener.seen(events === 0 ? /100 Continue/ : /data: /)
  client.destroy()
  expect(await gate.closed).toBe('aborted')
  await expectClean(proxy)
})

test.each([
  ['before the answer', false, 0],
  ['before the stream', true, 0],
  ['in the stream', true, 2],
])('D17 a client that disconnects at once, %s, is detected, and its request ends', async (_when, stream, events) => {
  const proxy = await openProxy()
  const gate = proxy.demo.gateNext()
  gate.release(events)
  const client = await proxy.socket()
  client.write(rawChat(stream))
  await gate.opened
  await gate.waiting()
  client.destroy()
  expect(await gate.closed).toBe('aborted')
  await expectClean(proxy)
})

test('D17 a client of HTTP/1.0 may not be spoken to in between, and counts as gone', async () => {
  const proxy = await openProxy()
  const gate = proxy.demo.gateNext()
  const client = await proxy.socket()
  client.write(rawChat(false, '1.0'))
  await gate.opened
  client.end()
  expect(await gate.closed).toBe('aborted')
  expect(await readAll(client)).toBe('')
  await expectClean(proxy)
})

test('D17 a client that closes its side in the middle of its upload gets an error', async () => {
  const proxy = await openProxy()
  const client = await proxy.socket()
  client.end(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
  )
  expect(await readAll(client)).toMatch(/^HTTP\/1\.1 400 /)
  await expectClean(proxy)
})
