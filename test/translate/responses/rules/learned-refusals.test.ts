import { Fault } from '../../../../src/errors.ts'
import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { callOf, type Words } from '../../refused.ts'
import { encodeContext, traits } from '../../turns.ts'
import { arbitraryBody } from '../arbitrary-bodies.ts'

const gpt = traits('gpt-5.3-codex')
const start = {
  model: 'gpt-5.3-codex',
  stream: true,
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'k',
}
const user = { role: 'user', content: 'x' }
const reasoning = { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
const compaction = { type: 'compaction', encrypted_content: 'gAAA' }

function call(text: string, learnedRefusals: readonly string[] = [], model = gpt) {
  return callOf({
    upstream: 'responses',
    text,
    context: encodeContext(model, { learnedRefusals: new Set(learnedRefusals) }),
  })
}

function bodyOf(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...start, input: [user], ...members })
}

function recover(members: Readonly<Record<string, unknown>>, ...refusals: readonly Words[]) {
  return call(bodyOf(members)).refusedAs(...refusals)
}

describe('ids upstream does not know', () => {
  const items = [user, { ...reasoning, id: 'rs_1' }, { ...user, id: 'msg_2' }]

  test.each<[string, Words]>([
    ['of another connection', { status: 401, message: 'input item ID does not belong to this connection' }],
    [
      'beside another value',
      'The encrypted content for item rs_1 could not be verified. Reason: Encrypted content item_id did not match the target item id.',
    ],
    ['in the words of Azure', 'item_id mismatch'],
    ['of what was not stored', "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."],
    [
      'that miss their reasoning',
      "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
    ],
    ['of another shape', "Invalid 'input[1].id': 'x'. Expected an ID that begins with 'rs'."],
    ['that are too long', { code: 'string_above_max_length', param: 'input[1].id', message: 'String too long.' }],
    [
      'that are too long, by the message',
      { code: 'string_above_max_length', message: "Invalid 'input[1].id': string too long." },
    ],
  ])('go, and if that does not help, what cannot be read goes: %s', (_, words) => {
    const { refusedAs } = call(bodyOf({ input: items }))
    expect(refusedAs(words)?.value['input']).toEqual([user, reasoning, user])
    expect(refusedAs(words, words)?.value['input']).toEqual([user, user])
    expect(refusedAs(words, words, words)).toBeUndefined()
  })

  test('are not sent again to this model', () => {
    const words = 'input item ID does not belong to this connection'
    expect(recover({ input: items }, words)).toMatchObject({ learned: ['item_ids'], warnings: [] })
  })
})

describe('what upstream cannot read', () => {
  test.each<[string, Words]>([
    ['Copilot', { code: 'invalid_request_body', message: 'Encrypted content could not be decrypted or parsed' }],
    ['Copilot, of an output', 'Encrypted function output content could not be decrypted'],
    ['OpenAI', { code: 'invalid_encrypted_content', message: 'The encrypted content gAAA could not be verified.' }],
    ['a gateway', 'bad_request: invalid_encrypted_content'],
    ['OpenAI, of reasoning alone', "Item 'rs_1' of type 'reasoning' was provided without its required following item."],
  ])('goes, with a warning: %s', (_, words) => {
    const called = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    const output = {
      type: 'function_call_output',
      call_id: 'c',
      output: [
        { type: 'input_text', text: 'a' },
        { type: 'encrypted_content', encrypted_content: 'x' },
      ],
    }
    const next = recover({ input: [user, reasoning, compaction, called, output, reasoning] }, words)
    expect(next?.value?.['input']).toEqual([user, called, { ...output, output: [{ type: 'input_text', text: 'a' }] }])
    expect(next?.warnings).toEqual([
      'thinking_dropped;encrypted_content',
      'compaction_dropped;encrypted_content',
      'refused_upstream;encrypted_content',
    ])
    // About this conversation, not about the model.
    expect(next?.learned).toEqual([])
  })

  test('is the answer where there is nothing to take out', () => {
    expect(recover({}, 'Encrypted content could not be decrypted or parsed')).toBeUndefined()
    expect(recover({ input: 'hi' }, 'Encrypted content could not be decrypted or parsed')).toBeUndefined()
  })

  test('is not asked for again of a model that does not reason', () => {
    const words = 'Encrypted content is not supported with this model.'
    const next = recover({}, words)
    expect(next?.value).not.toHaveProperty('include')
    expect(next?.learned).toEqual(['encrypted_content'])
    expect(recover({ include: ['a', 'reasoning.encrypted_content'] }, words)?.value?.['include']).toEqual(['a'])
  })
})

