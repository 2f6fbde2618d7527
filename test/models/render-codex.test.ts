import { expect, test } from 'vitest'
import { renderCodexCatalogue } from '../../src/models/render-codex.ts'
import { model } from './samples.ts'

test('Codex sees the models that chat, in the order of the list', () => {
  const supports = { vision: true, parallelToolCalls: true, reasoningEffort: ['low', 'medium'] }
  const { models } = renderCodexCatalogue([
    { id: 'a', model: model('a', { name: 'A', contextWindow: 264_000, supports }) },
    { id: 'vectors', model: model('vectors', { type: 'embeddings' }) },
    { id: 'b', model: model('b') },
  ])
  expect(models.map(({ slug, priority }) => [slug, priority])).toEqual([
    ['a', 0],
    ['b', 1],
  ])
  expect(models[0]).toMatchObject({
    display_name: 'A',
    context_window: 264_000,
    input_modalities: ['text', 'image'],
    supported_reasoning_levels: [
      { effort: 'low', description: 'low' },
      { effort: 'medium', description: 'medium' },
    ],
    default_reasoning_level: 'medium',
    supports_parallel_tool_calls: true,
  })
  expect(models[1]).toMatchObject({ default_reasoning_level: null, input_modalities: ['text'] })
})
