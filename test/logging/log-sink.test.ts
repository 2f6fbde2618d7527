import { describe, expect, test } from 'vitest'
import { createLogSink } from '../../src/logging/log-sink.ts'
import type { LogSinkOptions, WriteBytes } from '../../src/logging/log-sink.ts'

type Done = Parameters<WriteBytes>[2]

/** A file descriptor whose writes finish when the test says so; like the real one, it may take part of the bytes. */
function heldFd(): {
  readonly write: WriteBytes
  readonly written: string[]
  readonly finish: (error?: string, bytes?: number) => void
} {
  const written: string[] = []
  let pending: { readonly text: string; readonly done: Done } | undefined
  return {
    written,
    write: (_fd, bytes, done) => {
      pending = { text: Buffer.from(bytes).toString(), done }
    },
    finish: (code, bytes) => {
      const call = pending
      if (call === undefined) throw new Error('nothing is being written')
      pending = undefined
      if (code !== undefined) return call.done(Object.assign(new Error(code), { code }), 0)
      const taken = bytes ?? call.text.length
      written.push(call.text.slice(0, taken))
      call.done(null, taken)
    },
  }
}

function openSink(fd: ReturnType<typeof heldFd>, maxQueued = 1000, onWritten?: LogSinkOptions['onWritten']) {
  return createLogSink({
    onWritten,
    fd: 2,
    maxQueued,
    describeDropped: (count) => `${count} dropped\n`,
    write: fd.write,
    gatherMs: 0,
  })
}

describe('log sink', () => {
  test('writes one batch at a time and loses no line', async () => {
    const fd = heldFd()
    const sink = openSink(fd)
    for (const line of ['a\n', 'b\n', 'c\n']) sink.write(line)
    const flushed = sink.flush(1000)
    fd.finish()
    fd.finish()
    await flushed
    expect(fd.written).toEqual(['a\n', 'b\nc\n'])
  })

  test('writes nothing while the last write was reported as busy', async () => {
    const fd = heldFd()
    const pause = Promise.withResolvers<void>()
    const sizes: number[] = []
    const sink = openSink(fd, 1000, (bytes) => {
      sizes.push(bytes)
      return sizes.length === 1 ? pause.promise : undefined
    })
    sink.write('first\n')
    sink.write('second\n')
    const flushed = sink.flush(1000)
    fd.finish(undefined, 2)
    fd.finish()
    expect(fd.finish).toThrow('nothing is being written')
    pause.resolve()
    await pause.promise
    await Promise.resolve()
    fd.finish()
    await flushed
    expect(fd.written.join('')).toBe('first\nsecond\n')
    expect(sizes).toEqual([6, 7])
  })

  test('continues where a partial write stopped', async () => {
    const fd = heldFd()
    const sink = openSink(fd)
    sink.write('long line\n')
    const flushed = sink.flush(1000)
    fd.finish(undefined, 4)
    fd.finish()
    await flushed
    expect(fd.written.join('')).toBe('long line\n')
  })

  test('drops and counts lines a slow reader has no room for', () => {
    const fd = heldFd()
    const sink = openSink(fd, 4)
    for (const line of ['1\n', '2\n', '3\n', '4\n', '5\n']) sink.write(line)
    fd.finish()
    sink.write('6\n')
    fd.finish()
    fd.finish()
    expect(fd.written.join('')).toBe('1\n2\n3\n2 dropped\n6\n')
  })

  test('is silent for good once nobody reads', async () => {
    const fd = heldFd()
    const sink = openSink(fd)
    sink.write('a\n')
    sink.write('b\n')
    fd.finish('EPIPE')
    sink.write('c\n')
    await sink.flush(1000)
    expect(fd.written).toEqual([])
  })

  test('loses one batch to a full disk and writes the next', () => {
    const fd = heldFd()
    const sink = openSink(fd)
    sink.write('a\n')
    fd.finish('ENOSPC')
    sink.write('b\n')
    fd.finish()
    expect(fd.written).toEqual(['b\n'])
  })

  test('tries again when the pipe is full for now', async () => {
    const attempts: string[] = []
    const sink = createLogSink({
      fd: 2,
      maxQueued: 1000,
      describeDropped: String,
      write: (_fd, bytes, done) => {
        attempts.push(Buffer.from(bytes).toString())
        queueMicrotask(() =>
          attempts.length === 1
            ? done(Object.assign(new Error('later'), { code: 'EAGAIN' }), 0)
            : done(null, bytes.length),
        )
      },
    })
    sink.write('a\n')
    await sink.flush(5000)
    expect(attempts).toEqual(['a\n', 'a\n'])
  })

  test('does not wait for a reader that never comes back', async () => {
    const fd = heldFd()
    const sink = openSink(fd)
    sink.write('a\n')
    await sink.flush(1)
    expect(fd.written).toEqual([])
  })

  test('writes what gathered in a short time at once, finished together', async () => {
    const fd = heldFd()
    const sink = createLogSink({
      fd: 2,
      maxQueued: 1000,
      describeDropped: String,
      write: fd.write,
      finish: (lines) => lines.toUpperCase(),
    })
    for (const line of ['a\n', 'b\n']) sink.write(line)
    const flushed = sink.flush(1000)
    fd.finish()
    await flushed
    expect(fd.written).toEqual(['A\nB\n'])
  })
})
