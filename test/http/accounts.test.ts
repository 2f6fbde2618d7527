import { createHash } from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import type { CopilotRecord } from '../../src/auth/copilot/wire.ts'
import { openProxy, recordOf } from './harness.ts'
import type { Proxy } from './harness.ts'
import { fakeIntervals } from './fake-intervals.ts'

afterEach(() => {
  vi.useRealTimers()
})

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')
const keyed = (limits: string): string =>
  `server: { api-keys: ["home:sha256:${hashOf('home-key')}", "work:sha256:${hashOf('work-key')}"], key-limits: ${limits} }`
const home = { authorization: 'Bearer home-key' }
const work = { authorization: 'Bearer work-key' }

/** Whose GitHub token it is: of the accounts that `logIn` made. */
const names = new Map<string, string>()

function accountOf({ demo }: Proxy, authorization: unknown): string {
  return names.get(demo.ownerOf(String(authorization))) ?? 'nobody'
}

const modelRoutes = /completions|responses|messages|embeddings|^\/auto/

/** The accounts of the requests for a model that upstream got, oldest first. */
function sentAs(proxy: Proxy): readonly string[] {
  return proxy.demo.log
    .filter(({ route }) => modelRoutes.test(route))
    .map(({ headers }) => accountOf(proxy, headers['authorization']))
}

async function logIn({ store, demo }: Pick<Proxy, 'store' | 'demo'>, name: string, at: number): Promise<CopilotRecord> {
  const record = recordOf(demo.tokens.issueGithub(), { id: `copilot-${name}`, label: name })
  const stored = { ...record, metadata: { ...record.metadata, login: name, logged_in_at: at } }
  names.set(stored.metadata.github_access_token, name)
  await store.write(stored)
  return stored
}

/** As `account use` does it. */
async function choose({ store }: Proxy, name: string, at: number): Promise<void> {
  await store.update(`copilot-${name}`, (record) => ({ ...record, metadata: { ...record.metadata, selected_at: at } }))
}

async function modelsOf({ send }: Proxy, headers: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const { data } = JSON.parse((await send('/v1/models', { headers })).text)
  return data.map(({ id }: { id: string }) => id)
}

/** Each of the two accounts lacks a model of the other. */
function listOwnModels({ demo }: Proxy): void {
  const lacking: Readonly<Record<string, string>> = { alice: 'gpt-5.1', bob: 'claude-sonnet-4.5' }
  demo.configure({ lacksModel: (githubToken, model) => lacking[names.get(githubToken) ?? ''] === model })
}

const chat = (more: object = {}) =>
  JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }], ...more })

/** Sends requests until one goes out as this account. */
async function untilUsed(proxy: Proxy, name: string): Promise<void> {
  const used = async () => {
    expect((await proxy.chat()).status).toBe(200)
    return sentAs(proxy).at(-1)
  }
  await expect.poll(used).toBe(name)
}

test('`account use` switches a running daemon: its token and its models are those of the chosen account', async () => {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none' })
  await logIn(proxy, 'alice', 1)
  await logIn(proxy, 'bob', 2)
  listOwnModels(proxy)
  await untilUsed(proxy, 'bob')
  await expect.poll(() => modelsOf(proxy)).toContain('gpt-5.1')
  expect(await modelsOf(proxy)).not.toContain('claude-sonnet-4.5')
  for (const [name, has, lacks] of [
    ['alice', 'claude-sonnet-4.5', 'gpt-5.1'],
    ['bob', 'gpt-5.1', 'claude-sonnet-4.5'],
  ] as const) {
    await choose(proxy, name, 10 + sentAs(proxy).length)
    look()
    await untilUsed(proxy, name)
    await expect.poll(() => modelsOf(proxy)).toContain(has)
    expect(await modelsOf(proxy)).not.toContain(lacks)
  }
  expect(sentAs(proxy)).not.toContain('nobody')
  expect(proxy.demo.exchanges()).toBe(2)
})

