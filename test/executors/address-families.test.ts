import dns from 'node:dns'
import type { LookupAddress } from 'node:dns'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createPool } from '../../src/executors/connection-pool.ts'
import { openHeldListener } from '../upstreams/held-listener.ts'
import { isThorough, some } from '../thorough.ts'

const host = 'two-families.example'

afterEach(() => {
  vi.restoreAllMocks()
})

/** From now on the name has these addresses, in this order. */
function resolveTo(addresses: readonly string[]): void {
  const list = addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }))
  const lookup = (_name: string, _options: object, done: (error: null, found: LookupAddress[]) => void): void =>
    done(null, list)
  // `lookup` has overloads; Node's connections ask for all addresses, as this one answers.
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup)
}

async function ask(origin: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { agent, destroy } = createPool({ connectMs: 48_000, env })
  onTestFinished(destroy)
  const { statusCode, body } = await agent.request({ origin, path: '/', method: 'GET' })
  return `${statusCode} ${await body.text()}`
}

async function openQuick(address: string, port: number): Promise<void> {
  const server = createServer((_request, response) => response.end('reached'))
  await once(server.listen(port, address), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
}

const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'))

// Only there a stopped program with a full queue leaves attempts without an answer.
describe.runIf(process.platform === 'linux' && hasIpv6)(
  'a host with a broken IPv6 address is reached by its IPv4 address',
  () => {
    test('that answers at once', async () => {
      const { port } = await openHeldListener('::1')
      await openQuick('127.0.0.1', port)
      resolveTo(['::1', '127.0.0.1'])
      expect(await ask(`http://${host}:${port}`)).toBe('200 reached')
    })

    const orders = [
      ['after it', ['::1', '127.0.0.1']],
      ['before it', ['127.0.0.1', '::1']],
    ] as const
    test.each(some(orders, 2, 1))('that answers after a second, %s', async (_where, addresses) => {
      const { port } = await openHeldListener('::1')
      const slow = await openHeldListener('127.0.0.1', port)
      resolveTo(addresses)
      const answer = ask(`http://${host}:${port}`)
      await slow.tried()
      slow.release()
      expect(await answer).toBe('200 reached')
    })

    test.runIf(isThorough)('also where the host is that of a proxy', async () => {
      const { port } = await openHeldListener('::1')
      const slow = await openHeldListener('127.0.0.1', port)
      resolveTo(['127.0.0.1', '::1'])
      const refused = expect(
        ask('https://upstream.example', { HTTPS_PROXY: `http://${host}:${port}` }),
      ).rejects.toThrow(expect.objectContaining({ refusal: expect.objectContaining({ status: 403 }) }))
      await slow.tried()
      slow.release()
      await refused
    })
  },
)
