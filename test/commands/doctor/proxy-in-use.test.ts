import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { proxyInUse } from '../../../src/commands/doctor/probe.ts'
import { createPool } from '../../../src/executors/connection-pool.ts'
import { listenForTest } from '../../listen-for-test.ts'

const proxied = { HTTPS_PROXY: 'http://user:example-password@proxy.example:3128' }
const secure = 'https://api.github.com'

test('names the variable and the address, never user name and password', () => {
  expect(proxyInUse(new URL(secure), proxied)).toEqual({
    variable: 'HTTPS_PROXY',
    address: 'http://proxy.example:3128',
  })
})

test.each([
  ['nothing is set', secure, {}, undefined],
  ['lower case goes first', secure, { ...proxied, https_proxy: 'http://other.example' }, 'https_proxy'],
  ['HTTP_PROXY serves https as well', secure, { HTTP_PROXY: 'proxy.example:1' }, 'HTTP_PROXY'],
  ['HTTPS_PROXY does not serve http', 'http://10.0.0.1', proxied, undefined],
  ['empty is not set', secure, { HTTPS_PROXY: ' ' }, undefined],
  ['this machine is never looked for at a proxy', 'http://127.0.0.1:5', { HTTP_PROXY: 'http://p.example' }, undefined],
  ['this machine in IPv6', 'http://[::1]:5', { HTTP_PROXY: 'http://p.example' }, undefined],
  ['this machine at another address', 'http://127.0.0.2:5', { HTTP_PROXY: 'http://p.example' }, undefined],
  ['its full name', 'https://localhost.:5', { HTTP_PROXY: 'http://p.example' }, undefined],
  ['a name that only looks like it', 'http://a.localhost', { HTTP_PROXY: 'http://p.example' }, 'HTTP_PROXY'],
  ['an unusable one', secure, { HTTPS_PROXY: 'socks5://p.example' }, undefined],
])('%s', (_what, url, env, variable) => {
  expect(proxyInUse(new URL(url), env)?.variable).toBe(variable)
})

/** 0.0.0.0 leads to this machine without being one of its loopback addresses, which never go through a proxy. */
const entries: readonly (readonly [noProxy: string, host: string, isDirect: boolean])[] = [
  ['0.0.0.0', '0.0.0.0', true],
  ['0.0.0.1', '0.0.0.0', false],
  ['*', '0.0.0.0', true],
  ['none.invalid, *', '0.0.0.0', true],
  ['localhost.', '0.0.0.0', false],
  ['0.0.0', '0.0.0.0', false],
  ['0.0.0.0/8', '0.0.0.0', true],
  ['10.0.0.0/8', '0.0.0.0', false],
  ['*.0.0.0.0', '0.0.0.0', false],
  ['0.0.0.0:PORT', '0.0.0.0', true],
  ['0.0.0.0:1', '0.0.0.0', false],
  ['*:1', '0.0.0.0', false],
  ['*:PORT', '0.0.0.0', true],
  ['a.example\t0.0.0.0', '0.0.0.0', true],
  ['[0.0.0.0]', '0.0.0.0', true],
]

describe('NO_PROXY is read as the connections of this program read it', () => {
  test.each(entries)('%j', async (text, host, isDirect) => {
    const asked: string[] = []
    const listen = async (name: string): Promise<number> => {
      const server = createServer((_request, response) => {
        asked.push(name)
        response.end()
      })
      return listenForTest(server, '0.0.0.0')
    }
    const [target, proxy] = await Promise.all([listen('target'), listen('proxy')])
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy}`, NO_PROXY: text.replace('PORT', String(target)) }
    const origin = `http://${host}:${target}`
    const { agent, close } = createPool({ connectMs: 5000, env })
    onTestFinished(close)
    await agent.request({ origin, path: '/', method: 'HEAD' })
    expect(asked).toEqual([isDirect ? 'target' : 'proxy'])
    expect(proxyInUse(new URL(origin), env) === undefined).toBe(isDirect)
  })
})
