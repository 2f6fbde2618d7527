import { describe, expect, test } from 'vitest'
import { parseAccountModels, parseAutoReply } from '../../src/models/auto-model.ts'
import { createModelRegistry } from '../../src/models/registry.ts'

const entry = (id: string, context: number, more: object = {}) => ({
  id,
  capabilities: {
    type: 'chat',
    limits: { max_context_window_tokens: context, max_prompt_tokens: context - 10, max_output_tokens: 5 },
    supports: { tool_calls: true },
  },
  ...more,
})

const listOf = (...data: readonly object[]) => {
  const models = parseAccountModels({ data })?.models ?? []
  return { models, auto: models.find(({ id }) => id === 'auto') }
}

/** They are listed after all models, and have a name only. */
const tiers = ['auto:efficiency', 'auto:balance', 'auto:intelligence']

describe('the model auto', () => {
  test('is the last one, as large as the smallest model that may be chosen', () => {
    const { models, auto } = listOf(entry('small', 100), entry('large', 300))
    expect(models.map(({ id }) => id)).toEqual(['small', 'large', 'auto', ...tiers])
    expect(auto).toMatchObject({ contextWindow: 100, maxPromptTokens: 90, maxOutputTokens: 5, source: 'live' })
  })

  test.each([
    ['those with a discount for it', entry('small', 100), entry('large', 300, { billing: { auto_discount: 0.1 } })],
    ['those that clients offer', entry('small', 100, { model_picker_enabled: false }), entry('large', 300)],
    ['those that call tools', { id: 'small' }, entry('large', 300)],
    ['those that are not closed', entry('small', 100, { policy: { state: 'pending' } }), entry('large', 300)],
  ])('goes by %s', (_whose, small, large) => {
    expect(listOf(small, large).auto).toMatchObject({ contextWindow: 300 })
  })

  test('states no limits that nobody states', () => {
    expect(listOf({ id: 'one' }).auto).toMatchObject({ contextWindow: undefined, maxOutputTokens: undefined })
  })

  test('is not made up where upstream lists it, or has nothing to choose from', () => {
    expect(listOf(entry('auto', 500), entry('one', 100)).models.map(({ id }) => id)).toEqual(['auto', 'one', ...tiers])
    expect(listOf(entry('one', 100, { policy: { state: 'disabled' } })).auto).toBeUndefined()
    expect(parseAccountModels('<html>')).toBeUndefined()
  })

  test.each([
    [{ model_picker_enabled: false, policy: { state: 'enabled' } }, ['one', 'auto', ...tiers]],
    [{ model_picker_enabled: false }, ['one', 'auto', ...tiers]],
    [{}, ['one', 'auto']],
  ])('hides no other model, whatever marks these have: %j', (marks, ids) => {
    const registry = createModelRegistry({ aliases: {}, hide: [] })
    registry.register('record', listOf(entry('one', 100, marks)).models)
    expect(registry.list().map(({ id }) => id)).toEqual(ids)
  })
})

test.each([
  [{ session_token: 't', expires_at: 9, selected_model: entry('one', 100) }, ['one'], 9],
  [{ session_token: 't', expires_at: 'soon', selected_model: 'one' }, ['one'], undefined],
  [{ session_token: 't', available_models: ['one', 5, 'two'] }, ['one', 'two'], undefined],
])('a choice is read from %j', (reply, ids, expiresAtSeconds) => {
  const parsed = parseAutoReply(reply)
  expect(parsed?.candidates.map(({ id }) => id)).toEqual(ids)
  expect(parsed).toMatchObject({ sessionToken: 't' })
  expect(parsed?.expiresAtSeconds).toBe(expiresAtSeconds)
})

test.each([
  [undefined],
  [{ selected_model: 'one' }],
  [{ session_token: '', selected_model: 'one' }],
  [{ session_token: 't' }],
  [{ session_token: 't', selected_model: 'auto' }],
  [{ session_token: 't', selected_model: { name: 'no id' }, available_models: [] }],
])('%j is no choice', (reply) => {
  expect(parseAutoReply(reply)).toBeUndefined()
})
