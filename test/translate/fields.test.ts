import { describe, expect, test } from 'vitest'
import { type JsonObject, objectOf } from '../../src/json/json.ts'
import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { dialects } from '../../src/translate/dialects.ts'
import { translateTurn } from '../../src/translate/translated-call.ts'
import { formatWarning } from '../../src/translate/warning.ts'
import { encodeContext, traits } from './turns.ts'

interface Case {
  readonly dialect: UpstreamDialectId
  readonly model: string
  readonly body: JsonObject
  readonly settings: JsonObject
}

const messages = [{ role: 'user', content: 'hi' }]
const chat: Case = {
  dialect: 'chat',
  model: 'some-model',
  body: {
    messages,
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
  },
  settings: {
    temperature: 0.5,
    top_p: 0.9,
    frequency_penalty: 1,
    presence_penalty: -1,
    seed: 7,
    logit_bias: { 1: 2 },
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' }, strict: false } },
    parallel_tool_calls: false,
    max_tokens: 9,
  },
}
const anthropic: Case = {
  dialect: 'messages',
  model: 'claude-sonnet-4.5',
  body: { messages, max_tokens: 5 },
  settings: { max_tokens: 9, temperature: 0.5, top_k: 3, stop_sequences: ['END'] },
}
const responses: Case = {
  dialect: 'responses',
  model: 'some-model',
  body: { input: 'hi' },
  settings: {
    max_output_tokens: 99,
    temperature: 0.5,
    top_p: 0.9,
    text: { format: { type: 'json_schema', name: 'x', strict: false, schema: { type: 'object' } }, verbosity: 'low' },
  },
}

/** The request of a caller, through a Turn. */
function translate(settings: JsonObject, from: Case, to = from) {
  const caller = dialects[from.dialect]
  const context = encodeContext(traits(to.model))
  const decoded = caller.decodeRequest(JSON.stringify({ model: to.model, ...from.body, ...settings }))
  const { request } = translateTurn(dialects[to.dialect].upstream, caller.decodeTurn(decoded, context), context)
  const sent: unknown = JSON.parse(request.body.toString())
  return { sent: objectOf(sent), warnings: request.warnings.map(formatWarning) }
}

describe.each([chat, anthropic, responses])('settings of $dialect', (given) => {
  test.each(Object.entries(given.settings))('%s comes back from a Turn as it was', (member, value) => {
    const { sent, warnings } = translate({ [member]: value }, given)
    expect(sent[member]).toEqual(value)
    expect(warnings).toEqual([])
  })
})

test.each([
  ['Responses has no top_k', { top_k: 3 }, anthropic, responses, ['dropped;top_k']],
  ['Messages has no seed', { seed: 7 }, chat, anthropic, ['dropped;seed']],
  ['Responses has no seed', { seed: 7 }, chat, responses, ['dropped;seed']],
  ['a penalty of 0 asks for nothing', { frequency_penalty: 0 }, chat, anthropic, []],
  [
    'the newer of two caps counts',
    { max_tokens: 5, max_completion_tokens: 99 },
    chat,
    responses,
    ['dropped;max_tokens'],
  ],
])('%s', (_title, settings, from, to, warnings) => {
  expect(translate(settings, from, to).warnings).toEqual(warnings)
})
