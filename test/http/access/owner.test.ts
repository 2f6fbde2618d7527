import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createOwnerAccess } from '../../../src/http/access/owner-access.ts'
import { makeFolder } from '../../tools/session.ts'
import { openProxy } from '../harness.ts'
import type { Proxy } from '../harness.ts'
import { listen } from '../session-client.ts'

const key = 'laptop-key-0123456789'

const newSecret = (): string => randomBytes(32).toString('base64url')

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

async function whoIs({ send }: Pick<Proxy, 'send'>, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const reply = await send('/caller', { headers })
  return reply.status === 200 ? reply.json() : reply.status
}

const owner = expect.objectContaining({ key: null, owner: true })
const nobody = expect.objectContaining({ key: null, owner: false })

async function openWithPage(keys: readonly string[] = []) {
  const proxy = await openProxy({
    file: `{ server: { api-keys: ${JSON.stringify(keys)} }, workspaces: [${await makeFolder()}] }`,
  })
  const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
    proxy.send(path, { body: JSON.stringify(body), headers })
  return { ...proxy, post, ownerToken: proxy.daemon.ownerToken }
}

/** As the command `page` and the page do it. */
async function openPage({ post, ownerToken }: Awaited<ReturnType<typeof openWithPage>>) {
  const [code, token] = [newSecret(), newSecret()]
  const registered = await post('/page/codes', { code }, bearer(ownerToken))
  const redeemed = await post('/page/tokens', { code, token })
  return { code, token, replies: [registered, redeemed] }
}

test('with keys, the token makes the owner, a key its own caller, and anything else nobody', async () => {
  const proxy = await openProxy({ file: `server: { api-keys: [${key}] }` })
  const { ownerToken } = proxy.daemon
  expect(await whoIs(proxy, bearer(ownerToken))).toEqual(owner)
  expect(await whoIs(proxy, { 'x-api-key': ownerToken })).toEqual(owner)
  expect(await whoIs(proxy, { ...bearer('placeholder'), 'x-api-key': ownerToken })).toEqual(owner)
  expect(await whoIs(proxy, bearer(key))).toMatchObject({ key: 'plain-1', owner: false })
  expect(await whoIs(proxy, bearer(ownerToken.slice(1)))).toBe(401)
  expect(await whoIs(proxy, {})).toBe(401)
})

test('without keys, every caller is served, and only the token makes the owner', async () => {
  const proxy = await openProxy()
  expect(await whoIs(proxy, bearer(proxy.daemon.ownerToken))).toEqual(owner)
  for (const headers of [{}, bearer('placeholder'), bearer(proxy.daemon.ownerToken.toLowerCase())])
    expect(await whoIs(proxy, headers)).toEqual(nobody)
})

