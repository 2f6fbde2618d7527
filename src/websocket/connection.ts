import { isAscii } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { WebSocket, WebSocketServer } from 'ws'
import type { Handshake } from './handshakes.ts'
import { subprotocol } from './subprotocol.ts'

export interface ConnectionOptions {
  /** A larger message closes the connection with 1009. */
  readonly maxMessageBytes: number
  /** A client that reads too slowly for this much to wait is closed with 1008. Bytes. */
  readonly maxQueuedBytes: number
  /** Between two pings. A client that has answered none of them by the next one is gone. Ms. */
  readonly pingMs: number
}

export interface ConnectionEvents {
  readonly onText: (text: string) => void
  /** Called once, as soon as nothing more is received or sent. `reason`: that of `close`, or of a limit. */
  readonly onClose: (reason: string | undefined) => void
  /** Called before a message over the limit closes the connection. Text can still be sent. */
  readonly onTooLarge?: () => void
}

/** One WebSocket of a client. Nothing is sent after `close`. */
export interface Connection {
  readonly send: (text: string) => void
  /** The client has a second to answer. */
  readonly close: (code: number, reason: string) => void
  /** Closes without a close frame. */
  readonly terminate: () => void
}

/** To put such a message together and to parse it takes long enough for two turns of the event loop. Characters. */
const largeMessage = 1024 * 1024

/** How long a client has to answer a close frame. Ms. */
const closeTimeoutMs = 1000

/** `Message Too Big` (RFC 6455, section 7.4.1): ws closes with it as soon as it knows the length of a message. */
const tooLargeCode = 1009

/** Reports a message over the limit before the close frame: ws reports it afterwards, when nothing can be sent any more. */
class WarningWebSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    if (code === tooLargeCode && this.readyState === WebSocket.OPEN) this.emit('too-large')
    super.close(code, reason)
  }
}

/** A flood of small fragments fills memory long before their text does. */
const maxFragments = 16 * 1024

/**
 * Accepts a handshake. `onOpen` returns what listens to the connection; it is not called for an invalid handshake, which
 * is answered with 400.
 */
export function acceptHandshake(
  request: IncomingMessage,
  { socket, head }: Handshake,
  options: ConnectionOptions,
  onOpen: (connection: Connection) => ConnectionEvents,
): void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: options.maxMessageBytes,
    maxFragments,
    WebSocket: WarningWebSocket,
    handleProtocols: (offered) => offered.has(subprotocol) && subprotocol,
  })
  server.handleUpgrade(request, socket, head, (webSocket) => connect(webSocket, options, onOpen))
}

function connect(
  webSocket: WebSocket,
  { maxQueuedBytes, pingMs }: ConnectionOptions,
  onOpen: (connection: Connection) => ConnectionEvents,
): void {
  let isOpen = true
  let isAlive = true
  let deadline: NodeJS.Timeout | undefined
  /** Messages that arrived after a large one, while that one waits for its turn. */
  let waiting: string[] | undefined

  const connection: Connection = {
    send(text) {
      if (!isOpen) return
      webSocket.send(text)
      if (webSocket.bufferedAmount > maxQueuedBytes) connection.close(1008, 'replies are not read')
    },
    close(code, reason) {
      if (!isOpen) return
      webSocket.close(code, reason)
      deadline = setTimeout(connection.terminate, closeTimeoutMs).unref()
      ended(reason)
    },
    terminate: () => webSocket.terminate(),
  }
  const { onText, onClose, onTooLarge } = onOpen(connection)

  function ended(reason: string | undefined): void {
    if (!isOpen) return
    isOpen = false
    onClose(reason)
  }

  /** In their order. */
  function deliver(texts: readonly string[]): void {
    for (const text of texts) {
      if (waiting !== undefined) waiting.push(text)
      else if (text.length < largeMessage) onText(text)
      else {
        waiting = []
        setImmediate(() => {
          const later = waiting ?? []
          waiting = undefined
          if (isOpen) onText(text)
          if (isOpen) deliver(later)
        })
      }
    }
  }

  const ping = setInterval(() => {
    if (!isAlive) return webSocket.terminate()
    isAlive = false
    if (isOpen) webSocket.ping()
  }, pingMs).unref()

  webSocket.on('pong', () => {
    isAlive = true
  })
  webSocket.on('message', (data, isBinary) => {
    isAlive = true
    if (!isOpen) return
    if (isBinary) connection.close(1003, 'send JSON as text')
    else deliver([textOf(data)])
  })
  webSocket.on('too-large', () => onTooLarge?.())
  // A `close` follows, with the code that ws has sent.
  webSocket.on('error', () => {})
  webSocket.once('close', () => {
    clearInterval(ping)
    clearTimeout(deadline)
    ended(undefined)
  })
}

/** ws gives text messages as one buffer unless `binaryType` is set. */
function textOf(data: WebSocket.RawData): string {
  if (!(data instanceof Buffer)) return ''
  // Six times as fast (Node 24.21), which counts for a message of megabytes.
  return data.toString(isAscii(data) ? 'latin1' : 'utf8')
}
