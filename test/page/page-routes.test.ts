import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { makeFolder } from '../tools/session.ts'

const files = readdirSync(new URL('../../src/page/static/', import.meta.url)).filter((name) => name !== 'tsconfig.json')

/** Chromium's, for an address that a person opens. */
const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8' }

test.each([
  ['no Accept', {}],
  ['curl', { accept: '*/*' }],
  ['an SDK', { accept: 'application/json' }],
])('a program gets JSON from /: %s', async (_name, headers) => {
  const { send } = await openProxy()
  const reply = await send('/', { headers })
  expect([reply.json(), reply.headers['vary']]).toEqual([{ ok: true, name: 'copilot-proxy' }, 'Accept'])
})

test('a browser gets the page from /, with and without a workspace', async () => {
  for (const file of ['', `workspaces: [${await makeFolder()}]`]) {
    const { send } = await openProxy({ file })
    const page = await send('/', { headers: browser })
    expect([page.headers['content-type'], page.headers['vary']]).toEqual([
      'text/html; charset=utf-8',
      expect.stringContaining('Accept'),
    ])
    expect((await send('/page/main.js')).status).toBe(200)
    expect((await send('/page/main.js', { method: 'POST', body: '{}' })).status).toBe(404)
  }
})

test('the page learns whether there are sessions', async () => {
  const proxy = await openProxy({ file: `workspaces: [${await makeFolder()}]` })
  expect((await proxy.send('/caller')).json()).toMatchObject({ sessions: true })
  proxy.daemon.reconfigure(proxy.configure('workspaces: []'))
  expect((await proxy.send('/caller')).json()).toMatchObject({ sessions: false })
})

test('A12 the page and its files let nothing in from elsewhere', async () => {
  const { send } = await openProxy({ file: 'server: { api-keys: [example-key] }' })
  for (const path of ['/', ...files.map((name) => `/page/${name}`)]) {
    const { status, headers } = await send(path, { headers: browser })
    expect([path, status]).toEqual([path, 200])
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-cache',
    })
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; /,
    )
    expect(policy).toContain("base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*|http/)
  }
})

test('A13 the page needs no key and contains none, but its data needs one', async () => {
  const { send } = await openProxy({ file: 'server: { api-keys: [example-key] }' })
  const page = await send('/', { headers: browser })
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.text).not.toContain('example-key')
  expect((await send('/sessions')).status).toBe(401)
  expect((await send('/requests')).status).toBe(401)
})

test('the page has no inline script or style, and no address of another origin', async () => {
  const { send } = await openProxy()
  const { text } = await send('/', { headers: browser })
  expect(text).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i)
  expect(text).not.toMatch(/<script(?![^>]*\ssrc="page\/)/)
  expect(text.match(/(?:src|href)="[^"]*"/g)?.filter((address) => address.includes('//'))).toEqual([])
})

test('a browser gets each file once with the correct type, and 304 if its copy is current', async () => {
  const { send } = await openProxy()
  const first = await send('/page/main.js')
  const etag = String(first.headers['etag'])
  expect([first.status, first.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8'])
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await send('/page/main.js', { headers: { 'if-none-match': known } })
    expect([again.status, again.text, again.headers['etag']]).toEqual([304, '', etag])
  }
  expect((await send('/page/main.js', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  const head = await send('/page/page.css', { method: 'HEAD' })
  expect([head.status, head.text, head.headers['content-type']]).toEqual([200, '', 'text/css; charset=utf-8'])
  expect(Number(head.headers['content-length'])).toBeGreaterThan(1000)
})

test.each([
  '/page/',
  '/page/tsconfig.json',
  '/page/..%2fwire.ts',
  '/page/%2e%2e',
  '/page/main.ts',
  '/page/__proto__',
  '/page/a/b',
])('%s is no file of the page', async (path) => {
  const { send } = await openProxy()
  expect((await send(path)).status).toBe(404)
})

test('A06 serves its own page on a forwarded port, and through a TLS proxy', async () => {
  const { send } = await openProxy({ file: 'server: { allowed-hosts: ["proxy.example:80"] }' })
  const statusOf = async (headers: Readonly<Record<string, string>>) => (await send('/v1/models', { headers })).status
  const site = { 'sec-fetch-site': 'same-origin' }
  expect(await statusOf({ host: 'localhost:8080', origin: 'http://localhost:8080', ...site })).toBe(200)
  expect(await statusOf({ host: 'proxy.example', origin: 'http://proxy.example' })).toBe(200)
  expect(await statusOf({ host: 'proxy.example', origin: 'https://proxy.example', ...site })).toBe(200)
  // These origins differ from the page's own in scheme, port or site.
  expect(await statusOf({ host: 'proxy.example', origin: 'https://proxy.example' })).toBe(403)
  expect(
    await statusOf({ host: 'proxy.example', origin: 'http://proxy.example', 'sec-fetch-site': 'cross-site' }),
  ).toBe(403)
  expect(
    await statusOf({ host: 'localhost:8080', origin: 'http://localhost:5173', 'sec-fetch-site': 'same-site' }),
  ).toBe(403)
  expect(await statusOf({ host: 'evil.example', origin: 'http://evil.example', ...site })).toBe(403)
})
