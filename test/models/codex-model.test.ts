import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { parseCodexModels } from '../../src/models/codex-model.ts'
import { codexModels, codexReply } from './samples.ts'

const byId = (id: string) => codexModels().find((model) => model.id === id)

describe('the catalogue of a ChatGPT login', () => {
  test('is read in the order of its priorities, entries without one last, and what cannot be read is counted', () => {
    const list = parseCodexModels(codexReply)
    expect(list?.models.map(({ id }) => id)).toEqual([
      'gpt-6.1-sol',
      'gpt-6-sol',
      'gpt-5.5',
      'codex-auto-review',
      'gpt-6-sol',
      'bare-model',
      'odd-model',
    ])
    expect(list?.leftOut).toBe(5)
  })

  test('a complete entry becomes a model with all its facts and none of its prompts', () => {
    expect(byId('gpt-6-sol')).toEqual({
      provider: 'codex',
      id: 'gpt-6-sol',
      name: 'GPT-6 Sol',
      type: 'chat',
      family: 'gpt-6-sol',
      vendor: 'OpenAI',
      contextWindow: 272_000,
      maxContextWindow: 872_000,
      endpoints: ['/responses'],
      preview: false,
      pickerEnabled: true,
      source: 'live',
      defaultReasoningEffort: 'medium',
      responsesLite: true,
      supports: {
        toolCalls: true,
        parallelToolCalls: true,
        vision: true,
        reasoningEffort: ['low', 'medium', 'high', 'xhigh', 'max'],
      },
    })
    expect(JSON.stringify(codexModels())).not.toContain('PROMPT')
  })

  test('distinguishes members stated as absent from members not stated', () => {
    expect(byId('gpt-6.1-sol')).toMatchObject({
      responsesLite: false,
      supports: { parallelToolCalls: false, vision: false },
    })
    expect(byId('bare-model')).toMatchObject({
      name: 'bare-model',
      pickerEnabled: true,
      responsesLite: undefined,
      contextWindow: undefined,
      supports: { parallelToolCalls: undefined, vision: undefined, reasoningEffort: undefined },
    })
  })

  test('a model that Codex hides is not offered', () => {
    expect(byId('codex-auto-review')?.pickerEnabled).toBe(false)
  })

  test('fields of a wrong type count as absent, the rest of the entry is kept', () => {
    expect(byId('odd-model')).toMatchObject({
      name: 'odd-model',
      pickerEnabled: true,
      contextWindow: 400_000,
      maxContextWindow: 400_000,
      responsesLite: undefined,
      supports: { parallelToolCalls: undefined, vision: undefined, reasoningEffort: undefined },
    })
  })
})

test.each([
  [{ supports_verbosity: true }, { verbosity: true }],
  [{ support_verbosity: false }, { verbosity: false }],
  [{ supports_reasoning_summary_parameter: true }, { reasoningSummary: true }],
  [{}, { verbosity: undefined, reasoningSummary: undefined }],
])('%o says which parameters the model takes', (stated, supports) => {
  expect(parseCodexModels({ models: [{ slug: 'one', ...stated }] })?.models).toMatchObject([{ supports }])
})

const entry = (id: string, created = 0) => ({ id, object: 'model', created, owned_by: 'system' })
const read = (...ids: readonly string[]) => parseCodexModels({ object: 'list', data: ids.map((id) => entry(id)) })

describe('the list of an API key', () => {
  test.each([
    'gpt-6.1-sol',
    'gpt-5',
    'gpt-5-chat-latest',
    'gpt-4.1-mini',
    'gpt-3.5-turbo',
    'o3',
    'o4-mini-deep-research',
    'chatgpt-4o-latest',
    'codex-mini-latest',
    'computer-use-preview',
    'ft:gpt-4.1-mini-2025-04-14:example:image-tts:abc',
  ])('%s speaks Responses', (id) => {
    expect(read(id)?.models).toMatchObject([
      { id, provider: 'codex', type: 'chat', vendor: 'OpenAI', endpoints: ['/responses'], pickerEnabled: true },
    ])
  })

  test.each([
    'text-embedding-3-small',
    'gpt-image-1',
    'gpt-4o-realtime-preview',
    'gpt-4o-audio-preview-2024-12-17',
    'gpt-4o-mini-transcribe',
    'gpt-4o-mini-tts',
    'gpt-4o-search-preview',
    'gpt-5-search-api',
    'gpt-3.5-turbo-instruct',
    'chatgpt-image-latest',
    'dall-e-3',
    'whisper-1',
    'tts-1-hd',
    'sora-2',
    'omni-moderation-latest',
    'davinci-002',
    'babbage-002',
  ])('%s is left out and counted', (id) => {
    expect(read('gpt-5', id)).toMatchObject({ models: [{ id: 'gpt-5' }], leftOut: 1 })
  })

  test('an id of no known family answers to its name without being of a kind that is listed', () => {
    expect(read('omega-1')?.models).toMatchObject([{ id: 'omega-1', type: 'other', endpoints: ['/responses'] }])
  })

  test('the newest come first', () => {
    const data = [entry('gpt-4.1', 10), entry('gpt-6-sol', 30), entry('gpt-5', 20), { id: 'o3' }]
    expect(parseCodexModels({ data })?.models.map(({ id }) => id)).toEqual(['gpt-6-sol', 'gpt-5', 'gpt-4.1', 'o3'])
  })

  test('a dated copy is offered only where its undated name is not', () => {
    const offered = read('gpt-5', 'gpt-5-2025-08-07', 'gpt-4-0613', 'gpt-4', 'gpt-4o-2024-08-06')
      ?.models.filter((model) => model.pickerEnabled)
      .map(({ id }) => id)
    expect(offered).toEqual(['gpt-5', 'gpt-4', 'gpt-4o-2024-08-06'])
  })

  test('entries that cannot be read are counted', () => {
    const list = parseCodexModels({ data: [entry('gpt-5'), {}, null, 'o3', { id: 'a\u001B[2Jb' }] })
    expect(list).toMatchObject({ models: [{ id: 'gpt-5' }], leftOut: 4 })
  })
})

test.each([undefined, null, 'text', 7, {}, { models: 'x' }, { data: null }, []])('%j is not a model list', (reply) => {
  expect(parseCodexModels(reply)).toBeUndefined()
})

test('no list of JSON values makes it throw, and every entry is either a model or counted', () => {
  const entries = fc.array(
    fc.oneof(fc.jsonValue(), fc.record({ slug: fc.string(), id: fc.constantFrom('gpt-5', 'tts-1') })),
  )
  fc.assert(
    fc.property(entries, fc.constantFrom('models', 'data'), (items, key) => {
      const list = parseCodexModels({ [key]: items })
      expect((list?.models.length ?? 0) + (list?.leftOut ?? 0)).toBe(items.length)
    }),
  )
})

test('an odd value in any one field never costs the entry', () => {
  const fields = [
    'display_name',
    'visibility',
    'priority',
    'context_window',
    'max_context_window',
    'input_modalities',
    'supported_reasoning_levels',
    'default_reasoning_level',
    'supports_parallel_tool_calls',
    'supports_reasoning_summary_parameter',
    'supports_verbosity',
    'support_verbosity',
    'use_responses_lite',
  ]
  fc.assert(
    fc.property(fc.constantFrom(...fields), fc.jsonValue(), (field, value) => {
      const models = parseCodexModels({ models: [{ slug: 'kept', [field]: value }] })?.models ?? []
      expect(models.map((model) => model.id)).toEqual(['kept'])
    }),
  )
})
