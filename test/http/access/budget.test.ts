import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createCreditLimit } from '../../../src/http/access/key-limits.ts'
import { createUsageRecorder } from '../../../src/usage/recorder.ts'
import { noSums } from '../../../src/usage/tally.ts'
import { loaded } from '../../config/loading.ts'
import { recordingLog } from '../../recording-log.ts'
import { makeFolder } from '../../tools/session.ts'
import { saying } from '../client.ts'
import { openProxy } from '../harness.ts'
import type { Proxy } from '../harness.ts'
import { eventsUntil, listen, postMessage } from '../session-client.ts'

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')
const laptop = { authorization: 'Bearer laptop-key' }
const keys = `server: { api-keys: ["laptop:sha256:${hashOf('laptop-key')}"] }`
const body = JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }] })
const tiny = 0.000001
const left = 'the caller disconnected before the answer was complete'

function ask({ send }: Proxy, headers: Readonly<Record<string, string>> = {}, path = '/v1/chat/completions') {
  return send(path, { body, headers })
}

const ownerOf = ({ daemon }: Proxy) => ({ authorization: `Bearer ${daemon.ownerToken}` })
const allow = (proxy: Proxy, headers: Readonly<Record<string, string>>) =>
  proxy.send('/usage/allow', { method: 'POST', headers })

test.each(['day', 'month'])(
  'a budget of the %s refuses every caller with what to do, until the owner lifts it',
  async (period) => {
    const proxy = await openProxy({ file: `${keys}\nusage: { credits-per-${period}: ${tiny} }` })
    expect((await ask(proxy, laptop)).status).toBe(200)
    for (const headers of [laptop, ownerOf(proxy)]) {
      const refused = await ask(proxy, headers)
      expect(refused.status).toBe(429)
      expect(refused.headers['x-should-retry']).toBe('false')
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual((period === 'day' ? 25 : 32 * 24) * 3600)
      const { error } = JSON.parse(refused.text)
      expect(error.code).toBe('insufficient_quota')
      expect(error.message).toContain(`usage.credits-per-${period}`)
      expect(error.message).toContain('copilot-proxy usage allow')
    }
    const counted = await proxy.send('/v1/messages/count_tokens', {
      body: JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }] }),
      headers: laptop,
    })
    expect(counted.status).toBe(200)

    const byKey = await allow(proxy, laptop)
    expect([byKey.status, JSON.parse(byKey.text).error.code]).toEqual([403, 'owner_required'])
    expect((await allow(proxy, {})).status).toBe(401)
    expect((await ask(proxy, laptop)).status).toBe(429)

    const lifted = await allow(proxy, ownerOf(proxy))
    expect([lifted.status, lifted.json()]).toMatchObject([200, { budgets: [{ period, limit: tiny, state: 'lifted' }] }])
    expect((await ask(proxy, laptop)).status).toBe(200)
  },
)

test('without keys, a program of this machine is served but cannot lift the budget', async () => {
  const proxy = await openProxy({ file: `usage: { credits-per-day: ${tiny} }` })
  expect((await ask(proxy)).status).toBe(200)
  for (const headers of [{}, { authorization: 'Bearer anything' }])
    expect((await allow(proxy, headers)).status).toBe(403)
  expect((await ask(proxy)).status).toBe(429)
})

test('an agent run spends the budget and is refused by it, as every route of a model is', async () => {
  const proxy = await openProxy({
    file: `usage: { credits-per-day: ${tiny} }\nworkspaces: [{ path: ${await makeFolder()}, name: app }]`,
  })
  const listener = await listen(proxy)
  const run = async () => {
    await postMessage(proxy, { text: 'Say hello', model: 'gpt-5-mini' })
    return (await eventsUntil(listener, 'done')).at(-1)?.data
  }
  expect(await run()).toMatchObject({ outcome: 'completed' })
  expect((await run())?.['reason']).toContain('copilot-proxy usage allow')
  expect((await ask(proxy)).status).toBe(429)
  expect((await proxy.send('/v1/embeddings', { body: '{"model":"text-embedding-3-small","input":"a"}' })).status).toBe(
    429,
  )
})

test('from 80 % on, each answer has a warning in its header, the log has one line, and the owner reads it in /usage', async () => {
  const proxy = await openProxy({ file: keys })
  expect((await ask(proxy, laptop)).headers['x-copilot-proxy-warnings']).toBeUndefined()
  const usage = async (headers: Readonly<Record<string, string>>) =>
    JSON.parse((await proxy.send('/usage', { headers })).text)
  const used = (await usage(ownerOf(proxy))).totals.today[0].credits
  expect(used).toBeGreaterThan(0)
  proxy.daemon.reconfigure(
    proxy.configure(`${keys}\nusage: { credits-per-day: ${used * 1.2}, credits-per-month: ${used * 100} }`),
  )
  const warnings = () => proxy.log.filter(({ level, message }) => level === 'warn' && message.includes('usage.credits'))
  // A request that fails uses nothing, so the next has the same share.
  for (let round = 0; round < 3; round += 1) {
    const failed = await proxy.send('/v1/chat/completions', { body: '{"model":"none","messages":[]}', headers: laptop })
    expect(failed.headers['x-copilot-proxy-warnings']).toBe('budget;usage.credits-per-day')
  }
  expect(warnings().map(({ message }) => message)).toEqual([
    '83 % of your credits for this day are used (usage.credits-per-day)',
  ])
  expect(await usage(ownerOf(proxy))).toMatchObject({
    budgets: [
      { period: 'day', state: 'warning' },
      { period: 'month', state: 'ok' },
    ],
  })
  expect(await usage(laptop)).not.toHaveProperty('budgets')
})

