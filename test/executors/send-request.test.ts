import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Agent } from 'undici'
import type { Dispatcher } from 'undici'
import { afterEach, expect, test } from 'vitest'
import type { UpstreamBody } from '../../src/executors/executor.ts'
import { sendRequest } from '../../src/executors/send-request.ts'
import type { RequestOptions } from '../../src/executors/send-request.ts'
import { textOf } from './bodies.ts'
import { listenForTest } from '../listen-for-test.ts'

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function startUpstream(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle)
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  const agent = new Agent({ bodyTimeout: 0 })
  closing.push(() => agent.destroy())
  const origin = `http://127.0.0.1:${await listenForTest(server)}`
  const ask = (signal: AbortSignal = new AbortController().signal, onBegin?: RequestOptions['onBegin']) =>
    sendRequest(agent, {
      origin,
      path: '/',
      method: 'GET',
      headers: {},
      body: null,
      headersTimeout: 1000,
      signal,
      onBegin,
    })
  return { ask, sockets, server }
}

/** Reads a body into a list that tells what happened, in order. */
function record(body: UpstreamBody, onData: () => void = () => {}) {
  const heard: string[] = []
  const over = new Promise<void>((resolve) => {
    body.read({
      data(chunk) {
        // undici may flush its parser with nothing in it.
        if (chunk.length === 0) return
        heard.push(Buffer.from(chunk).toString())
        onData()
      },
      end() {
        heard.push('[end]')
        resolve()
      },
      fail(error) {
        heard.push(`[${error instanceof Error ? error.name : 'unknown'}]`)
        resolve()
      },
    })
  })
  return { heard, over }
}

test('a request that is aborted before it was sent is never sent, and its listener is removed', async () => {
  let requests = 0
  const upstream = await startUpstream((_, response) => {
    requests += 1
    response.end('late')
  })
  const ends: ((reason: Error) => void)[] = []
  let left = 0
  const onBegin = (end: (reason: Error) => void) => {
    ends.push(end)
    return () => void (left += 1)
  }
  const asked = upstream.ask(new AbortController().signal, onBegin)
  // Its connection is still being made.
  for (const end of ends) end(new Error('logged out'))
  await expect(asked).rejects.toThrow('logged out')
  expect(await textOf((await upstream.ask(new AbortController().signal, onBegin)).body)).toBe('late')
  expect([requests, ends.length, left]).toEqual([1, 2, 2])
})

test('a body that is over before anybody reads is kept, and its connection serves the next request', async () => {
  const upstream = await startUpstream((_, response) => response.writeHead(203, { 'X-One': 'a' }).end('whole'))
  const first = await upstream.ask()
  expect(first).toMatchObject({ status: 203, headers: { 'x-one': 'a' } })
  await new Promise(setImmediate)
  expect(await textOf(first.body)).toBe('whole')
  // The pool takes a connection back a moment after its reply was complete.
  await new Promise(setImmediate)
  await textOf((await upstream.ask()).body)
  expect(upstream.sockets).toHaveLength(1)
})

test('an informational response is not the reply', async () => {
  const upstream = await startUpstream((_, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    response.end('whole')
  })
  const { status, body } = await upstream.ask()
  expect(status).toBe(200)
  expect(await textOf(body)).toBe('whole')
})

test('a reader that pauses in the middle of a chunk gets everything, in order, once it resumes', async () => {
  const pieces = Array.from({ length: 40 }, (_, at) => `${at}.`)
  const upstream = await startUpstream((_, response) => {
    response.writeHead(200)
    for (const piece of pieces) response.write(piece)
    response.end()
  })
  const { body } = await upstream.ask()
  const { heard, over } = record(body, () => {
    body.pause()
    setImmediate(body.resume)
  })
  await over
  expect(heard.join('')).toBe(`${pieces.join('')}[end]`)
})

test('until the body is read, a small part is buffered and upstream is paused', async () => {
  const calls: string[] = []
  const controller = {
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    abort: () => void calls.push('abort'),
  } as unknown as Dispatcher.DispatchController
  let handler: Dispatcher.DispatchHandler = {}
  const agent = {
    dispatch(_options: unknown, given: Dispatcher.DispatchHandler) {
      handler = given
      return true
    },
  } as unknown as Dispatcher
  const asked = sendRequest(agent, {
    origin: 'http://127.0.0.1',
    path: '/',
    method: 'GET',
    headers: {},
    body: null,
    headersTimeout: 1000,
    signal: new AbortController().signal,
  })
  const piece = Buffer.alloc(30_000, 'x')
  handler.onRequestStart?.(controller, {})
  handler.onResponseStart?.(controller, 200, {})
  handler.onResponseData?.(controller, piece)
  handler.onResponseData?.(controller, piece)
  expect(calls).toEqual([])
  handler.onResponseData?.(controller, piece)
  expect(calls).toEqual(['pause'])
  const { heard, over } = record((await asked).body)
  expect(heard.join('')).toHaveLength(3 * piece.length)
  expect(calls).toEqual(['pause', 'resume'])
  handler.onResponseEnd?.(controller, {})
  await over
  expect(heard.at(-1)).toBe('[end]')
})

