import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createPool } from '../../src/executors/connection-pool.ts'

/** A proxy that answers by itself what it is asked to fetch; returns its `host:port`. */
async function openProxy(): Promise<string> {
  const proxy = createServer((request, response) => response.end(`proxied ${request.url}`))
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void proxy.close())
  // Proof of the cast: a server that listens on a port has such an address.
  const { port } = proxy.address() as AddressInfo
  return `127.0.0.1:${port}`
}

test.each(['', 'http://', 'HTTP://ada:p%40ss@'])('a proxy written as %shost:port is used', async (start) => {
  const { agent, close } = createPool({ connectMs: 1000, env: { HTTP_PROXY: start + (await openProxy()) } })
  onTestFinished(close)
  const { body } = await agent.request({ origin: 'http://copilot.example', path: '/models', method: 'GET' })
  expect(await body.text()).toBe('proxied http://copilot.example/models')
})

test.each([
  ['HTTPS_PROXY', 'socks5://ada:secret@proxy.example:1080', 'HTTPS_PROXY  expected an http or https proxy'],
  ['http_proxy', 'http://ada:secret@', 'http_proxy  expected the address of a proxy'],
])('a proxy that cannot be used is named by its variable alone: %s=%s', (name, text, message) => {
  const create = () => createPool({ connectMs: 1000, env: { [name]: text } })
  expect(create).toThrow(message)
  expect(create).not.toThrow('secret')
})
