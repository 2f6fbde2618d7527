import { createServer } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { readBody } from '../../src/http/body.ts'
import { listenForTest } from '../listen-for-test.ts'

const signal = new AbortController().signal

/** What `readBody` makes of a request that a client sends in pieces, each when the piece before has been read. */
async function upload(headers: string, pieces: readonly (string | Buffer)[], idleMs: number): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const server = createServer((request) => {
    void readBody(request, { limitBytes: 1000, idleMs, signal }).then(resolve, resolve)
  })
  const client = connect(await listenForTest(server), '127.0.0.1')
  onTestFinished(() => void client.destroy())
  client.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n`)
  for (const piece of pieces) {
    await new Promise((done) => client.write(piece, done))
  }
  return promise
}

const stalled = { error: { kind: 'body_stalled', afterMs: 50 } }

test.each([
  ['before its first byte', 'Content-Length: 10', []],
  ['in the middle', 'Content-Length: 10', ['{"a"']],
  ['in the middle of a chunk', 'Transfer-Encoding: chunked', ['5\r\nab']],
  ['when compressed', 'Content-Length: 100\r\nContent-Encoding: gzip', [Buffer.from([0x1f, 0x8b])]],
])('an upload that stalls %s is given up', async (_, headers, pieces) => {
  const outcome = await upload(headers, pieces, 50)
  expect(outcome).toBeInstanceOf(Fault)
  expect(outcome).toMatchObject(stalled)
})

test('a complete upload is not aborted', async () => {
  expect(await upload('Content-Length: 2', ['{', '}'], 10_000)).toMatchObject({ text: '{}' })
})
