import { chatUpstream } from '../../../../src/translate/chat/upstream/dialect.ts'
import { formatWarning } from '../../../../src/translate/warning.ts'
import { describe, expect, test } from 'vitest'
import type { EncodedRequest, UpstreamRefusal } from '../../../../src/translate/dialect.ts'
import { turn } from '../../turns.ts'
import { contextOf, pass, describeWarnings, traits } from '../request-helpers.ts'

const text =
  '{"model":"m","messages":[{"role":"user","content":"é"}],"max_tokens": 5 ,"reasoning_effort":"low",' +
  '"temperature":0,"tools":[],"response_format":{"type":"json_object"},"thinking":{"type":"adaptive"}}'

function sent(body: string): EncodedRequest {
  return {
    body: Buffer.from(body),
    headers: { 'x-test': '1' },
    warnings: [{ code: 'adapted', field: 'x', detail: 'y' }],
  }
}

function refusal(message: string, rest: Partial<UpstreamRefusal> = {}): UpstreamRefusal {
  return { kind: 'upstream_status', status: 400, message, ...rest }
}

function recover(refused: UpstreamRefusal, body = text) {
  return chatUpstream.recover(sent(body), refused, contextOf({ model: traits('gpt-4.1') }))
}

test('a Gemini that does not know validated calls chooses freely, now and later', () => {
  const words = "failed to validate schema: value must be one of 'none', 'auto', Location: /properties/tool_choice"
  const recovered = recover(refusal(words), '{"model":"m","tools":[{}],"tool_choice":"validated","seed":1.0}')
  expect(recovered?.request?.body.toString()).toBe('{"model":"m","tools":[{}],"tool_choice":"auto","seed":1.0}')
  expect(recovered?.learnedRefusal).toBe('choice:validated')
  expect(recover(refusal(words), '{"model":"m","tools":[{}],"tool_choice":"required"}')).toBeUndefined()
})

describe('leaves out what upstream names', () => {
  test.each<[string, Partial<UpstreamRefusal>, string]>([
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
    const recovered = recover(refusal(message, rest))
    const { [member]: refused, ...others } = JSON.parse(text)
    expect(refused).toBeDefined()
    expect(JSON.parse(recovered?.request?.body.toString() ?? '')).toEqual(others)
    expect(recovered?.learnedRefusal).toBe(`field:${member}`)
    expect(recovered?.request?.headers).toEqual({ 'x-test': '1' })
    expect(describeWarnings(recovered?.request?.warnings ?? [])).toEqual([
      'adapted;x: y',
      `refused_upstream;${member}: the provider refused it; retried without it`,
    ])
  })

  test('and keeps the rest byte for byte', () => {
    const recovered = recover(refusal("Unsupported parameter: 'reasoning_effort'"))
    expect(recovered?.request?.body.toString()).toBe(text.replace('"reasoning_effort":"low",', ''))
  })

  test('under its other name where it has one', () => {
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    const recovered = recover(refusal(message, { code: 'invalid_request_body' }))
    const { max_tokens: cap, ...others } = JSON.parse(text)
    expect(JSON.parse(recovered?.request?.body.toString() ?? '')).toEqual({ ...others, max_completion_tokens: cap })
    expect(recovered?.learnedRefusal).toBe('rename:max_tokens')
  })

  test('on every message and tool, where it is a cache mark', () => {
    const mark = { copilot_cache_control: { type: 'ephemeral' } }
    const message = { role: 'user', content: 'a' }
    const body = {
      messages: [message, { ...message, ...mark }],
      tools: [{ type: 'function', ...mark }],
      temperature: 0,
    }
    const recovered = recover(
      refusal('messages.1.copilot_cache_control: Extra inputs are not permitted'),
      JSON.stringify(body),
    )
    expect(JSON.parse(recovered?.request?.body.toString() ?? '')).toEqual({
      messages: [message, message],
      tools: [{ type: 'function' }],
      temperature: 0,
    })
    expect(recovered?.learnedRefusal).toBe('marks:copilot_cache_control')
  })
})

const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"a":1}' } })

