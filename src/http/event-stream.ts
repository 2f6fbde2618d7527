import type { ServerResponse } from 'node:http'
import { isFull, writeText } from './chunked-body.ts'

/** The event stream that a caller reads. Its head goes out with the first event, so a failure before it is still a status. */
export interface EventStream {
  /** False when the caller is slow: wait for `drain`. */
  readonly write: (text: string) => boolean
  /** The last words and the end, in one write. */
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
 * Last words longer than this leave as bytes. Node keeps a string until a slow caller has taken it, at two bytes a
 * character, beside bytes of its own; those of a Responses stream repeat the whole answer. Characters.
 */
const longText = 16 * 1024

export function createEventStream(response: ServerResponse, options: EventStreamOptions): EventStream {
  const { heartbeat, headers, onHead, onText } = options
  let upstreamHeaders: Readonly<Record<string, string>> = {}
  let beatsToSkip = beatsBeforeAnswer - 1
  let silentTicks = 0

  const timer = setInterval(() => {
    silentTicks += 1
    if (silentTicks < ticksToHeartbeat) return
    silentTicks = 0
    if (beatsToSkip > 0) beatsToSkip -= 1
    else if (!isFull(response)) write(heartbeat)
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
  }

  function write(text: string): boolean {
    silentTicks = 0
    onText?.(text)
    if (response.headersSent) return writeText(response, text)
    writeHead()
    return response.write(text)
  }

  return {
    write,
    end(text) {
      onText?.(text)
      if (!response.headersSent) writeHead()
      response.end(text.length > longText ? Buffer.from(text) : text)
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
