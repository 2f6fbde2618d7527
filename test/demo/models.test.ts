import { expect, test } from 'vitest'
import { findModel, MODEL_LIST } from '../../src/demo/models.ts'
import { editorHeaders, startDemo } from './client.ts'

interface Entry {
  readonly id: string
  readonly vendor?: string
  readonly policy?: { readonly state: string }
  readonly capabilities?: { readonly type: string; readonly family: string }
  readonly supported_endpoints?: readonly string[]
}

const list: { readonly object: string; readonly data: readonly Entry[] } = JSON.parse(MODEL_LIST)

test('lists the models a newcomer knows, all of them said to be simulated', () => {
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

test('a model without supported_endpoints answers chat, a responses-only one does not', () => {
  expect(list.data.find((entry) => entry.id === 'gpt-4.1')).not.toHaveProperty('supported_endpoints')
  expect(findModel('gpt-4.1')?.endpoints).toEqual(['/chat/completions'])
  expect(list.data.find((entry) => entry.id === 'gpt-5.4')?.supported_endpoints).not.toContain('/chat/completions')
})

test('serves the list and single models', async () => {
  const demo = await startDemo()
  const headers = editorHeaders(demo)
  const whole = await fetch(`${demo.url}/models`, { headers })
  expect(await whole.json()).toEqual(list)
  const one = await fetch(`${demo.url}/models/gpt-5.1`, { headers })
  expect(await one.json()).toEqual(list.data.find((entry) => entry.id === 'gpt-5.1'))
  const none = await fetch(`${demo.url}/models/nope`, { headers })
  expect(none.status).toBe(400)
  expect(await none.json()).toMatchObject({ error: { code: 'model_not_supported' } })
})

function endpoints(id: string): readonly string[] {
  return findModel(id)?.endpoints ?? []
}

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
