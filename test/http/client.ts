import { Agent, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** A request that fits in memory. POST where there is a body, else GET; `''` as content type sends none. */
export interface SmallAsk {
  readonly method?: string
  /** Laid over `content-type: application/json` where there is a body. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface Ask extends Omit<SmallAsk, 'body'> {
  /** Names and values in turn, sent as they are, repeated names included; in place of `headers`. */
  readonly rawHeaders?: readonly string[]
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
  readonly signal?: AbortSignal
  /** Connection pool; a connection of its own by default. */
  readonly agent?: Agent
}

export interface SmallReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>
  readonly text: string
  /** The body as JSON. */
  readonly json: () => unknown
}

export interface Reply extends SmallReply {
  readonly headers: IncomingHttpHeaders
}

/** A reply whose head has arrived. */
interface OpenReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly stream: IncomingMessage
  /** The next complete server-sent event or comment, without its blank line; undefined at the end. */
  readonly next: () => Promise<string | undefined>
  /** Everything that was not taken by `next`. Rejects when the connection breaks. */
  readonly rest: () => Promise<string>
  /** Leaves: destroys the connection. */
  readonly leave: () => void
}

/** A plain HTTP client: it repeats nothing, follows nothing, and sends the headers it is given. */
export interface Client {
  readonly url: string
  readonly port: number
  readonly open: (path: string, ask?: Ask) => Promise<OpenReply>
  readonly send: (path: string, ask?: Ask) => Promise<Reply>
  /** POST of a chat request to the usual route. */
  readonly chat: (change?: Readonly<Record<string, unknown>>, ask?: Ask) => Promise<Reply>
  readonly openChat: (change?: Readonly<Record<string, unknown>>, ask?: Ask) => Promise<OpenReply>
  /** A bare connection. */
  readonly socket: () => Promise<Socket>
  /** Writes the text as it is, waits for the server to end the connection, returns what it sent. */
  readonly raw: (text: string) => Promise<string>
  readonly close: () => void
}

/** A small chat request. */
export function chatBody(change: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }], ...change })
}

/** The same with a text, which the simulated Copilot may take markers from. */
export function saying(content: string): { readonly messages: readonly unknown[] } {
  return { messages: [{ role: 'user', content }] }
}

export function createClient(url: string): Client {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()

  const open = async (path: string, ask: Ask = {}): Promise<OpenReply> => {
    const { body, signal, agent = new Agent({ keepAlive: false }) } = ask
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const method = ask.method ?? (body === undefined ? 'GET' : 'POST')
    const headers = ask.rawHeaders ?? headersOf(ask.headers, body !== undefined)
    const request = httpRequest({ hostname, port, path, method, headers, agent, ...(signal && { signal }) })
    request.once('response', resolve).on('error', reject)
    request.on('socket', (socket) => sockets.add(socket))
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) request.end(body)
    // The server may answer and close before it has read everything: that is a reply, not a failure.
    else pipeline(Readable.from(body, { objectMode: false }), request).catch(() => {})
    return toOpenReply(await promise)
  }

  const send = async (path: string, ask?: Ask): Promise<Reply> => {
    const reply = await open(path, ask)
    const text = await reply.rest()
    return { status: reply.status, headers: reply.headers, text, json: () => JSON.parse(text) }
  }

  const socket = async (): Promise<Socket> => {
    const opened = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    sockets.add(opened)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    opened.once('connect', resolve).once('error', reject)
    await promise
    return opened
  }

  return {
    url,
    port: Number(port),
    open,
    send,
    chat: (change, ask) => send('/v1/chat/completions', { body: chatBody(change), ...ask }),
    openChat: (change, ask) => open('/v1/chat/completions', { body: chatBody({ stream: true, ...change }), ...ask }),
    socket,
    raw: async (text) => {
      const opened = await socket()
      opened.write(text)
      return readAll(opened)
    },
    close: () => {
      for (const each of sockets) each.destroy()
    },
  }
}

/** Headers of a request, the default content type included. */
export function headersOf(given: SmallAsk['headers'], hasBody: boolean): Record<string, string> {
  const all = { ...(hasBody && { 'content-type': 'application/json' }), ...given }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
}

/** Text until the other side ends the connection; a reset ends it too. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.once('end', resolve).once('close', resolve).on('error', resolve)
  await promise
  socket.destroy()
  return Buffer.concat(chunks).toString()
}

function toOpenReply(stream: IncomingMessage): OpenReply {
  const pieces = stream[Symbol.asyncIterator]()
  const decoder = new TextDecoder()
  let text = ''
  const more = async (): Promise<boolean> => {
    const piece = await pieces.next()
    if (!piece.done) text += decoder.decode(piece.value, { stream: true })
    return !piece.done
  }
  const take = (length: number): string => {
    const taken = text.slice(0, length)
    text = text.slice(length)
    return taken
  }
  return {
    status: stream.statusCode ?? 0,
    headers: stream.headers,
    stream,
    next: async () => {
      while (!text.includes('\n\n')) if (!(await more())) return undefined
      return take(text.indexOf('\n\n') + 2).trimEnd()
    },
    rest: async () => {
      while (await more());
      return take(text.length)
    },
    leave: () => {
      stream.destroy()
    },
  }
}

/** The data of each event of an event stream; comments are left out. */
export function dataOf(text: string): readonly string[] {
  return text.split('\n\n').flatMap((block) => /^(?:event: [^\n]*\n)?data: ([^]*)$/.exec(block)?.[1] ?? [])
}

/** The text a streamed chat answer says. */
export function contentOf(text: string): string {
  return dataOf(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data).choices?.[0]?.delta?.content ?? '')
    .join('')
}
