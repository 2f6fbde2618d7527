import type { ServerResponse } from 'node:http'
import { isFull, writeText } from './chunked-body.ts'

/** The event stream that a caller reads. Its head goes out with the first event, so a failure before it is still a status. */
export interface EventStream {
  /** False when the caller is slow: wait for `taken`. */
  readonly write: (text: string) => boolean
  /**
   * Resolves when the caller has taken what was written. One that takes nothing for that long is gone in all but name:
   * its connection is closed, so that it does not hold a place for ever.
   */
  readonly taken: (patienceMs: number) => Promise<void>
  /** The last words and the end, in one write where they are short. */
  readonly end: (text: string) => void
  /** Upstream has answered, with these headers for the caller; a silence from here on is one of a model that thinks. */
  readonly answered: (headers: Readonly<Record<string, string>>) => void
  /** The head is out: what goes wrong from here on is an event. */
  readonly isOpen: () => boolean
  /** No more heartbeats. */
  readonly stop: () => void
}

export interface EventStreamOptions {
  /** Text that readers ignore. */
  readonly heartbeat: string
  /** Of the reply so far; read when the head goes out. */
  readonly headers: () => Readonly<Record<string, string>>
  /** Called as the head goes out. */
  readonly onHead: () => void
  /** Hears what the caller is sent; set only where answers are logged. */
  readonly onText: ((text: string) => void) | undefined
}

/**
 * A caller that hears nothing for 15 seconds may think the connection dead. Silence is counted in ticks, because to set a
 * timer anew with every token costs more than the token's translation.
 */
const tickMs = 5000
const ticksToHeartbeat = 3

/**
 * How many of those pass before a caller hears something although upstream has not even answered. Upstream refuses within
 * seconds, and a refusal should be a status; who has been waiting for half a minute is better told that somebody is there.
 */
const beatsBeforeAnswer = 2

/**
 * Longer text goes out in pieces of this, as the caller takes them: the last events of a Responses stream repeat the whole
 * answer four times, and in the queue of a slow caller's socket each would be held as bytes and as a string. Characters.
 */
const pieceLength = 16 * 1024

export function createEventStream(response: ServerResponse, options: EventStreamOptions): EventStream {
  const { heartbeat, headers, onHead, onText } = options
  let upstreamHeaders: Readonly<Record<string, string>> = {}
  let beatsToSkip = beatsBeforeAnswer - 1
  let silentTicks = 0
  /** Written, and not handed to the socket yet; while there is something, the socket is full. */
  let rest = ''
  let isEnding = false
  let isWatched = false
  let onProgress: (() => void) | undefined

  const timer = setInterval(() => {
    silentTicks += 1
    if (silentTicks < ticksToHeartbeat) return
    silentTicks = 0
    if (beatsToSkip > 0) beatsToSkip -= 1
    else if (isTaken()) write(heartbeat)
  }, tickMs)

  function writeHead(): void {
    onHead()
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      ...headers(),
      ...upstreamHeaders,
    })
    response.flushHeaders()
  }

  function write(text: string): boolean {
    silentTicks = 0
    onText?.(text)
    if (rest !== '' || text.length > pieceLength) {
      rest += text
      handOver()
    } else writePiece(text)
    if (isTaken()) return true
    watch()
    return false
  }

  function writePiece(text: string): void {
    if (response.headersSent) {
      writeText(response, text)
      return
    }
    const { socket } = response
    socket?.cork()
    writeHead()
    writeText(response, text)
    socket?.uncork()
  }

  function handOver(): void {
    if (response.destroyed) {
      rest = ''
      return
    }
    let from = 0
    while (from < rest.length && !isFull(response)) {
      const to = endOfPiece(rest, from + pieceLength)
      writePiece(rest.slice(from, to))
      from = to
    }
    rest = rest.slice(from)
    if (isEnding && rest === '') response.end()
  }

  function isTaken(): boolean {
    return rest === '' && !isFull(response)
  }

  /** Goes on when there is room again. */
  function watch(): void {
    if (isWatched) return
    isWatched = true
    // The socket's own event: what `writeText` wrote, the response does not know of.
    const writable = response.socket ?? response
    writable.once('drain', () => {
      isWatched = false
      if (rest !== '') handOver()
      if (!isTaken()) watch()
      onProgress?.()
    })
  }

  return {
    write,
    taken: (patienceMs) =>
      new Promise((resolve) => {
        const patience = setTimeout(() => response.destroy(), patienceMs)
        const onClose = () => clearTimeout(patience)
        response.once('close', onClose)
        onProgress = () => {
          patience.refresh()
          if (!isTaken()) return
          onProgress = undefined
          clearTimeout(patience)
          // A slow caller drains many times, and each would leave a listener behind.
          response.off('close', onClose)
          resolve()
        }
      }),
    end(text) {
      if (rest === '' && text.length <= pieceLength) {
        onText?.(text)
        // Ends with the response, which writes all of it at once.
        response.socket?.cork()
        if (!response.headersSent) writeHead()
        if (text !== '') writeText(response, text)
        response.end()
        return
      }
      isEnding = true
      write(text)
    },
    answered(found) {
      upstreamHeaders = found
      beatsToSkip = 0
      silentTicks = 0
      timer.refresh()
    },
    isOpen: () => response.headersSent,
    stop: () => clearInterval(timer),
  }
}

/** No character may be cut in two: each half would become U+FFFD. */
function endOfPiece(text: string, at: number): number {
  const last = text.charCodeAt(at - 1)
  return last >= 0xd800 && last <= 0xdbff ? at + 1 : at
}