describe('members upstream does not take', () => {
  test.each<[string, Record<string, unknown>, Words, Record<string, unknown>, string]>([
    [
      'unsupported with this model',
      { user: 'x' },
      { code: 'invalid_request_body', message: "Unsupported parameter: 'user' is not supported with this model." },
      {},
      'field:user',
    ],
    ['unsupported, without quotes', { metadata: {} }, 'Unsupported parameter: metadata', {}, 'field:metadata'],
    ['unrecognized', { tomorrow: 1 }, 'Unrecognized request argument supplied: tomorrow', {}, 'field:tomorrow'],
    [
      'unknown in one item, and so in all',
      { input: [{ ...user, passthrough: 1 }, user, { ...user, passthrough: 2 }] },
      { code: 'invalid_request_body', message: "Unknown parameter: 'input[0].passthrough'." },
      { input: [user, user, user] },
      'field:input[].passthrough',
    ],
    [
      'unknown in a part',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'x', cache: 1 }] }] },
      "Unknown parameter: 'input[0].content[0].cache'.",
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }] },
      'field:input[].content[].cache',
    ],
    [
      'unknown in a tool',
      { tools: [{ type: 'web_search', external_web_access: true }] },
      "Unknown parameter: 'tools[0].external_web_access'.",
      { tools: [{ type: 'web_search' }] },
      'field:tools[].external_web_access',
    ],
    [
      'inside another',
      { reasoning: { effort: 'low', summary: 'auto' } },
      "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
      { reasoning: { effort: 'low' } },
      'field:reasoning.summary',
    ],
    [
      'named by the error alone',
      { safety: 1 },
      { code: 'unknown_parameter', param: 'safety', message: 'Bad request.' },
      {},
      'field:safety',
    ],
    [
      'whose number is not taken',
      { top_logprobs: 3 },
      "Unsupported value: 'top_logprobs' does not support 3 with this model. Only the default (1) value is supported.",
      {},
      'field:top_logprobs',
    ],
    [
      'whose word is not taken',
      { text: { verbosity: 'low', format: { type: 'text' } } },
      "Unsupported value: 'low' is not supported with the 'gpt-x' model. Supported values are: 'medium'.",
      { text: { format: { type: 'text' } } },
      'field:text.verbosity',
    ],
    [
      'whose word is not taken, a summary',
      { reasoning: { summary: 'detailed' } },
      "Unsupported value: 'detailed' is not supported with the 'gpt-x' model. Supported values are: 'auto'.",
      { reasoning: {} },
      'field:reasoning.summary',
    ],
    [
      'whose word is not taken, truncation',
      { truncation: 'auto' },
      "Unsupported value: 'auto' is not supported with the 'gpt-x' model.",
      {},
      'field:truncation',
    ],
  ])('go, and stay away: %s', (_, members, words, expected, learnedRefusal) => {
    const next = recover(members, words)
    expect(next?.value).toEqual({ ...start, input: [user], ...expected })
    expect(next?.learned).toEqual([learnedRefusal])
    expect(next?.warnings).toEqual([`refused_upstream;${learnedRefusal.slice('field:'.length)}`])
  })

  test.each<[string, Words]>([
    ['the model', { code: 'unsupported_value', param: 'model', message: 'No.' }],
    ['the input', "Unknown parameter: 'input'."],
    ['what an item says', "Unknown parameter: 'input[0].content'."],
    ['the tools', { code: 'unsupported_value', param: 'tools', message: 'No.' }],
    ['the form of the answer', "Unsupported parameter: 'text.format' is not supported with this model."],
    ['what is not there', "Unknown parameter: 'absent'."],
    ['what no JSON has', "Unknown parameter: '__proto__.x'."],
  ])('are the answer where they are the request: %s', (_, words) => {
    expect(
      recover({ text: { format: { type: 'json_object' } }, tools: [{ type: 'function', name: 'f' }] }, words),
    ).toBeUndefined()
  })

  test('leave the bytes of all others alone', () => {
    const text =
      '{ "model":"m", "x":1.0, "metadata":{}, "input":[ {"role":"user","content":"\\u00e9"} ], "prompt_cache_key":"k", "store":false}'
    expect(call(text).refusedAs('Unsupported parameter: metadata')?.json).toBe(
      '{"model":"gpt-5.3-codex","x":1.0,"input":[ {"role":"user","content":"\\u00e9"} ], "prompt_cache_key":"k", "store":false,' +
        '"include":["reasoning.encrypted_content"],"stream":true}',
    )
  })
})

