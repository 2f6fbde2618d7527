import { expect, test } from 'vitest'
import { parseCopilotModels } from '../../../src/models/copilot-model.ts'
import { createModelRegistry } from '../../../src/models/registry.ts'
import { MODEL_LIST, modelList, MODELS } from './models.ts'
import { ask, editorHeaders, openCopilot } from './test-client.ts'

interface Entry {
  readonly id: string
  readonly vendor?: string
  readonly policy?: { readonly state: string }
  readonly capabilities?: { readonly type: string; readonly family: string }
  readonly supported_endpoints?: readonly string[]
}

const list: { readonly object: string; readonly data: readonly Entry[] } = JSON.parse(MODEL_LIST)

test('lists well-known models, each described as simulated', () => {
  expect(list.object).toBe('list')
  const ids = list.data.map((entry) => entry.id)
  for (const id of ['gpt-5-mini', 'gpt-5', 'gpt-4.1', 'claude-sonnet-4.5', 'gemini-2.5-pro', 'grok-code-fast-1']) {
    expect(ids).toContain(id)
  }
  const vendors = list.data.flatMap((entry) => entry.vendor ?? [])
  expect(vendors.filter((vendor) => !/^Simulated .+ \(demo\)$/.test(vendor))).toEqual([])
})

test('has the oddities of a real list: a repeated id, a disabled model, a bare entry, other types', () => {
  const ids = list.data.map((entry) => entry.id)
  expect(ids.filter((id) => id === 'gpt-3.5-turbo')).toHaveLength(2)
  expect(list.data.find((entry) => entry.policy?.state === 'disabled')?.id).toBe('claude-opus-4.5')
  expect(list.data.filter((entry) => entry.capabilities === undefined)).toEqual([{ id: 'mai-code-1-flash' }])
  const types = new Set(list.data.flatMap((entry) => entry.capabilities?.type ?? []))
  expect(types).toEqual(new Set(['chat', 'embeddings', 'completion']))
})

test('states a dated version, by which callers can name the model', () => {
  const registry = createModelRegistry({ aliases: {}, hide: [] })
  registry.register('demo', parseCopilotModels(list)?.models ?? [])
  expect(registry.resolve('gpt-4.1-2025-04-14')).toMatchObject({ value: { id: 'gpt-4.1' } })
})

test('a model without supported_endpoints answers chat, a responses-only one does not', () => {
  expect(list.data.find((entry) => entry.id === 'gpt-4.1')).not.toHaveProperty('supported_endpoints')
  expect(MODELS.find('gpt-4.1')?.endpoints).toEqual(['/chat/completions'])
  expect(list.data.find((entry) => entry.id === 'gpt-5.4')?.supported_endpoints).not.toContain('/chat/completions')
})

test('serves the list and single models', async () => {
  const demo = await openCopilot()
  const headers = editorHeaders(demo, { 'x-github-api-version': '2026-06-01' })
  const whole = await fetch(`${demo.url}/models`, { headers })
  const listed: typeof list = JSON.parse(await whole.text())
  expect(listed).toEqual(JSON.parse(modelList('2026-06-01')))
  const one = await fetch(`${demo.url}/models/gpt-5.1`, { headers })
  expect(await one.json()).toEqual(listed.data.find((entry) => entry.id === 'gpt-5.1'))
  const none = await fetch(`${demo.url}/models/nope`, { headers })
  expect(none.status).toBe(400)
  expect(await none.json()).toMatchObject({ error: { code: 'model_not_supported' } })
})

function endpoints(id: string): readonly string[] {
  return MODELS.find(id)?.endpoints ?? []
}

test.each([
  { version: '', limits: [400_000, 272_000], tiers: false, cache: 'cache_price' },
  { version: '2025-05-01', limits: [400_000, 272_000], tiers: false, cache: 'cache_price' },
  { version: '2026-06-01', limits: [1_050_000, 922_000], tiers: true, cache: 'cache_price' },
  { version: '2026-08-01', limits: [1_050_000, 922_000], tiers: true, cache: 'cache_read_price' },
])('the API version $version lists context tiers: $tiers', ({ version, limits, tiers, cache }) => {
  const { data } = JSON.parse(modelList(version))
  const entry = data.find(({ id }: { id: string }) => id === 'gpt-5.2')
  const { max_context_window_tokens: window, max_prompt_tokens: prompt } = entry.capabilities.limits
  expect([window, prompt]).toEqual(limits)
  const { default: normal, long_context: long } = entry.billing.token_prices
  expect(Object.keys(normal)).toEqual(['input_price', 'output_price', cache, ...(tiers ? ['context_max'] : [])])
  expect(long).toEqual(tiers ? { input_price: 350, output_price: 2100, [cache]: 35, context_max: 922_000 } : undefined)
})

test.each([
  ['2026-06-01', 300_000, 200],
  ['2026-06-01', 930_000, 400],
  ['2025-05-01', 300_000, 400],
])('with API version %s a prompt of %d tokens is answered with %d', async (version, tokens, status) => {
  const demo = await openCopilot()
  const headers = { 'x-github-api-version': version }
  const content = 'word '.repeat(Math.ceil((tokens * 4) / 5))
  const reply = await ask(demo, '', { model: 'gpt-5.2', messages: [{ role: 'user', content }] }, { headers })
  expect(reply.status).toBe(status)
  const text = await reply.text()
  if (status === 400) expect(text).toContain('model_max_prompt_tokens_exceeded')
})

test('a model whose policy is no plain yes answers nothing', async () => {
  const demo = await openCopilot()
  for (const model of ['claude-opus-4.5', 'gemini-3.1-pro-preview', 'grok-4.5']) {
    const reply = await ask(demo, 'Hi', { model })
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: { code: 'model_not_supported' } }])
  }
})

test('has models for every set of endpoints, with what tells them apart', () => {
  expect(endpoints('gpt-5-mini')).toEqual(['/chat/completions', '/responses', 'ws:/responses'])
  expect(endpoints('gpt-5.3-codex')).toEqual(['/responses', 'ws:/responses'])
  expect(endpoints('claude-opus-4.8')).toEqual(['/v1/messages', '/chat/completions'])
  expect(endpoints('claude-opus-4.7')).toEqual(['/v1/messages'])
  expect(endpoints('demo-bench')).toEqual(['/chat/completions'])
  expect(endpoints('demo-bench-responses')).toEqual(['/responses'])
  expect(endpoints('demo-bench-messages')).toEqual(['/v1/messages'])
})

test.for<[string, Readonly<Record<string, unknown>>]>([
  ['claude-haiku-4.5', { min_thinking_budget: 1024, max_thinking_budget: 32_000 }],
  [
    'claude-opus-4.6',
    { adaptive_thinking: true, max_thinking_budget: 32_000, reasoning_effort: ['low', 'medium', 'high'] },
  ],
  ['claude-sonnet-5', { adaptive_thinking: true, reasoning_effort: ['low', 'medium', 'high'] }],
  ['claude-opus-4.7', { adaptive_thinking: true, reasoning_effort: ['medium'] }],
  ['gpt-5.3-codex', { reasoning_effort: ['low', 'medium', 'high', 'xhigh'] }],
])('%s states how it thinks', ([id, supports]) => {
  const entry = list.data.find((each) => each.id === id)
  expect(entry).toMatchObject({ capabilities: { supports } })
  const isAdaptiveOnly = 'adaptive_thinking' in supports && !('max_thinking_budget' in supports)
  if (isAdaptiveOnly) expect(entry).not.toHaveProperty('capabilities.supports.max_thinking_budget')
})
