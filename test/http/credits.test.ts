import { expect, test } from 'vitest'
import { MODEL_LIST } from '../upstreams/copilot/models.ts'
import { jsonReply } from '../upstreams/http/outcome.ts'
import { saying } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

const question = { messages: [{ role: 'user', content: 'Hi' }] }
const bodies = {
  '/v1/chat/completions': question,
  '/v1/messages': { ...question, max_tokens: 100 },
  '/v1/responses': { input: 'Hi' },
}

function ask(
  { send }: Pick<Proxy, 'send'>,
  path: keyof typeof bodies,
  change: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
) {
  return send(path, { body: JSON.stringify({ ...bodies[path], ...change }), headers })
}

function served({ log }: Pick<Proxy, 'log'>) {
  return log.filter(({ message }) => message === 'request served').map(({ fields }) => fields)
}

test.each([
  ['/v1/chat/completions', 'gpt-5-mini', 'copilot/chat'],
  ['/v1/chat/completions', 'claude-sonnet-4.5', 'copilot/chat'],
  ['/v1/chat/completions', 'gemini-2.5-pro', 'copilot/chat'],
  ['/v1/chat/completions', 'claude-opus-4.7', 'copilot/messages'],
  ['/v1/chat/completions', 'gpt-5.4', 'copilot/responses'],
  ['/v1/responses', 'gpt-5-mini', 'copilot/responses'],
  ['/v1/responses', 'gpt-5.4', 'copilot/responses'],
  ['/v1/responses', 'gpt-4.1', 'copilot/chat'],
  ['/v1/responses', 'claude-opus-4.7', 'copilot/messages'],
  ['/v1/messages', 'claude-sonnet-4.5', 'copilot/messages'],
  ['/v1/messages', 'gpt-5.4', 'copilot/responses'],
  ['/v1/messages', 'gpt-4.1', 'copilot/chat'],
] as const)(
  'the credits that upstream states for %s of %s over %s are reported, streamed or not',
  async (path, model, route) => {
    const proxy = await openProxy()
    const whole = await ask(proxy, path, { model })
    const streamed = await ask(proxy, path, { model, stream: true })
    expect([whole.status, streamed.status]).toEqual([200, 200])
    const [first, second] = served(proxy)
    expect(first).toMatchObject({ route, credits: expect.any(Number), tokensOut: expect.any(Number) })
    expect(first).not.toHaveProperty('estimated', true)
    expect(first?.['credits']).toBeGreaterThan(0)
    expect(second).toMatchObject({ route, credits: first?.['credits'], stream: true })
    expect(Number(whole.headers['x-copilot-proxy-credits'])).toBe(first?.['credits'])
    // The head of a stream is out before its credits are known.
    expect(streamed.headers['x-copilot-proxy-credits']).toBeUndefined()
  },
)

test.each([
  ['/v1/chat/completions', 'gpt-5-mini'],
  ['/v1/responses', 'gpt-5-mini'],
  ['/v1/responses', 'gpt-5.4'],
  ['/v1/messages', 'claude-sonnet-4.5'],
] as const)('a caller of %s gets the credits that upstream states for %s unchanged', async (path, model) => {
  const proxy = await openProxy()
  const change = { model, ...(path === '/v1/chat/completions' && { stream_options: { include_usage: true } }) }
  const streamed = await ask(proxy, path, { ...change, stream: true })
  const stated = /"copilot_usage":(\{"token_details":\[.*?\],"total_nano_aiu":(\d+)\})/.exec(streamed.text)
  expect(Number(stated?.[2]) / 1e9).toBe(served(proxy)[0]?.['credits'])
  const whole = await ask(proxy, path, { model })
  expect(whole.json()).toMatchObject({ copilot_usage: JSON.parse(stated?.[1] ?? '') })
})

/** The simulated Grok states no credits. */
const silent = 'grok-code-fast-1'

async function openPriced(file = '') {
  const list = JSON.parse(MODEL_LIST) as { data: { id: string; billing?: object }[] }
  const prices = { batch_size: 1000, default: { input_price: 1, output_price: 2 } }
  const data = list.data.map((entry) =>
    entry.id === silent ? { ...entry, billing: { ...entry.billing, multiplier: 0.25, token_prices: prices } } : entry,
  )
  const outcome = jsonReply(200, { ...list, data })
  const proxy = await openProxy({ file, prepare: (demo) => demo.script('/models', { outcome, times: 9 }) })
  // Until the live list is there, the model is a built-in one, which has no prices.
  await expect.poll(() => proxy.log.some(({ message }) => /model list loaded/i.test(message))).toBe(true)
  return proxy
}

test('credits that upstream does not state are computed from prices and marked as estimated', async () => {
  const proxy = await openPriced()
  const reply = await ask(proxy, '/v1/chat/completions', { model: silent })
  const [line] = served(proxy)
  const credits = (Number(line?.['tokensIn']) + 2 * Number(line?.['tokensOut'])) / 1000
  expect(line).toMatchObject({ credits, estimated: true })
  expect(reply.headers['x-copilot-proxy-credits']).toBe(`${credits};estimated`)
  const metrics = (await proxy.send('/metrics')).text
  const labels = `provider="copilot",model="${silent}"`
  expect(metrics).toContain(`copilot_proxy_credits_total{${labels},kind="estimated"} ${credits}\n`)
  expect((await proxy.send('/usage')).json()).toMatchObject({
    totals: { today: [{ model: silent, credits, estimated_credits: credits, estimated: true }] },
  })
})

test('without prices and upstream credits, no credits are reported', async () => {
  const proxy = await openProxy({
    prepare: (demo) =>
      demo.script('/models', {
        outcome: jsonReply(200, { data: [{ id: silent, capabilities: { type: 'chat' } }] }),
        times: 9,
      }),
  })
  const reply = await ask(proxy, '/v1/chat/completions', { model: silent })
  expect(reply.status).toBe(200)
  expect(reply.headers).not.toHaveProperty('x-copilot-proxy-credits')
  expect(served(proxy)[0]?.['credits']).toBeUndefined()
  expect((await proxy.send('/metrics')).text).not.toContain('credits_total')
  expect((await proxy.send('/usage')).json()).toMatchObject({
    totals: { today: [{ credits: null, estimated_credits: null, estimated: false }], month: { credits: null } },
  })
})

test('each key has its own totals, and only accepted user requests count as premium requests', async () => {
  const hash = 'a'.repeat(64)
  const proxy = await openPriced(`server: { api-keys: [plain-key, "laptop:sha256:${hash}"] }`)
  const headers = { authorization: 'Bearer plain-key' }
  const agent = { messages: [...question.messages, { role: 'assistant', content: 'Hello' }, ...question.messages] }
  await ask(proxy, '/v1/chat/completions', { model: silent }, headers)
  await ask(proxy, '/v1/chat/completions', { model: silent, ...agent }, headers)
  await ask(proxy, '/v1/chat/completions', { model: silent, ...saying('[demo:error 429]') }, headers)
  const reply = await proxy.send('/usage', { headers })
  expect(reply.json()).toMatchObject({
    totals: {
      today: [{ model: silent, requests: 3, errors: 1, premium_requests: 0.25 }],
      by_key: { today: [{ key: 'plain-1', requests: 3 }], month_to_date: [{ key: 'plain-1' }] },
    },
  })
  expect(reply.text).not.toMatch(/plain-key|aaaa/)
})
