import { fc } from '../fast-check.ts'
import { expect, test } from 'vitest'
import { parseCopilotModels, toCopilotModel } from '../../src/models/copilot-model.ts'
import { parseModelList } from '../../src/models/wire.ts'
import { copilotReply, liveModels } from './samples.ts'

const byId = (id: string) => liveModels().find((model) => model.id === id)

test('reads every entry it can and counts the ones it cannot', () => {
  const list = parseModelList(copilotReply)
  expect(list?.entries.map((entry) => entry.id)).toEqual([
    'claude-opus-4.6-1m',
    'claude-opus-4.6',
    'claude-haiku-4.5',
    'claude-sonnet-4.6',
    'gpt-5.3-codex',
    'gpt-5-mini',
    'gpt-4.1',
    'gpt-4.1',
    'gpt-4o-mini',
    'gpt-41-copilot',
    'text-embedding-3-small',
    'bare-model',
    'odd-model',
  ])
  expect(list?.leftOut).toBe(5)
})

test.each([undefined, null, 'text', 7, {}, { data: 'x' }, { data: null }, []])('%j is not a model list', (reply) => {
  expect(parseModelList(reply)).toBeUndefined()
})

test('a complete entry becomes a model with all its facts', () => {
  expect(byId('claude-opus-4.6')).toEqual({
    provider: 'copilot',
    id: 'claude-opus-4.6',
    name: 'Claude Opus 4.6',
    type: 'chat',
    family: 'claude-opus-4.6',
    vendor: 'Anthropic',
    version: 'claude-opus-4.6',
    contextWindow: 200_000,
    maxPromptTokens: 168_000,
    maxOutputTokens: 32_000,
    maxInputs: undefined,
    endpoints: ['/v1/messages', '/chat/completions'],
    policy: 'enabled',
    preview: false,
    pickerEnabled: true,
    createdSeconds: undefined,
    source: 'live',
    premiumMultiplier: 3,
    prices: { default: { input: 1 } },
    imageLimits: { maxImages: 1, maxImageBytes: 3_145_728, mediaTypes: ['image/jpeg', 'image/png'] },
    supports: {
      toolCalls: true,
      adaptiveThinking: true,
      parallelToolCalls: true,
      vision: true,
      structuredOutputs: true,
      prediction: undefined,
      reasoningEffort: ['low', 'medium', 'high'],
    },
  })
})

const thousand = (count: number | undefined) => (count === undefined ? undefined : count * 1000)

/** Limits in thousands of tokens, as upstream states them, and where each tier ends. */
test.each<{
  readonly what: string
  readonly limits: readonly [window?: number, prompt?: number]
  readonly tiers?: readonly [ends?: number | undefined, longEnds?: number]
  readonly offered: readonly [window?: number, prompt?: number]
  readonly long?: readonly [window?: number, prompt?: number]
}>([
  { what: 'Claude with two tiers', limits: [1000, 936], tiers: [200, 936], offered: [200, 200], long: [936, 936] },
  { what: 'GPT with two tiers', limits: [1050, 922], tiers: [272, 922], offered: [272, 272], long: [922, 922] },
  {
    what: 'a long tier whose end is not stated',
    limits: [1050, 922],
    tiers: [272],
    offered: [272, 272],
    long: [1050, 922],
  },
  { what: 'no limits but those of the tiers', limits: [], tiers: [272, 922], offered: [272, 272], long: [922, 922] },
  { what: 'limits below the end of the default tier', limits: [200, 168], tiers: [272, 922], offered: [200, 168] },
  {
    what: 'limits of an older API version: the default tier',
    limits: [200, 200],
    tiers: [200, 936],
    offered: [200, 200],
  },
  { what: 'one tier', limits: [264, 128], offered: [264, 128] },
  {
    what: 'a default tier whose end is not stated',
    limits: [1000, 936],
    tiers: [undefined, 936],
    offered: [1000, 936],
  },
])('a client gets the limits of the default tier: $what', ({ limits, tiers, offered, long }) => {
  const [longWindow, longPrompt] = long ?? []
  // As each API version writes it.
  for (const end of ['context_max', 'max_prompt_tokens']) {
    const tier = (ends: number | undefined) => ({ input_price: 1, [end]: thousand(ends) })
    const entry = {
      id: 'example',
      capabilities: {
        limits: { max_context_window_tokens: thousand(limits[0]), max_prompt_tokens: thousand(limits[1]) },
      },
      billing: { token_prices: tiers && { default: tier(tiers[0]), long_context: tier(tiers[1]) } },
    }
    const model = parseCopilotModels({ data: [entry] })?.models[0]
    expect([model?.contextWindow, model?.maxPromptTokens]).toEqual(offered.map(thousand))
    expect(model?.longContext).toEqual(
      long && { contextWindow: thousand(longWindow), maxPromptTokens: thousand(longPrompt) },
    )
  }
})

