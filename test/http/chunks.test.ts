import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { encodeChunk, isFull, writeText } from '../../src/http/event-stream.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function serve(answer: (response: ServerResponse) => void): Promise<Socket> {
  const server = createServer((_request, response) => answer(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // Proof of the cast: it listens on a port.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  closers.push(() => {
    socket.destroy()
    server.close()
    server.closeAllConnections()
  })
  return socket
}

async function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  socket.resume()
  await once(socket, 'end')
  return text
}

async function readReply(socket: Socket): Promise<{ readonly head: string; readonly body: string }> {
  const text = await readAll(socket)
  const headEnd = text.indexOf('\r\n\r\n')
  return { head: text.slice(0, headEnd), body: text.slice(headEnd + 4) }
}

/** What a body of chunks says. */
function dechunk(body: string): string {
  let rest = Buffer.from(body)
  let text = ''
  for (;;) {
    const lineEnd = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.toString('latin1', 0, lineEnd), 16)
    if (size === 0) return text
    text += rest.toString('utf8', lineEnd + 2, lineEnd + 2 + size)
    expect(rest.toString('latin1', lineEnd + 2 + size, lineEnd + 4 + size)).toBe('\r\n')
    rest = rest.subarray(lineEnd + 4 + size)
  }
}

describe('a chunk', () => {
  test.each([
    ['a', '1\r\na\r\n'],
    ['0123456789abcdef', '10\r\n0123456789abcdef\r\n'],
    ['héllo €', 'a\r\nhéllo €\r\n'],
    ['😀', '4\r\n😀\r\n'],
    ['\ud800', '3\r\n\ufffd\r\n'],
    ['a\r\nb', '4\r\na\r\nb\r\n'],
  ])('of %j states its length in bytes', (text, expected) => {
    expect(Buffer.from(encodeChunk(text)).toString()).toBe(expected)
  })

  test.each([1, 15, 16, 255, 256, 4095, 4096, 65_535, 65_536, 1_048_576])('of %i bytes states its length', (length) => {
    const text = 'a'.repeat(length)
    expect(encodeChunk(text)).toBe(`${length.toString(16)}\r\n${text}\r\n`)
  })

  test('may be of any size', () => {
    const text = 'é'.repeat(50_000)
    expect(encodeChunk(text)).toBe(`186a0\r\n${text}\r\n`)
  })
})

const pieces = ['one ', 'zwölf ', '😀 ', 'vier ', '']

function answerInPieces(response: ServerResponse): void {
  response.writeHead(200, { connection: 'close' })
  response.write('first ')
  for (const piece of pieces.slice(0, -1)) writeText(response, piece)
  response.end('last')
}

test('what is written before, between and after arrives in order', async () => {
  const socket = await serve(answerInPieces)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const { head, body } = await readReply(socket)
  expect(head).toMatch(/transfer-encoding: chunked/i)
  expect(dechunk(body)).toBe('first one zwölf 😀 vier last')
})

test('a caller of HTTP/1.0, which knows no chunks, gets none', async () => {
  const socket = await serve(answerInPieces)
  socket.write('GET / HTTP/1.0\r\n\r\n')
  const { head, body } = await readReply(socket)
  expect(head).not.toMatch(/transfer-encoding/i)
  expect(body).toBe('first one zwölf 😀 vier last')
})

test('a pipelined response waits for the earlier response on its connection', async () => {
  const waiting: ServerResponse[] = []
  const socket = await serve((response) => {
    waiting.push(response)
    if (waiting.length < 2) return
    // The second one first.
    for (const [at, one] of waiting.toReversed().entries()) {
      one.writeHead(200, at === 0 ? { connection: 'close' } : {})
      one.write('first ')
      writeText(one, `${waiting.length - at} `)
      one.end('last')
    }
  })
  socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
  const [, first, second] = (await readAll(socket)).split(/HTTP\/1\.1 200 OK\r\n[^]*?\r\n\r\n/)
  expect(dechunk(first ?? '')).toBe('first 1 last')
  expect(dechunk(second ?? '')).toBe('first 2 last')
})

test('a caller that stops reading is detected, and gets everything when it reads again', async () => {
  const block = 'é'.repeat(32 * 1024)
  let written = 0
  const socket = await serve((response) => {
    response.writeHead(200, { connection: 'close' })
    response.write(' ')
    while (writeText(response, block)) written += 1
    written += 1
    expect(isFull(response)).toBe(true)
    response.socket?.once('drain', () => {
      expect(isFull(response)).toBe(false)
      response.end()
    })
  })
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const { body } = await readReply(socket)
  expect(dechunk(body)).toBe(` ${block.repeat(written)}`)
})
