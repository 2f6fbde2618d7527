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
])('a request that waits for its answer does not keep its body in memory: %s', async (_, make) => {
  const request = make(Buffer.from(`"${'x'.repeat(100_000)}"`))
  expect(await isCollected(await read(request))).toBe(true)
  // Node reports a caller that leaves later on the request, where nobody may be missing.
  expect(() => request.emit('error', new Error('aborted'))).not.toThrow()
})

test('frees the memory of chunks at once, except memory that is shared', async () => {
  const alone = [new Uint8Array(70_000).fill(0x61), new Uint8Array(80_000).fill(0x62)].map(({ buffer }) => buffer)
  const shared = Buffer.from(new ArrayBuffer(20_000)).fill(0x63)
  const request = new IncomingMessage(new Socket())
  for (const buffer of alone) request.push(Buffer.from(buffer))
  request.push(shared.subarray(10_000))
  request.push(null)
  const { text } = await readBody(request, options)
  expect(text).toBe(`${'a'.repeat(70_000)}${'b'.repeat(80_000)}${'c'.repeat(10_000)}`)
  expect(alone.map(({ detached }) => detached)).toEqual([true, true])
  expect(shared.toString()).toBe('c'.repeat(20_000))
})

test('keeps a body that came in one chunk', async () => {
  const { bytes, text } = await readBody(requestWith(Buffer.from(new Uint8Array(70_000).fill(0x61).buffer)), options)
  expect(bytes.toString()).toBe(text)
  expect(text).toHaveLength(70_000)
})

test('reads a body that has arrived completely at once, and the request still emits end', async () => {
  const request = new IncomingMessage(new Socket())
  Object.assign(request.headers, { 'content-length': '7' })
  request.push('"whole"')
  let ended = false
  request.once('end', () => (ended = true))
  const reading = readBody(request, options)
  expect(request.readableLength).toBe(0)
  expect([request.listenerCount('data'), request.listenerCount('error')]).toEqual([0, 0])
  // The end of the body arrives later.
  request.push(null)
  expect((await reading).text).toBe('"whole"')
  await new Promise(setImmediate)
  expect(ended).toBe(true)
})

test('waits for the last byte of a body', async () => {
  const request = new IncomingMessage(new Socket())
  Object.assign(request.headers, { 'content-length': '7' })
  request.push('"whole')
  const reading = readBody(request, options)
  request.push('"')
  request.push(null)
  expect((await reading).text).toBe('"whole"')
})