describe('levels of effort', () => {
  const asked = { reasoning: { effort: 'xhigh', summary: 'auto' } }

  test.each<[string, Words]>([
    [
      'as Copilot lists them',
      {
        code: 'invalid_reasoning_effort',
        message: 'reasoning_effort "xhigh" is not supported; supported values:[low medium]',
      },
    ],
    [
      'as OpenAI lists them',
      "Unsupported value: 'xhigh' is not supported with the 'gpt-x' model. Supported values are: 'low', and 'medium'.",
    ],
    [
      'as the field alone',
      { param: 'reasoning.effort', message: "Invalid value: 'xhigh'. Supported values are: 'low', 'medium'." },
    ],
  ])('are the nearest, and remembered: %s', (_, words) => {
    expect(recover(asked, words)).toMatchObject({
      value: { reasoning: { effort: 'medium', summary: 'auto' } },
      learned: ['efforts:low,medium'],
      warnings: ['clamped;reasoning.effort'],
    })
  })

  test('are left out where none is listed', () => {
    const next = recover(asked, { code: 'invalid_reasoning_effort', message: 'Bad effort.' })
    expect(next?.value?.['reasoning']).toEqual({ summary: 'auto' })
    expect(next?.learned).toEqual([])
    expect(next?.warnings).toEqual(['refused_upstream;reasoning.effort'])
  })

  test('are left out for good where the model has none', () => {
    const next = recover(asked, 'gpt-x does not support reasoning effort')
    expect(next?.value?.['reasoning']).toEqual({ summary: 'auto' })
    expect(next?.learned).toEqual(['field:reasoning.effort'])
  })

  test('are left out where the one that was sent is on the list', () => {
    const next = recover(
      { reasoning: { effort: 'low' } },
      { code: 'invalid_reasoning_effort', message: 'supported values:[low]' },
    )
    expect(next?.value?.['reasoning']).toEqual({})
  })

  test('are the answer where none was sent', () => {
    expect(recover({}, { code: 'invalid_reasoning_effort', message: 'x' })).toBeUndefined()
  })
})

