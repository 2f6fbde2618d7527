import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { daemonUrl } from '../../src/commands/ask-daemon.ts'
import { findPortHolder } from '../../src/commands/port-holder.ts'

async function listen(answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // Proof: a TCP server that listens has an AddressInfo.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (server.address() as AddressInfo).port
}

const query = { host: '127.0.0.1', fetch, procDir: '/proc' }

test('names another copilot-proxy and its version', async () => {
  const port = await listen((_request, reply) =>
    reply.end(JSON.stringify({ ok: true, copilot: 'ok', version: '1.2.3' })),
  )
  expect(await findPortHolder({ ...query, port })).toEqual({
    kind: 'copilot-proxy',
    version: '1.2.3',
    demo: false,
  })
})

test.runIf(process.platform === 'linux')('names the process that listens, on Linux', async () => {
  const port = await listen((_request, reply) => reply.end('hello'))
  expect(await findPortHolder({ ...query, port })).toEqual({
    kind: 'process',
    pid: process.pid,
    name: expect.any(String),
  })
})

test('admits that it does not know', async () => {
  const port = await listen((_request, reply) => reply.destroy())
  expect(await findPortHolder({ ...query, port, procDir: '/nonexistent' })).toEqual({ kind: 'unknown' })
})

test.each([
  [{ host: '127.0.0.1', port: 1 }, 'http://127.0.0.1:1'],
  [{ host: '0.0.0.0', port: 2 }, 'http://127.0.0.1:2'],
  [{ host: '::', port: 3 }, 'http://[::1]:3'],
  [{ host: '::1', port: 4 }, 'http://[::1]:4'],
  [{ host: 'localhost', port: 5 }, 'http://localhost:5'],
])('a daemon on %o is asked at %s', (server, url) => {
  expect(daemonUrl(server)).toBe(url)
})