test('a WebSocket client sends the token as a subprotocol', async () => {
  const { url, ownerToken } = await openWithPage([key])
  const opens = (secret: string) =>
    new Promise<boolean>((resolve) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/rpc`, [
        'copilot-proxy',
        `copilot-proxy.bearer.${secret}`,
      ])
      socket.on('open', () => {
        socket.close()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
  expect([await opens(ownerToken), await opens(newSecret())]).toEqual([true, false])
})

test('each start has a token of its own', async () => {
  const [one, two] = [await openProxy(), await openProxy()]
  expect(one.daemon.ownerToken).not.toBe(two.daemon.ownerToken)
  expect(await whoIs(two, bearer(one.daemon.ownerToken))).toEqual(nobody)
})

test("keys that come and go end the streams of others, and never the owner's", async () => {
  const proxy = await openWithPage()
  const { daemon, configure, ownerToken } = proxy
  const folders = configure(`workspaces: [${await makeFolder()}]`).workspaces
  const withKeys = (keys: readonly string[]) => ({
    ...configure(`server: { api-keys: ${JSON.stringify(keys)} }`),
    workspaces: folders,
  })
  const page = (await openPage(proxy)).token
  const ofOwner = await listen(proxy, '/events', bearer(ownerToken))
  const ofPage = await listen(proxy, '/events', bearer(page))
  const ofNobody = await listen(proxy)
  daemon.reconfigure(withKeys([key]))
  expect(await ofNobody.rest()).toBeDefined()
  const ofKey = await listen(proxy, '/events', bearer(key))
  daemon.reconfigure(withKeys(['another-key-0123456789']))
  await ofKey.rest().catch(() => '')
  // Connections of removed keys are closed a second after their streams have ended.
  await expect.poll(async () => await whoIs(proxy, bearer(key))).toBe(401)
  for (const secret of [ownerToken, page]) expect(await whoIs(proxy, bearer(secret))).toEqual(owner)
  daemon.reconfigure({ ...withKeys(['another-key-0123456789']), workspaces: [] })
  for (const stream of [ofOwner, ofPage]) expect(stream.stream.destroyed).toBe(false)
})

test.each([[[]], [[key]]])(
  'a page becomes the owner by a one-time code (keys: %j), and no answer has a secret',
  async (keys) => {
    const proxy = await openWithPage(keys)
    const { code, token, replies } = await openPage(proxy)
    expect(replies.map(({ status, text }) => [status, text])).toEqual([
      [204, ''],
      [204, ''],
    ])
    expect(await whoIs(proxy, bearer(token))).toEqual(owner)
    const seen = JSON.stringify([replies.map(({ headers }) => headers), proxy.log])
    for (const secret of [code, token, proxy.ownerToken]) expect(seen).not.toContain(secret)
  },
)

test('a code works once, and a wrong one never', async () => {
  const proxy = await openWithPage()
  const { code } = await openPage(proxy)
  for (const each of [code, newSecret()]) {
    const token = newSecret()
    const { status, text } = await proxy.post('/page/tokens', { code: each, token })
    expect([status, text]).toEqual([403, expect.stringContaining('run: copilot-proxy page')])
    expect(await whoIs(proxy, bearer(token))).toEqual(nobody)
  }
})

test('the address that a start prints opens the page once', async () => {
  const proxy = await openWithPage([key])
  const { hash, pathname } = new URL(proxy.daemon.createPageAddress())
  const code = hash.replace('#code=', '')
  expect(pathname).toBe('/')
  const token = newSecret()
  expect((await proxy.post('/page/tokens', { code, token })).status).toBe(204)
  expect(await whoIs(proxy, bearer(token))).toEqual(owner)
  expect((await proxy.post('/page/tokens', { code, token: newSecret() })).status).toBe(403)
})

test('only the owner registers codes', async () => {
  const proxy = await openWithPage([key])
  const code = newSecret()
  expect((await proxy.post('/page/codes', { code }, bearer(key))).status).toBe(403)
  expect((await proxy.post('/page/codes', { code })).status).toBe(401)
  expect((await proxy.post('/page/tokens', { code, token: newSecret() })).status).toBe(403)
  const unkeyed = await openWithPage()
  expect((await unkeyed.post('/page/codes', { code })).status).toBe(403)
})

test.each([
  ['a short code', { code: 'short', token: newSecret() }],
  ['a short token', { code: newSecret(), token: 'short' }],
  ['a missing token', { code: newSecret() }],
  ['a further member', { code: newSecret(), token: newSecret(), more: 1 }],
  ['no object', []],
  ['a large body', { code: 'x'.repeat(10_000), token: newSecret() }],
])('%s is refused', async (_name, body) => {
  const { post } = await openWithPage()
  expect((await post('/page/tokens', body)).status).toBeGreaterThanOrEqual(400)
})

test('pages of other origins register no token', async () => {
  const { post } = await openWithPage()
  const body = { code: newSecret(), token: newSecret() }
  for (const headers of [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'cross-site' },
    { host: 'evil.example' },
    { 'content-type': 'text/plain' },
  ])
    expect([403, 415]).toContain((await post('/page/tokens', body, headers)).status)
})

test('wrong codes are answered more and more slowly, and then not at all, like wrong keys', async () => {
  const proxy = await openWithPage()
  const guess = () => proxy.post('/page/tokens', { code: newSecret(), token: newSecret() })
  const first = await Promise.all(Array.from({ length: 10 }, guess))
  expect(first.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 403))
  const crowd = await Promise.all(Array.from({ length: 30 }, guess))
  expect(crowd.filter(({ status }) => status === 429).length).toBeGreaterThan(0)
})

test('a code expires, few wait at once, and the newest pages stay open', () => {
  let nowMs = 0
  const held = new Map<string, string>()
  const access = createOwnerAccess({
    token: 'the-token',
    now: () => nowMs,
    holdSecret: (holder, token) => held.set(holder, token),
  })
  access.addCode('for a minute', 60_000)
  access.addCode('until used', undefined)
  nowMs = 60_000
  expect([access.redeem('for a minute', 'page 1'), access.redeem('until used', 'page 2')]).toEqual([false, true])
  expect([...held.values()]).toEqual(['the-token', 'page 2'])
  for (let n = 0; n < 9; n += 1) access.addCode(`code ${n}`, 1000)
  expect([access.redeem('code 0', 'page'), access.redeem('code 1', 'page')]).toEqual([false, true])
  for (let n = 0; n < 100; n += 1) {
    access.addCode('code', 1000)
    access.redeem('code', `page ${n}`)
  }
  expect(access.keys()).toHaveLength(65)
  expect(held.size).toBe(65)
  expect([...held.values()]).toEqual(expect.arrayContaining(['the-token', 'page 36', 'page 99']))
})
