import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

const CR = 13
const LF = 10

/**
 * Writes text to a response whose head has been sent. Node would write each chunk to the socket in four pieces (length,
 * line end, bytes, line end) and join them on the next tick. One buffer per chunk, which is one token here, costs a
 * third less.
 * @returns false if the caller is slow: wait for the socket's `drain`
 */
export function writeText(response: ServerResponse, text: string): boolean {
  const { socket } = response
  // A response has no socket while an earlier response uses the connection, or if it is written in memory.
  if (!(socket instanceof Socket) || !response.chunkedEncoding) return response.write(Buffer.from(text))
  return socket.write(encodeChunk(text))
}

/** Whether earlier writes fill the socket's buffer. */
export function isFull({ socket, writableNeedDrain }: ServerResponse): boolean {
  return socket?.writableNeedDrain ?? writableNeedDrain
}

/** The bytes of one chunk (RFC 9112, section 7.1). The chunk of '' ends the body. */
export function encodeChunk(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const digits = hexDigits(length)
  const bytes = Buffer.allocUnsafe(digits + length + 4)
  writeHex(bytes, digits, length)
  let at = digits
  bytes[at++] = CR
  bytes[at++] = LF
  at += bytes.write(text, at)
  bytes[at++] = CR
  bytes[at] = LF
  return bytes
}

const hex = '0123456789abcdef'

function hexDigits(value: number): number {
  return value === 0 ? 1 : (32 - Math.clz32(value) + 3) >>> 2
}

/** Writes digits directly: `toString(16)` and a string write take a fifth of the time for the chunk. */
function writeHex(bytes: Buffer, digits: number, value: number): void {
  let remainder = value
  for (let at = digits - 1; at >= 0; at -= 1) {
    bytes[at] = hex.charCodeAt(remainder & 15)
    remainder >>>= 4
  }
}
