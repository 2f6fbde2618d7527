import { createHash, createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { openProxy } from '../harness.ts'

const proxies = { HTTPS_PROXY: 'http://ada:pw@proxy.example:3128', HOME: '/home/ada' }

test('says what the daemon reaches, in the words that a request gets', async () => {
  const { send, chat } = await openProxy({ login: 'revoked' })
  const { copilot } = (await send('/self-check')).json() as { copilot: { ok: boolean; reason: string } }
  expect(copilot.ok).toBe(false)
  expect((await chat()).text).toContain(copilot.reason)
})

test('of both providers, if both are in use', async () => {
  const { send } = await openProxy({ codexLogin: 'stored' })
  expect((await send('/self-check')).json()).toEqual({ copilot: { ok: true }, codex: { ok: true } })
})

test('concurrent callers share one check', async () => {
  const { send, demo } = await openProxy()
  await send('/self-check')
  const before = demo.count('/models')
  await Promise.all(Array.from({ length: 8 }, () => send('/self-check')))
  expect(demo.count('/models') - before).toBeLessThanOrEqual(1)
})

test('only the owner learns anything of the environment, and no value from it', async () => {
  const { send, daemon } = await openProxy({ file: 'server: { api-keys: [laptop-key-example] }', proxies })
  const as = (key: string) => send('/self-check', { headers: { authorization: `Bearer ${key}` } })
  expect((await send('/self-check')).status).toBe(401)
  expect((await as('laptop-key-example')).json()).toEqual({ copilot: { ok: true } })

  const reply = await as(daemon.ownerToken)
  expect(reply.headers['cache-control']).toBe('no-store')
  const hash = createHmac('sha256', daemon.ownerToken).update(`${proxies.HTTPS_PROXY}/`).digest('base64url')
  expect(reply.json()).toEqual({ copilot: { ok: true }, variables: { HTTPS_PROXY: hash } })
  // What anybody could compute for a guess.
  for (const encoding of ['hex', 'base64url'] as const) {
    expect(reply.text).not.toContain(createHash('sha256').update(proxies.HTTPS_PROXY).digest(encoding))
  }
})

test('without keys, a program of this machine gets no variables', async () => {
  const { send } = await openProxy({ proxies })
  expect((await send('/self-check')).json()).toEqual({ copilot: { ok: true } })
})

test('a web page gets no answer', async () => {
  const { send } = await openProxy()
  expect((await send('/self-check', { headers: { origin: 'https://evil.example' } })).status).toBe(403)
})
