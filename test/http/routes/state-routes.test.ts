import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { UsageTotals } from '../../../src/api/usage.ts'
import { textReply } from '../../upstreams/http/outcome.ts'
import { saying } from '../client.ts'
import { openProxy } from '../harness.ts'

test('readiness follows the login', async () => {
  const { send, chat } = await openProxy()
  expect((await chat()).status).toBe(200)
  const ready = await send('/readyz')
  expect([ready.status, ready.json()]).toEqual([200, { ok: true }])
  expect((await send('/healthz')).json()).toEqual({ ok: true, copilot: 'ok', version: '0.0.0-test' })
})

test('usage has the quota that GitHub states', async () => {
  const { send } = await openProxy()
  const reply = await send('/usage')
  expect(reply.status).toBe(200)
  expect(reply.json()).toMatchObject({ login: 'demo-user' })
  expect(reply.text).not.toMatch(/ghu_|tid=/)
})

test('usage and cache name every field in snake_case', async () => {
  const { send, chat } = await openProxy({ codexLogin: 'stored', file: 'log: { cache-diagnostics: true }' })
  await chat({ model: 'codex/gpt-5.5' })
  await chat()
  const usage = await send('/usage')
  expect(usage.json()).toMatchObject({
    token_based_billing: expect.any(Boolean),
    quotas: expect.arrayContaining([expect.objectContaining({ percent_remaining: expect.any(Number) })]),
    codex: { reported_at: expect.any(String), windows: [{ used_percent: expect.any(Number) }, {}] },
  })
  const cache = await send('/cache')
  expect(cache.json()).toMatchObject({ sessions: [{ input_tokens: expect.any(Number) }, {}] })
  for (const { text } of [usage, cache]) expect(text).not.toMatch(/"[a-z]+[A-Z][a-zA-Z]*":/)
})

test('usage has the totals for a login without quota data, and reports no failure', async () => {
  const { send, demo, store, log } = await openProxy({ login: 'none' })
  const token = demo.tokens.issueGithub('gho_')
  await store.write({
    id: 'copilot-direct',
    provider: 'copilot',
    label: 'direct',
    attributes: { base_url: demo.url },
    metadata: { github_access_token: token },
  })
  const reply = await send('/usage')
  expect(reply.status).toBe(200)
  expect(reply.json()).toMatchObject({ problem: expect.stringContaining('does not show'), totals: { today: [] } })
  expect(reply.text).not.toContain(token)
  expect(log.filter(({ level }) => level === 'error')).toEqual([])
})

test.each([
  [401, 503, 'copilot_unavailable'],
  [403, 503, 'copilot_unavailable'],
  [500, 502, 'upstream_unreachable'],
])('a %i of GitHub to a usage request is a %i', async (status, expected, code) => {
  const { send, demo } = await openProxy()
  demo.script('/copilot_internal/user', { outcome: textReply(status, '{"message":"no"}') })
  const reply = await send('/usage')
  expect(reply.status).toBe(expected)
  expect(reply.json()).toMatchObject({ error: { code } })
})

test('a caller that disconnects while usage is fetched is not logged as a failure', async () => {
  const { send, demo, log } = await openProxy()
  const held = Promise.withResolvers<void>()
  demo.script('/copilot_internal/user', { outcome: { kind: 'silent' }, after: held.promise })
  const controller = new AbortController()
  const pending = send('/usage', { signal: controller.signal })
  await demo.until(() => demo.count('/copilot_internal/user') === 1)
  controller.abort()
  await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
  expect((await send('/healthz')).status).toBe(200)
  expect(log.filter(({ level }) => level === 'error')).toEqual([])
  held.resolve()
})

test('concurrent and following usage requests share one request to GitHub', async () => {
  const { send, demo, chat } = await openProxy()
  await chat()
  const held = Promise.withResolvers<void>()
  demo.script('/copilot_internal/user', { after: held.promise })
  const controller = new AbortController()
  const first = send('/usage', { signal: controller.signal })
  await demo.until(() => demo.count('/copilot_internal/user') === 1)
  const second = send('/usage')
  controller.abort()
  await expect(first).rejects.toMatchObject({ name: 'AbortError' })
  held.resolve()
  expect((await second).json()).toMatchObject({ login: 'demo-user' })
  expect((await send('/usage')).json()).toMatchObject({ login: 'demo-user' })
  expect(demo.count('/copilot_internal/user')).toBe(1)
})

test('usage has totals by model, also with ?partial=true if the account request fails', async () => {
  const { send, demo, chat } = await openProxy()
  await chat()
  await chat({ stream: true, ...saying('[demo:error 500]') })
  demo.script('/copilot_internal/user', { outcome: textReply(401, '{"message":"no"}') })
  expect((await send('/usage')).status).toBe(503)
  const reply = await send('/usage?partial=true')
  expect(reply.status).toBe(200)
  const sums = [expect.objectContaining({ provider: 'copilot', model: 'gpt-5-mini', requests: 2, errors: 1 })]
  expect(reply.json()).toEqual({
    problem: expect.stringContaining('COPILOT_GITHUB_TOKEN'),
    problem_code: 'copilot_unavailable',
    budgets: [],
    totals: {
      today: sums,
      last_7_days: sums,
      month_to_date: sums,
      last_30_days: sums,
      by_key: expect.objectContaining({ month_to_date: [expect.objectContaining({ key: null, requests: 2 })] }),
      by_session: expect.objectContaining({ month_to_date: [] }),
      by_day: [expect.objectContaining({ requests: 2 })],
      month: expect.objectContaining({ since: expect.stringMatching(/-01$/), requests: 2, estimated: false }),
    },
  })
})

test('requests for models that do not exist are in the totals of the day', async () => {
  const { send, chat } = await openProxy()
  await chat()
  expect((await chat({ model: 'no-such-model' })).status).toBe(404)
  expect((await chat({ model: 'neither-this' })).status).toBe(404)
  const { totals } = (await send('/usage?partial=true')).json() as { totals: UsageTotals }
  expect(totals.by_day).toEqual([expect.objectContaining({ requests: 3, errors: 2 })])
  expect(totals.today.map(({ model, requests }) => [model, requests])).toEqual([
    ['other', 2],
    ['gpt-5-mini', 1],
  ])
})

test('no prompt, no answer and no key is in the log', async () => {
  const { chat, send, log, demo } = await openProxy({ file: 'server: { api-keys: [canary-key] }' })
  const headers = { authorization: 'Bearer canary-key' }
  const canary = 'canary-prompt'
  for (const marker of [
    '',
    '[demo:error 400]',
    '[demo:error 500]',
    '[demo:cut]',
    '[demo:error-mid]',
    '[demo:html]',
    '[demo:echo]',
  ]) {
    for (const stream of [true, false]) await chat({ stream, ...saying(`${marker} ${canary} a b`) }, { headers })
  }
  for (const body of [
    `{"model": "gpt-5-mini", "messages": "${canary}"`,
    `{"messages":[{"role":"${canary}","content":"${canary}"}],"model":"gpt-5-mini"}`,
  ]) {
    expect((await send('/v1/chat/completions', { body, headers })).status).toBe(400)
    expect((await send('/v1/embeddings', { body, headers })).status).toBe(400)
  }
  demo.tokens.expireAll()
  await chat({}, { headers })
  await send('/v1/models', { headers: { authorization: 'Bearer canary-wrong' } })
  expect(inspect(log, { depth: 20, maxStringLength: 10_000, maxArrayLength: 1000 })).not.toContain('canary')
})