test.each([
  ['cache_price', 1_000_000, 1],
  ['cache_read_price', 1_000_000, 1],
  ['cache_read_price', 1000, 1000],
  ['cache_read_price', undefined, 1],
])('prices are per million tokens: %s for %s', (cacheName, batch, factor) => {
  const tier = { input_price: 3, output_price: 15, [cacheName]: 0.5, cache_write_price: 4, cache_write_1h: 6 }
  const { prices } = toCopilotModel({
    id: 'example',
    billing: { token_prices: { batch_size: batch, default: tier, long_context: { ...tier, input_price: 6 } } },
  })
  const expected = { input: 3, output: 15, cacheRead: 0.5, cacheWrite: 4, cacheWrite1h: 6 }
  const scaled = Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, value * factor]))
  expect(prices).toMatchObject({ default: scaled, longContext: { ...scaled, input: 6 * factor } })
})

test('a notice is a warning or an info, in a list or, as a warning, a text of its own', () => {
  const { notices } = toCopilotModel({
    id: 'example',
    info_messages: [{ code: 'news', message: 'Faster.' }],
    warning_messages: [{ code: 'old', message: 'To be retired.' }, { code: 'empty' }],
    warning_message: 'Slow today.',
  })
  expect(notices).toEqual([
    { level: 'warning', code: 'old', message: 'To be retired.' },
    { level: 'warning', code: undefined, message: 'Slow today.' },
    { level: 'info', code: 'news', message: 'Faster.' },
  ])
})

test('an entry that is nothing but an id is an ungated chat model', () => {
  expect(byId('bare-model')).toMatchObject({
    name: 'bare-model',
    family: 'bare-model',
    type: 'chat',
    endpoints: ['/chat/completions'],
    policy: undefined,
    pickerEnabled: true,
  })
})

test('fields of a wrong type count as absent, the rest of the entry is kept', () => {
  expect(byId('odd-model')).toMatchObject({
    name: 'odd-model',
    vendor: undefined,
    preview: false,
    pickerEnabled: true,
    createdSeconds: undefined,
    // A state that is not known does not open a model.
    policy: 'someday',
    notices: [{ level: 'warning', code: 'example', message: 'Example' }],
    contextWindow: undefined,
    maxOutputTokens: undefined,
    maxPromptTokens: 1000,
    endpoints: ['/responses'],
    supports: { toolCalls: undefined, vision: true, reasoningEffort: ['low'] },
  })
})

test.each([
  { type: 'chat', stated: undefined, endpoints: ['/chat/completions'] },
  { type: 'chat', stated: [], endpoints: ['/chat/completions'] },
  { type: 'chat', stated: ['/responses', 'ws:/responses'], endpoints: ['/responses', 'ws:/responses'] },
  { type: 'embeddings', stated: undefined, endpoints: ['/embeddings'] },
  { type: 'completion', stated: undefined, endpoints: ['/completions'] },
  // What type such a model states has not been captured.
  { type: 'chat', stated: ['/v1/images/generations'], endpoints: ['/v1/images/generations'] },
  { type: 'something-new', stated: undefined, endpoints: [] },
])('a model of type $type stating endpoints $stated is reached through $endpoints', ({ type, stated, endpoints }) => {
  const model = toCopilotModel({ id: 'example', capabilities: { type }, supported_endpoints: stated })
  expect(model.endpoints).toEqual(endpoints)
})

test('the id decides the type of an entry without one', () => {
  expect(toCopilotModel({ id: 'text-embedding-ada-002' }).type).toBe('embeddings')
  expect(toCopilotModel({ id: 'gpt-4.1' }).type).toBe('chat')
})

test('an empty list of efforts states none', () => {
  const model = toCopilotModel({ id: 'example', capabilities: { supports: { reasoning_effort: [] } } })
  expect(model.supports.reasoningEffort).toBeUndefined()
})

test('an id with control characters is left out, so that it cannot reach a terminal or a header', () => {
  expect(parseModelList({ data: [{ id: 'a\u001B[2Jb' }, { id: 'a\r\nx: y' }, { id: 'fine' }] })).toMatchObject({
    entries: [{ id: 'fine' }],
    leftOut: 2,
  })
})

test('no list of JSON values makes it throw, and every entry is either read or counted', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.jsonValue(), fc.record({ id: fc.string() }))), (data) => {
      const list = parseModelList({ data })
      expect((list?.entries.length ?? 0) + (list?.leftOut ?? 0)).toBe(data.length)
    }),
  )
})

test('an odd value in any one field never costs the entry', () => {
  const fields = ['name', 'vendor', 'preview', 'model_picker_enabled', 'created', 'policy', 'capabilities'] as const
  fc.assert(
    fc.property(fc.constantFrom(...fields, 'supported_endpoints'), fc.jsonValue(), (field, value) => {
      const models = (parseModelList({ data: [{ id: 'kept', [field]: value }] })?.entries ?? []).map(toCopilotModel)
      expect(models.map((model) => model.id)).toEqual(['kept'])
    }),
  )
})
