import { some } from '../thorough.ts'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startCodex } from '../upstreams/codex.ts'
import { streamReply } from '../upstreams/http/outcome.ts'
import { startCopilot } from '../upstreams/copilot.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import { openConnectProxy } from '../upstreams/connect-proxy.ts'
import { openForgetfulRouter } from '../upstreams/forgetful-router.ts'
import type { ForgetfulRouter } from '../upstreams/forgetful-router.ts'
import { openTlsFront } from '../upstreams/tls-front.ts'
import { answers } from './upstream-answers.ts'

const authority = createAuthority()
const usual = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...usual, authority.cert]))
afterAll(() => setDefaultCACertificates(usual))

/** An answer to any token. */
const { begin, finish, mark } = answers.chat
const answered = streamReply([...begin, ...finish(''), ...mark])

/** A simulated upstream that is reached through a router, which can drop its connections. */
interface Upstream {
  readonly port: number
  /** A name of it that only a proxy knows. */
  readonly host: string
  readonly model: string
  /** Settings that point a daemon at an origin. */
  readonly settings: (origin: string) => Readonly<Record<string, string>>
  /** Model requests that arrived. */
  readonly count: () => number
  readonly until: (condition: () => boolean) => Promise<void>
  /** The next so many requests are answered after that. */
  readonly hold: (times: number, after: Promise<unknown>) => void
}

async function openCopilot(): Promise<Upstream> {
  const demo = await startCopilot()
  onTestFinished(() => demo.close())
  return {
    port: demo.port,
    host: 'copilot.githubcopilot.com',
    model: 'gpt-5-mini',
    settings: (origin) => ({ COPILOT_PROXY_COPILOT_BASE_URL: origin }),
    count: () => demo.count('/chat/completions'),
    until: demo.until,
    hold: (times, after) => demo.script('/chat/completions', { outcome: answered, times, after }),
  }
}

async function openCodex(): Promise<Upstream> {
  const codex = await startCodex()
  onTestFinished(() => codex.close())
  return {
    port: codex.port,
    host: 'codex.example.test',
    model: 'codex/gpt-5.3-codex',
    settings: (origin) => ({
      COPILOT_PROXY_CODEX_API_BASE_URL: `${origin}/v1`,
      COPILOT_PROXY_CODEX_API_KEY: codex.apiKey,
    }),
    count: () => codex.count('/v1/responses'),
    until: codex.until,
    hold: (times, after) => codex.script('/v1/responses', { times, after }),
  }
}

interface Way {
  readonly router: ForgetfulRouter
  readonly proxy: Proxy
}

function patience(headersSeconds: number): Readonly<Record<string, string>> {
  return { COPILOT_PROXY_COPILOT_TIMEOUTS_HEADERS_SECONDS: String(headersSeconds) }
}

async function goDirectly({ port, settings }: Upstream, headersSeconds: number): Promise<Way> {
  const router = await openForgetfulRouter(port)
  return {
    router,
    proxy: await openProxy({
      settings: { ...settings(`http://127.0.0.1:${router.port}`), ...patience(headersSeconds) },
    }),
  }
}

/** The router stands between the proxy and the upstream: a tunnel breaks at its far end. */
async function goThroughProxy({ port, host, settings }: Upstream, headersSeconds: number): Promise<Way> {
  const front = await openTlsFront(port, createCertificate({ authority, hosts: [host] }))
  const router = await openForgetfulRouter(front.port)
  const tunnel = await openConnectProxy({ [`${host}:443`]: router.port })
  const proxies = { HTTPS_PROXY: `http://${tunnel.address}` }
  return {
    router,
    proxy: await openProxy({ settings: { ...settings(`https://${host}`), ...patience(headersSeconds) }, proxies }),
  }
}

