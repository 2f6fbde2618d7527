import { responsesCaller } from '../../../../src/translate/responses/caller/dialect.ts'
import { responsesUpstream } from '../../../../src/translate/responses/upstream/dialect.ts'
import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import type { UpstreamRefusal } from '../../../../src/translate/dialect.ts'
import { formatWarning } from '../../../../src/translate/warning.ts'
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

/** What upstream is sent, as far as tests look into it. */
interface Sent {
  readonly [member: string]: unknown
  readonly input: readonly unknown[]
}

type Words = string | (Partial<UpstreamRefusal> & { readonly message: string })

function refusal(words: Words): UpstreamRefusal {
  return { kind: 'upstream_status', status: 400, ...(typeof words === 'string' ? { message: words } : words) }
}

function recoverText(text: string, words: Words, learnedRefusals: readonly string[] = []) {
  const sent = { body: Buffer.from(text), warnings: [{ code: 'dropped', field: 'before' }] as const }
  const recovery = responsesUpstream.recover(
    sent,
    refusal(words),
    encodeContext(gpt, { learnedRefusals: new Set(learnedRefusals) }),
  )
  if (recovery === undefined) return undefined
  const json = recovery.request?.body.toString()
  const body: Sent | undefined = json === undefined ? undefined : JSON.parse(json)
  const [first, ...warnings] = recovery.request?.warnings.map(formatWarning) ?? ['dropped;before']
  expect(first).toBe('dropped;before')
  return { json, body, learnedRefusal: recovery.learnedRefusal, warnings }
}

function recover(body: Readonly<Record<string, unknown>>, words: Words, learnedRefusals: readonly string[] = []) {
  return recoverText(JSON.stringify({ ...start, input: [user], ...body }), words, learnedRefusals)
}

/** Items that a refusal leaves, one try after the other, until it is the answer. */
function left(input: readonly unknown[], words: Words): unknown[] {
  const next = recover({ input }, words)
  return next?.body === undefined ? [] : [next.body['input'], ...left(next.body['input'], words)]
}

describe('ids upstream does not know', () => {
  const items = [user, { ...reasoning, id: 'rs_1' }, { type: 'item_reference', id: 'msg_1' }, { ...user, id: 'msg_2' }]

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
    expect(left(items, words)).toEqual([
      [user, reasoning, user],
      [user, user],
    ])
  })

  test('are not sent again to this model', () => {
    const words = 'input item ID does not belong to this connection'
    expect(recover({ input: items }, words)).toMatchObject({ learnedRefusal: 'item_ids', warnings: [] })
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
    const output = {
      type: 'function_call_output',
      call_id: 'c',
      output: [
        { type: 'input_text', text: 'a' },
        { type: 'encrypted_content', encrypted_content: 'x' },
      ],
    }
    const next = recover({ input: [user, reasoning, compaction, output, reasoning] }, words)
    expect(next?.body?.['input']).toEqual([user, { ...output, output: [{ type: 'input_text', text: 'a' }] }])
    expect(next?.warnings).toEqual([
      'thinking_dropped;encrypted_content',
      'compaction_dropped;encrypted_content',
      'refused_upstream;encrypted_content',
    ])
    // About this conversation, not about the model.
    expect(next?.learnedRefusal).toBeUndefined()
  })

  test('is the answer where there is nothing to take out', () => {
    expect(recover({}, 'Encrypted content could not be decrypted or parsed')).toBeUndefined()
    expect(recover({ input: 'hi' }, 'Encrypted content could not be decrypted or parsed')).toBeUndefined()
  })

  test('is not asked for again of a model that does not reason', () => {
    const words = 'Encrypted content is not supported with this model.'
    const next = recover({}, words)
    expect(next?.body).not.toHaveProperty('include')
    expect(next?.learnedRefusal).toBe('encrypted_content')
    expect(recover({ include: ['a', 'reasoning.encrypted_content'] }, words)?.body?.['include']).toEqual(['a'])
    expect(recover({ include: ['a'] }, words)).toBeUndefined()
  })
})

