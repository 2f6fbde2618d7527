import { once } from 'node:events'
import { IncomingMessage, ServerResponse, createServer, request } from 'node:http'
import { Socket, connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEventStream, createTicker } from '../../src/http/event-stream.ts'
import type { EventStream } from '../../src/http/event-stream.ts'
import { readAll } from './client.ts'
import { listenForTest } from '../listen-for-test.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const heartbeat = ': keepalive\n\n'

/** A stream to a caller that reads everything, or nothing if slow. */
function openStream() {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const caller = { written: '', slow: false }
  vi.spyOn(response, 'write').mockImplementation((text: unknown) => {
    caller.written += String(text)
    return true
  })
  vi.spyOn(response, 'writableNeedDrain', 'get').mockImplementation(() => caller.slow)
  const onHead = vi.fn<() => void>()
  const stream = createEventStream(response, {
    heartbeat,
    ticker: createTicker(),
    headers: () => ({ 'x-one': '1' }),
    onHead,
    onText: undefined,
  })
  return { stream, caller, response, onHead }
}

test('while a model is silent, a heartbeat is sent 10 to 15 seconds after upstream’s response head, then every 15', () => {
  const { stream, caller, response } = openStream()
  vi.advanceTimersByTime(14_000)
  stream.upstreamAnswered({ 'x-two': '2' })
  vi.advanceTimersByTime(10_999)
  expect(stream.isOpen()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(caller.written).toBe(heartbeat)
  expect(response.getHeaders()).toEqual({})
  stream.write('event')
  vi.advanceTimersByTime(14_999)
  expect(caller.written).toBe(`${heartbeat}event`)
  vi.advanceTimersByTime(15_001)
  expect(caller.written).toBe(`${heartbeat}event${heartbeat}${heartbeat}`)
})

test('streams that open one after the other share a timer, which stops when the last has ended', () => {
  const ticker = createTicker()
  const [first, second] = [vi.fn<() => void>(), vi.fn<() => void>()]
  const stopFirst = ticker.add(first)
  vi.advanceTimersByTime(2000)
  const stopSecond = ticker.add(second)
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(3000)
  expect([first, second].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
  stopFirst()
  vi.advanceTimersByTime(5000)
  expect([first, second].map(({ mock }) => mock.calls.length)).toEqual([1, 2])
  stopSecond()
  vi.advanceTimersByTime(5000)
  expect(vi.getTimerCount()).toBe(0)
  ticker.add(first)
  vi.advanceTimersByTime(5000)
  expect(first).toHaveBeenCalledTimes(2)
})

test('before upstream answers, the first heartbeat waits 30 seconds so that a refusal can set the status', () => {
  const { stream, caller } = openStream()
  vi.advanceTimersByTime(29_999)
  expect(stream.isOpen()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(stream.isOpen()).toBe(true)
  vi.advanceTimersByTime(15_000)
  expect(caller.written).toBe(heartbeat.repeat(2))
})

test('a caller that reads slowly gets no heartbeats', () => {
  const { stream, caller } = openStream()
  stream.write('event')
  caller.slow = true
  vi.advanceTimersByTime(60_000)
  expect(caller.written).toBe('event')
})

test('nothing is sent after the stream was stopped', () => {
  const { stream, caller } = openStream()
  stream.stopHeartbeats()
  vi.advanceTimersByTime(60_000)
  expect(caller.written).toBe('')
  expect(vi.getTimerCount()).toBe(0)
})

test('reports the head once, with the first text', () => {
  const { stream, onHead, response } = openStream()
  stream.upstreamAnswered({})
  expect(onHead).not.toHaveBeenCalled()
  stream.write('data: 1\n\n')
  stream.write('data: 2\n\n')
  expect(onHead).toHaveBeenCalledOnce()
  expect(response.headersSent).toBe(true)
  stream.stopHeartbeats()
})

const silent = { ticker: createTicker(), headers: () => ({}), onHead: () => {}, onText: undefined }

/** Runs `write` for a caller that has the head of its answer and reads nothing yet. */
async function answerWith(write: (stream: EventStream, response: ServerResponse) => void) {
  const responses: ServerResponse[] = []
  const server = createServer((_, response) => {
    responses.push(response)
    const stream = createEventStream(response, { ...silent, heartbeat })
    write(stream, response)
    stream.stopHeartbeats()
  })
  const call = request({ port: await listenForTest(server), host: '127.0.0.1' }).end()
  // Node emits the response as its only argument.
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  const [response] = responses
  if (response === undefined) throw new Error('answered without being asked')
  return { answer, response, leave: () => call.destroy() }
}

/** What a caller that writes these requests at once receives, if each is answered with the same events. */
async function receivedFor(requests: string, events: readonly string[], end: string): Promise<string> {
  const server = createServer((_, response) => {
    const stream = createEventStream(response, { ...silent, heartbeat })
    for (const event of events) stream.write(event)
    stream.end(end)
    stream.stopHeartbeats()
  })
  const socket = connect(await listenForTest(server), '127.0.0.1')
  socket.write(requests)
  return readAll(socket)
}

const bodiesOf = (received: string): string[] => received.split(/HTTP\/1\.1 200 OK\r\n[^]*?\r\n\r\n/).slice(1)
const lastRequest = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

test('an end without text sends the end mark once', async () => {
  expect(bodiesOf(await receivedFor(lastRequest, ['data: 1\n\n'], ''))).toEqual(['9\r\ndata: 1\n\n\r\n0\r\n\r\n'])
})

test('each chunk states its length in bytes, and an empty text is no end mark', async () => {
  const received = await receivedFor(
    lastRequest,
    ['a', '0123456789abcdef', '', 'héllo €', '😀', '\ud800', 'a\r\nb'],
    'z',
  )
  const chunks = [
    '1\r\na',
    '10\r\n0123456789abcdef',
    'a\r\nhéllo €',
    '4\r\n😀',
    '3\r\n\ufffd',
    '4\r\na\r\nb',
    '1\r\nz',
    '0',
  ]
  expect(bodiesOf(received)).toEqual([`${chunks.join('\r\n')}\r\n\r\n`])
})

test('a stream for a request in a pipeline waits for the stream before it', async () => {
  const received = await receivedFor(lastRequest.replace(/Connection.*\r\n/, '') + lastRequest, ['1', '2'], '3')
  const body = '1\r\n1\r\n1\r\n2\r\n1\r\n3\r\n0\r\n\r\n'
  expect(bodiesOf(received)).toEqual([body, body])
})

test('a caller of HTTP/1.0, which knows no chunks, gets none', async () => {
  const received = await receivedFor('GET / HTTP/1.0\r\n\r\n', ['data: 1\n\n', 'data: 2\n\n'], 'data: 3\n\n')
  expect(received).not.toMatch(/transfer-encoding/i)
  expect(bodiesOf(received)).toEqual(['data: 1\n\ndata: 2\n\ndata: 3\n\n'])
})

// Pairs of code units, in pieces that begin at odd ones.
const longEvent = `data: ${'👩‍👩‍👧 größe '.repeat(400_000)}\n\n`

test('long text waits outside the socket until the caller reads, and arrives complete and in order', async () => {
  let queued = 0
  let flushed: boolean | undefined
  let taken = false
  const { answer, response } = await answerWith((stream, { socket }) => {
    stream.write('data: 1\n\n')
    flushed = stream.write(longEvent)
    const goOn = async (): Promise<void> => {
      await stream.drained(60_000)
      taken = true
      stream.end(longEvent + heartbeat)
    }
    void goOn()
    stream.write('data: 2\n\n')
    queued = socket?.writableLength ?? Number.NaN
  })
  expect(flushed).toBe(false)
  expect(queued).toBeLessThan(256 * 1024)
  expect(response.writableEnded).toBe(false)
  expect(await textOf(answer)).toBe(`data: 1\n\n${longEvent}data: 2\n\n${longEvent}${heartbeat}`)
  expect(taken).toBe(true)
  expect(answer.complete).toBe(true)
})

test('a caller that leaves in the middle of long text ends it', async () => {
  const { response, leave } = await answerWith((stream) => stream.end(longEvent))
  const closed = once(response, 'close')
  leave()
  await closed
  expect(response.writableFinished).toBe(false)
})
