import { expect, test } from 'vitest'
import { loginReport } from '../../../src/api/logins.ts'
import type { LoginReport } from '../../../src/api/logins.ts'
import { textReply } from '../../upstreams/http/outcome.ts'
import { openProxy } from '../harness.ts'
import type { Proxy, ProxyOptions } from '../harness.ts'

/** A poll comes five seconds after the code, as GitHub wants it. Ms. */
const pollMs = 60_000

async function open(options: ProxyOptions = {}) {
  const proxy = await openProxy({ login: 'none', ...options })
  const owner = { authorization: `Bearer ${proxy.daemon.ownerToken}` }
  const send = async (method: string, path: string, headers: Readonly<Record<string, string>> = owner) =>
    proxy.send(path, { method, headers })
  const report = async (headers?: Readonly<Record<string, string>>): Promise<LoginReport> =>
    loginReport.parse((await send('GET', '/logins', headers)).json())
  return { proxy, owner, ask: send, report }
}

/** The simulated GitHub is no github.com, so that the name has its host. */
const name = 'demo-user@127.0.0.1'

async function untilDone({ report }: Awaited<ReturnType<typeof open>>, provider: 'copilot' | 'codex') {
  await expect.poll(async () => (await report())[provider].flow?.state, { timeout: pollMs, interval: 200 }).toBe('done')
}

/** Nothing that a caller can read has a credential. */
function expectNoCredential({ demo }: Proxy, text: string): void {
  expect(text).not.toMatch(/gh[uo]_|tid=|demo-device|refresh|deviceauth_demo/)
  expect(text).not.toContain(demo.tokens.issueGithub())
}

test('a login with a code is started once, shown to the owner alone, and ends with the account in use', async () => {
  const daemon = await open()
  const { proxy, ask, report } = daemon
  expect(await report()).toMatchObject({
    stored: 'Logins are in a file that only you can read.',
    copilot: { state: 'login_required', source: 'stored', accounts: [], flow: null },
  })
  // Two pages at once: one flow, one code.
  const [one, two] = await Promise.all([ask('POST', '/logins/copilot'), ask('POST', '/logins/copilot')])
  const waiting = loginReport.parse(one?.json()).copilot.flow
  expect(waiting).toMatchObject({
    state: 'waiting',
    user_code: expect.stringMatching(/^DEMO-\d+$/),
    verification_uri: `${proxy.demo.url}/login/device`,
  })
  expect(loginReport.parse(two?.json()).copilot.flow).toEqual(waiting)
  expectNoCredential(proxy, one?.text ?? '')
  // Without keys everybody of this user may read who is logged in, and nobody but the owner sees the code.
  expect((await report({})).copilot).toMatchObject({ accounts: [], flow: null })

  await untilDone(daemon, 'copilot')
  const done = await ask('GET', '/logins')
  expect(done.json()).toMatchObject({
    copilot: {
      flow: { state: 'done', account: name, plan: expect.any(String) },
      accounts: [{ name, used: true }],
    },
  })
  expectNoCredential(proxy, done.text)
  // The daemon uses it at once.
  await expect.poll(async () => (await report()).copilot.state, { timeout: pollMs }).toBe('ok')
  expect((await proxy.chat()).status).toBe(200)

  const out = await ask('DELETE', '/logins/copilot')
  expect([out.status, out.json()]).toEqual([200, { account: name, next: null }])
  expect(await proxy.store.list()).toEqual([])
  expect((await report()).copilot).toMatchObject({ accounts: [], flow: null })
  expect((await ask('DELETE', '/logins/copilot')).json()).toEqual({ account: null, next: null })
})

test('a login to Codex with a code ends with the account', async () => {
  const daemon = await open()
  expect((await daemon.ask('POST', '/logins/codex')).json()).toMatchObject({
    codex: { flow: { state: 'waiting', verification_uri: `${daemon.proxy.codex.issuer}/codex/device` } },
    copilot: { flow: null },
  })
  await untilDone(daemon, 'codex')
  expect((await daemon.report()).codex.accounts).toMatchObject([{ used: true }])
  const text = (await daemon.ask('GET', '/logins')).text
  expectNoCredential(daemon.proxy, text)
})

const codeOf = (reply: { json: () => unknown }) => {
  const { flow } = loginReport.parse(reply.json()).copilot
  return flow?.state === 'waiting' ? flow.user_code : flow?.state
}

test('a cancelled login stores nothing, and the next one has another code', async () => {
  const { ask, proxy } = await open()
  const first = codeOf(await ask('POST', '/logins/copilot'))
  expect(codeOf(await ask('POST', '/logins/copilot/cancel'))).toBeUndefined()
  const second = codeOf(await ask('POST', '/logins/copilot'))
  expect([first, second]).toEqual([expect.stringContaining('DEMO-'), expect.stringContaining('DEMO-')])
  expect(second).not.toBe(first)
  expect(await proxy.store.list()).toEqual([])
})