describe('a conversation that another model began', () => {
  const signed = {
    role: 'assistant',
    content: null,
    tool_calls: [call('c', 'h')],
    reasoning_opaque: 'own',
    reasoning_text: 'thought',
    reasoning_content: 'thought',
  }
  const messages: readonly object[] = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: 'I look.', tool_calls: [call('a', 'f'), call('b', 'g')] },
    { role: 'tool', tool_call_id: 'a', content: 'one' },
    { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'two' }] },
    signed,
    { role: 'tool', tool_call_id: 'c', content: 'three' },
  ]
  const body = JSON.stringify({ model: 'm', messages, temperature: 0 })
  const after = (message: string, written = body) => {
    const recovered = recover(refusal(message, { code: 'invalid_request_body' }), written)
    return { recovered, body: JSON.parse(recovered?.request?.body.toString() ?? 'null') }
  }

  test.each([
    'Function call is missing a thought_signature in functionCall parts.',
    'function call `default_api:f` in the 2. content block is missing a `thought_signature`. Learn more: …',
  ])('gets its calls as text if the model requires its own thought with each: %s', (message) => {
    const { recovered, body: sentAgain } = after(message)
    expect(sentAgain).toEqual({
      model: 'm',
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
    expect(recovered?.learnedRefusal).toBeUndefined()
    expect(recovered?.request?.warnings.map(({ code }) => code)).toEqual(['adapted', 'adapted'])
  })

  test.each(['Corrupted thought signature.', 'Invalid `signature` in `thinking` block'])(
    'loses its reasoning where the model cannot read it: %s',
    (message) => {
      const { recovered, body: sentAgain } = after(message)
      const { reasoning_opaque: _opaque, reasoning_text: _text, reasoning_content: _content, ...bare } = signed
      expect(sentAgain.messages).toEqual(messages.with(4, bare))
      expect(recovered?.learnedRefusal).toBeUndefined()
      expect(recovered?.request?.warnings.at(-1)?.code).toBe('thinking_dropped')
    },
  )

  test('is not sent again unchanged', () => {
    const bare = JSON.stringify({ messages: [messages[0], signed, messages[5]] })
    expect(after('Function call is missing a thought_signature in functionCall parts.', bare).recovered).toBeUndefined()
    expect(after('Corrupted thought signature.', text).recovered).toBeUndefined()
  })
})

describe('repeats with the output that the prompt leaves', () => {
  const claude = 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000'
  const gpt =
    "This model's maximum context length is 200000 tokens. However, you requested 209573 tokens (188240 in the messages, 21333 in the completion)."
  test.each([
    [claude, { max_tokens: 21_333 }, { max_tokens: 11_760 }, ['clamped;max_tokens']],
    [claude, { max_completion_tokens: 21_333 }, { max_completion_tokens: 11_760 }, ['clamped;max_completion_tokens']],
    [gpt, { max_tokens: 21_333 }, { max_tokens: 11_760 }, ['clamped;max_tokens']],
    [
      claude,
      { max_tokens: 21_333, thinking: { type: 'enabled', budget_tokens: 20_000 } },
      { max_tokens: 11_760, thinking: { type: 'enabled', budget_tokens: 11_759 } },
      ['clamped;max_tokens'],
    ],
  ])('%s %j', (message, body, expected, warned) => {
    const recovered = recover(refusal(message), JSON.stringify({ messages: [], ...body }))
    expect(JSON.parse(recovered?.request?.body.toString() ?? '')).toEqual({ messages: [], ...expected })
    expect(recovered?.learnedRefusal).toBeUndefined()
    expect(recovered?.request?.warnings.map(formatWarning).slice(1)).toEqual(warned)
  })

  test('but not a prompt that leaves none', () => {
    const message = 'input length and `max_tokens` exceed context limit: 210000 + 21333 > 200000'
    expect(recover(refusal(message), '{"messages":[],"max_tokens":21333}')).toBeUndefined()
  })
})

describe('gives up', () => {
  test.each<[string, Partial<UpstreamRefusal>]>([
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
    expect(recover(refusal(message, rest))).toBeUndefined()
  })

  test('on a body that is not its own', () => {
    expect(recover(refusal("Unsupported parameter: 'temperature'"), '[')).toBeUndefined()
  })

  test('when the same is refused again', () => {
    const refused = refusal("Unsupported parameter: 'temperature'")
    const once = recover(refused)
    expect(recover(refused, once?.request?.body.toString())).toBeUndefined()
  })
})

test('what was learned is honoured by both coders of requests', () => {
  const model = traits('gpt-4.1')
  const learnedRefusal = recover(refusal("Unsupported parameter: 'temperature'"))?.learnedRefusal ?? ''
  const messages = [{ role: 'user', content: 'hi' }]
  const warning = 'refused_upstream;temperature: the provider has refused this field for this model'
  const passed = pass({ model: 'm', messages, temperature: 0 }, { model, learnedRefusals: [learnedRefusal] })
  expect(passed.value).not.toHaveProperty('temperature')
  expect(passed.warnings).toEqual([warning])
  const encoded = chatUpstream.encodeTurn(
    turn({ sampling: { temperature: 0 } }),
    contextOf({ model, learnedRefusals: [learnedRefusal] }),
  )
  expect(encoded.body.toString()).not.toContain('temperature')
  expect(describeWarnings(encoded.warnings)).toEqual([warning])
})
