import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEventStream } from '../../src/http/event-stream.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const heartbeat = ': keepalive\n\n'

/** A stream to a caller that takes everything, or, when slow, nothing. */
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
    headers: () => ({ 'x-one': '1' }),
    onHead,
    onText: undefined,
  })
  return { stream, caller, response, onHead }
}

test('a silent model is bridged every 15 seconds from upstream’s answer on', () => {
  const { stream, caller, response } = openStream()
  vi.advanceTimersByTime(14_000)
  stream.answered({ 'x-two': '2' })
  vi.advanceTimersByTime(14_999)
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

test('an upstream that has not answered leaves half a minute for a refusal with a status', () => {
  const { stream, caller } = openStream()
  vi.advanceTimersByTime(29_999)
  expect(stream.isOpen()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(stream.isOpen()).toBe(true)
  vi.advanceTimersByTime(15_000)
  expect(caller.written).toBe(heartbeat.repeat(2))
})

test('a caller that reads slowly is not sent heartbeats on top', () => {
  const { stream, caller } = openStream()
  stream.write('event')
  caller.slow = true
  vi.advanceTimersByTime(60_000)
  expect(caller.written).toBe('event')
})

test('nothing is sent after the stream was stopped', () => {
  const { stream, caller } = openStream()
  stream.stop()
  vi.advanceTimersByTime(60_000)
  expect(caller.written).toBe('')
  expect(vi.getTimerCount()).toBe(0)
})

test('says once that the head goes out, with the first words', () => {
  const { stream, onHead, response } = openStream()
  stream.answered({})
  expect(onHead).not.toHaveBeenCalled()
  stream.write('data: 1\n\n')
  stream.write('data: 2\n\n')
  expect(onHead).toHaveBeenCalledOnce()
  expect(response.headersSent).toBe(true)
  stream.stop()
})
