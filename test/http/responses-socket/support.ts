import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { openProxy } from '../harness.ts'
import type { Proxy, ProxyOptions } from '../harness.ts'

type Message = Readonly<Record<string, unknown>>

export interface SocketClient {
  /** Sends a value as JSON, a text as it is, and bytes as a binary message. */
  readonly send: (message: Message | string | Buffer) => void
  /** The next message. Rejects if the connection closes before. */
  readonly next: () => Promise<Message>
  /** The messages up to the one that ends an answer. */
  readonly answer: () => Promise<readonly Message[]>
  /** The code and reason of the close. */
  readonly closed: Promise<readonly [code: number, reason: string]>
  readonly leave: () => void
}

const ends: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])

/** Connects as Codex CLI does. Rejects with the status of a refused handshake. */
export async function connect(
  { url }: Pick<Proxy, 'url'>,
  headers: Readonly<Record<string, string>> = {},
  protocols: readonly string[] = [],
): Promise<SocketClient> {
  const socket = new WebSocket(`${url.replace('http:', 'ws:')}/v1/responses`, [...protocols], { headers })
  onTestFinished(() => socket.terminate())
  const received: Message[] = []
  const closed = Promise.withResolvers<readonly [number, string]>()
  let wake = Promise.withResolvers<void>()
  let isClosed = false
  socket.on('message', (data) => {
    // oxlint-disable-next-line typescript/no-base-to-string -- a buffer, since `binaryType` is not set
    received.push(JSON.parse(data.toString()))
    wake.resolve()
  })
  socket.on('close', (code, reason) => {
    isClosed = true
    closed.resolve([code, String(reason)])
    wake.resolve()
  })
  const refused = Promise.withResolvers<never>()
  socket.on('unexpected-response', (_request, response) => {
    refused.reject(new Error(`status ${response.statusCode}`))
    response.resume()
  })
  // A failure after the handshake closes the connection.
  socket.on('error', (error) => refused.reject(error))
  refused.promise.catch(() => {})
  await Promise.race([once(socket, 'open'), refused.promise])

  const next = async (): Promise<Message> => {
    for (;;) {
      const message = received.shift()
      if (message !== undefined) return message
      if (isClosed) throw new Error(`closed: ${(await closed.promise).join(' ')}`)
      wake = Promise.withResolvers()
      await wake.promise
    }
  }
  return {
    send: (message) =>
      socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message)),
    next,
    async answer() {
      const messages: Message[] = []
      for (;;) {
        const message = await next()
        messages.push(message)
        const { type, status } = message
        // In a stream, `response.failed` follows the `error`.
        if (ends.has(type) && (type !== 'error' || status !== undefined)) return messages
      }
    },
    closed: closed.promise,
    leave: () => socket.terminate(),
  }
}

export const model = 'gpt-5.3-codex'

export function user(text: string): Message {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}

/** A request in a message. */
export function create(change: Message = {}): Message {
  return { type: 'response.create', model, store: false, input: [user('Hello there')], ...change }
}

/** The response object at the end of an answer. */
export function responseOf(messages: readonly Message[]): { readonly id: string; readonly output: readonly Message[] } {
  const { response } = messages.at(-1) ?? {}
  return response as never
}

export function textOf(messages: readonly Message[]): string {
  return JSON.stringify(responseOf(messages)?.output ?? [])
}

export async function openSocket(options: ProxyOptions = {}, headers: Readonly<Record<string, string>> = {}) {
  const proxy = await openProxy(options)
  return { proxy, client: await connect(proxy, headers) }
}
