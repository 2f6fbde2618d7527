import type { EncodeContext, Dialect } from '../../../../src/translate/dialect.ts'
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../../src/translate/dialects.ts'
import { translateCall } from '../../../../src/translate/translated-call.ts'
import { callOf } from '../../refused.ts'
import { encodeContext, traits, translateForResponses } from '../../turns.ts'

type Json = Readonly<Record<string, unknown>>

const mark = { prompt_cache_breakpoint: { mode: 'explicit' } }
const options = { prompt_cache_options: { mode: 'explicit' } }
const marked = (text: string): Json => ({ type: 'input_text', text, ...mark })
const plain = (text: string): Json => ({ type: 'input_text', text })
const says = (...content: readonly Json[]): Json => ({ role: 'user', content })
const text = (word: string, more: Json = {}): Json => ({ type: 'text', text: word, ...more })
const newer = traits('gpt-5.6-luna')

function send(caller: keyof typeof dialects, body: Json, parts: Partial<EncodeContext> = {}) {
  const dialect: Dialect = dialects[caller]
  const request = dialect.decodeRequest(JSON.stringify({ model: 'm', ...body }))
  const { request: sent } = translateForResponses(dialect, request, encodeContext(parts.model ?? newer, parts))
  const value: Json = JSON.parse(sent.body.toString())
  return {
    value,
    warnings: sent.warnings,
    marks: JSON.stringify(value).split('prompt_cache_breakpoint').length - 1,
  }
}

describe('breakpoints of a Responses caller', () => {
  test('stay where upstream takes them, and so do the options', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', ...mark }
    const input = [{ role: 'developer', content: [marked('d')] }, says(marked('a'), image)]
    expect(send('responses', { input, ...options }).value).toMatchObject({ input, ...options })
  })

  test('are removed where upstream accepts none: assistant messages and tool outputs', () => {
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    const input = [
      says(plain('a')),
      { role: 'assistant', content: [{ type: 'output_text', text: 'b', annotations: [], ...mark }] },
      call,
      { type: 'function_call_output', call_id: 'c', output: [marked('o')] },
    ]
    const { value, marks, warnings } = send('responses', { input })
    expect({ marks, warnings }).toEqual({ marks: 0, warnings: [] })
    expect(value['input']).toMatchObject([input[0], { content: [{ text: 'b' }] }, call, { output: [plain('o')] }])
  })

  test('are four at most, the last ones', () => {
    const { value } = send('responses', { input: [says(...['a', 'b', 'c', 'd', 'e', 'f'].map(marked))] })
    expect(value['input']).toEqual([says(plain('a'), plain('b'), ...['c', 'd', 'e', 'f'].map(marked))])
  })

  test.each([
    ['a model before 5.6', { model: traits('gpt-5.4') }],
    ['another family', { model: traits('grok-code-fast-1') }],
    ['a model that has refused them', { learnedRefusals: new Set(['breakpoints']) }],
  ])('go for %s, with the options', (_, parts) => {
    const { value, marks, warnings } = send('responses', { input: [says(marked('a'))], ...options }, parts)
    expect({ marks, warnings }).toEqual({ marks: 0, warnings: [] })
    expect(value).not.toHaveProperty('prompt_cache_options')
  })

  test('stay as they are for OpenAI itself', () => {
    const input = [says(...['a', 'b', 'c', 'd', 'e'].map(marked))]
    const own = { model: traits('gpt-5.6', { provider: 'codex' }) }
    expect(send('responses', { input }, own).marks).toBe(5)
  })

  test('and options cost one more request where they are refused all the same', () => {
    const body = { model: 'm', input: [says(marked('a')), says(marked('b'))], ...options }
    const { value } = send('responses', body)
    const recovered = callOf({
      upstream: 'responses',
      text: JSON.stringify(body),
      context: encodeContext(newer),
    }).refusedAs({
      message: "Unknown parameter: 'input[0].content[0].prompt_cache_breakpoint'.",
      code: 'unknown_parameter',
      param: 'input[0].content[0].prompt_cache_breakpoint',
    })
    expect(recovered?.learned).toEqual(['breakpoints'])
    const { prompt_cache_options: _options, ...rest } = value
    expect(recovered?.value).toEqual({
      ...rest,
      input: [says(plain('a')), says(plain('b'))],
    })
  })
})

describe('marks of a Messages caller', () => {
  const cache_control = { type: 'ephemeral' }
  const body = {
    max_tokens: 9,
    system: [text('s1'), text('s2', { cache_control })],
    messages: [
      { role: 'user', content: [text('u', { cache_control })] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'o', cache_control }, text('v')] },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control }],
  }

  test('become breakpoints, for which the system text goes among the messages', () => {
    const { value, marks, warnings } = send('messages', body)
    expect(value['input']).toMatchObject([
      { role: 'developer', content: [plain('s1')] },
      { role: 'developer', content: [marked('s2')] },
      { role: 'user', content: [marked('u')] },
      { type: 'function_call' },
      { type: 'function_call_output', output: 'o' },
      { role: 'user', content: [plain('v')] },
    ])
    expect(value).not.toHaveProperty('instructions')
    expect({ marks, warnings }).toEqual({ marks: 2, warnings: [] })
  })

  test('do nothing where upstream takes none', () => {
    const { value, marks } = send('messages', body, { model: traits('gpt-5.4') })
    expect({ marks, instructions: value['instructions'] }).toEqual({ marks: 0, instructions: 's1\n\ns2' })
  })
})

test('breakpoints of a Responses caller become marks of Messages, in place of our own', () => {
  const asked = JSON.stringify({
    model: 'm',
    instructions: 'i',
    input: [says(marked('a'), plain('b')), says(plain('c'))],
  })
  const { request } = translateCall(
    dialects.responses,
    dialects.messages.upstream,
    dialects.responses.decodeRequest(asked),
    encodeContext(traits('claude-opus-4.6')),
  )
  const sent = request.body.toString()
  expect(sent.split('cache_control')).toHaveLength(2)
  expect(sent).toContain('{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}')
})