const entry = {
  ...noSums,
  provider: 'copilot',
  model: 'm',
  key: '',
  keyId: '',
  client: '',
  session: '',
  failed: false,
} as const

const spent = (period: string, retryAfterSeconds: number) =>
  expect.objectContaining({
    error: { kind: 'credits_spent', limit: period === 'day' ? 10 : 15, period, retryAfterSeconds },
  })

test('a budget and its lifting survive a restart, and end with the day and the month of this machine', async () => {
  const folder = await makeFolder()
  const file = join(folder, 'usage.sqlite')
  let time = new Date(2026, 10, 29, 12).getTime()
  const settings = loaded({ file: 'usage: { credits-per-day: 10, credits-per-month: 15 }', env: {} }).config
  const restart = () => {
    const totals = createUsageRecorder({ file, now: () => time, setTimer: () => () => {}, log: recordingLog() })
    onTestFinished(totals.close)
    return {
      totals,
      limit: createCreditLimit({ totals, config: () => settings, now: () => time, log: recordingLog() }),
    }
  }
  const first = restart()
  first.totals.note({ ...entry, measuredNanoAiu: 11e9 })
  expect(() => first.limit.enter(undefined)).toThrow(spent('day', 12 * 3600))
  first.totals.close()

  const second = restart()
  expect(() => second.limit.enter(undefined)).toThrow(spent('day', 12 * 3600))
  second.limit.liftToday()
  second.limit.enter(undefined).leave()
  second.totals.close()

  const third = restart()
  third.limit.enter(undefined).leave()
  time = new Date(2026, 10, 30, 12).getTime()
  third.limit.enter(undefined).leave()
  third.totals.note({ ...entry, measuredNanoAiu: 4e9 })
  expect(() => third.limit.enter(undefined)).toThrow(spent('month', 12 * 3600))
  time = new Date(2026, 11, 1, 0).getTime()
  third.limit.enter(undefined).leave()
  expect(third.limit.budgets().map(({ used, state }) => [used, state])).toEqual([
    [0, 'ok'],
    [0, 'ok'],
  ])
})

test('running requests count with the average, so that concurrent ones exceed the budget only slightly', () => {
  const log = recordingLog()
  const totals = createUsageRecorder({ file: undefined, now: Date.now, setTimer: () => () => {}, log })
  const settings = loaded({ file: 'usage: { credits-per-day: 10 }', env: {} }).config
  const limit = createCreditLimit({ totals, config: () => settings, now: Date.now, log })
  for (let count = 0; count < 4; count += 1) totals.note({ ...entry, measuredNanoAiu: 2e9 })
  const { leave } = limit.enter(undefined)
  expect(() => limit.enter(undefined)).toThrow(
    expect.objectContaining({ error: expect.objectContaining({ kind: 'credits_spent', retryAfterSeconds: 5 }) }),
  )
  leave()
  leave()
  limit.enter(undefined).leave()
})

test('requests that cost nothing do not make concurrent ones look cheap, also after a restart', async () => {
  const folder = await makeFolder()
  const log = recordingLog()
  const open = () =>
    createUsageRecorder({ file: join(folder, 'usage.sqlite'), now: Date.now, setTimer: () => () => {}, log })
  const settings = loaded({ file: 'usage: { credits-per-day: 10 }', env: {} }).config
  const admitted = (totals: ReturnType<typeof open>): number => {
    const limit = createCreditLimit({ totals, config: () => settings, now: Date.now, log })
    let count = 0
    try {
      for (; count < 100; count += 1) limit.enter(undefined)
    } catch {}
    return count
  }
  const first = open()
  first.spent('day')
  first.note({ ...entry, measuredNanoAiu: 2e9 })
  for (let count = 0; count < 200; count += 1) {
    first.note({ ...entry, measuredNanoAiu: null, failed: true })
    first.note({ ...entry, model: 'free', measuredNanoAiu: 0 })
  }
  expect(admitted(first)).toBe(4)
  first.close()
  const second = open()
  onTestFinished(second.close)
  expect(admitted(second)).toBe(4)
})

test.each(['gpt-5-mini', 'claude-opus-4.7', 'gpt-5.4', 'gemini-2.5-pro'])(
  'a key that leaves each answer of %s before its end spends its credits all the same',
  async (model) => {
    const proxy = await openProxy({
      file: `server: { api-keys: ["laptop:sha256:${hashOf('laptop-key')}"], key-limits: { laptop: { credits-per-day: ${tiny} } } }`,
    })
    const { next, leave } = await proxy.openChat(
      { model, ...saying('[demo:stall] Hello'), stream: true },
      { headers: laptop },
    )
    await next()
    leave()
    await expect.poll(() => proxy.log.map(({ message }) => message)).toContain(left)
    expect((await ask(proxy, laptop)).status).toBe(429)
    const usage = JSON.parse((await proxy.send('/usage', { headers: ownerOf(proxy) })).text)
    expect(usage.totals.today[0]).toMatchObject({ model, output_tokens: 0, estimated: true })
  },
)

test('an image counts as no text in the cost of an answer that was left', async () => {
  const proxy = await openProxy({})
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(2_000_000)}` } }
  const content = [{ type: 'text', text: '[demo:stall] What is this?' }, image]
  const { next, leave } = await proxy.openChat({ messages: [{ role: 'user', content }], stream: true })
  await next()
  leave()
  const line = () => proxy.log.find(({ message }) => message === left)
  await expect.poll(line).toBeDefined()
  expect(line()?.fields).toMatchObject({ estimated: true, credits: expect.any(Number) })
  expect(Number(line()?.fields?.['credits'])).toBeLessThan(0.01)
})
