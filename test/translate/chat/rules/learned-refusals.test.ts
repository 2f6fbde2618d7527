import { chatDialect } from '../../../../src/translate/chat/dialect.ts'
import { describe, expect, test } from 'vitest'
import { callOf, type Words } from '../../refused.ts'
import { turn } from '../../turns.ts'
import { contextOf, pass, describeWarnings, traits } from '../request-helpers.ts'

const gpt = traits('gpt-4.1')
const gemini = traits('gemini-3-pro-preview')

const text =
  '{"model":"m","messages":[{"role":"user","content":"é"}],"max_tokens": 5 ,"reasoning_effort":"low",' +
  '"temperature":0,"response_format":{"type":"json_object"},"thinking":{"type":"adaptive"}}'

function call(body: string, model = gpt) {
  return callOf({ upstream: 'chat', text: body, context: contextOf({ model }) })
}

function recover(words: Words, body = text, model = gpt) {
  return call(body, model).refusedAs(words)
}

/** What upstream gets of the body. */
function sentOf(body: string, model = gpt) {
  return JSON.parse(call(body, model).sent.body.toString())
}

test('a Gemini that does not know validated calls chooses freely, now and later', () => {
  const words = "failed to validate schema: value must be one of 'none', 'auto', Location: /properties/tool_choice"
  const tools = '"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]'
  const body = `{"model":"m","messages":[{"role":"user","content":"q"}],${tools},"seed":1.0}`
  expect(sentOf(body, gemini)).toHaveProperty('tool_choice', 'validated')
  const recovered = recover(words, body, gemini)
  // As the caller wrote it.
  expect(recovered?.value).not.toHaveProperty('tool_choice')
  expect(recovered?.json).toContain('"seed":1.0')
  expect(recovered?.learned).toEqual(['choice:validated'])
  expect(recover(words, body.replace('"seed":1.0', '"tool_choice":"required"'), gemini)).toBeUndefined()
})

describe('leaves out what upstream names', () => {
  test.each<[string, Partial<Exclude<Words, string>>, string]>([
    ["Unsupported parameter: 'temperature' is not supported with this model.", {}, 'temperature'],
    [
      "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
      {},
      'temperature',
    ],
    ["Unknown parameter: 'thinking.type'.", {}, 'thinking'],
    ['Unrecognized request argument supplied: thinking', {}, 'thinking'],
    ['thinking: Extra inputs are not permitted', {}, 'thinking'],
    ['invalid request body: thinking.display: Extra inputs are not permitted', {}, 'thinking'],
    ['reasoning effort "low" is not supported by model m', { code: 'invalid_reasoning_effort' }, 'reasoning_effort'],
    ['no', { code: 'unsupported_parameter', param: 'temperature' }, 'temperature'],
    [
      "Unsupported value: 'low' is not supported with the 'm' model.",
      { code: 'unsupported_value', param: 'reasoning_effort' },
      'reasoning_effort',
    ],
  ])('%s %j', (message, rest, member) => {
    const recovered = recover({ message, ...rest })
    const { [member]: refused, ...others } = sentOf(text)
    expect(refused).toBeDefined()
    expect(recovered?.value).toEqual(others)
    expect(recovered?.learned).toEqual([`field:${member}`])
    expect(recovered?.warnings).toEqual([`refused_upstream;${member}`])
  })

  test('and keeps the rest byte for byte', () => {
    expect(recover("Unsupported parameter: 'reasoning_effort'")?.json).toBe(
      call(text).sent.body.toString().replace('"reasoning_effort":"low",', ''),
    )
  })

  test('under its other name where it has one', () => {
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    const recovered = recover({ message, code: 'invalid_request_body' })
    const { max_tokens: cap, ...others } = sentOf(text)
    expect(recovered?.value).toEqual({ ...others, max_completion_tokens: cap })
    expect(recovered?.learned).toEqual(['rename:max_tokens'])
    // What was renamed for nothing keeps its bytes.
    expect(recover(message, text.replace('"max_tokens": 5 ', '"max_completion_tokens": 5.0 '))?.json).toContain(
      '"max_completion_tokens": 5.0 ',
    )
  })

  test('on every message and tool, where it is a cache mark', () => {
    const mark = { copilot_cache_control: { type: 'ephemeral' } }
    const message = { role: 'user', content: 'a' }
    const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
    const body = { messages: [message, { ...message, ...mark }], tools: [{ ...tool, ...mark }], temperature: 0 }
    const recovered = recover(
      'messages.1.copilot_cache_control: Extra inputs are not permitted',
      JSON.stringify({ model: 'm', ...body }),
    )
    expect(recovered?.value).toMatchObject({ messages: [message, message], tools: [tool], temperature: 0 })
    expect(recovered?.json).not.toContain('copilot_cache_control')
    expect(recovered?.learned).toEqual(['marks:copilot_cache_control'])
  })
})

const toolCall = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"a":1}' } })

