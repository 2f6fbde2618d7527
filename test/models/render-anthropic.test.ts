import { expect, test } from 'vitest'
import { renderAnthropicList, renderAnthropicModel } from '../../src/models/render.ts'
import { model, tieredFacts } from './samples.ts'

const ids = ['a', 'b', 'c', 'd']
const listed = [
  ...ids.map((id) => ({ id, model: model(id) })),
  { id: 'vectors', model: model('vectors', { type: 'embeddings' }) },
]

function page(query: { readonly limit: number; readonly afterId?: string; readonly beforeId?: string }) {
  const list = renderAnthropicList(listed, query)
  return { ids: list.data.map(({ id }) => id), more: list.has_more, first: list.first_id, last: list.last_id }
}

test('a model has Anthropic\u2019s members, the time as RFC 3339', () => {
  const stated = { createdSeconds: 1_750_000_000, maxPromptTokens: 168_000, maxOutputTokens: 32_000 }
  expect(renderAnthropicModel({ id: 'x', model: model('x', { name: 'X', ...stated }) })).toEqual({
    type: 'model',
    id: 'x',
    display_name: 'X',
    created_at: '2025-06-15T15:06:40Z',
    max_input_tokens: 168_000,
    max_tokens: 32_000,
  })
  expect(renderAnthropicModel({ id: 'y', model: model('y') })).toMatchObject({
    created_at: '1970-01-01T00:00:00Z',
    max_tokens: null,
  })
})

test.each([
  [{ limit: 20 }, { ids, more: false, first: 'a', last: 'd' }],
  [{ limit: 2 }, { ids: ['a', 'b'], more: true, first: 'a', last: 'b' }],
  [
    { limit: 2, afterId: 'b' },
    { ids: ['c', 'd'], more: false, first: 'c', last: 'd' },
  ],
  [
    { limit: 2, beforeId: 'd' },
    { ids: ['b', 'c'], more: true, first: 'b', last: 'c' },
  ],
  [
    { limit: 2, afterId: 'd' },
    { ids: [], more: false, first: null, last: null },
  ],
])('%j is a page of the models that chat', (query, expected) => {
  expect(page(query)).toEqual(expected)
})

test('a long context tier is listed after its model, under Claude Code’s name for it', () => {
  const { data } = renderAnthropicList([{ id: 'a', model: model('a', tieredFacts) }, ...listed], { limit: 3 })
  expect(data).toMatchObject([
    { id: 'a', max_input_tokens: 272_000 },
    { id: 'a[1m]', display_name: 'a (long context)', max_input_tokens: 922_000 },
    { id: 'a', max_input_tokens: null },
  ])
})