test('a request in flight finishes as the account that it began with, also its later parts', async () => {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none' })
  await logIn(proxy, 'bob', 1)
  await logIn(proxy, 'alice', 2)
  expect((await proxy.chat()).status).toBe(200)
  await expect.poll(() => modelsOf(proxy)).toContain('claude-sonnet-4.6')
  const gate = proxy.demo.gateNext('/v1/messages')
  // Three upstream requests: the call of the search, the search, and the answer.
  const searching = proxy.send('/v1/messages', {
    body: JSON.stringify({
      model: 'claude-sonnet-4.6',
      max_tokens: 200,
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      messages: [{ role: 'user', content: '[demo:tool web_search {"query":"herons"}] go' }],
    }),
  })
  await gate.opened
  await choose(proxy, 'bob', 3)
  look()
  await untilUsed(proxy, 'bob')
  gate.open()
  const reply = await searching
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('web_search_tool_result')])
  const parts = proxy.demo.log.filter(({ route }) => route === '/v1/messages' || route === '/responses')
  expect(parts).toHaveLength(3)
  expect(parts.map(({ headers }) => accountOf(proxy, headers['authorization']))).toEqual(['alice', 'alice', 'alice'])
})

test('after a switch, the logout of the earlier account still ends its requests', async () => {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none' })
  await logIn(proxy, 'bob', 1)
  await logIn(proxy, 'alice', 2)
  const gate = proxy.demo.gateNext()
  const opening = proxy.open('/v1/chat/completions', { body: chat({ stream: true }) })
  await gate.opened
  gate.release(2)
  const reply = await opening
  await choose(proxy, 'bob', 3)
  look()
  await untilUsed(proxy, 'bob')
  await proxy.store.remove('copilot-alice')
  const ended = gate.closed
  await expect
    .poll(() => {
      look()
      return Promise.race([ended, Promise.resolve('open')])
    })
    .toBe('aborted')
  expect(await reply.rest()).toContain('logged out')
})

test('after a logout, the next login is used at once, whichever account it has', async () => {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none' })
  await logIn(proxy, 'alice', 1)
  expect((await proxy.chat()).status).toBe(200)
  await proxy.store.remove('copilot-alice')
  await expect
    .poll(async () => {
      look()
      return (await proxy.send('/readyz')).status
    })
    .toBe(503)
  expect([(await proxy.chat()).status, (await proxy.send('/usage')).status]).toEqual([503, 503])
  // From here, no time passes in which the records are looked at.
  await logIn(proxy, 'bob', 2)
  expect([(await proxy.chat()).status, (await proxy.send('/usage')).status]).toEqual([200, 200])
  expect(sentAs(proxy)).toEqual(['alice', 'bob'])
})

test('two keys with accounts of their own: every request carries the token of its account, and nothing of one is seen by the other', async () => {
  const proxy = await openProxy({
    login: 'none',
    file: keyed('{ home: { account: Alice }, work: { account: bob } }'),
    demo: { record: 1000 },
  })
  await logIn(proxy, 'alice', 1)
  await logIn(proxy, 'bob', 2)
  const bodies: readonly (readonly [path: string, body: string])[] = [
    ['/v1/chat/completions', chat()],
    ['/v1/chat/completions', chat({ stream: true })],
    ['/v1/responses', JSON.stringify({ model: 'gpt-5-mini', input: 'hello' })],
    [
      '/v1/messages',
      JSON.stringify({ model: 'gpt-5-mini', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }),
    ],
    ['/v1/embeddings', JSON.stringify({ model: 'text-embedding-3-small', input: 'a' })],
    ['/v1/chat/completions', chat({ model: 'auto' })],
  ]
  // Both at once, several times, with a prompt that names the key.
  await Promise.all(
    Array.from({ length: 4 }, async (_each, round) => {
      for (const [path, body] of bodies) {
        const replies = await Promise.all(
          (
            [
              ['home', home],
              ['work', work],
            ] as const
          ).map(([name, headers]) => {
            const marked = body.replace(/hello|hi|"a"/, (text) => (text === '"a"' ? `"${name}"` : `${name} ${round}`))
            return proxy.send(path, { body: marked, headers })
          }),
        )
        expect(replies.map(({ status }) => status)).toEqual([200, 200])
      }
    }),
  )
  const asked = proxy.demo.log.filter(({ route }) => modelRoutes.test(route))
  expect(asked.length).toBeGreaterThanOrEqual(2 * 4 * bodies.length)
  for (const { body, headers } of asked) {
    expect(accountOf(proxy, headers['authorization'])).toBe(body.includes('home') ? 'alice' : 'bob')
  }
  // Keys without an account would use the newest login.
  expect(proxy.demo.exchanges()).toBeLessThanOrEqual(3)

  const usageOf = async (headers: Readonly<Record<string, string>>) =>
    JSON.parse((await proxy.send('/usage', { headers })).text)
  const requestsOf = async (headers: Readonly<Record<string, string>>) =>
    JSON.parse((await proxy.send('/requests?limit=1000', { headers })).text).requests
  for (const [name, headers] of [
    ['home', home],
    ['work', work],
  ] as const) {
    const { totals } = await usageOf(headers)
    expect(totals.by_key.today).toMatchObject([{ key: name, requests: 4 * bodies.length }])
    const rows = await requestsOf(headers)
    expect(new Set(rows.map(({ key }: { key: string }) => key))).toEqual(new Set([name]))
  }
})

