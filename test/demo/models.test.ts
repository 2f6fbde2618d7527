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
