import type { IncomingMessage } from 'node:http'

/**
 * The whole body as text; `too_large` as soon as it is known to be above the limit, `gone` when the client leaves
 * before its end.
 */
export function readBody(
  request: IncomingMessage,
  limitBytes: number,
): Promise<{ readonly text: string } | 'too_large' | 'gone'> {
  const { promise, resolve } = Promise.withResolvers<{ readonly text: string } | 'too_large' | 'gone'>()
  const chunks: Buffer[] = []
  let size = 0
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) {
    // The rest is read and thrown away: an answer written against a full upload would be lost with a reset.
    request.resume()
    resolve('too_large')
    return promise
  }
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= limitBytes) chunks.push(chunk)
    else resolve('too_large')
  })
  request.once('end', () => {
    const [only] = chunks
    resolve({ text: (only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)).toString() })
  })
  request.once('close', () => {
    resolve('gone')
  })
  return promise
}