describe('kinds of tools', () => {
  const named = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
  const namespace = { type: 'namespace', name: 'gh', tools: [named] }
  const custom = { type: 'custom', name: 'p' }
  const inputTools = { type: 'additional_tools', role: 'developer', tools: [named] }
  const customCall = { type: 'custom_tool_call', call_id: 'c', name: 'p', input: '' }

  test.each<[string, Record<string, unknown>, Words, string]>([
    [
      'namespaces',
      { tools: [named, custom, namespace] },
      {
        param: 'tools[2].type',
        message: "Invalid value: 'namespace'. Supported values are: 'function', 'custom', and 'web_search'.",
      },
      'namespaces',
    ],
    [
      'namespaces, by place alone',
      { tools: [named, namespace] },
      { param: 'tools[1]', message: 'Unsupported tool.' },
      'namespaces',
    ],
    [
      'namespaces of calls',
      { input: [{ type: 'function_call', call_id: 'c', name: 'f', namespace: 'gh', arguments: '' }] },
      "Unknown parameter: 'input[0].namespace'.",
      'namespaces',
    ],
    [
      'tools among the items',
      { input: [inputTools, user] },
      "Invalid value: 'additional_tools'. Supported values are: 'message'.",
      'namespaces',
    ],
    ['freeform tools', { tools: [custom] }, "Unsupported tool type: 'custom'", 'custom_tools'],
    [
      'freeform calls',
      { input: [customCall] },
      "Invalid value: 'custom_tool_call'. Supported values are: 'function_call'.",
      'custom_tools',
    ],
  ])('need another encoding: %s', (_, body, words, learnedRefusal) => {
    expect(recover(body, words)?.learned).toEqual([learnedRefusal])
    // Encoded so and refused again: upstream means something else.
    expect(recover(body, words, words)).toBeUndefined()
  })

  test.each<[string, string, Words]>([
    ['web_search', 'web_search', 'The use of the web search tool is not supported.'],
    ['web_search by another name', 'web_search_preview', 'The requested tool web_search is not supported.'],
    [
      'image_generation',
      'image_generation',
      { code: 'unsupported_value', param: 'tools', message: 'The requested tool image_generation is not supported.' },
    ],
    ['tool_search', 'tool_search', { param: 'tools[1].type', message: "Invalid value: 'tool_search'." }],
  ])('go where the conversation can do without: %s', (_, type, words) => {
    // Copilot is never sent one of them.
    const openai = traits('gpt-5.3-codex', { provider: 'codex' })
    const body = { tools: [named, { type }], tool_choice: { type }, parallel_tool_calls: true }
    const next = call(bodyOf(body), [], openai).refusedAs(words)
    expect(next?.value).toEqual({ ...start, input: [user], tools: [named], parallel_tool_calls: true })
    expect(next?.learned).toEqual([`tool:${type === 'web_search_preview' ? 'web_search' : type}`])
    expect(next?.warnings).toEqual(['dropped;tools.1', 'refused_upstream;tools'])
    // Later requests may not demand it.
    expect(() => call(bodyOf(body), next?.learned, openai)).toThrow('invalid_request')
  })

  test('go with the choice among them where none is left', () => {
    const words = 'The requested tool web_search is not supported.'
    const next = recover({ tools: [{ type: 'web_search' }], tool_choice: 'auto', parallel_tool_calls: false }, words)
    expect(next?.value).toEqual({ ...start, input: [user] })
  })

  test.each<[string, Record<string, unknown>, Words]>([
    ['a function', { tools: [named] }, { param: 'tools[0].type', message: "Invalid value: 'function'." }],
    [
      'a hosted tool that was asked for',
      { tools: [{ type: 'file_search' }] },
      'The requested tool file_search is not supported.',
    ],
    [
      'a schema',
      { tools: [named, custom] },
      { param: 'tools[0].parameters', message: 'Invalid schema for function f.' },
    ],
    [
      'kinds that would do',
      { tools: [named, custom] },
      "Invalid value: 'x'. Supported values are: 'function' and 'custom'.",
    ],
  ])('are the answer: %s', (_, body, words) => {
    expect(recover(body, words)).toBeUndefined()
  })
})

