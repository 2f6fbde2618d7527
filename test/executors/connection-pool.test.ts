import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { createPool } from '../../src/executors/connection-pool.ts'
import { listenForTest } from '../listen-for-test.ts'

/** A proxy that answers by itself what it is asked to fetch; returns its `host:port`. */
async function openProxy(): Promise<string> {
  const proxy = createServer((request, response) => response.end(`proxied ${request.url}`))
  return `127.0.0.1:${await listenForTest(proxy)}`
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