describe.each([
  ['Copilot', openCopilot],
  ['Codex', openCodex],
])('%s', (_provider, start) => {
  describe.each(
    some(
      [
        ['directly', goDirectly],
        ['through a proxy', goThroughProxy],
      ] as const,
      2,
      start === openCodex ? 1 : 0,
    ),
  )('%s', (_way, go) => {
    async function open({ headersSeconds = 60 } = {}) {
      const upstream = await start()
      const { router, proxy } = await go(upstream, headersSeconds)
      // A broken connection counts as stale for half a second, which a machine under load may exceed.
      const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
      onTestFinished(() => clock.mockRestore())
      const ask = async (times: number): Promise<readonly number[]> => {
        const replies = Array.from({ length: times }, () => proxy.chat({ model: upstream.model }))
        return (await Promise.all(replies)).map(({ status }) => status)
      }
      /** So many exchanges at once: none is answered before upstream has them all. As many connections are kept. */
      const exchange = async (times: number): Promise<void> => {
        const { promise, resolve } = Promise.withResolvers<void>()
        upstream.hold(times, promise)
        const before = upstream.count()
        const asked = ask(times)
        await upstream.until(() => upstream.count() === before + times)
        resolve()
        expect(await asked).toEqual(all(times, 200))
        // The pool takes a connection back a moment after its answer was complete.
        await new Promise(setImmediate)
      }
      /** A caller that leaves after some seconds without a byte. */
      const giveUp = async (): Promise<void> => {
        const caller = new AbortController()
        const before = router.heard()
        const asked = proxy.chat({ model: upstream.model }, { signal: caller.signal }).catch(() => 'left')
        await expect.poll(() => router.heard()).toBeGreaterThan(before)
        clock.mockReturnValue(performance.now() + 10_000)
        caller.abort()
        expect(await asked).toBe('left')
        await expect.poll(() => proxy.log.some(({ fields }) => fields['status'] === 499)).toBe(true)
      }
      return { upstream, router, ask, exchange, giveUp }
    }

    test('E18 20 connections that are all dead after a sleep cost none of 20 requests at once', async () => {
      const { router, exchange } = await open()
      await exchange(20)
      const opened = router.opened()
      router.forget()
      await exchange(20)
      expect(router.opened() - opened).toBe(20)
    })

    test('E18 nor do those that are dead where there are more of them than requests', async () => {
      const { router, exchange } = await open()
      await exchange(12)
      router.forget()
      for (const times of [1, 3, 5]) await exchange(times)
    })

    test('E18 after a sleep, no request uses a connection that died in silence', async () => {
      const { router, exchange } = await open()
      await exchange(6)
      router.fallSilent()
      sleepFor(600_000)
      await exchange(6)
    })

    test('E18 after one request that failed in silence, no later one uses a connection from before', async () => {
      const { router, ask, exchange } = await open({ headersSeconds: 5 })
      await exchange(6)
      router.fallSilent()
      expect(await ask(1)).toEqual([504])
      await exchange(6)
    })

    test('E18 a request that the caller gives up in silence counts as failed', async () => {
      const { upstream, router, giveUp, exchange } = await open()
      await exchange(6)
      const before = upstream.count()
      router.fallSilent()
      await giveUp()
      await exchange(6)
      expect(upstream.count()).toBe(before + 6)
    })

    test('E19 a connection on which a model thinks through a sleep is left alone', async () => {
      const { upstream, ask, exchange } = await open()
      await exchange(2)
      const { promise, resolve } = Promise.withResolvers<void>()
      upstream.hold(1, promise)
      const before = upstream.count()
      const slow = ask(1)
      await upstream.until(() => upstream.count() === before + 1)
      sleepFor(600_000)
      await exchange(1)
      resolve()
      expect(await slow).toEqual([200])
      expect(upstream.count()).toBe(before + 2)
    })

    test('E19 of requests at once those on kept connections are repeated, once, and those on new ones are not', async () => {
      const { upstream, router, ask, exchange } = await open()
      await exchange(4)
      const [opened, before] = [router.opened(), upstream.count()]
      router.breakAll()
      expect(await ask(10)).toEqual(all(10, 502))
      expect(upstream.count()).toBe(before)
      // Six that were new from the start, and one more for each of the four.
      expect(router.opened() - opened).toBe(10)
    })
  })
})

/** As a process sees it on Linux: wall time jumps, monotonic time does not. */
function sleepFor(ms: number): void {
  const wokeAt = Date.now() + ms
  const wall = vi.spyOn(Date, 'now').mockReturnValue(wokeAt)
  onTestFinished(() => wall.mockRestore())
}

function all(times: number, status: number): readonly number[] {
  return Array.from({ length: times }, () => status)
}
