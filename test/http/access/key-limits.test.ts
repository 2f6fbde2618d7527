import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createCreditLimit } from '../../../src/http/access/key-limits.ts'
import { createRateLimit } from '../../../src/http/access/rate-limit.ts'
import type { Config } from '../../../src/config/schema.ts'
import { loaded } from '../../config/loading.ts'
import { recordingLog } from '../../recording-log.ts'
import { saying } from '../client.ts'
import { chatsOf, openProxy } from '../harness.ts'

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')
const laptop = { authorization: 'Bearer laptop-key' }
const phone = { 'x-api-key': 'phone-key' }
const fileWith = (server: string): string =>
  `server: { api-keys: ["laptop:sha256:${hashOf('laptop-key')}", "phone:sha256:${hashOf('phone-key')}"], ${server} }`

const callers = [
  ['/v1/chat/completions', { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }] }],
  ['/v1/responses', { model: 'gpt-5-mini', input: 'hello' }],
  ['/v1/messages', { model: 'gpt-5-mini', max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] }],
] as const

test('a wrong key and a missing key have different messages in every dialect, which say how to send a key', async () => {
  const { send } = await openProxy({ file: fileWith('') })
  for (const [path, body] of callers) {
    for (const [headers, start] of [
      [{}, 'No key: '],
      [{ authorization: 'Bearer other' }, 'Wrong key: '],
    ] as const) {
      const reply = await send(path, { body: JSON.stringify(body), headers })
      expect(reply.status).toBe(401)
      expect(reply.json()).toMatchObject({ error: { type: 'authentication_error' } })
      const { message } = JSON.parse(reply.text).error
      expect(message).toMatch(new RegExp(`^${start}.*"Authorization: Bearer <key>"`))
      // Claude Code would show "Not logged in · Please run /login" in its place.
      expect(message.toLowerCase()).not.toContain('x-api-key')
    }
  }
})

test('the limit per minute of a key applies to that key alone, in every dialect', async () => {
  const { send } = await openProxy({ file: fileWith('key-limits: { LAPTOP: { requests-per-minute: 1 } }') })
  const ask = (at: number, headers: Record<string, string>) =>
    send(callers[at]?.[0] ?? '', { body: JSON.stringify(callers[at]?.[1]), headers })
  expect((await ask(0, laptop)).status).toBe(200)
  for (const at of [0, 1, 2]) {
    const reply = await ask(at, laptop)
    expect(reply.status).toBe(429)
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(50)
    expect(JSON.parse(reply.text).error.message).toContain('server.key-limits, requests-per-minute')
    expect((await ask(at, phone)).status).toBe(200)
  }
})

test('a key sees and uses its models only, by name, alias and provider', async () => {
  const proxy = await openProxy({
    file: `${fileWith('key-limits: { laptop: { models: ["gpt-5*"] } }')}\nmodels: { aliases: { clever: claude-sonnet-4.6 } }`,
  })
  const listed = async (headers: Record<string, string>): Promise<readonly string[]> =>
    JSON.parse((await proxy.send('/v1/models', { headers })).text).data.map(({ id }: { id: string }) => id)
  // Only the list of the account has it, which arrives after the start.
  await expect.poll(() => listed(laptop)).toContain('gpt-5.1')
  const own = await listed(laptop)
  expect(own.every((id) => id.startsWith('gpt-5'))).toBe(true)
  expect(own).toEqual((await listed(phone)).filter((id) => id.startsWith('gpt-5')))
  for (const model of ['claude-sonnet-4.6', 'copilot/claude-sonnet-4.6', 'clever']) {
    for (const [path, body] of callers) {
      const refused = await proxy.send(path, { body: JSON.stringify({ ...body, model }), headers: laptop })
      expect(refused.status).toBe(404)
      expect(JSON.parse(refused.text).error.message).toContain(`The key laptop may not use the model '${model}'`)
    }
    expect((await proxy.send(`/v1/models/${model}`, { headers: laptop })).status).toBe(404)
  }
  expect((await proxy.send('/v1/models/gpt-5-mini', { headers: laptop })).status).toBe(200)
  expect(chatsOf(proxy.demo)).toEqual([])
})

