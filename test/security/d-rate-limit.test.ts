import { expect, test } from 'vitest'
import { bodyOfPrompt, callers, dialectPaths } from '../http/callers.ts'
import { openProxy } from '../http/harness.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'

const two = 'server: { max-requests-per-minute: 2 }'

test('D13 beyond the limit a request is a 429 with Retry-After, in the dialect of its route', async () => {
  const proxy = await openProxy({ file: two })
  for (let round = 0; round < 2; round += 1) expect((await proxy.chat()).status).toBe(200)
  for (const caller of callers) {
    const path = dialectPaths[caller]
    const reply = await proxy.send(path, { body: bodyOfPrompt(caller, 'gpt-5-mini', 'Hello') })
    expect(reply.status).toBe(429)
    expect(Number(reply.headers['retry-after'])).toBeOneOf([29, 30])
    expect(reply.json()).toEqual(envelopeOf(path))
    expect(reply.json()).toMatchObject({ error: { type: 'rate_limit_error' } })
    await expectUnharmed(proxy, reply.text)
  }
  expect((await proxy.send('/v1/embeddings', { body: '{}' })).status).toBe(429)
  expect(proxy.demo.count('/chat/completions')).toBe(2)
})

test('D13 what calls no model is not counted, and is answered beyond the limit', async () => {
  const proxy = await openProxy({ file: two })
  const probes = ['/healthz', '/readyz', '/v1/models', '/v1/models/gpt-5-mini', '/usage', '/', '/api/hello']
  for (const path of [...probes, ...probes]) expect((await proxy.send(path)).status).toBe(200)
  for (const status of [200, 200, 429]) expect((await proxy.chat()).status).toBe(status)
  for (const path of probes) expect((await proxy.send(path)).status).toBe(200)
})

test('D13 each key has a limit of its own, and what a client says of itself changes nothing', async () => {
  const keys = 'api-keys: [first-key-0123456789abcdef, second-key-0123456789abcdef]'
  const { chat } = await openProxy({ file: `server: { max-requests-per-minute: 1, ${keys} }` })
  const ask = async (key: string, headers = {}) =>
    (await chat({}, { headers: { authorization: `Bearer ${key}`, ...headers } })).status
  expect(await ask('first-key-0123456789abcdef')).toBe(200)
  expect(await ask('first-key-0123456789abcdef', { 'x-forwarded-for': '192.0.2.7', 'user-agent': 'other' })).toBe(429)
  expect(await ask('second-key-0123456789abcdef')).toBe(200)
})

test('D13 without a key an address has one limit, and what a client says of itself changes nothing', async () => {
  const { chat } = await openProxy({ file: 'server: { max-requests-per-minute: 1 }' })
  const ask = async (headers = {}) => (await chat({}, { headers })).status
  expect(await ask()).toBe(200)
  for (const name of ['x-forwarded-for', 'x-real-ip', 'x-client-ip', 'cf-connecting-ip', 'user-agent']) {
    expect([name, await ask({ [name]: '192.0.2.7' })]).toEqual([name, 429])
  }
  expect(await ask({ forwarded: 'for=192.0.2.7' })).toBe(429)
  expect(await ask({ authorization: 'Bearer made-up-0123456789', 'x-api-key': 'made-up-0123456789' })).toBe(429)
})

test('D13 the limit changes with the configuration, and 0 is none', async () => {
  const { chat, daemon, configure } = await openProxy({ file: two })
  const ask = async (count: number) => {
    const statuses: number[] = []
    for (let round = 0; round < count; round += 1) statuses.push((await chat()).status)
    return statuses
  }
  expect(await ask(1)).toEqual([200])
  daemon.reconfigure(configure('server: { max-requests-per-minute: 1 }'))
  expect(await ask(1)).toEqual([429])
  daemon.reconfigure(configure(''))
  expect(await ask(5)).toEqual([200, 200, 200, 200, 200])
  // Half of what there may be was used up, and stays so.
  daemon.reconfigure(configure('server: { max-requests-per-minute: 4 }'))
  expect(await ask(3)).toEqual([200, 200, 429])
})
