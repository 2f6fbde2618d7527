import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { AccountRequests } from './account-requests.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { BodyReader, UpstreamBody } from './executor.ts'
import { toHeadFault } from './network-fault.ts'
import { StaleConnection, createConnectionUse, type SlotWatcher } from './connection-pool.ts'

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
  /** Receives a second function that closes the connection; returns the function to call when the request is over. */
  readonly onBegin?: ((end: (reason: Error) => void) => () => void) | undefined
  /** Receives the agent if the request shows that its kept connection is gone. */
  readonly onGone?: ((agent: Dispatcher) => void) | undefined
}

/** The head of a reply, and its unread body. */
export interface UpstreamReply {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: UpstreamBody
}

/** How long upstream may take to end a reply that has no reader any more, before the connection is closed. Ms. */
const lingerMs = 1000

/**
 * Upstream is paused only beyond this. A short answer arrives with its head, before a reader is there, and undici would
 * put the remainder back into the socket and parse it again. Bytes.
 */
const mostUnread = 64 * 1024

/**
 * Sends one request on `agent`. It uses undici's handler interface, because undici's `request` wraps each body in a
 * web-compatible stream, which costs as much per token as everything else.
 * @throws undici's error before the head, or StaleConnection if the error means only that; the signal's reason on abort
 */
export function sendRequest(agent: Dispatcher, options: RequestOptions): Promise<UpstreamReply> {
  const { signal, onBegin, onGone } = options
  if (signal.aborted) return Promise.reject(signal.reason)
  // The closures below live as long as the answer streams, so they must not capture the request. They drop `head` once used.
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamReply>()
  let head: Pick<PromiseWithResolvers<UpstreamReply>, 'resolve' | 'reject'> | undefined = { resolve, reject }
  let controller: Dispatcher.DispatchController | undefined
  let body: ReceivedBody | undefined
  const use = createConnectionUse()

  let ended: Error | undefined

  function end(reason: Error): void {
    ended = reason
    // A caller that gives up has waited long enough to doubt the connection.
    if (use.isGone(reason)) onGone?.(agent)
    // Reject first: undici reports the abort as a failure of its own.
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
      // 1xx statuses such as 103 precede the reply.
      if (status < 200) return
      use.answered()
      // undici would keep two buffers per header until the answer is over.
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
        const isStale = use.isStale(error)
        if (isStale || use.isGone(error)) onGone?.(agent)
        head?.reject(isStale ? new StaleConnection(error) : error)
      } else body.fail(error)
    },
  }
  // Named one by one: a rest pattern costs a microsecond per request.
  const { origin, path, method, headersTimeout } = options
  agent.dispatch({ origin, path, method, headers: options.headers, body: options.body, headersTimeout }, handler)
  return promise
}

/** A body, and the reader that fills it. */
interface ReceivedBody extends UpstreamBody, BodyReader {
  /** Fails at once and drops the unread bytes. */
  readonly abort: (reason: unknown) => void
}

