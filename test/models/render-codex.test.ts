import { expect, test } from 'vitest'
import { renderCodexCatalogue } from '../../src/models/codex-catalogue.ts'
import { createModelRegistry } from '../../src/models/registry.ts'
import { codexModels, model, tieredFacts } from './samples.ts'

test('Codex sees the models that chat, in the order of the list', () => {
  const supports = { vision: true, parallelToolCalls: true, reasoningEffort: ['low', 'medium'] }
  const { models } = renderCodexCatalogue([
    { id: 'a', model: model('a', { name: 'A', contextWindow: 264_000, supports }) },
    { id: 'vectors', model: model('vectors', { type: 'embeddings' }) },
    { id: 'b', model: model('b', { contextWindow: 264_000, maxPromptTokens: 128_000 }) },
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
  // Codex compacts by the window: beyond this upstream takes no prompt.
  expect(models[1]).toMatchObject({ context_window: 128_000, max_context_window: 128_000 })
})

test('Codex sees the models of both providers, its own with the window and the effort its maker states', () => {
  const registry = createModelRegistry({ aliases: {}, hide: [] })
  registry.register('record-1', [model('gpt-5.5', { contextWindow: 264_000 })])
  registry.register('account-1', codexModels())
  const { models } = renderCodexCatalogue(registry.list())
  expect(models.map(({ slug, priority }) => [slug, priority])).toEqual([
    ['gpt-5.5', 0],
    ['gpt-6.1-sol', 1],
    ['gpt-6-sol', 2],
    ['codex/gpt-5.5', 3],
    ['bare-model', 4],
    ['odd-model', 5],
  ])
  expect(models[0]).toMatchObject({ context_window: 264_000, max_context_window: 264_000 })
  expect(models[1]).toMatchObject({
    default_reasoning_level: 'low',
    max_context_window: 272_000,
    input_modalities: ['text'],
  })
  expect(models[2]).toMatchObject({
    display_name: 'GPT-6 Sol',
    context_window: 272_000,
    max_context_window: 872_000,
    default_reasoning_level: 'medium',
    supports_parallel_tool_calls: true,
  })
  expect(models[2]?.supported_reasoning_levels.map(({ effort }) => effort)).toEqual([
    'low',
    'medium',
    'high',
    'xhigh',
    'max',
  ])
})

test('an effort that is stated as the default and not as one of the levels is not repeated', () => {
  const supports = { reasoningEffort: ['low', 'high'] }
  const { models } = renderCodexCatalogue([
    { id: 'a', model: model('a', { supports, defaultReasoningEffort: 'ultra' }) },
  ])
  expect(models[0]?.default_reasoning_level).toBe('low')
})

test('a long context tier is a row of its own, and neither row claims more than its tier', () => {
  const { models } = renderCodexCatalogue([{ id: 'gpt-5.4', model: model('gpt-5.4', tieredFacts) }])
  expect(models).toMatchObject([
    { slug: 'gpt-5.4', context_window: 272_000, max_context_window: 272_000 },
    { slug: 'gpt-5.4-long-context', context_window: 922_000, max_context_window: 922_000 },
  ])
})
