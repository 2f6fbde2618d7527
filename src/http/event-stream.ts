import type { ServerResponse } from 'node:http'
import { removeFrom } from '../cache/remove-from.ts'
import type { AnswerSink } from '../pipeline/model-answer.ts'

/** The caller's event stream. The head is sent with the first event, so an earlier failure can still set the status. */
export interface EventStream extends AnswerSink {
  readonly stopHeartbeats: () => void
}

export interface EventStreamOptions {
  /** Text that clients ignore. */
  readonly heartbeat: string
  readonly ticker: Ticker
  /** Returns a new object of the reply's headers. Called when the head is sent. */
  readonly headers: () => Record<string, string>
  /** Called when the head is sent. */
  readonly onHead: () => void
  /** Called with all text sent to the caller; set only if answers are logged. */
  readonly onText: ((text: string) => void) | undefined
}

/**
 * A client that receives nothing for 15 seconds may consider the connection dead. Silence is counted in ticks, because
 * resetting a timer for every token costs more than translating the token.
 */
const tickMs = 5000
const ticksToHeartbeat = 3

/** Calls functions every five seconds. */
export interface Ticker {
  /** Returns the function that stops the calls. */
  readonly add: (onTick: () => void) => () => void
}

/** One timer for all streams, because most answers end before the first tick. It stops at a tick without streams. */
export function createTicker(): Ticker {
  const streams: (() => void)[] = []
  let timer: NodeJS.Timeout | undefined

  function tick(): void {
    for (const onTick of streams.slice()) onTick()
    if (streams.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    add(onTick) {
      timer ??= setInterval(tick, tickMs).unref()
      streams.push(onTick)
      return () => removeFrom(streams, onTick)
    },
  }
}

/**
 * The first heartbeat before upstream answers is sent after this many heartbeat intervals (30 seconds). Upstream refuses
 * within seconds, and a heartbeat sends the head, after which a refusal can no longer set the status.
 */
const intervalsBeforeAnswer = 2

/**
 * Longer text is written in pieces of this size, as fast as the caller reads. The last events of a Responses stream
 * repeat the complete answer four times; a slow caller's socket would queue each as bytes and as a string. Characters.
 */
const pieceLength = 16 * 1024

export function createEventStream(response: ServerResponse, options: EventStreamOptions): EventStream {
  const { heartbeat, ticker, headers, onHead, onText } = options
  let upstreamHeaders: Readonly<Record<string, string>> = {}
  let heartbeatsToSkip = intervalsBeforeAnswer - 1
  let silentTicks = 0
  /** Text that waits for the socket. Not empty only while the socket is full. */
  let pending = ''
  let isEnding = false
  let isWatched = false
  let onProgress: (() => void) | undefined

  const stopHeartbeats = ticker.add(() => {
    silentTicks += 1
    if (silentTicks < ticksToHeartbeat) return
    silentTicks = 0
    if (heartbeatsToSkip > 0) heartbeatsToSkip -= 1
    else if (isDrained()) write(heartbeat)
  })

  /** @param framing headers that describe the length of the body; by default it is chunked */
  function writeHead(framing: Readonly<Record<string, number>> = {}): void {
    onHead()
    const head = headers()
    head['content-type'] = 'text/event-stream; charset=utf-8'
    head['cache-control'] = 'no-cache'
    head['x-accel-buffering'] = 'no'
    response.writeHead(200, Object.assign(head, upstreamHeaders, framing))
  }

  function write(text: string): boolean {
    silentTicks = 0
    onText?.(text)
    if (pending !== '' || text.length > pieceLength) {
      pending += text
      flushPending()
    } else writePiece(text)
    if (isDrained()) return true
    watchDrain()
    return false
  }

  function writePiece(text: string): void {
    if (response.headersSent) writeChunk(response, text)
    else {
      writeHead()
      response.write(text)
    }
  }

  function flushPending(): void {
    if (response.destroyed) {
      pending = ''
      return
    }
    let from = 0
    while (from < pending.length && !isFull(response)) {
      const to = endOfPiece(pending, from + pieceLength)
      writePiece(pending.slice(from, to))
      from = to
    }
    pending = pending.slice(from)
    if (isEnding && pending === '') response.end()
  }

  function isDrained(): boolean {
    return pending === '' && !isFull(response)
  }

  function watchDrain(): void {
    if (isWatched) return
    isWatched = true
    // Chunks go to the socket, so the response itself emits no `drain`.
    const writable = response.socket ?? response
    writable.once('drain', () => {
      isWatched = false
      if (pending !== '') flushPending()
      if (!isDrained()) watchDrain()
      onProgress?.()
    })
  }

  return {
    write,
    drained: (timeoutMs) =>
      new Promise((resolve) => {
        const stall = setTimeout(() => response.destroy(), timeoutMs)
        const onClose = () => clearTimeout(stall)
        response.once('close', onClose)
        onProgress = () => {
          stall.refresh()
          if (!isDrained()) return
          onProgress = undefined
          clearTimeout(stall)
          // A slow caller drains many times; each time would leave a listener.
          response.off('close', onClose)
          resolve()
        }
      }),
    end(text) {
      if (pending === '' && text.length <= pieceLength) {
        onText?.(text)
        if (!response.headersSent) {
          // The answer is complete. With its length known, Node writes head and text as one string.
          writeHead({ 'content-length': Buffer.byteLength(text) })
          response.end(text)
          return
        }
        response.end(text)
        return
      }
      isEnding = true
      write(text)
    },
    upstreamAnswered(received) {
      upstreamHeaders = received
      heartbeatsToSkip = 0
      silentTicks = 0
    },
    isOpen: () => response.headersSent,
    stopHeartbeats,
  }
}

/** Keeps surrogate pairs together: each half alone would be encoded as U+FFFD. */
function endOfPiece(text: string, at: number): number {
  const last = text.charCodeAt(at - 1)
  return last >= 0xd800 && last <= 0xdbff ? at + 1 : at
}

/**
 * Writes text to a response whose head is sent, as one chunk (RFC 9112, section 7.1). Node writes the four parts of a
 * chunk one by one; an event, which is one token here, then takes 1.5 times the processor time of a byte pipe, and 1.3
 * times with this function (Node 24.21).
 */
function writeChunk(response: ServerResponse, text: string): void {
  const { socket, chunkedEncoding } = response
  // A pipelined response has no socket until the one before it ends. A chunk of '' would end the body.
  if (socket === null || !chunkedEncoding || text === '') response.write(text)
  else socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}

/** Whether the caller must read before more is written. */
function isFull({ socket, writableNeedDrain }: ServerResponse): boolean {
  return socket?.writableNeedDrain ?? writableNeedDrain
}
