import { expect, test, vi } from 'vitest'
import { createMessageStream } from '../../../src/http/responses-socket/message-stream.ts'
import { encodeEvent } from '../../../src/sse/encode.ts'

/** A connection whose client reads only what it is told to. */
function openStream() {
  const unread: (() => void)[] = []
  const terminate = vi.fn()
  const connection = { send: (_text: string, onSent?: () => void) => void unread.push(onSent ?? (() => {})), terminate }
  const stream = createMessageStream(connection, () => ({}), { onHead: () => {}, onText: undefined })
  const read = () => unread.splice(0).forEach((onSent) => onSent())
  return { stream, read, terminate }
}

const large = encodeEvent('delta', JSON.stringify('x'.repeat(300_000)))

test('an answer waits for a client that does not read, and goes on when it does', async () => {
  const { stream, read, terminate } = openStream()
  expect(stream.write(encodeEvent('delta', '{}'))).toBe(true)
  expect(stream.write(large)).toBe(false)
  const drained = stream.drained(60_000)
  read()
  await drained
  expect(stream.write(encodeEvent('delta', '{}'))).toBe(true)
  expect(terminate).not.toHaveBeenCalled()
})

test('a client that reads nothing for too long is disconnected', async () => {
  vi.useFakeTimers()
  try {
    const { stream, terminate } = openStream()
    stream.write(large)
    void stream.drained(60_000)
    vi.advanceTimersByTime(59_000)
    expect(terminate).not.toHaveBeenCalled()
    vi.advanceTimersByTime(2000)
    expect(terminate).toHaveBeenCalledOnce()
  } finally {
    vi.useRealTimers()
  }
})
