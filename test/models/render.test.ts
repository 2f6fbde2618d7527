import { expect, test } from 'vitest'
import { createModelRegistry } from '../../src/models/registry.ts'
import { renderModel, renderModelList } from '../../src/models/render.ts'
import { copilotSeeds } from '../../src/models/seeds.ts'
import OpenAI from 'openai'
import { codexModel, liveModels, model, tieredFacts } from './samples.ts'

function listed() {
  const registry = createModelRegistry({ aliases: {}, hide: [] })
  registry.register('record-1', liveModels())
  return registry.list()
}

test('a model is shown in OpenAI’s shape, with everything else under one key of our own', () => {
  const entry = listed().find(({ id }) => id === 'claude-haiku-4.5')
  expect(entry && renderModel(entry, 'auto')).toEqual({
    id: 'claude-haiku-4.5',
    object: 'model',
    created: 0,
    owned_by: 'Anthropic',
    copilot_proxy: {
      alias_of: null,
      fallbacks: [],
      provider: 'copilot',
      name: 'Claude Haiku 4.5',
      type: 'chat',
      family: 'claude-haiku-4.5',
      preview: false,
      policy: 'enabled',
      source: 'live',
      endpoints: ['/v1/messages', '/chat/completions'],
      routes: { chat: 'chat', responses: 'messages', messages: 'messages' },
      context_window: 200_000,
      max_prompt_tokens: 136_000,
      max_output_tokens: 64_000,
      context_tier: null,
      long_context: null,
      prices: null,
      premium_multiplier: null,
      notices: [],
      max_inputs: null,
      capabilities: {
        tool_calls: true,
        parallel_tool_calls: null,
        vision: true,
        structured_outputs: null,
        reasoning_effort: null,
      },
    },
  })
})

test('created is an integer and owned_by a name for every model, stated by upstream or not', () => {
  const seeds = copilotSeeds.map((seed) => ({ id: seed.id, model: seed }))
  for (const entry of renderModelList([...listed(), ...seeds], 'auto').data) {
    expect(Number.isInteger(entry.created)).toBe(true)
    expect(entry.owned_by).not.toBe('')
  }
  const stated = renderModel({ id: 'x', model: model('x', { createdSeconds: 1_750_000_000 }) }, 'auto')
  expect(stated.created).toBe(1_750_000_000)
})

test('a model without a vendor is its provider’s', () => {
  expect(renderModel({ id: 'x', model: { ...codexModel('x'), vendor: undefined } }, 'auto').owned_by).toBe('openai')
  expect(renderModel({ id: 'x', model: model('x') }, 'auto').owned_by).toBe('github-copilot')
})

test('a Codex model shows its provider and that Responses serves every caller, whatever is forced on Copilot', () => {
  const entry = { id: 'codex/gpt-6-sol', model: codexModel('gpt-6-sol') }
  for (const setting of ['auto', 'chat'] as const) {
    expect(renderModel(entry, setting)).toMatchObject({
      id: 'codex/gpt-6-sol',
      copilot_proxy: {
        provider: 'codex',
        endpoints: ['/responses'],
        routes: { chat: 'responses', responses: 'responses', messages: 'responses' },
      },
    })
  }
})

test('the openai package reads the list', async () => {
  const client = new OpenAI({
    apiKey: 'example',
    baseURL: 'http://127.0.0.1/v1',
    fetch: async () => Response.json(renderModelList(listed(), 'auto')),
  })
  const ids: string[] = []
  for await (const entry of client.models.list()) ids.push(entry.id)
  expect(ids).toEqual(listed().map(({ id }) => id))
})

test('the setting that forces chat shows in the routes', () => {
  const entry = { id: 'x', model: model('x', { endpoints: ['/chat/completions', '/responses', '/v1/messages'] }) }
  expect(renderModel(entry, 'chat').copilot_proxy.routes).toEqual({ chat: 'chat', responses: 'chat', messages: 'chat' })
  expect(renderModel(entry, 'auto').copilot_proxy.routes).toEqual({
    chat: 'chat',
    responses: 'responses',
    messages: 'messages',
  })
})

test('a model without a dialect has no routes', () => {
  const entry = { id: 'e', model: model('e', { endpoints: ['/embeddings'] }) }
  expect(renderModel(entry, 'auto').copilot_proxy.routes).toEqual({ chat: null, responses: null, messages: null })
})

test('a model with a long context tier is one row, which says what the other name is, and both prices', () => {
  const registry = createModelRegistry({ aliases: {}, hide: [] })
  registry.register('record-1', [model('gpt-5.4', tieredFacts)])
  const { data } = renderModelList(registry.list(), 'auto')
  expect(data).toHaveLength(1)
  expect(data[0]?.copilot_proxy).toMatchObject({
    context_window: 272_000,
    max_prompt_tokens: 272_000,
    context_tier: 'default',
    long_context: { id: 'gpt-5.4[1m]', context_window: 922_000, max_prompt_tokens: 922_000 },
    prices: {
      unit: 'credits per million tokens',
      default: {
        input: 250,
        output: 1500,
        cache_read: 25,
        cache_write: null,
        cache_write_1h: null,
        context_max: 272_000,
      },
      long_context: {
        input: 500,
        output: 2250,
        cache_read: 50,
        cache_write: null,
        cache_write_1h: null,
        context_max: 922_000,
      },
    },
    premium_multiplier: 1,
    notices: [{ level: 'warning', code: null, message: 'To be retired.' }],
  })
  const asked = registry.resolve('gpt-5.4[1m]')
  expect(asked.ok && renderModel(asked.value, 'auto')).toMatchObject({
    id: 'gpt-5.4[1m]',
    copilot_proxy: { context_window: 922_000, max_prompt_tokens: 922_000, context_tier: 'long', long_context: null },
  })
})