test('a login that GitHub refuses ends with a sentence that says what to do', async () => {
  const { ask, report, proxy } = await open({ demo: { polls: ['expired'] } })
  await ask('POST', '/logins/copilot')
  await expect
    .poll(async () => (await report()).copilot.flow, { timeout: pollMs, interval: 200 })
    .toEqual({ state: 'failed', message: 'The code expired before it was entered. Start again to get a new one.' })
  expect(await proxy.store.list()).toEqual([])
})

test.each([
  ['accepts', 200, { state: 'done', account: name, plan: 'Copilot Pro' }],
  [
    'refuses',
    403,
    {
      state: 'failed',
      message: expect.stringMatching(/^Copilot refused this login\. .*forbidden.* Nothing was stored\.$/),
    },
  ],
  [
    'does not answer',
    503,
    { state: 'failed', message: expect.stringMatching(/^Could not check this login with Copilot\./) },
  ],
])('a login without a token exchange is stored only if Copilot accepts it: it %s', async (_what, status, end) => {
  const { ask, report, proxy } = await open({
    file: 'copilot: { auth: direct }',
    prepare: (github) => {
      if (status !== 200) github.script('/models', { outcome: textReply(status, 'forbidden') })
    },
  })
  await ask('POST', '/logins/copilot')
  await expect
    .poll(async () => (await report()).copilot.flow?.state, { timeout: pollMs, interval: 200 })
    .toMatch(/done|failed/)
  expect((await report()).copilot.flow).toEqual(end)
  expect((await proxy.store.list()).length).toBe(status === 200 ? 1 : 0)
  expect(proxy.demo.exchanges()).toBe(0)
})

const key = 'key-of-this-test-0123456789'

test.each([
  ['nobody', '', {}, 403],
  ['a wrong token', '', { authorization: 'Bearer something-else' }, 403],
  ['another origin', '', { origin: 'https://evil.example' }, 403],
  ['another site', '', { 'sec-fetch-site': 'cross-site' }, 403],
  ['another host', '', { host: 'evil.example' }, 403],
  ['a key', `server: { api-keys: [${key}] }`, { authorization: `Bearer ${key}` }, 403],
  ['no key', `server: { api-keys: [${key}] }`, {}, 401],
])('%s changes nothing', async (_who, file, headers, status) => {
  const { ask, report } = await open({ file, login: 'environment' })
  const changes = [
    ['POST', '/logins/copilot'],
    ['POST', '/logins/codex'],
    ['POST', '/logins/copilot/cancel'],
    ['DELETE', '/logins/copilot'],
    ['POST', '/policies'],
    ['GET', '/policies'],
    ['POST', '/usage/allow'],
    ['POST', '/models/refresh'],
  ] as const
  for (const [method, path] of changes)
    expect([path, (await ask(method, path, headers)).status]).toEqual([path, status])
  expect((await report()).copilot.flow).toBeNull()
})

test('a key does not read the logins, and sees of the keys its own', async () => {
  const other = 'another-key-of-this-test-0123456789'
  const { ask, proxy } = await open({
    file: `server: { api-keys: [${key}, ${other}], key-limits: { plain-1: { credits-per-day: 5 } } }`,
    login: 'environment',
  })
  const mine = { authorization: `Bearer ${key}` }
  expect((await ask('GET', '/logins', mine)).status).toBe(403)
  await proxy.chat({}, { headers: mine })
  const row = { name: 'plain-1', stored: 'plain', credits_per_day: 5, requests: 1, models: null }
  expect((await ask('GET', '/keys', mine)).json()).toMatchObject({ keys: [row] })
  const all = await ask('GET', '/keys')
  expect(all.json()).toMatchObject({ keys: [row, { name: 'plain-2', requests: 0, last_day: null }] })
  for (const secret of [key, other]) expect(all.text).not.toContain(secret)
})

test('the owner enables a model after reading its terms', async () => {
  const { proxy, owner, ask } = await open({ login: 'environment' })
  const closed = (await ask('GET', '/policies')).json()
  expect(closed).toMatchObject({
    models: expect.arrayContaining([
      expect.objectContaining({ id: 'claude-opus-4.5', terms: expect.stringContaining('Enable access to') }),
    ]),
  })
  const enable = (model: string) =>
    proxy.send('/policies', { method: 'POST', headers: owner, body: JSON.stringify({ model }) })
  expect((await enable('gpt-5-mini')).status).toBe(400)
  expect((await enable('claude-opus-4.5')).status).toBe(204)
  expect(JSON.stringify((await ask('GET', '/policies')).json())).not.toContain('claude-opus-4.5')
})
