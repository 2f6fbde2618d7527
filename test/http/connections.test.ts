import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { acceptAlso } from '../../src/http/connections.ts'
import { listenForTest } from '../listen-for-test.ts'

/** A server at 127.0.0.1 that says hello, and its port. */
async function openServer() {
  const server = createServer((_request, response) => response.end('hello'))
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
