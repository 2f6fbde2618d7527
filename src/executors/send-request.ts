import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { StaleConnection, createConnectionUse } from './connection-use.ts'
import type { BodyReader, UpstreamBody } from './executor.ts'
import type { SlotWatcher } from './watched-client.ts'

export interface RequestOptions {
  readonly origin: string
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | Readable | null
  /** From the request to the head of the reply. Ms. */
  readonly headersTimeout: number
  /** Closes the connection at once, while the head is awaited and while the body is read. */
  readonly signal: AbortSignal
  /** Takes another way to do the same, for as long as the exchange lasts; returns what to call when it is over. */
  readonly onBegin?: ((end: (reason: Error) => void) => () => void) | undefined
}

/** The head of a reply, and its body still to be read. */
export interface UpstreamReply {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: UpstreamBody
}

/** How long upstream may take to end a reply that has said all it had to before the connection is given up. Ms. */
const lingerMs = 1000

/**
 * Upstream is not paused for less: a short answer comes with its head, before anybody can read it, and undici would put
 * what is left of it back into the socket and begin again. Bytes.
 */
const mostUnread = 64 * 1024

/**
 * One HTTP exchange on `agent`. undici's own handler interface rather than its `request`: that one wraps each body in a
 * web-compatible stream, which costs as much per token as everything else that is done with it.
 * @throws what undici reports before the head is there, StaleConnection where that is all it means; the signal's reason
 * on abort
 */
export function sendRequest(agent: Dispatcher, options: RequestOptions): Promise<UpstreamReply> {
  const { signal, onBegin } = options
  if (signal.aborted) return Promise.reject(signal.reason)
  // What the functions below name stays for as long as the answer streams: not the request, and the head until it is there.
  const { promise, ...settlers } = Promise.withResolvers<UpstreamReply>()
  let head: Pick<PromiseWithResolvers<UpstreamReply>, 'resolve' | 'reject'> | undefined = settlers
  let controller: Dispatcher.DispatchController | undefined
  let body: ReceivedBody | undefined
  const use = createConnectionUse()

  let ended: Error | undefined

  function end(reason: Error): void {
    ended = reason
    // Told first: undici reports the abort as a failure of its own.
    head?.reject(reason)
    body?.abort(reason)
    controller?.abort(reason)
  }

  const onAbort = (): void => end(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const leave = onBegin?.(end)
  const stopListening = (): void => {
    signal.removeEventListener('abort', onAbort)
    leave?.()
  }

  const handler: Dispatcher.DispatchHandler & SlotWatcher = {
    onSlot: use.given,
    onRequestStart(started) {
      controller = started
      use.sent()
      if (ended !== undefined) started.abort(ended)
    },
    onResponseStarted: use.answerBegan,
    onResponseStart(started, status, headers) {
      // 103 and its like announce a reply.
      if (status < 200) return
      use.answered()
      // Two buffers a header, which undici keeps beside the parsed ones until the answer is over.
      started.rawHeaders = null
      body = receiveBody(started, stopListening)
      head?.resolve({ status, headers, body })
      head = undefined
    },
    onResponseData(_controller, chunk) {
      body?.data(chunk)
    },
    onResponseEnd() {
      body?.end()
    },
    onResponseError(_controller, error) {
      if (body === undefined) {
        stopListening()
        head?.reject(use.isStale(error) ? new StaleConnection(error) : error)
      } else body.fail(error)
    },
  }
  // Named one by one: the rest of a destructuring is copied member by member, at a microsecond a request.
  const { origin, path, method, headersTimeout } = options
  agent.dispatch({ origin, path, method, headers: options.headers, body: options.body, headersTimeout }, handler)
  return promise
}

/** A body with the side that fills it. */
interface ReceivedBody extends UpstreamBody, BodyReader {
  /** Fails at once: what has not been taken yet is part of no answer any more. */
  readonly abort: (reason: unknown) => void
}

/** @param settled called when nothing more will be heard of the connection, and when nobody listens any more */
function receiveBody(controller: Dispatcher.DispatchController, settled: () => void): ReceivedBody {
  let reader: BodyReader | undefined
  /** What came before there was a reader, or while it paused: then a chunk or two, because upstream is paused too. */
  let waiting: Uint8Array[] = []
  /** Bytes that came while nobody read. */
  let unread = 0
  let paused = true
  let ending: ((reader: BodyReader) => void) | undefined
  let linger: NodeJS.Timeout | undefined

  function endWith(how: (reader: BodyReader) => void): void {
    if (ending !== undefined) return
    ending = how
    clearTimeout(linger)
    settled()
    if (!paused) tellEnding()
  }

  function tellEnding(): void {
    const last = reader
    reader = undefined
    if (last !== undefined) ending?.(last)
  }

  function resume(): void {
    paused = false
    for (let chunk = waiting.shift(); chunk !== undefined; chunk = waiting.shift()) {
      reader?.data(chunk)
      // The reader may have paused again.
      if (paused) return
    }
    if (ending === undefined) controller.resume()
    else tellEnding()
  }

  function leave(): void {
    reader = undefined
    waiting = []
    settled()
  }

  return {
    data(chunk) {
      if (!paused) {
        reader?.data(chunk)
        return
      }
      waiting.push(chunk)
      unread += chunk.length
      if (unread > mostUnread) controller.pause()
    },
    end: () => endWith((last) => last.end()),
    fail: (error) => endWith((last) => last.fail(error)),
    abort(reason) {
      waiting = []
      // Before there is a reader, `read` will tell.
      paused = reader === undefined
      endWith((last) => last.fail(reason))
    },
    read(newReader) {
      reader = newReader
      resume()
    },
    pause() {
      paused = true
      if (ending === undefined) controller.pause()
    },
    resume,
    finish() {
      leave()
      if (ending !== undefined) return
      linger = setTimeout(() => controller.abort(new Error('the reply did not end')), lingerMs)
      resume()
    },
    destroy() {
      leave()
      if (ending === undefined) controller.abort(new Error('the reply is not wanted'))
    },
  }
}
