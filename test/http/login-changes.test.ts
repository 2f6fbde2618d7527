import { writeFile } from 'node:fs/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { textReply } from '../upstreams/http/outcome.ts'
import { chatsOf, openProxy, recordOf } from './harness.ts'
import type { Proxy } from './harness.ts'
import { chatBody } from './client.ts'
import { fakeIntervals } from './fake-intervals.ts'

afterEach(() => {
  vi.useRealTimers()
})

async function sourcesOf({ send }: Proxy): Promise<Readonly<Record<string, string>>> {
  const { data } = (await send('/v1/models')).json() as { data: { id: string; copilot_proxy: { source: string } }[] }
  return Object.fromEntries(data.map(({ id, copilot_proxy: { source } }) => [id, source]))
}

const seeds = ['gpt-5-mini', 'grok-code-fast-1', 'gpt-5', 'gpt-4.1', 'gpt-4', 'gpt-4o-mini', 'gpt-3.5-turbo']

test('without a login, requests fail with a 503 that names the login command, and the seeds are listed', async () => {
  const proxy = await openProxy({ login: 'none' })
  const { send, chat, demo } = proxy
  const requests = [
    await chat(),
    await chat({ stream: true }),
    // Whether there is such a model is not known before the first login.
    await chat({ model: 'claude-sonnet-4.5' }),
    await send('/v1/embeddings', { body: '{"model":"text-embedding-3-small","input":"a"}' }),
    await send('/readyz'),
    await send('/usage'),
  ]
  for (const reply of requests) {
    expect(reply.status).toBe(503)
    expect(reply.json()).toMatchObject({
      error: {
        code: 'copilot_unavailable',
        type: 'service_unavailable_error',
        message: expect.stringContaining('copilot-proxy login'),
      },
    })
  }
  const health = await send('/healthz')
  expect([health.status, health.json()]).toEqual([200, { ok: true, copilot: 'unavailable', version: '0.0.0-test' }])
  expect(Object.keys(await sourcesOf(proxy))).toEqual(expect.arrayContaining(seeds))
  expect(new Set(Object.values(await sourcesOf(proxy)))).toEqual(new Set(['seed']))
  for (const path of [
    '/v1/models',
    '/v1/models?limit=5',
    '/v1/models?client_version=0.169.0',
    '/v1/models/gpt-5-mini',
  ]) {
    expect((await send(path)).headers['x-copilot-proxy-models']).toBe('seeds')
  }
  expect(demo.exchanges()).toBe(0)
})

test('a login made while the daemon runs is used by the next request, and brings the live list', async () => {
  const proxy = await openProxy({ login: 'none' })
  const { chat, store, demo, send } = proxy
  expect((await chat()).status).toBe(503)
  await store.write(recordOf(demo.tokens.issueGithub()))
  expect((await chat()).status).toBe(200)
  await expect.poll(() => sourcesOf(proxy)).toMatchObject({ 'claude-sonnet-4.5': 'live', 'gpt-5-mini': 'live' })
  expect(Object.values(await sourcesOf(proxy))).not.toContain('seed')
  expect((await send('/readyz')).status).toBe(200)
  expect((await send('/healthz')).json()).toMatchObject({ copilot: 'ok' })
  expect(await store.read('copilot-demo-user')).toMatchObject({
    metadata: { access_token: expect.any(String), base_url: demo.url },
  })
})

test('a login is noticed without any request', async () => {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none' })
  await proxy.chat()
  await proxy.store.write(recordOf(proxy.demo.tokens.issueGithub()))
  look()
  await expect.poll(() => sourcesOf(proxy)).toMatchObject({ 'claude-sonnet-4.5': 'live' })
})

test('C12 after a logout, the seeds are listed again and requests fail with a 503', async () => {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none' })
  const { chat, store, demo } = proxy
  await store.write(recordOf(demo.tokens.issueGithub()))
  expect((await chat()).status).toBe(200)
  await expect.poll(() => sourcesOf(proxy)).toMatchObject({ 'claude-sonnet-4.5': 'live' })
  await store.remove('copilot-demo-user')
  look()
  await expect.poll(() => sourcesOf(proxy)).toMatchObject({ 'gpt-5-mini': 'seed' })
  expect(await sourcesOf(proxy)).not.toHaveProperty('claude-sonnet-4.5')
  expect((await chat()).status).toBe(503)
  // And in again.
  await store.write(recordOf(demo.tokens.issueGithub()))
  expect((await chat()).status).toBe(200)
  await expect.poll(() => sourcesOf(proxy)).toMatchObject({ 'claude-sonnet-4.5': 'live' })
})

test('another account takes over when it logs in later', async () => {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none' })
  const { chat, store, demo } = proxy
  await store.write(recordOf(demo.tokens.issueGithub()))
  expect((await chat()).status).toBe(200)
  const other = recordOf(demo.tokens.issueGithub())
  await store.write({ ...other, id: 'copilot-other', metadata: { ...other.metadata, login: 'other', logged_in_at: 2 } })
  look()
  const stored = async () => (await store.read('copilot-other'))?.metadata.access_token
  await expect.poll(stored).toBeDefined()
  const bearer = `Bearer ${await stored()}`
  expect((await chat()).status).toBe(200)
  expect(demo.log.findLast(({ route }) => route === '/chat/completions')?.headers['authorization']).toBe(bearer)
  await expect.poll(() => sourcesOf(proxy)).toMatchObject({ 'claude-sonnet-4.5': 'live' })
})