describe('members upstream does not take', () => {
  test.each<[string, Record<string, unknown>, Words, Record<string, unknown>, string]>([
    [
      'unsupported with this model',
      { top_p: 1 },
      { code: 'invalid_request_body', message: "Unsupported parameter: 'top_p' is not supported with this model." },
      {},
      'field:top_p',
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
      { temperature: 0.2 },
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      {},
      'field:temperature',
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
    expect(next?.body).toEqual({ ...start, input: [user], ...expected })
    expect(next?.learnedRefusal).toBe(learnedRefusal)
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
    const text = '{ "model":"m", "x":1.0, "metadata":{}, "input":[ {"role":"user","content":"\\u00e9"} ]}'
    expect(recoverText(text, 'Unsupported parameter: metadata')?.json).toBe(
      '{"model":"m", "x":1.0,"input":[ {"role":"user","content":"\\u00e9"} ]}',
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
      body: { reasoning: { effort: 'medium', summary: 'auto' } },
      learnedRefusal: 'efforts:low,medium',
      warnings: ['clamped;reasoning.effort'],
    })
  })

  test('are left out where none is listed', () => {
    const next = recover(asked, { code: 'invalid_reasoning_effort', message: 'Bad effort.' })
    expect(next?.body?.['reasoning']).toEqual({ summary: 'auto' })
    expect(next?.learnedRefusal).toBeUndefined()
    expect(next?.warnings).toEqual(['refused_upstream;reasoning.effort'])
  })

  test('are left out for good where the model has none', () => {
    const next = recover(asked, 'gpt-x does not support reasoning effort')
    expect(next?.body?.['reasoning']).toEqual({ summary: 'auto' })
    expect(next?.learnedRefusal).toBe('field:reasoning.effort')
  })

  test('are left out where the one that was sent is on the list', () => {
    const next = recover(
      { reasoning: { effort: 'low' } },
      { code: 'invalid_reasoning_effort', message: 'supported values:[low]' },
    )
    expect(next?.body?.['reasoning']).toEqual({})
  })

  test('are the answer where none was sent', () => {
    expect(recover({}, { code: 'invalid_reasoning_effort', message: 'x' })).toBeUndefined()
  })
})

describe('kinds of tools', () => {
  const named = { type: 'function', name: 'f' }
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
    expect(recover(body, words)).toEqual({ json: undefined, body: undefined, learnedRefusal, warnings: [] })
    // Encoded so and refused again: upstream means something else.
    expect(recover(body, words, [learnedRefusal])).toBeUndefined()
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
    const next = recover({ tools: [named, { type }], tool_choice: { type }, parallel_tool_calls: true }, words)
    expect(next?.body).toEqual({ ...start, input: [user], tools: [named], parallel_tool_calls: true })
    expect(next?.learnedRefusal).toBe(`tool:${type === 'web_search_preview' ? 'web_search' : type}`)
    expect(next?.warnings).toEqual(['refused_upstream;tools'])
  })

  test('go with the choice among them where none is left', () => {
    const words = 'The requested tool web_search is not supported.'
    const next = recover({ tools: [{ type: 'web_search' }], tool_choice: 'auto', parallel_tool_calls: false }, words)
    expect(next?.body).toEqual({ ...start, input: [user] })
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
    expect(next?.body?.['input']).toEqual([user, user])
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

test('a body that is no JSON object has nothing to take out', () => {
  for (const text of ['', '[]', '{"a":', 'null']) expect(recoverText(text, 'Unsupported parameter: a')).toBeUndefined()
})

test('what was learned is honoured by the next request, so that upstream does not refuse it again', () => {
  const body = { input: [{ ...user, passthrough: 1 }], reasoning: { effort: 'high' }, tools: [{ type: 'web_search' }] }
  const refusals: Words[] = [
    "Unknown parameter: 'input[0].passthrough'.",
    { code: 'invalid_reasoning_effort', message: 'supported values:[low]' },
    'The requested tool web_search is not supported.',
  ]
  const learnedRefusals = refusals.map((words) => recover(body, words)?.learnedRefusal ?? '')
  const call = responsesCaller.decodeRequest(JSON.stringify({ ...start, ...body }))
  const passed = responsesUpstream.passRequest(call, encodeContext(gpt, { learnedRefusals: new Set(learnedRefusals) }))
  const sent = passed?.body.toString() ?? ''
  for (const words of refusals)
    expect(recoverText(sent, words)?.json ?? sent).not.toMatch(/passthrough|"high"|web_search/)
  expect(JSON.parse(sent)).toEqual({ ...start, input: [user], reasoning: { effort: 'low' } })
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
      const next = recoverText(text, response)
      if (next?.json !== undefined) expect(JSON.parse(next.json)).not.toEqual(JSON.parse(text))
    }),
  )
})
