import { isAscii } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import type { Handshake } from './handshakes.ts'
import { subprotocol } from './subprotocol.ts'

export interface ConnectionOptions {
  /** A larger message closes the connection with 1009. */
  readonly maxMessageBytes: number
  /** A client that reads too slowly for this much to wait is closed with 1008. Bytes. */
  readonly maxQueuedBytes: number
  /** What happens to a client that does not read. Absent: it may take its time, within `maxQueuedBytes`. */
  readonly unread?: UnreadOptions | undefined
  /** Between two pings. A client that has answered none of them by the next one is gone. Ms. */
  readonly pingMs: number
}

interface UnreadOptions {
  /** How long a client may read nothing of what waits for it while `isScarce` returns true. Six times this otherwise. Ms. */
  readonly limitMs: number
  /** Whether others need the memory. */
  readonly isScarce: () => boolean
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
  /** @param onSent called once, when the text was handed to the system or the connection has closed */
  readonly send: (text: string, onSent?: () => void) => void
  /** Receives no messages while held, so that the client has to wait. */
  readonly hold: (isHeld: boolean) => void
  /** The client has a second to answer. */
  readonly close: (code: number, reason: string) => void
  /** Closes without a close frame. */
  readonly terminate: () => void
}

/** To put such a message together and to parse it takes long enough for two turns of the event loop. Characters. */
const largeMessage = 1024 * 1024

/** How long the messages of one connection may take in one turn of the event loop, before others have their turn. Ms. */
const turnMs = 10

/** While more than this waits to be read by the client, nothing is received from it. Bytes. */
const fullBytes = 4 * 1024

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

/** Characters. A buffer of a shorter text shares its memory with others. */
const largeText = 64 * 1024

const unreadReason = 'replies are not read'

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
  server.handleUpgrade(request, socket, head, (webSocket) => connect(webSocket, socket, options, onOpen))
}

function connect(
  webSocket: WebSocket,
  socket: Duplex,
  { maxQueuedBytes, unread, pingMs }: ConnectionOptions,
  onOpen: (connection: Connection) => ConnectionEvents,
): void {
  let isOpen = true
  let isAlive = true
  let deadline: NodeJS.Timeout | undefined
  let isHeld = false
  let isPaused = false
  /** The `onSent` of texts that wait to be sent. */
  const unsent = new Set<() => void>()
  /** Messages that wait for a later turn of the event loop, in their order. */
  const waiting: string[] = []
  /** When the first message of this turn was handled. */
  let turnFromMs: number | undefined

  const connection: Connection = {
    send(text, onSent) {
      if (!isOpen) return onSent?.()
      if (onSent !== undefined) unsent.add(onSent)
      // Its own memory, which can be freed: until the next collection it would count as in use.
      const large = text.length > largeText ? Buffer.from(text) : undefined
      webSocket.send(large ?? text, { binary: false }, () => {
        if (large?.buffer instanceof ArrayBuffer) large.buffer.transfer(0)
        if (onSent !== undefined && unsent.delete(onSent)) onSent()
        pauseOrResume()
      })
      if (webSocket.bufferedAmount > maxQueuedBytes) connection.close(1008, unreadReason)
      else pauseOrResume()
    },
    hold(wanted) {
      isHeld = wanted
      pauseOrResume()
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

  function pauseOrResume(): void {
    const isWanted = isOpen && (isHeld || waiting.length > 0 || webSocket.bufferedAmount > fullBytes)
    if (isWanted === isPaused) return
    isPaused = isWanted
    if (isPaused) webSocket.pause()
    else webSocket.resume()
  }

  function deliver(text: string): void {
    waiting.push(text)
    if (waiting.length > 1) return
    if (text.length < largeMessage && hasTime()) handle()
    else later()
  }

  /** A flood of small messages takes many turns, like a large message. */
  function hasTime(): boolean {
    const now = performance.now()
    if (turnFromMs === undefined) {
      turnFromMs = now
      setImmediate(() => (turnFromMs = undefined))
    }
    return now - turnFromMs < turnMs
  }

  /** Handles messages until the time of this turn has passed, or a large one follows. */
  function handle(): void {
    hasTime()
    do {
      const text = waiting.shift()
      if (!isOpen || text === undefined) break
      onText(text)
      if ((waiting[0]?.length ?? 0) >= largeMessage) break
    } while (hasTime())
    if (!isOpen) waiting.length = 0
    if (waiting.length > 0) later()
    else pauseOrResume()
  }

  function later(): void {
    setImmediate(handle)
    pauseOrResume()
  }

  const ping = setInterval(() => {
    // A client that reads slowly sees a ping late. `unread` limits how slowly it may read.
    if (isPaused) return
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
    else deliver(textOf(data))
  })
  webSocket.on('too-large', () => onTooLarge?.())
  // A `close` follows, with the code that ws has sent.
  webSocket.on('error', () => {})
  if (unread !== undefined && socket instanceof Socket) {
    closeUnread(
      socket,
      unread,
      () => webSocket.bufferedAmount > 0,
      () => connection.close(1008, unreadReason),
    )
  }
  webSocket.once('close', () => {
    for (const onSent of unsent) onSent()
    unsent.clear()
    clearInterval(ping)
    clearTimeout(deadline)
    ended(undefined)
  })
}

/**
 * Calls `close` when the client has read nothing for too long. Node reports a socket as inactive only if the system took no
 * byte of the current write either, so a client that reads slowly is active. Systems take more bytes in steps of up to a
 * megabyte, hence the long times.
 */
function closeUnread(
  socket: Socket,
  { limitMs, isScarce }: UnreadOptions,
  hasUnread: () => boolean,
  close: () => void,
): void {
  let inactiveTimes = 0
  let reportedAt = -Infinity
  socket.setTimeout(limitMs)
  socket.on('timeout', () => {
    const now = performance.now()
    const wasActive = now - reportedAt > 1.5 * limitMs
    reportedAt = now
    inactiveTimes = hasUnread() ? (wasActive ? 1 : inactiveTimes + 1) : 0
    if (inactiveTimes >= 6 || (inactiveTimes > 0 && isScarce())) close()
    else socket.setTimeout(limitMs)
  })
}

/** ws gives text messages as one buffer unless `binaryType` is set. */
function textOf(data: WebSocket.RawData): string {
  if (!(data instanceof Buffer)) return ''
  // Six times as fast (Node 24.21), which counts for a message of megabytes.
  return data.toString(isAscii(data) ? 'latin1' : 'utf8')
}
