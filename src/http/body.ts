import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { Fault } from '../errors.ts'

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
}

/**
 * The largest ratio of decompressed to received bytes; bounds the work of a decompression bomb. Repetitive
 * conversations stay below 80 in every encoding.
 */
const mostExpansion = 100
/** Allowed at any ratio. Bytes. */
const alwaysAllowedBytes = 1024 * 1024

/** A decompressed request body as bytes and as text, so that no reader converts it again. */
export interface RequestBody {
  readonly bytes: Buffer
  readonly text: string
}

export interface ReadBodyOptions {
  readonly limitBytes: number
  /** The longest time between two pieces of the body. Ms. */
  readonly idleMs: number
  readonly signal: AbortSignal
}

/**
 * Reads and decompresses the request body. The limit holds for the decompressed size too. Bytes over the limit are
 * dropped.
 * @throws Fault `body_too_large`, `body_stalled`, `unsupported_media_type`, `malformed_body`; the signal's reason on
 * abort
 */
export async function readBody(request: IncomingMessage, options: ReadBodyOptions): Promise<RequestBody> {
  return toBody(await readBytes(request, options))
}

/** As `readBody`, for a body that is no text. */
export async function readBytes(request: IncomingMessage, options: ReadBodyOptions): Promise<Buffer> {
  const { limitBytes } = options
  const declared = Number(request.headers['content-length'])
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') {
    if (declared > limitBytes) throw new Fault({ kind: 'body_too_large', limitBytes })
    return takeArrived(request, declared) ?? (await collect(request, options))
  }
  const createDecoder = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
  if (createDecoder === undefined) {
    throw new Fault({
      kind: 'unsupported_media_type',
      detail: `content-encoding "${encoding}" is not supported; send gzip, deflate, br, zstd or none`,
    })
  }
  return inflate(request, createDecoder(), encoding, options)
}

/** Reads a body that has arrived completely without timers and listeners. Most small bodies have. */
function takeArrived(request: IncomingMessage, length: number): Buffer | undefined {
  if (request.readableLength !== length) return undefined
  const bytes: Buffer | null = request.read()
  // Emits `end`.
  request.resume()
  return bytes ?? Buffer.alloc(0)
}

async function inflate(
  request: Readable,
  decoder: Transform,
  encoding: string,
  options: ReadBodyOptions,
): Promise<Buffer> {
  let received = 0
  const count = (chunk: Buffer) => {
    received += chunk.length
  }
  request.on('data', count)
  // Not `pipeline`: it destroys the request on failure, and with it the socket the error has to be written to.
  request.once('error', (error) => decoder.destroy(error))
  request.pipe(decoder)
  try {
    return await collect(decoder, options, () => Math.max(alwaysAllowedBytes, mostExpansion * received))
  } catch (error) {
    request.unpipe(decoder)
    const isInvalidEncoding = error instanceof Fault && error.error.kind === 'malformed_body' && !request.errored
    if (!isInvalidEncoding) throw error
    throw new Fault({ kind: 'malformed_body', detail: `the body is not valid ${encoding}` }, { cause: error.cause })
  } finally {
    request.off('data', count)
    decoder.destroy()
  }
}

/** @param mostBytes a limit that depends on the bytes received so far */
function collect(
  source: Readable,
  { limitBytes, idleMs, signal }: ReadBodyOptions,
  mostBytes: () => number = () => limitBytes,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const silence = setTimeout(() => fail(new Fault({ kind: 'body_stalled', afterMs: idleMs })), idleMs)
    const onData = (chunk: Buffer) => {
      silence.refresh()
      size += chunk.length
      if (size > limitBytes) fail(new Fault({ kind: 'body_too_large', limitBytes }))
      else if (size > mostBytes()) fail(new Fault({ kind: 'body_too_large', limitBytes, mostExpansion }))
      else chunks.push(chunk)
    }
    const onAbort = () => fail(signal.reason)
    const fail = (reason: unknown) => {
      clearTimeout(silence)
      signal.removeEventListener('abort', onAbort)
      source.off('data', onData)
      source.pause()
      reject(reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    source.on('data', onData)
    const onError = (cause: unknown) => {
      fail(new Fault({ kind: 'malformed_body', detail: 'the body is incomplete' }, { cause }))
    }
    source.once('end', () => {
      clearTimeout(silence)
      signal.removeEventListener('abort', onAbort)
      resolve(join(chunks, size))
      // The request and its listeners live until the answer has been streamed. A listener that can still reject would
      // keep the promise, and with it the body, in memory.
      source.off('data', onData).off('error', onError).on('error', ignore)
    })
    source.once('error', onError)
  })
}

function join(chunks: readonly Buffer[], size: number): Buffer {
  const [first] = chunks
  if (chunks.length === 1 && first) return first
  const bytes = Buffer.concat(chunks, size)
  for (const chunk of chunks) freeMemory(chunk)
  return bytes
}

/**
 * Frees the chunk's memory at once unless the chunk is part of a larger buffer. Otherwise the memory counts until the
 * next collection and brings it on sooner: every fourth body of 8 MB instead of every fifth (Node 24.21, `--trace-gc`).
 */
function freeMemory({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
}

/** Errors after the body has been read reach the handler through the response's `close` event (lifetimes.ts). */
function ignore(): void {}

function toBody(received: Buffer): RequestBody {
  if (!isUtf8(received)) throw new Fault({ kind: 'malformed_body', detail: 'the body is not valid UTF-8' })
  // Editors and PowerShell write a byte order mark, which JSON does not allow.
  const hasMark = received[0] === 0xef && received[1] === 0xbb && received[2] === 0xbf
  const bytes = hasMark ? received.subarray(3) : received
  return { bytes, text: bytes.toString('utf8') }
}
