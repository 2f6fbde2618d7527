import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readBody } from '../../src/http/body.ts'
import { isCollected } from '../garbage.ts'

function requestWith(body: Buffer, headers: Record<string, string> = {}): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  Object.assign(request.headers, headers)
  request.push(body)
  request.push(null)
  return request
}

const options = { limitBytes: 1_000_000, idleMs: 1000, signal: new AbortController().signal }

/** In a function of its own, so that nothing of the test holds the bytes. */
async function read(request: IncomingMessage): Promise<WeakRef<ArrayBufferLike>> {
  const { bytes, text } = await readBody(request, options)
  expect(text).toBe(`"${'x'.repeat(100_000)}"`)
  return new WeakRef(bytes.buffer)
}

test.each([
  ['plain', (body: Buffer) => requestWith(body)],
  ['compressed', (body: Buffer) => requestWith(gzipSync(body), { 'content-encoding': 'gzip' })],
])('a request that stays for its answer does not hold its body: %s', async (_, make) => {
  const request = make(Buffer.from(`"${'x'.repeat(100_000)}"`))
  expect(await isCollected(await read(request))).toBe(true)
  // Node reports a caller that leaves later on the request, where nobody may be missing.
  expect(() => request.emit('error', new Error('aborted'))).not.toThrow()
})
