import { expect, test } from 'vitest'
import { codexSeedClientId, codexSeeds } from '../../src/models/seeds.ts'

test('the seeds are what Codex CLI shows without asking, in its order', () => {
  expect(codexSeedClientId).toBe('codex:models:seed')
  expect(codexSeeds.map(({ id }) => id)).toEqual([
    'gpt-6.1-sol',
    'gpt-6-astra',
    'gpt-6-sol',
    'gpt-6-luna',
    'gpt-5.6-sol',
    'gpt-6.1-terra',
    'gpt-5.6-terra',
    'gpt-5.6-luna',
    'gpt-5.5',
  ])
})

test('every seed gives way to a live list, is reached by Responses alone and can do what agents need', () => {
  for (const seed of codexSeeds) {
    expect(seed).toMatchObject({
      provider: 'codex',
      source: 'seed',
      endpoints: ['/responses'],
      pickerEnabled: true,
      supports: { toolCalls: true, vision: true },
    })
  }
})

test('seeds differ where the models do', () => {
  const byId = new Map(codexSeeds.map((seed) => [seed.id, seed]))
  expect(byId.get('gpt-6.1-terra')).toMatchObject({ contextWindow: 500_000, maxContextWindow: 872_000 })
  expect(byId.get('gpt-5.5')).toMatchObject({
    contextWindow: 272_000,
    maxContextWindow: 272_000,
    responsesLite: false,
    supports: { reasoningEffort: ['low', 'medium', 'high', 'xhigh'] },
  })
  expect(byId.get('gpt-6-luna')).toMatchObject({
    defaultReasoningEffort: 'medium',
    responsesLite: true,
    supports: { reasoningEffort: ['low', 'medium', 'high', 'xhigh', 'max'] },
  })
})