describe('items that say little', () => {
  const search = { type: 'web_search_call', status: 'completed', action: { type: 'other' } }

  test.each<[string, Words]>([
    ['by param', { param: 'input[1].action.type', message: "Invalid value: 'other'. Supported values are: 'search'." }],
    ['by the message', "Missing required parameter: 'input[1].id'."],
  ])('go where one of them is refused: %s', (_, words) => {
    const next = recover({ input: [user, search, user, search] }, words)
    expect(next?.value?.['input']).toEqual([user, user])
    expect(next?.warnings).toEqual(['refused_upstream;input[].web_search_call'])
  })

  test.each([
    "Invalid value at 'input[0].role'.",
    "Invalid value at 'input[9].role'.",
    "Invalid value at 'input[99999999999].x'.",
  ])('are not those that were said: %s', (message) => {
    expect(recover({ input: [user, search] }, message)).toBeUndefined()
  })
})

test.each<[string, Words]>([
  [
    'a prompt that is too long',
    { code: 'model_max_prompt_tokens_exceeded', message: 'prompt token count of 9 exceeds the limit of 1' },
  ],
  [
    'a model that is not offered',
    { code: 'model_not_supported', param: 'model', message: 'The requested model is not supported.' },
  ],
  [
    'a path that is not offered',
    { code: 'unsupported_api_for_model', message: 'model "m" is not accessible via the /responses endpoint' },
  ],
  ['an expired token', { status: 401, message: 'unauthorized: token expired' }],
  ['nothing', ''],
])('%s is the answer', (_, words) => {
  const body = {
    reasoning: { effort: 'low' },
    tools: [{ type: 'custom', name: 'p' }, { type: 'namespace', name: 'n', tools: [] }, { type: 'web_search' }],
    input: [user, reasoning, { ...user, id: 'msg_1' }],
  }
  expect(recover(body, words)).toBeUndefined()
})

test('what was learned is honoured by the next request, so that upstream does not refuse it again', () => {
  const body = { input: [{ ...user, passthrough: 1 }], reasoning: { effort: 'high' }, tools: [{ type: 'web_search' }] }
  const refusals: Words[] = [
    "Unknown parameter: 'input[0].passthrough'.",
    { code: 'invalid_reasoning_effort', message: 'supported values:[low]' },
    'The requested tool web_search is not supported.',
  ]
  const learned = refusals.flatMap((words) => recover(body, words)?.learned ?? [])
  const { sent } = call(bodyOf(body), learned)
  expect(JSON.parse(sent.body.toString())).toEqual({ ...start, input: [user], reasoning: { effort: 'low' } })
})

test('whatever upstream says of whatever was sent, nothing is thrown and the same request is never sent again', () => {
  const words = fc.constantFrom(
    'Unknown parameter: ',
    'Unsupported value: ',
    'does not belong to this connection',
    'encrypted content could not be parsed',
    'Invalid value: ',
    'not supported',
    'custom',
    'namespace',
    'web_search',
    "'input[0].",
    "'tools[0].type'",
    "'reasoning.effort'",
    'supported values',
    'low',
    "'",
  )
  const anyRefusal = fc.record({
    status: fc.constantFrom(400, 401, 422),
    message: fc.array(fc.oneof(words, fc.string({ maxLength: 10 })), { maxLength: 5 }).map((parts) => parts.join(' ')),
    code: fc.constantFrom(undefined, 'unsupported_parameter', 'invalid_value', 'string_above_max_length'),
    param: fc.constantFrom(undefined, 'input[0].id', 'tools[0]', 'reasoning.effort', 'input[1]', '__proto__'),
  })
  fc.assert(
    fc.property(arbitraryBody, anyRefusal, (text, { status, message, code, param }) => {
      const response = { status, message, ...(code !== undefined && { code }), ...(param !== undefined && { param }) }
      const asked = answered(() => call(text))
      const next = asked?.refusedAs(response)
      if (next !== undefined) expect(next.value).not.toEqual(JSON.parse(String(asked?.sent.body)))
    }),
  )
})

/** Undefined for a body that the proxy refuses itself. */
function answered<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}
