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
 * A compressed body may become this many times what was received, so that nobody causes much work with little. Repetitive
 * conversations stay below 80 times in every encoding.
 */
const mostExpansion = 100
/** Whatever it was before: a megabyte is nothing. */
const alwaysBytes = 1024 * 1024

/** A request body, both as received (decompressed) and as text, so that neither has to be made from the other again. */
export interface RequestBody {
  readonly bytes: Buffer
  readonly text: string
}

export interface ReadBodyOptions {
  readonly limitBytes: number
  /** The longest silence of a caller that is not done yet. Ms. */
  readonly idleMs: number
  readonly signal: AbortSignal
}

/**
 * The request body. The limit holds for the decoded size too. Bytes over the limit are never kept.
 * @throws Fault `body_too_large`, `body_stalled`, `unsupported_media_type`, `malformed_body`; the signal's reason on
 * abort
 */
export async function readBody(request: IncomingMessage, options: ReadBodyOptions): Promise<RequestBody> {
  const { limitBytes } = options
  const declared = Number(request.headers['content-length'])
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') {
    if (declared > limitBytes) throw new Fault({ kind: 'body_too_large', limitBytes })
    return toBody(takeArrived(request, declared) ?? (await collect(request, options)))
  }
  const createDecoder = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
  if (createDecoder === undefined) {
    throw new Fault({
      kind: 'unsupported_media_type',
      detail: `content-encoding "${encoding}" is not supported; send gzip, deflate, br, zstd or none`,
    })
  }
  return toBody(await inflate(request, createDecoder(), encoding, options))
}

/** A body that is here already, as a small one is by now: there is no silence to watch, and no caller to lose. */
function takeArrived(request: IncomingMessage, length: number): Buffer | undefined {
  if (request.readableLength !== length) return undefined
  const bytes: Buffer | null = request.read()
  // On to its end.
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
    return await collect(decoder, options, () => Math.max(alwaysBytes, mostExpansion * received))
  } catch (error) {
    request.unpipe(decoder)
    const isDecoders = error instanceof Fault && error.error.kind === 'malformed_body' && !request.errored
    if (!isDecoders) throw error
    throw new Fault({ kind: 'malformed_body', detail: `the body is not valid ${encoding}` }, { cause: error.cause })
  } finally {
    request.off('data', count)
    decoder.destroy()
  }
}

/** @param mostBytes what may have come by now, if that is less than the limit */
function collect(
  source: Readable,
  { limitBytes, idleMs, signal }: ReadBodyOptions,
  mostBytes: () => number = () => limitBytes,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const silence = setTimeout(() => giveUp(new Fault({ kind: 'body_stalled', afterMs: idleMs })), idleMs)
    const onData = (chunk: Buffer) => {
      silence.refresh()
      size += chunk.length
      if (size > limitBytes) giveUp(new Fault({ kind: 'body_too_large', limitBytes }))
      else if (size > mostBytes()) giveUp(new Fault({ kind: 'body_too_large', limitBytes, mostExpansion }))
      else chunks.push(chunk)
    }
    const onAbort = () => giveUp(signal.reason)
    const giveUp = (reason: unknown) => {
      clearTimeout(silence)
      signal.removeEventListener('abort', onAbort)
      source.off('data', onData)
      source.pause()
      reject(reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    source.on('data', onData)
    const onError = (cause: unknown) => {
      giveUp(new Fault({ kind: 'malformed_body', detail: 'the body ended before it was complete' }, { cause }))
    }
    source.once('end', () => {
      clearTimeout(silence)
      signal.removeEventListener('abort', onAbort)
      resolve(join(chunks, size))
      // The request outlives its body for as long as the answer streams, and its listeners with it: one that can still
      // reject holds the promise, and the promise holds the body.
      source.off('data', onData).off('error', onError).on('error', ignore)
    })
    source.once('error', onError)
  })
}

function join(chunks: readonly Buffer[], size: number): Buffer {
  const [first] = chunks
  if (chunks.length === 1 && first) return first
  const bytes = Buffer.concat(chunks, size)
  for (const chunk of chunks) giveBack(chunk)
  return bytes
}

/**
 * Frees a chunk's memory, where it has some of its own, at once. Left to be collected it counts until then, and brings on
 * a collection of the whole heap the sooner: every fourth body of 8 MB instead of every fifth (Node 24.21, `--trace-gc`).
 */
function giveBack({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
}

/** What goes wrong with a request that was read is seen elsewhere. */
function ignore(): void {}

function toBody(received: Buffer): RequestBody {
  if (!isUtf8(received)) throw new Fault({ kind: 'malformed_body', detail: 'the body is not valid UTF-8' })
  // A byte order mark is not JSON, but editors and PowerShell put one there.
  const hasMark = received[0] === 0xef && received[1] === 0xbb && received[2] === 0xbf
  const bytes = hasMark ? received.subarray(3) : received
  return { bytes, text: bytes.toString('utf8') }
}
