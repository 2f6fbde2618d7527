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
  /** Characters to queue for a slow reader; further lines are dropped and counted. */
  readonly maxQueued: number
  /** The line in the place of `count` dropped lines. */
  readonly describeDropped: (count: number) => string
  /** Transforms each batch of lines. */
  readonly finish?: (lines: string) => string
  /**
   * Batches the lines of this time, because a write through the thread pool costs more than a line. Short, because V8's
   * scavenger copies waiting lines. Ms; 0 writes as soon as the previous write ends. Default 20.
   */
  readonly gatherMs?: number
  /** Called after each write, with its bytes. The next write waits for the promise, which must not reject. */
  readonly onWritten?: ((bytes: number) => Promise<void> | undefined) | undefined
  /** For tests; default `fs.write`. */
  readonly write?: WriteBytes
}

const retryDelayMs = 50

/**
 * Writes log lines to a file descriptor in the background, one batch at a time. A synchronous write would stop the daemon
 * when the reader of its log pauses (`serve 2>&1 | less`, after 64 KB). Call `flush` before exit. A closed pipe or a full
 * disk silences the log and leaves the daemon running.
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
      // Without a reader, stay silent. Any other error, such as a full disk, costs this batch only.
      if (error?.code === 'EPIPE' || error?.code === 'EBADF') {
        closed = true
        queued = []
      }
      continueAfter(error === null ? options.onWritten?.(batchBytes) : undefined)
    })
  }

  function continueAfter(pause: Promise<void> | undefined): void {
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