test('a key without credits for the day is refused with the seconds until midnight', async () => {
  const proxy = await openProxy({ file: fileWith('key-limits: { laptop: { credits-per-day: 0.000001 } }') })
  const body = JSON.stringify(callers[0][1])
  const ask = (headers: Record<string, string>) => proxy.send('/v1/chat/completions', { body, headers })
  expect((await ask(laptop)).status).toBe(200)
  const refused = await ask(laptop)
  expect(refused.status).toBe(429)
  expect(refused.headers['x-should-retry']).toBe('false')
  expect(refused.json()).toMatchObject({ error: { code: 'insufficient_quota' } })
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(25 * 3600)
  expect((await ask(phone)).status).toBe(200)
  // The counters of keys are not for a key. Without keys, every caller gets them.
  proxy.daemon.reconfigure(proxy.configure(''))
  const { text: metrics } = await proxy.send('/metrics')
  expect(metrics).toContain('copilot_proxy_key_requests_total{key="laptop",status="200"} 1\n')
  expect(metrics).toContain('copilot_proxy_key_requests_total{key="laptop",status="429"} 1\n')
  expect(metrics).toMatch(/copilot_proxy_key_tokens_total\{key="phone",direction="input"\} [1-9]/)
  expect(metrics).toMatch(/copilot_proxy_key_credits_total\{key="phone",kind="\w+"\} \d/)
})

const config = (): Config =>
  loaded({ file: fileWith('key-limits: { laptop: { credits-per-day: 10 } }'), env: {} }).config

test('a running request counts as the average request of the day until it ends', () => {
  const spent = { requests: 4, nanoAiu: 8e9 }
  const midday = new Date(2026, 10, 23, 12).getTime()
  const totals = { spent: () => spent, liftBudget: () => {}, isBudgetLifted: () => false }
  const limit = createCreditLimit({ totals, config, now: () => midday, log: recordingLog() })
  const key = { name: 'Laptop', id: 'a1' }
  const { leave } = limit.enter(key)
  expect(() => limit.enter(key)).toThrow(
    expect.objectContaining({ error: expect.objectContaining({ retryAfterSeconds: 5 }) }),
  )
  leave()
  leave()
  limit.enter(key).leave()
  spent.nanoAiu = 10e9
  expect(() => limit.enter(key)).toThrow(
    expect.objectContaining({
      error: expect.objectContaining({ kind: 'credits_spent', retryAfterSeconds: 12 * 3600 }),
    }),
  )
  limit.enter({ name: 'phone', id: 'a2' }).leave()
  limit.enter(undefined).leave()
})

test('with rate-limit: wait, requests over the limit are served in turn; the queue is bounded; a caller may leave', async () => {
  const limit = createRateLimit(() => performance.now())
  // One request each 30 ms.
  const rule = { perMinute: 2000, setting: '' }
  for (let count = 0; count < 2000; count += 1) limit.count('one', rule)
  const order: string[] = []
  const controller = new AbortController()
  const { signal } = new AbortController()
  const wait = (name: string, by = signal) =>
    limit.wait('one', rule, { maxWaiting: 3, signal: by }).then(() => order.push(name))
  const first = wait('first')
  const leaver = wait('leaver', controller.signal)
  const last = wait('last')
  await expect(wait('too many')).rejects.toMatchObject({ error: { kind: 'rate_limited' } })
  await limit.wait('two', rule, { maxWaiting: 0, signal })
  controller.abort(new Error('left'))
  await expect(leaver).rejects.toThrow('left')
  expect(limit.waiting()).toBe(2)
  await Promise.all([first, last])
  expect(order).toEqual(['first', 'last'])
  expect(limit.waiting()).toBe(0)
})

test('a request above the limit waits and is then served', async () => {
  const proxy = await openProxy({ file: 'server: { max-requests-per-minute: 600, rate-limit: wait }' })
  // More at once than the daemon serves at a time would be refused for that.
  for (let round = 0; round < 11; round += 1) {
    const replies = await Promise.all(Array.from({ length: 55 }, () => proxy.send('/v1/embeddings', { body: '{}' })))
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([400]))
  }
  expect((await proxy.chat(saying('hello'))).status).toBe(200)
})