describe('a conversation that another model began', () => {
  const signed = {
    role: 'assistant',
    content: null,
    tool_calls: [toolCall('c', 'h')],
    reasoning_opaque: 'own',
    reasoning_text: 'thought',
    reasoning_content: 'thought',
  }
  const messages: readonly object[] = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: 'I look.', tool_calls: [toolCall('a', 'f'), toolCall('b', 'g')] },
    { role: 'tool', tool_call_id: 'a', content: 'one' },
    { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'two' }] },
    signed,
    { role: 'tool', tool_call_id: 'c', content: 'three' },
  ]
  const body = JSON.stringify({ model: 'm', messages, temperature: 0 })
  const after = (message: string, written = body) => {
    const recovered = recover({ message, code: 'invalid_request_body' }, written, gemini)
    return { recovered, body: recovered?.value }
  }

  test.each([
    'Function call is missing a thought_signature in functionCall parts.',
    'function call `default_api:f` in the 2. content block is missing a `thought_signature`. Learn more: …',
  ])('gets its calls as text if the model requires its own thought with each: %s', (message) => {
    const { recovered, body: sentAgain } = after(message)
    expect(sentAgain).toMatchObject({
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: 'I look.\n\n[Called f with {"a":1}]\n[Called g with {"a":1}]' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '[Result of f]\none' },
            { type: 'text', text: '[Result of g]' },
            { type: 'text', text: 'two' },
          ],
        },
        signed,
        { role: 'tool', tool_call_id: 'c', content: 'three' },
      ],
      temperature: 0,
    })
    expect(recovered?.learned).toEqual([])
    expect(recovered?.warnings).toEqual(['adapted;tool_calls'])
  })

  test.each(['Corrupted thought signature.', 'Invalid `signature` in `thinking` block'])(
    'loses its reasoning where the model cannot read it: %s',
    (message) => {
      const { recovered, body: sentAgain } = after(message)
      const { reasoning_opaque: _opaque, reasoning_text: _text, reasoning_content: _content, ...bare } = signed
      expect(sentAgain?.['messages']).toEqual(messages.with(4, bare))
      expect(recovered?.learned).toEqual([])
      expect(recovered?.warnings).toEqual(['thinking_dropped;reasoning_opaque'])
    },
  )

  test('is not sent again unchanged', () => {
    const bare = JSON.stringify({ model: 'm', messages: [messages[0], signed, messages[5]] })
    expect(after('Function call is missing a thought_signature in functionCall parts.', bare).recovered).toBeUndefined()
    expect(after('Corrupted thought signature.', text).recovered).toBeUndefined()
  })
})

describe('repeats with the output that the prompt leaves', () => {
  const claude = 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000'
  const openai =
    "This model's maximum context length is 200000 tokens. However, you requested 209573 tokens (188240 in the messages, 21333 in the completion)."
  test.each([
    [claude, { max_tokens: 21_333 }, { max_tokens: 11_760 }, ['clamped;max_tokens']],
    [claude, { max_completion_tokens: 21_333 }, { max_completion_tokens: 11_760 }, ['clamped;max_completion_tokens']],
    [openai, { max_tokens: 21_333 }, { max_tokens: 11_760 }, ['clamped;max_tokens']],
    [
      claude,
      { max_tokens: 21_333, thinking: { type: 'enabled', budget_tokens: 20_000 } },
      { max_tokens: 11_760, thinking: { type: 'enabled', budget_tokens: 11_759 } },
      ['clamped;max_tokens'],
    ],
  ])('%s %j', (message, body, expected, warned) => {
    const asked = { model: 'm', messages: [{ role: 'user', content: 'q' }], ...body }
    const recovered = recover(message, JSON.stringify(asked), 'max_tokens' in body ? gpt : traits('gpt-5-mini'))
    expect(recovered?.value).toMatchObject(expected)
    expect(recovered?.learned).toEqual([])
    expect(recovered?.warnings).toEqual(warned)
  })

  test('but not a prompt that leaves none', () => {
    const message = 'input length and `max_tokens` exceed context limit: 210000 + 21333 > 200000'
    expect(recover(message, text.replace('"max_tokens": 5 ', '"max_tokens":21333'))).toBeUndefined()
  })
})

describe('gives up', () => {
  test.each<[string, Partial<Exclude<Words, string>>]>([
    ['prompt token count of 138898 exceeds the limit of 64000', { code: 'model_max_prompt_tokens_exceeded' }],
    ["Unsupported parameter: 'messages'", {}],
    ["Invalid value: 'temperature'. Supported values are: 'a' and 'b'.", { code: 'invalid_value' }],
    ["Unsupported parameter: 'tools'", {}],
    ["Invalid parameter: 'response_format' of type 'json_object' is not supported", {}],
    ["Unknown parameter: 'messages[0].name'.", {}],
    ["Unsupported parameter: 'never_sent'", {}],
    ["Unsupported parameter: '__proto__'", {}],
    ['messages.0.copilot_cache_control: Extra inputs are not permitted', {}],
    ["Unsupported parameter: 'temperature'", { status: 401 }],
  ])('%s %j', (message, rest) => {
    expect(recover({ message, ...rest })).toBeUndefined()
  })

  test('when the same is refused again', () => {
    const words = "Unsupported parameter: 'temperature'"
    expect(call(text).refusedAs(words, words)).toBeUndefined()
  })
})

test('what was learned is honoured by both coders of requests', () => {
  const model = traits('gpt-4.1')
  const learnedRefusals = recover("Unsupported parameter: 'temperature'")?.learned ?? []
  const messages = [{ role: 'user', content: 'hi' }]
  const warning = 'refused_upstream;temperature: the provider has refused this field for this model'
  const passed = pass({ model: 'm', messages, temperature: 0 }, { model, learnedRefusals })
  expect(passed.value).not.toHaveProperty('temperature')
  expect(passed.warnings).toEqual([warning])
  const encoded = chatDialect.upstream.encodeTurn(
    turn({ sampling: { temperature: 0 } }),
    contextOf({ model, learnedRefusals }),
  )
  expect(encoded.body.toString()).not.toContain('temperature')
  expect(describeWarnings(encoded.warnings)).toEqual([warning])
})