/** @param settled called when the connection has ended, and when the last reader has left */
export function receiveBody(
  controller: Pick<Dispatcher.DispatchController, 'pause' | 'resume' | 'abort'>,
  settled: () => void,
): ReceivedBody {
  let reader: BodyReader | undefined
  /** Chunks that came before there was a reader, or while it paused: a chunk or two, because upstream is paused too. */
  let waiting: Uint8Array[] = []
  /** Bytes received without a reader. */
  let unread = 0
  let paused = true
  let ending: ((reader: BodyReader) => void) | undefined
  let linger: NodeJS.Timeout | undefined

  function endWith(how: (reader: BodyReader) => void): void {
    if (ending !== undefined) return
    ending = how
    clearTimeout(linger)
    settled()
    if (!paused) deliverEnding()
  }

  function deliverEnding(): void {
    const last = reader
    reader = undefined
    if (last !== undefined) ending?.(last)
  }

  function pause(): void {
    paused = true
    if (ending === undefined) controller.pause()
  }

  function resume(): void {
    paused = false
    for (let chunk = waiting.shift(); chunk !== undefined; chunk = waiting.shift()) {
      reader?.data(chunk)
      // The reader may have paused again.
      if (paused) return
    }
    if (ending === undefined) controller.resume()
    else deliverEnding()
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
      // Without a reader yet, `read` reports it.
      paused = reader === undefined
      endWith((last) => last.fail(reason))
    },
    read(newReader) {
      reader = newReader
      resume()
    },
    putBack(chunks) {
      waiting.unshift(...chunks)
      pause()
    },
    pause,
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

/** A request body for undici, with its headers. */
export interface Payload {
  readonly body: string | Buffer | Readable | null
  readonly headers: Readonly<Record<string, string>>
}

/** Bodies up to this size are passed as one buffer, which is cheaper. About the memory that a stream takes. Bytes. */
const mostHeld = 16 * 1024

/**
 * undici keeps the body until the answer is over, which would hold megabytes of history in memory while a model writes.
 * A stream that was read holds nothing. Its length is stated, because upstream gives up on bodies of unknown length
 * (docs/copilot-wire.md, "Errors", 408).
 */
export function toPayload(body: string | Buffer | null): Payload {
  if (!Buffer.isBuffer(body) || body.length <= mostHeld) return { body, headers: {} }
  return { body: streamOnce(body), headers: { 'content-length': String(body.length) } }
}

function streamOnce(bytes: Buffer): Readable {
  let rest: Buffer | null = bytes
  return new Readable({
    read() {
      this.push(rest)
      rest = null
    },
  })
}

/** A base URL, parsed once and not with every request. */
export interface Target {
  readonly baseUrl: string
  readonly origin: string
  /** The base URL's path, '' for none. */
  readonly prefix: string
}

export function toTarget(baseUrl: string): Target {
  const { origin, pathname } = new URL(baseUrl)
  return { baseUrl, origin, prefix: pathname.replace(/\/+$/, '') }
}

interface OutgoingRequest {
  readonly target: Target
  /** Below the target. */
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly body: string | Buffer | null
  /** @param repeated upstream may have seen the request already */
  readonly headers: (repeated: boolean) => Record<string, string>
  /** A logout of this account ends the request. */
  readonly account?: string | undefined
  readonly signal: AbortSignal
}

export type SendRequest = (request: OutgoingRequest) => Promise<UpstreamReply>

/**
 * The function that sends requests over one pool. It repeats a request once if the kept connection turned out to be
 * gone (RFC 9112 §9.3.1), on a new connection. It throws Fault `upstream_unreachable`, `upstream_silent`,
 * `upstream_unusable`, and the signal's reason on abort.
 */
export function createSender(
  pool: Pick<ConnectionPool, 'current' | 'giveUp'>,
  deadlines: { readonly connectMs: number; readonly headersMs: number },
  requests?: Pick<AccountRequests, 'begin'>,
): SendRequest {
  function sendOn(agent: Dispatcher, request: OutgoingRequest, repeated: boolean): Promise<UpstreamReply> {
    const { target, account } = request
    const payload = toPayload(request.body)
    return sendRequest(agent, {
      origin: target.origin,
      path: target.prefix + request.path,
      method: request.method,
      headers: Object.assign(request.headers(repeated), payload.headers),
      body: payload.body,
      headersTimeout: deadlines.headersMs,
      signal: request.signal,
      onBegin: account === undefined ? undefined : requests?.begin(account),
      onGone: pool.giveUp,
    })
  }

  return async (request) => {
    try {
      return await sendOn(pool.current(), request, false)
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw toHeadFault(error, deadlines)
    }
    try {
      return await sendOn(pool.current(), request, true)
    } catch (error) {
      throw toHeadFault(error, deadlines)
    }
  }
}