test('a key whose account is not logged in is refused with what to do, and never served as another account', async () => {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none', file: keyed('{ work: { account: bob } }') })
  await logIn(proxy, 'alice', 1)
  const ask = (headers: Readonly<Record<string, string>>) =>
    proxy.send('/v1/chat/completions', { body: chat(), headers })
  expect((await ask(home)).status).toBe(200)
  const refused = await ask(work)
  expect(refused.status).toBe(503)
  expect(JSON.parse(refused.text).error.message).toMatch(/The GitHub account bob of this key .*copilot-proxy login/)
  expect(sentAs(proxy)).toEqual(['alice'])
  await logIn(proxy, 'bob', 2)
  look()
  expect((await ask(work)).status).toBe(200)
  expect(sentAs(proxy).at(-1)).toBe('bob')
})

test('that key is told so for every model of Copilot, also if there is a login to Codex', async () => {
  const proxy = await openProxy({ login: 'none', codexLogin: 'stored', file: keyed('{ work: { account: bob } }') })
  const requests = [
    ['/v1/chat/completions', chat({ model: 'claude-opus-5.5' })],
    ['/v1/completions', '{"model":"gpt-41-copilot","prompt":"a"}'],
    ['/v1/images/generations', '{"prompt":"A heron"}'],
  ] as const
  for (const [path, body] of requests) {
    const reply = await proxy.send(path, { body, headers: work })
    const said = expect.stringMatching(/The GitHub account bob of this key .*copilot-proxy login/)
    expect([reply.status, JSON.parse(reply.text).error.message]).toEqual([503, said])
  }
  const codex = await proxy.send('/v1/chat/completions', { body: chat({ model: 'codex/gpt-5.5' }), headers: work })
  expect([codex.status, codex.text]).toEqual([200, expect.any(String)])
})

test('a key gets the models and the quota of its account', async () => {
  const proxy = await openProxy({ login: 'none', file: keyed('{ home: { account: alice }, work: { account: bob } }') })
  listOwnModels(proxy)
  await logIn(proxy, 'alice', 1)
  await logIn(proxy, 'bob', 2)
  for (const headers of [home, work]) {
    expect((await proxy.send('/v1/chat/completions', { body: chat(), headers })).status).toBe(200)
  }
  await expect.poll(() => modelsOf(proxy, home)).toContain('claude-sonnet-4.5')
  await expect.poll(() => modelsOf(proxy, work)).toContain('gpt-5.1')
  expect(await modelsOf(proxy, home)).not.toContain('gpt-5.1')
  expect(await modelsOf(proxy, work)).not.toContain('claude-sonnet-4.5')
  const ask = (model: string, headers: Readonly<Record<string, string>>) =>
    proxy.send('/v1/chat/completions', { body: chat({ model }), headers })
  expect((await ask('gpt-5.1', home)).status).toBe(404)
  expect((await ask('gpt-5.1', work)).status).toBe(200)
  for (const headers of [home, work, home]) expect((await proxy.send('/usage', { headers })).status).toBe(200)
  const asked = proxy.demo.log.filter(({ route }) => route === '/copilot_internal/user')
  expect(asked.map(({ headers }) => accountOf(proxy, headers['authorization']))).toEqual(['alice', 'bob'])
})
