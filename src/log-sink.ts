import { write as writeToFd } from 'node:fs'

export interface LogSink {
  /** Queues text that ends in a newline. Never throws, never blocks. */
  readonly write: (text: string) => void
  /** Resolves when everything queued is written, or after `withinMs`. */
  readonly flush: (withinMs: number) => Promise<void>
}

export type WriteBytes = (
  fd: number,
  bytes: Uint8Array,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void

export interface LogSinkOptions {
  readonly fd: number
  /** Characters kept while the reader of the log is slow; lines on top of that are dropped and counted. */
  readonly maxQueued: number
  /** The line that stands where `count` lines were dropped. */
  readonly describeDropped: (count: number) => string
  /** Makes what is written of the lines that go out together. */
  readonly finish?: (lines: string) => string
  /**
   * Lines of this time go out together: a write costs a trip through the thread pool, more than a line itself. Not for
   * long: lines that still wait when V8's nursery is full are copied out of it. Ms; 0 writes each line as soon as the one
   * before is out.
   */
  readonly gatherMs?: number
  /** Told how many bytes went out; what it returns is waited for before anything else does. Must not reject. */
  readonly onWritten?: ((bytes: number) => Promise<void> | undefined) | undefined
  /** `fs.write`; tests hand in their own. */
  readonly write?: WriteBytes
}

const retryDelayMs = 50

/**
 * Writes log lines to a file descriptor in the background. A synchronous write stops the whole daemon as soon as
 * whoever reads its log pauses (`serve 2>&1 | less`: 64 KB of pipe, then nothing is served any more); background
 * writes without a flush lose the last lines on exit. So: one background write at a time, of what has gathered, and
 * `flush` before exit.
 * A closed pipe or a full disk silences the log and leaves the daemon running.
 */
export function createLogSink(options: LogSinkOptions): LogSink {
  const { finish = (lines) => lines, gatherMs = 20 } = options
  const write: WriteBytes = options.write ?? ((fd, bytes, done) => writeToFd(fd, bytes, done))
  let queued: string[] = []
  let queuedLength = 0
  let dropped = 0
  let busy = false
  let closed = false
  let gathering: NodeJS.Timeout | undefined
  const waiting: (() => void)[] = []

  function writeQueued(): void {
    clearTimeout(gathering)
    gathering = undefined
    if (queued.length === 0) {
      busy = false
      for (const resolve of waiting.splice(0)) resolve()
      return
    }
    busy = true
    const bytes = Buffer.from(finish(queued.join('')))
    queued = []
    queuedLength = 0
    writeAll(bytes)
  }

  function writeAll(bytes: Uint8Array, batchBytes = bytes.length): void {
    write(options.fd, bytes, (error, written) => {
      if (error === null && written < bytes.length) return writeAll(bytes.subarray(written), batchBytes)
      if (error?.code === 'EAGAIN' || error?.code === 'EBUSY') {
        setTimeout(() => writeAll(bytes, batchBytes), retryDelayMs)
        return
      }
      // Nobody reads any more: stay silent. Another error (a full disk) costs this batch; the next may succeed.
      if (error?.code === 'EPIPE' || error?.code === 'EBADF') {
        closed = true
        queued = []
      }
      goOnAfter(error === null ? options.onWritten?.(batchBytes) : undefined)
    })
  }

  function goOnAfter(pause: Promise<void> | undefined): void {
    if (pause === undefined) writeQueued()
    else void pause.then(writeQueued)
  }

  return {
    write: (text) => {
      if (closed) return
      if (queuedLength + text.length > options.maxQueued) {
        dropped += 1
        return
      }
      const line = dropped === 0 ? text : options.describeDropped(dropped) + text
      dropped = 0
      queued.push(line)
      queuedLength += line.length
      if (busy || gathering !== undefined) return
      if (gatherMs === 0) writeQueued()
      else gathering = setTimeout(writeQueued, gatherMs)
    },
    flush: (withinMs) => {
      if (gathering !== undefined) writeQueued()
      if (!busy) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, withinMs)
        waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    },
  }
}
