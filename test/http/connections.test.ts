import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { acceptAlso, watchExchanges } from '../../src/http/connections.ts'
import { listenForTest } from '../listen-for-test.ts'

/** A server at 127.0.0.1 that says hello, and its port. */
async function openServer(
  answer: RequestListener = (_request, response) => {
    response.end('hello')
  },
) {
  const server = createServer(answer)
  return { server, port: await listenForTest(server) }
}

// Linux has all of 127.0.0.0/8; elsewhere the second address would have to be set up first.
describe.runIf(process.platform === 'linux')('acceptAlso', () => {
  test('a second address is answered by the same server until it is given up', async () => {
    const { server, port } = await openServer()
    const stop = await acceptAlso(server, { host: '127.0.0.2', port })
    expect(await (await fetch(`http://127.0.0.2:${port}/`)).text()).toBe('hello')
    stop()
    await expect(fetch(`http://127.0.0.2:${port}/`, { headers: { connection: 'close' } })).rejects.toThrow(
      'fetch failed',
    )
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('hello')
  })

  test('an address in use is a failure, an address that the machine lacks is not', async () => {
    const { server, port } = await openServer()
    const other = createServer()
    await once(other.listen(port, '127.0.0.2'), 'listening')
    onTestFinished(() => void other.close())
    await expect(acceptAlso(server, { host: '127.0.0.2', port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    // An address of the documentation, which no machine has.
    const stop = await acceptAlso(server, { host: '2001:db8::1', port })
    stop()
  })
})

test.each(['GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'])(
  'a connection with thousands of requests, %j, is read on as they are answered',
  async (request) => {
    const count = 20_000
    const mayAnswer = Promise.withResolvers<void>()
    let received = 0
    const { server, port } = await openServer((incoming, response) => {
      received += 1
      incoming.resume()
      void mayAnswer.promise.then(() => response.end('hello'))
    })
    watchExchanges(server)
    const socket = connect(port, '127.0.0.1')
    socket.write(request.repeat(count - 1) + request.replace('Host', 'Connection: close\r\nHost'))
    let before: number
    do {
      before = received
      await setTimeout(200)
    } while (before === 0 || before !== received)
    // Those in one or two pieces of what Node reads.
    expect(received).toBeLessThan(4000)
    mayAnswer.resolve()
    expect((await text(socket)).split('HTTP/1.1 200 OK')).toHaveLength(count + 1)
  },
)