test('a reader that pauses slows upstream down', async () => {
  const chunks = 200
  const many = Buffer.alloc(64 * 1024, 'x')
  let written = 0
  const upstream = await startUpstream((_, response) => {
    response.writeHead(200)
    const more = (): void => {
      written += 1
      if (written === chunks) response.end(many)
      else if (response.write(many)) more()
      else response.once('drain', more)
    }
    more()
  })
  const { body } = await upstream.ask()
  let size = 0
  let longestWithin = 0
  await new Promise<void>((resolve, reject) => {
    body.read({
      data(chunk) {
        size += chunk.length
        body.pause()
        // What arrives after a pause is at most what was on its way through the parser.
        const before = size
        setImmediate(() => {
          longestWithin = Math.max(longestWithin, size - before)
          body.resume()
        })
      },
      end: resolve,
      fail: reject,
    })
  })
  expect(size).toBe(chunks * many.length)
  expect(longestWithin).toBe(0)
})

test('what upstream said before its connection broke is heard before the failure, also by a reader that paused', async () => {
  const upstream = await startUpstream((_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('first')
    setImmediate(() => response.socket?.destroy())
  })
  const { body } = await upstream.ask()
  const { heard, over } = record(body, () => {
    body.pause()
    const look = () => setImmediate(upstream.sockets[0]?.destroyed === true ? body.resume : look)
    look()
  })
  await over
  expect(heard).toEqual(['first', '[SocketError]'])
})

test('an abort rejects at once with its reason: before the head, before reading, while reading and while paused', async () => {
  const reason = new DOMException('enough', 'AbortError')
  let answers = 0
  const upstream = await startUpstream((_, response) => {
    answers += 1
    if (answers > 1) response.writeHead(200).write('first')
  })
  const closed = () => {
    const socket = upstream.sockets.at(-1)
    return socket === undefined ? undefined : once(socket, 'close')
  }

  const never = new AbortController()
  never.abort(reason)
  await expect(upstream.ask(never.signal)).rejects.toBe(reason)
  expect(upstream.sockets).toEqual([])

  const early = new AbortController()
  const pending = upstream.ask(early.signal)
  await once(upstream.server, 'request')
  early.abort(reason)
  await expect(pending).rejects.toBe(reason)
  await closed()

  for (const when of ['unread', 'reading', 'paused'] as const) {
    const late = new AbortController()
    const { body } = await upstream.ask(late.signal)
    if (when === 'unread') {
      late.abort(reason)
      expect(record(body).heard).toEqual(['[AbortError]'])
    } else {
      const first = Promise.withResolvers<void>()
      const { heard, over } = record(body, () => {
        if (when === 'paused') body.pause()
        first.resolve()
      })
      await first.promise
      late.abort(reason)
      await over
      expect(heard).toEqual(['first', '[AbortError]'])
    }
    await closed()
  }
})

test('discarding a body closes its connection without an error', async () => {
  const upstream = await startUpstream((_, response) => response.writeHead(200).write('first'))
  const { body } = await upstream.ask()
  const { heard } = record(body, body.destroy)
  await new Promise<void>((resolve) => {
    const look = () => (upstream.sockets[0]?.destroyed === true ? resolve() : setImmediate(look))
    look()
  })
  expect(heard).toEqual(['first'])
})

test('a reader that finishes early leaves the connection open for the next request', async () => {
  const endFirst = Promise.withResolvers<void>()
  const upstream = await startUpstream((_, response) => {
    response.writeHead(200).write('first')
    void endFirst.promise.then(() => response.end('trailing words'))
  })
  const { body } = await upstream.ask()
  const { heard } = record(body, body.finish)
  await expect.poll(() => heard).toEqual(['first'])
  // The next request waits for nothing: it opens a connection of its own until the first is free again.
  endFirst.resolve()
  const [socket] = upstream.sockets
  await expect.poll(() => socket?.bytesWritten).toBeGreaterThan('trailing words'.length)
  await new Promise<void>((resolve) => setTimeout(resolve, 0))
  expect(heard).toEqual(['first'])
  expect(socket?.destroyed).toBe(false)
})

test('the connection is closed if upstream does not end after its last event', async () => {
  const upstream = await startUpstream((_, response) => response.writeHead(200).write('[DONE]'))
  const { body } = await upstream.ask()
  record(body, body.finish)
  const [socket] = upstream.sockets
  if (socket === undefined) throw new Error('expected a connection')
  if (!socket.destroyed) await once(socket, 'close')
  expect(socket.destroyed).toBe(true)
})

test('a request that cannot connect says why', async () => {
  const upstream = await startUpstream(() => {})
  upstream.server.close()
  await once(upstream.server, 'close')
  await expect(upstream.ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