test('an account without Copilot is a 503 that says why', async () => {
  const { chat, send } = await openProxy({ demo: { settings: { entitlementProblem: 'no_copilot_access' } } })
  for (const reply of [await chat(), await send('/readyz')]) {
    expect(reply.status).toBe(503)
    expect(reply.json()).toMatchObject({
      error: { code: 'copilot_unavailable', message: expect.stringMatching(/Copilot/) },
    })
  }
})

test('a revoked login is a 503 that names the command, once the token is refused', async () => {
  const proxy = await openProxy({ login: 'none' })
  const { chat, store, demo } = proxy
  await store.write(recordOf(demo.tokens.issueGithub()))
  expect((await chat()).status).toBe(200)
  demo.tokens.revokeAll()
  demo.tokens.expireAll()
  const reply = await chat()
  expect(reply.status).toBe(503)
  expect(reply.json()).toMatchObject({
    error: { code: 'copilot_unavailable', message: expect.stringContaining('copilot-proxy login') },
  })
})

test('a failed token exchange is a 503 with retry-after, and the next request tries again', async () => {
  const { chat, demo } = await openProxy({
    prepare: (server) => {
      server.script('/copilot_internal/v2/token', {
        outcome: { kind: 'whole', status: 502, headers: {}, body: '' },
        times: 1,
      })
    },
  })
  const reply = await chat()
  expect(reply.status).toBe(503)
  expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
  await expect.poll(async () => (await chat()).status, { timeout: 5000 }).toBe(200)
  expect(demo.exchanges()).toBe(2)
})

test('while the model list cannot be fetched, the error of an unknown name states why', async () => {
  const { chat } = await openProxy({
    prepare: (server) => {
      // A list that is asked for before the account is known is asked for again afterwards.
      server.script('/models', { outcome: textReply(429, 'too many lists', { 'retry-after': '7' }), times: 2 })
    },
  })
  for (let round = 0; round < 2; round += 1) {
    const reply = await chat({ model: 'claude-sonnet-4.5' })
    expect(reply.status).toBe(429)
    expect(reply.headers['retry-after']).toBe('7')
    expect(reply.json()).toMatchObject({ error: { message: expect.stringMatching(/^too many lists\./) } })
  }
  // A seed needs no list.
  expect((await chat({ model: 'gpt-5-mini' })).status).toBe(200)
})

test('C07 an empty or corrupt record counts as no login, and the answer contains no path', async () => {
  const proxy = await openProxy({ login: 'none' })
  const { send } = proxy
  for (const text of ['', '{"id":', '[]', 'null']) {
    const path = proxy.store.locationOf('copilot-demo-user')
    await writeFile(path, text)
    const reply = await send('/v1/chat/completions', { body: chatBody() })
    expect(reply.status).toBe(503)
    expect(reply.text).not.toContain(path)
  }
})

test.each([402, 403])(
  'after a %i the next request goes out with a new token, and the refused one is not replayed',
  async (status) => {
    const proxy = await openProxy({ login: 'none' })
    const { chat, store, demo } = proxy
    const proxyEp = `127.0.0.1:${demo.port}`
    const { token } = demo.tokens.issueCopilot({ lifetimeSeconds: 1800, sku: 'monthly_subscriber_quota', proxyEp })
    const record = recordOf(demo.tokens.issueGithub())
    const obtained = { obtained_at: Math.floor(Date.now() / 1000) - 100, refresh_in: 1500, base_url: demo.url }
    await store.write({ ...record, metadata: { ...record.metadata, ...obtained, access_token: token } })
    demo.script('/chat/completions', { outcome: textReply(status, 'a budget that is changed now') })
    expect((await chat()).status).toBe(status)
    expect(demo.exchanges()).toBe(0)
    expect((await chat()).status).toBe(200)
    expect(demo.exchanges()).toBe(1)
    const bearers = chatsOf(demo).map(({ headers }) => headers['authorization'])
    expect(bearers).toHaveLength(2)
    expect(bearers[0]).toBe(`Bearer ${token}`)
    expect(bearers[1]).not.toBe(bearers[0])
  },
)

test.each(['gho_', 'github_pat_'] as const)(
  'a stored %s token serves every route without an exchange',
  async (prefix) => {
    const proxy = await openProxy({ login: 'none' })
    const { chat, send, store, demo, configure, daemon } = proxy
    daemon.reconfigure(configure(`copilot: { base-url: '${demo.url}' }`))
    const githubToken = demo.tokens.issueGithub(prefix)
    await store.write(recordOf(githubToken))
    expect((await chat()).status).toBe(200)
    expect((await send('/readyz')).status).toBe(200)
    const embeddings = await send('/v1/embeddings', { body: '{"model":"text-embedding-3-small","input":"a"}' })
    expect(embeddings.status).toBe(200)
    expect(chatsOf(demo)[0]?.headers).toMatchObject({
      authorization: `Bearer ${githubToken}`,
      'copilot-integration-id': 'copilot-developer-cli',
    })

    demo.tokens.revokeAll()
    const refused = await chat()
    expect(refused.status).toBe(503)
    expect(refused.json()).toMatchObject({
      error: { code: 'copilot_unavailable', message: expect.stringContaining('copilot-proxy login') },
    })
  },
)
