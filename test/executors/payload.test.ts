import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { toPayload } from '../../src/executors/send-request.ts'
import { isCollected } from '../garbage.ts'

test.each([['text'], [null], [Buffer.alloc(16 * 1024)]])('small bodies are handed over as they are: %#', (body) => {
  expect(toPayload(body)).toEqual({ body, headers: {} })
})

/** In a function of its own, so that nothing of the test holds the bytes. */
function large() {
  const bytes = Buffer.alloc(100_000, 'x')
  return { payload: toPayload(bytes), ref: new WeakRef(bytes) }
}

function sizeOf(stream: Readable): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length
  })
  stream.once('end', () => resolve(size))
  return promise
}

test('a large body is a stream of known length that holds nothing once it was read', async () => {
  const { payload, ref } = large()
  expect(payload.headers).toEqual({ 'content-length': '100000' })
  if (!(payload.body instanceof Readable)) throw new Error('expected a stream')
  expect(await isCollected(ref)).toBe(false)
  expect(await sizeOf(payload.body)).toBe(100_000)
  expect(await isCollected(ref)).toBe(true)
  expect(payload.body.readableEnded).toBe(true)
})
