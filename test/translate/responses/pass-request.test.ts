import { isThorough } from '../../thorough.ts'
import { responsesDialect } from '../../../src/translate/responses/dialect.ts'
import type { EncodeContext } from '../../../src/translate/dialect.ts'
import { fc } from '../../fast-check.ts'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import { sealOpaque } from '../../../src/translate/engine/opaque-envelope.ts'
import { encodeSummary } from '../../../src/translate/responses/compaction.ts'
import { mintItemId } from '../../../src/translate/responses/items/item.ts'
import type { Opaque } from '../../../src/translate/turn.ts'
import { formatWarning } from '../../../src/translate/warning.ts'
import { encodeContext, traits } from '../turns.ts'
import { mismatchOf } from '../wire-match.ts'
import { arbitraryBody, arbitraryItems } from './arbitrary-bodies.ts'
import { joinHistory } from './caller-requests.ts'
import { errorOf } from '../faults.ts'

const gpt = traits('gpt-5.3-codex', { supports: { reasoningEffort: ['low', 'medium', 'high'] } })

type Json = Readonly<Record<string, unknown>>

/** What upstream is sent, as far as tests look into it. */
interface Sent extends Json {
  readonly input: readonly SentItem[]
}

interface SentItem extends Json {
  readonly call_id?: string
  readonly tools?: unknown
}

/** The body for upstream. */
function passText(text: string, context: Partial<EncodeContext> = {}) {
  const passed = responsesDialect.upstream.passRequest(
    responsesDialect.decodeRequest(text),
    encodeContext(context.model ?? gpt, context),
  )
  if (passed === undefined) throw new Error('the request is to be translated')
  const json = passed.body.toString()
  const body: Sent = JSON.parse(json)
  return { json, body, warnings: passed.warnings.map(formatWarning) }
}

/** What upstream needs of every request, so that a test shows only what it is about. */
const settled = {
  model: 'gpt-5.3-codex',
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'k',
}

function pass(body: Readonly<Record<string, unknown>>, context: Partial<EncodeContext> = {}) {
  return passText(JSON.stringify({ ...settled, input: 'hi', ...body }), context)
}

function passItems(input: readonly unknown[], context: Partial<EncodeContext> = {}) {
  const { body, warnings } = pass({ input }, context)
  return { input: body['input'], warnings }
}

describe('what every request needs', () => {
  const needed = '"include":["reasoning.encrypted_content"],"store":false,"stream":true'

  test.each([
    ['added where it is missing', '', `,${needed}`],
    [
      'put right where it is wrong',
      '"store":true,"stream":false,"include":[]',
      `"store":false,"stream":true,"include":["reasoning.encrypted_content"]`,
    ],
    [
      'added to what is included',
      '"include":["message.output_text.logprobs"],"store":false,"stream":true',
      '"include":["message.output_text.logprobs","reasoning.encrypted_content"],"store":false,"stream":true',
    ],
    [
      'put in the place of null',
      '"include":null,"store":null,"stream":null',
      `"include":["reasoning.encrypted_content"],"store":false,"stream":true`,
    ],
  ])('is %s', (_, written, sent) => {
    const start = '{"model":"gpt-5.3-codex","input":"hi","prompt_cache_key":"k"'
    const join = written === '' ? '' : ','
    const joinSent = sent.startsWith(',') ? '' : ','
    expect(passText(`${start}${join}${written}}`).json).toBe(`${start}${joinSent}${sent}}`)
  })

  test('leaves the very bytes alone where it is there', () => {
    const text = ` {"model":"gpt-5.3-codex", "input":"\\u00e9é", "prompt_cache_key":"k", ${needed},\n"x":1.0, "reasoning": {"effort":"low"} }\n`
    const bytes = Buffer.from(text)
    expect(
      responsesDialect.upstream.passRequest(responsesDialect.decodeRequest(text, { bytes }), encodeContext(gpt))?.body,
    ).toBe(bytes)
  })

  test('sends the routed model under its own id', () => {
    expect(pass({ model: 'copilot/gpt-5.3-codex' }).body['model']).toBe('gpt-5.3-codex')
  })
})

describe('members upstream refuses', () => {
  test.each<[string, Readonly<Record<string, unknown>>, string[]]>([
    ['service_tier', { service_tier: 'priority' }, ['dropped;service_tier']],
    ['the usual service_tier', { service_tier: 'auto' }, []],
    ['safety_identifier', { safety_identifier: 'u' }, []],
    ["Codex's own telemetry", { client_metadata: { a: 'b' } }, []],
    ['background, which is off', { background: false }, []],
    ['a conversation that is none', { conversation: null, prompt: null, previous_response_id: null }, []],
    ['temperature', { temperature: 0.2 }, ['dropped;temperature']],
    ['top_p', { top_p: 0.5 }, ['dropped;top_p']],
    ['sampling as usual', { temperature: 1, top_p: 1 }, []],
    [
      'penalties',
      { frequency_penalty: 1, presence_penalty: 0.5 },
      ['dropped;frequency_penalty', 'dropped;presence_penalty'],
    ],
    ['penalties of nothing', { frequency_penalty: 0, presence_penalty: 0 }, []],
    ['padding alone', { stream_options: { include_obfuscation: false } }, []],
    [
      'a required tool choice without tools',
      { tool_choice: 'required', parallel_tool_calls: true },
      ['dropped;tool_choice'],
    ],
    ['empty tools', { tools: [], tool_choice: 'auto', parallel_tool_calls: false }, []],
  ])('%s', (_, members, warned) => {
    const { body, warnings } = pass(members)
    expect(body).toEqual({ ...settled, input: 'hi' })
    expect(warnings).toEqual(warned)
  })

  test('sampling stays for models that take it', () => {
    const { body, warnings } = pass({ temperature: 0.2, top_p: 0.5 }, { model: traits('gpt-4.1') })
    expect(body).toMatchObject({ temperature: 0.2, top_p: 0.5 })
    expect(warnings).toEqual([])
  })

  test('other stream options stay', () => {
    const { body } = pass({ stream_options: { include_obfuscation: true, other: 1 } })
    expect(body['stream_options']).toEqual({ other: 1 })
  })

  test('what is not known to be refused stays', () => {
    const members = {
      metadata: { a: 'b' },
      user: 'u',
      truncation: 'auto',
      max_tool_calls: 3,
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
      text: { verbosity: 'low' },
      top_logprobs: 2,
      tomorrow: { x: 1 },
    }
    expect(pass(members)).toMatchObject({ body: members, warnings: [] })
  })

  test.each([
    ['gpt-5', 'gpt-5'],
    ['gpt-5.1', 'gpt-5.1'],
    ['gpt-5.2', 'gpt-5.2'],
    ['a name of its own', 'gpt-5.2'],
  ])('compaction that the caller asks for in advance is left out for %s', (id, family) => {
    const model = traits(id, { family })
    const asked = [{ type: 'compaction', compact_threshold: 1000 }]
    const { body, warnings } = pass({ context_management: asked }, { model })
    expect(body).not.toHaveProperty('context_management')
    expect(warnings).toEqual(['dropped;context_management'])
    expect(pass({ context_management: [] }, { model }).warnings).toEqual([])
    expect(pass({}).body).not.toHaveProperty('context_management')
  })

  test('a stored response that was not found is not answered as if there were none', () => {
    expect(errorOf(() => pass({ previous_response_id: 'resp_1' }))).toMatchObject({
      path: 'previous_response_id',
      code: 'previous_response_not_found',
    })
  })

  test('a cap above the model is lowered', () => {
    const { body, warnings } = pass(
      { max_output_tokens: 200_000 },
      { model: traits('gpt-6-sol', { maxOutputTokens: 128_000 }) },
    )
    expect(body['max_output_tokens']).toBe(128_000)
    expect(warnings).toEqual(['clamped;max_output_tokens'])
  })
})

describe('reasoning', () => {
  test.each<[string, unknown, string, readonly string[] | undefined, unknown, string[]]>([
    [
      'a listed level',
      { effort: 'low', summary: 'auto' },
      'gpt-6-sol',
      ['low'],
      { effort: 'low', summary: 'auto' },
      [],
    ],
    ['minimal', { effort: 'minimal' }, 'gpt-5-mini', ['low', 'high'], { effort: 'low' }, ['clamped;reasoning.effort']],
    [
      'minimal without a list',
      { effort: 'minimal' },
      'gpt-5.2',
      undefined,
      { effort: 'low' },
      ['clamped;reasoning.effort'],
    ],
    [
      'above the list',
      { effort: 'max', context: 'auto' },
      'gpt-6-sol',
      ['low', 'high'],
      { effort: 'high', context: 'auto' },
      ['clamped;reasoning.effort'],
    ],
    ['a word nobody knows', { effort: 'ultra' }, 'gpt-6-sol', ['low'], { effort: 'ultra' }, []],
    [
      'no levels at all',
      { effort: 'low', summary: 'auto' },
      'gpt-6-sol',
      [],
      { summary: 'auto' },
      ['dropped;reasoning.effort'],
    ],
    [
      'no summary for this one',
      { effort: 'low', summary: 'auto' },
      'gpt-5.3-codex-spark-preview',
      ['low'],
      { effort: 'low' },
      ['dropped;reasoning.summary'],
    ],
    ['a model that does not reason', { effort: 'low' }, 'gpt-4.1', undefined, undefined, ['dropped;reasoning']],
    ['null', null, 'gpt-6-sol', ['low'], null, []],
  ])('%s', (_, reasoning, id, reasoningEffort, sent, warned) => {
    const { body, warnings } = pass({ reasoning }, { model: traits(id, { supports: { reasoningEffort } }) })
    expect(body['reasoning']).toEqual(sent)
    expect(warnings).toEqual(warned)
  })
})

describe('ids of items', () => {
  const long = 'A'.repeat(300)
  const opaque = { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'a message',
      { type: 'message', id: 'msg_1', role: 'user', content: 'x' },
      { type: 'message', role: 'user', content: 'x' },
    ],
    ['a message without a type', { id: 'msg_1', role: 'user', content: 'x' }, { role: 'user', content: 'x' }],
    [
      'an answer, with the status of a reply that nobody knows',
      { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', phase: 'commentary', content: [] },
      { type: 'message', role: 'assistant', phase: 'commentary', content: [] },
    ],
    [
      'a search',
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} },
      { type: 'web_search_call', status: 'completed', action: {} },
    ],
    ['an item of tomorrow', { type: 'new_thing', id: long, x: 1 }, { type: 'new_thing', x: 1 }],
    [
      'an id that is null',
      { type: 'message', id: null, role: 'user', content: 'x' },
      { type: 'message', role: 'user', content: 'x' },
    ],
    ['reasoning with an id of ours', { ...opaque, id: mintItemId('reasoning', 'seed', 0) }, opaque],
    ['reasoning with an id that is too long', { ...opaque, id: long }, opaque],
  ])('go: %s', (_, item, sent) => {
    expect(passItems([item])).toEqual({ input: [sent], warnings: [] })
  })

  test.each(['rs_0199', 'A'.repeat(64)])('stay on reasoning and compaction that upstream made: %s', (id) => {
    const items = [
      { ...opaque, id },
      { type: 'compaction', id, encrypted_content: 'gAAA' },
    ]
    expect(passItems(items).input).toEqual(items)
    const bare = passItems(items, { learnedRefusals: new Set(['item_ids']) }).input
    expect(bare.map((item: object) => Object.keys(item).includes('id'))).toEqual([false, false])
  })

  test('of calls are shortened alike on both sides', () => {
    const id = `call_${long}`
    const { input, warnings } = passItems([
      { type: 'function_call', id: 'fc_1', call_id: id, name: 'f', arguments: '{}', status: 'completed' },
      { type: 'function_call_output', call_id: id, output: 'ok' },
    ])
    expect(input[0]?.call_id).toHaveLength(64)
    expect(input).toEqual([
      { type: 'function_call', call_id: input[0]?.call_id, name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: input[0]?.call_id, output: 'ok' },
    ])
    expect(warnings).toEqual([])
    expect(passItems([{ type: 'function_call', call_id: id, name: 'f', arguments: '{}' }]).input[0]?.call_id).toBe(
      input[0]?.call_id,
    )
  })

  test('of a reference are refused where nothing was found', () => {
    expect(errorOf(() => passItems([{ type: 'message', role: 'user', content: 'x' }, { id: 'msg_9' }]))).toMatchObject({
      path: 'input[1]',
      code: 'item_not_found',
    })
  })
})

function reasoningWith(encrypted: unknown): Json {
  return { type: 'reasoning', summary: [], content: null, encrypted_content: encrypted }
}

describe('opaque values', () => {
  const ours: Opaque = { vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', id: 'rs_1', value: 'ENC' }

  test('of this vendor come out of their envelope', () => {
    const { input, warnings } = passItems([
      { ...reasoningWith(sealOpaque(ours)), id: 'rs_cpx_1' },
      { type: 'compaction', encrypted_content: sealOpaque(ours) },
    ])
    expect(input).toEqual([reasoningWith('ENC'), { type: 'compaction', encrypted_content: 'ENC' }])
    expect(warnings).toEqual([])
  })

  test.each<[string, Opaque]>([
    ['of another vendor', { ...ours, vendor: 'xai' }],
    ['of another kind of upstream', { ...ours, form: 'reasoning_opaque' }],
    ['of Anthropic', { ...ours, vendor: 'anthropic', form: 'signature' }],
  ])('%s go, with a warning', (_, opaque) => {
    const items = [
      { role: 'user', content: 'x' },
      reasoningWith(sealOpaque(opaque)),
      { type: 'compaction', encrypted_content: sealOpaque(opaque) },
    ]
    expect(passItems(items)).toEqual({
      input: items.slice(0, 1),
      warnings: ['thinking_dropped;input.1', 'compaction_dropped;input.2'],
    })
  })

  test('in a damaged envelope go', () => {
    expect(passItems([{ role: 'user', content: 'x' }, reasoningWith('cpx1.e30')]).warnings).toEqual([
      'thinking_dropped;input.1',
    ])
  })

  test('of a vendor we cannot name go nowhere', () => {
    const sealed = reasoningWith(sealOpaque({ ...ours, vendor: 'unknown' }))
    const { warnings } = passItems([{ role: 'user', content: 'x' }, sealed], { model: traits('mai-code-1') })
    expect(warnings).toEqual(['thinking_dropped;input.1'])
  })

  test.each([null, undefined, ''])('that are not there (%s) take their reasoning along', (value) => {
    const { input, warnings } = passItems([{ role: 'user', content: 'x' }, reasoningWith(value)])
    expect(input).toHaveLength(1)
    expect(warnings).toEqual([])
  })

  test('as upstream made them pass untouched, and so does a trigger', () => {
    const items = [reasoningWith('gAAA'), { type: 'compaction_trigger' }]
    expect(passItems(items).input).toEqual(items)
  })

  test('a compaction item with our own summary becomes text', () => {
    const { input } = passItems([{ type: 'compaction', id: 'cmp_1', encrypted_content: encodeSummary('so far') }])
    expect(input).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: expect.stringMatching(/so far$/) }],
      },
    ])
  })
})

function call(id: string, text = '{}'): Json {
  return { type: 'function_call', call_id: id, name: 'f', arguments: text }
}

function output(id: string, text = 'ok'): Json {
  return { type: 'function_call_output', call_id: id, output: text }
}

function customCall(id: string): Json {
  return { type: 'custom_tool_call', call_id: id, name: 'p', input: 'x' }
}

describe('calls and outputs', () => {
  const user = { role: 'user', content: 'x' }
  const missing = 'Error: No result was provided for this tool call.'

  test('25 a missing output is made up, one without a call is left out', () => {
    expect(passItems([user, call('a'), call('b'), output('a'), output('zz', 'lost'), user])).toEqual({
      input: [user, call('a'), call('b'), output('b', missing), output('a'), user],
      warnings: ['tool_result_synthesised;b', 'tool_result_orphan_dropped;zz'],
    })
  })

  test('a freeform call gets an output of its own type', () => {
    expect(passItems([user, customCall('c')])).toEqual({
      input: [user, customCall('c'), { type: 'custom_tool_call_output', call_id: 'c', output: missing }],
      warnings: ['tool_result_synthesised;c'],
    })
  })

  test('an output that comes too early moves', () => {
    expect(passItems([user, output('a'), call('a'), user])).toEqual({
      input: [user, call('a'), output('a'), user],
      warnings: ['tool_result_moved;a'],
    })
  })

  test('parallel calls with one id get ids of their own, and their outputs in order', () => {
    const long = 'x'.repeat(64)
    const sent = pass({
      input: [
        call('a', '1'),
        { type: 'reasoning', summary: [], encrypted_content: 'E' },
        call('a', '2'),
        output('a', 'one'),
        output('a', 'two'),
        call('a', '3'),
        output('a', 'three'),
        call(long, '4'),
        call(long, '5'),
        output(long, 'four'),
        output(long, 'five'),
      ],
    })
    const ids = sent.body.input.flatMap(({ call_id: id }) => id ?? [])
    const [own] = ids.slice(-1)
    expect(own).toMatch(/^x{55}_[0-9a-f]{8}$/)
    expect(ids).toEqual(['a', 'a__2', 'a', 'a__2', 'a', 'a', long, own, long, own])
    expect(sent.warnings).toEqual([])
  })

  test('ids that are used again are paired again', () => {
    const items = [
      call('a'),
      output('a', '1'),
      call('a'),
      output('a', '2'),
      customCall('a'),
      { type: 'custom_tool_call_output', call_id: 'a', output: '3' },
    ]
    expect(passItems(items)).toEqual({ input: items, warnings: [] })
  })

  test('what the caller does not answer is not asked about', () => {
    const items = [
      { type: 'computer_call', call_id: 'a', action: {} },
      { type: 'tool_search_call', call_id: 'b', arguments: {} },
      { type: 'local_shell_call', call_id: 'l', action: {} },
      { type: 'function_call_output', call_id: 'l', output: 'x' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
    ]
    expect(passItems([...items, call('c')])).toEqual({
      input: [...items.slice(0, 4), call('c'), items[4]],
      warnings: ['tool_result_moved;c'],
    })
  })

  test('parallel calls with one id keep an output that comes too early and one that follows', () => {
    const sent = pass({ input: [output('a', 'one'), call('a', '1'), call('a', '2'), output('a', 'two')] })
    expect(sent.body.input.map(({ call_id: id, output: text }) => [id, text])).toEqual([
      ['a', undefined],
      ['a', 'one'],
      ['a__2', undefined],
      ['a__2', 'two'],
    ])
    expect(sent.warnings).toEqual(['tool_result_moved;a'])
  })

  test.runIf(isThorough)('100,000 calls with one id are paired in reasonable time', () => {
    const items = [
      ...Array.from({ length: 50_000 }, () => call('a')),
      ...Array.from({ length: 50_000 }, () => output('a')),
    ]
    expect(passItems(items).input).toHaveLength(100_000)
  })
})

function named(name: string): Json {
  return { type: 'function', name, strict: false, parameters: { type: 'object', properties: {} } }
}

function namespace(tools: readonly unknown[], name = 'gh'): Json {
  return { type: 'namespace', name, description: 'd', tools }
}

describe('tools', () => {
  const custom = {
    type: 'custom',
    name: 'apply_patch',
    format: { type: 'grammar', syntax: 'lark', definition: 's: /x/' },
  }

  test.each([
    [{}, { type: 'object', properties: {} }, ['adapted;tools.0.parameters']],
    [null, { type: 'object', properties: {} }, ['adapted;tools.0.parameters']],
    [
      { type: 'object', properties: { p: {} }, anyOf: [{ required: ['p'] }] },
      { type: 'object', properties: { p: {} }, description: '{anyOf: [{"required":["p"]}]}' },
      ['adapted;tools.0.parameters'],
    ],
    [
      { type: 'object', properties: { p: {} }, not: { required: ['p'] } },
      { type: 'object', properties: { p: {} } },
      ['schema_simplified;tools.0.parameters'],
    ],
  ])('parameters %j are sent as upstream takes them', (parameters, sent, warned) => {
    const { body, warnings } = pass({ tools: [{ type: 'function', name: 'f', parameters }] })
    expect(body['tools']).toEqual([{ type: 'function', name: 'f', parameters: sent }])
    expect(warnings).toEqual(warned)
  })

  test('parameters are fitted in namespaces, in items that bring tools, and in results of a tool search', () => {
    const f = { type: 'function', name: 'f', parameters: { type: 'object' } }
    const fitted = { ...f, parameters: { type: 'object', properties: {} } }
    const { body, warnings } = pass({
      tools: [namespace([f])],
      input: [
        { type: 'additional_tools', role: 'developer', tools: [f, namespace([f])] },
        { type: 'tool_search_output', call_id: 'c', status: 'completed', execution: 'client', tools: [namespace([f])] },
        { type: 'message', role: 'user', content: 'hi' },
      ],
    })
    expect(body['tools']).toEqual([namespace([fitted])])
    expect(body['input']).toMatchObject([
      { tools: [fitted, namespace([fitted])] },
      { tools: [namespace([fitted])] },
      { type: 'message' },
    ])
    expect(warnings).toEqual([
      'adapted;input.0.tools.0.parameters',
      'adapted;input.1.tools.0.tools.0.parameters',
      'adapted;tools.0.tools.0.parameters',
    ])
  })

  test('functions, freeform tools, namespaces and web search pass as they are', () => {
    const members = {
      tools: [
        named('f'),
        custom,
        namespace([named('list'), custom]),
        { type: 'web_search', external_web_access: true },
      ],
      tool_choice: { type: 'custom', name: 'apply_patch' },
      parallel_tool_calls: true,
    }
    expect(pass(members)).toMatchObject({ body: members, warnings: [] })
  })

  const bare = { type: 'namespace', name: 'functions', tools: [named('f')] }
  const filled = { ...bare, description: 'Tools of the namespace functions.' }

  test.each([
    ['absent', bare],
    ['null', { ...bare, description: null }],
    ['empty', { ...bare, description: '' }],
  ])('a description of a namespace that is %s is filled, wherever the namespace stands', (_what, given) => {
    const list = [named('g'), namespace([custom]), given]
    const full = [named('g'), namespace([custom]), filled]
    expect(pass({ tools: list }).body['tools']).toEqual(full)
    for (const item of [
      { type: 'additional_tools', role: 'developer' },
      { type: 'tool_search_output', call_id: 'c', execution: 'client', status: 'completed' },
    ]) {
      const asked = { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} }
      const { body, warnings } = pass({ input: [asked, { ...item, tools: list }] })
      expect(body.input[1]).toEqual({ ...item, tools: full })
      expect(warnings).toEqual([])
    }
  })

  test('only the missing description is added to the caller’s own text', () => {
    const text = '{"type":"namespace","name":"n","description" : "\\u0064",  "tools":[]}'
    const found = `{"type":"tool_search_output","call_id":"c","tools":[${text}]}`
    const asked = '{"type":"tool_search_call","call_id":"c","arguments":{}}'
    const { json } = passText(`{"model":"m","input":[${asked},${found}],"tools":[${text}]}`)
    expect(json).toContain(`"tools":[${text}]`)
    expect(json).toContain(found)
  })

  test('a tool that brings no own list still may be chosen', () => {
    const members = {
      input: [{ type: 'additional_tools', role: 'developer', tools: [named('f')] }],
      tool_choice: 'required',
    }
    expect(pass(members)).toMatchObject({ body: members, warnings: [] })
  })

  test('image generation goes, with a warning', () => {
    const { body, warnings } = pass({ tools: [named('f'), { type: 'image_generation' }], tool_choice: 'auto' })
    expect(body['tools']).toEqual([named('f')])
    expect(body['tool_choice']).toBe('auto')
    expect(warnings).toEqual(['dropped;tools.1'])
  })

  test('image generation goes from among the items and from the choice', () => {
    const { body, warnings } = pass({
      input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'image_generation' }, named('f')] }],
      tools: [named('g')],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'image_generation' }, { type: 'function', name: 'g' }],
      },
    })
    expect(body['input'][0]?.tools).toEqual([named('f')])
    expect(body['tool_choice']).toMatchObject({ tools: [{ type: 'function', name: 'g' }] })
    expect(warnings).toEqual(['dropped;input.0.tools.0'])
  })

  test('image generation alone leaves no tools to choose from', () => {
    const { body } = pass({ tools: [{ type: 'image_generation' }], tool_choice: 'auto', parallel_tool_calls: true })
    expect(body).toEqual({ ...settled, input: 'hi' })
  })

  test('image generation that is the point of the request is refused', () => {
    const members = { tools: [{ type: 'image_generation' }], tool_choice: { type: 'image_generation' } }
    expect(errorOf(() => pass(members))).toMatchObject({ path: 'tool_choice', code: 'unsupported_tool' })
  })

  test('web search that upstream has refused goes', () => {
    const tools = [named('f'), { type: 'web_search_preview' }]
    const { body, warnings } = pass({ tools }, { learnedRefusals: new Set(['tool:web_search']) })
    expect(body['tools']).toEqual([named('f')])
    expect(warnings).toEqual(['dropped;tools.1'])
  })

  const longName = 'n'.repeat(65)
  const shortened = `${'n'.repeat(55)}_1e3fb6d5`
  const wrapped = { type: 'function_call', call_id: 'c', name: 'p', arguments: '{"input":"x"}', x: 1 }
  const lifted = { type: 'additional_tools', role: 'developer', tools: [namespace([named('f')]), named('g')] }

  test.each<[string, Record<string, unknown>, string[], Record<string, unknown>]>([
    ['a name that is too long', { tools: [named(longName)] }, [], { tools: [named(shortened)] }],
    ['a name with other characters', { tools: [named('a.b')] }, [], { tools: [named('a_b')] }],
    ['such a name in a namespace', { tools: [namespace([named('a b')])] }, [], { tools: [namespace([named('a_b')])] }],
    ['such a name of a namespace', { tools: [namespace([named('f')], 'a/b')] }, [], { tools: [named('a_b__f')] }],
    [
      'such a name among the items',
      { input: [{ type: 'additional_tools', role: 'developer', tools: [named('a.b')] }] },
      [],
      { input: [{ type: 'additional_tools', role: 'developer', tools: [named('a_b')] }] },
    ],
    [
      'such a name in history',
      { input: [{ ...call('c'), name: 'a.b' }, output('c')] },
      [],
      { input: [{ ...call('c'), name: 'a_b' }, output('c')] },
    ],
    [
      'such a name that is chosen',
      { tools: [named('a.b')], tool_choice: { type: 'function', name: 'a.b' } },
      [],
      { tool_choice: { type: 'function', name: 'a_b' } },
    ],
    [
      'namespaces that were refused',
      { tools: [namespace([named('f')]), named('g')], tool_choice: { type: 'function', name: 'f' } },
      ['namespaces'],
      { tools: [named('gh__f'), named('g')], tool_choice: { type: 'function', name: 'gh__f' } },
    ],
    [
      'namespaces that are chosen, then',
      {
        tools: [namespace([named('f'), named('g')])],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'gh' }] },
      },
      ['namespaces'],
      {
        tool_choice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: ['gh__f', 'gh__g'].map((name) => ({ type: 'function', name })),
        },
      },
    ],
    [
      'a call of a namespace that was refused',
      { input: [{ ...call('c', ''), namespace: 'gh', x: 1 }, output('c')] },
      ['namespaces'],
      { input: [{ ...call('c', ''), name: 'gh__f', x: 1 }, output('c')] },
    ],
    [
      'tools among the items, then',
      { tools: [named('h')], input: [lifted, { role: 'user', content: 'x', y: 1 }] },
      ['namespaces'],
      { tools: [named('h'), named('gh__f'), named('g')], input: [{ role: 'user', content: 'x', y: 1 }] },
    ],
    [
      'tools that a search found, then',
      { tools: [named('h')], input: [{ type: 'tool_search_output', call_id: 's', tools: [namespace([named('f')])] }] },
      ['namespaces'],
      { input: [{ type: 'tool_search_output', call_id: 's', tools: [named('gh__f')] }] },
    ],
    [
      'freeform tools that were refused',
      { tools: [{ ...custom, x: 1 }], tool_choice: { type: 'custom', name: 'apply_patch' } },
      ['custom_tools'],
      {
        tools: [{ type: 'function', name: 'apply_patch', strict: false, x: 1 }],
        tool_choice: { type: 'function', name: 'apply_patch' },
      },
    ],
    [
      'freeform tools in a namespace, then',
      { tools: [namespace([custom])] },
      ['custom_tools'],
      { tools: [namespace([{ type: 'function', name: 'apply_patch', strict: false }])] },
    ],
    [
      'freeform calls, then',
      {
        input: [
          { ...customCall('c'), x: 1 },
          { ...output('c'), type: 'custom_tool_call_output' },
        ],
      },
      ['custom_tools'],
      { input: [wrapped, output('c')] },
    ],
  ])('keep all but what this upstream does not take: %s', (_, body, learnedRefusals, sent) => {
    const { body: named_, json } = pass({ ...body, x: 1 }, { learnedRefusals: new Set(learnedRefusals) })
    expect(named_).toMatchObject({ ...sent, x: 1 })
    expect(learnedRefusals.length === 0 || pass(body).json !== json).toBe(true)
  })

  test('that become equal are offered once', () => {
    const body = { tools: [named('shell'), namespace([named('shell')], 'functions')] }
    const sent = pass(body, { learnedRefusals: new Set(['namespaces']) })
    expect(sent.body['tools']).toEqual([named('shell')])
    expect(sent.warnings).toEqual(['duplicate_tool_dropped;tools.0'])
  })

  test('of hosted kinds stay beside them', () => {
    const found = { type: 'tool_search', execution: 'client', x: 1 }
    const body = { tools: [found, namespace([named('f')])], context_management: [{ type: 'compaction' }] }
    expect(pass(body, { learnedRefusals: new Set(['namespaces']) })).toMatchObject({
      body: { tools: [found, named('gh__f')], context_management: [{ type: 'compaction' }] },
      warnings: [],
    })
  })
})

describe('learned refusals', () => {
  test('leave out members upstream has refused, and nothing else', () => {
    const learnedRefusals = new Set([
      'field:metadata',
      'field:text.verbosity',
      'field:input[].passthrough',
      'field:tools[].async',
      'field:absent.x',
    ])
    const { body, warnings } = pass(
      {
        metadata: { a: 'b' },
        text: { verbosity: 'low', format: { type: 'text' } },
        input: [
          { role: 'user', content: 'x', passthrough: 1 },
          { role: 'user', content: 'y' },
        ],
        tools: [{ ...named('f'), async: true }],
      },
      { learnedRefusals },
    )
    expect(body).toEqual({
      ...settled,
      text: { format: { type: 'text' } },
      input: [
        { role: 'user', content: 'x' },
        { role: 'user', content: 'y' },
      ],
      tools: [named('f')],
    })
    expect(warnings).toEqual([
      'refused_upstream;metadata',
      'refused_upstream;text.verbosity',
      'refused_upstream;input[].passthrough',
      'refused_upstream;tools[].async',
    ])
  })

  test('leave out reasoning for a model that has none', () => {
    const learnedRefusals = new Set(['encrypted_content'])
    expect(pass({}, { learnedRefusals }).body).not.toHaveProperty('include')
    expect(pass({ include: ['x', 'reasoning.encrypted_content'] }, { learnedRefusals }).body['include']).toEqual(['x'])
    expect(pass({ include: ['x'] }, { learnedRefusals }).body['include']).toEqual(['x'])
  })

  test('about names that are no members do nothing', () => {
    expect(
      pass({}, { learnedRefusals: new Set(['field:__proto__', 'field:__proto__.x', 'field:', 'other']) }).body,
    ).toEqual({
      ...settled,
      input: 'hi',
    })
  })
})

describe('the ChatGPT backend', () => {
  const chatgpt = { profile: 'chatgpt' } as const

  test('31 an expanded request: no ids, no status, instructions in any case', () => {
    const { in: given, out } = JSON.parse(
      readFileSync(new URL('../../fixtures/worked/31.json', import.meta.url), 'utf8'),
    )
    const { local_store: store, ...own } = given
    const request = responsesDialect.decodeRequest(JSON.stringify({ model: 'gpt-6-sol', ...own }))
    const joined = joinHistory(request, store.resp_7)
    const passed = responsesDialect.upstream.passRequest(joined, encodeContext(traits('gpt-6-sol'), chatgpt))
    const body = JSON.parse(passed?.body.toString() ?? '')
    expect(mismatchOf(body, out)).toBeUndefined()
    expect(body.input).toEqual(out.input)
    expect(body).not.toHaveProperty('previous_response_id')
  })
})

function expectSafe(body: Sent): void {
  expect(body).toMatchObject({ model: 'gpt-5.3-codex', store: false, stream: true })
  const input: unknown = body.input
  const items: readonly Json[] = Array.isArray(input) ? input : []
  for (const item of items) {
    for (const key of ['id', 'call_id']) {
      const id = item[key]
      if (typeof id === 'string') expect(id.length).toBeLessThanOrEqual(64)
    }
    expect(item['type']).not.toBe('item_reference')
  }
}

describe('whatever the body', () => {
  const context = fc.record({
    learnedRefusals: fc.subarray([
      'namespaces',
      'custom_tools',
      'item_ids',
      'field:input[].phase',
      'tool:web_search',
      'encrypted_content',
    ]),
    profile: fc.constantFrom(undefined, 'chatgpt' as const),
  })

  test('nothing but a Fault is thrown, and no id is too long', () => {
    fc.assert(
      fc.property(arbitraryBody, context, (text, { learnedRefusals, profile }) => {
        try {
          expectSafe(passText(text, { learnedRefusals: new Set(learnedRefusals), profile }).body)
        } catch (error) {
          expect(error).toBeInstanceOf(Fault)
        }
      }),
    )
  })

  test('nor of items that come from stored replies', () => {
    fc.assert(
      fc.property(arbitraryItems, (items) => {
        const request = responsesDialect.decodeRequest('{"model":"m","input":"hi","previous_response_id":"resp_7"}')
        try {
          const passed = responsesDialect.upstream.passRequest(
            joinHistory(request, { output: items }),
            encodeContext(gpt),
          )
          if (passed !== undefined) expectSafe(JSON.parse(passed.body.toString()))
        } catch (error) {
          expect(error).toBeInstanceOf(Fault)
        }
      }),
    )
  })

  test('members that stay keep their bytes', () => {
    const value = fc.oneof(fc.constantFrom('1.0', '1e400', '12345678901234567890', '"\\u00e9"', ' [1 , 2]'), fc.json())
    const key = fc.string({ minLength: 1, maxLength: 8 }).map((name) => JSON.stringify(`x${name}`))
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 6 }), (members) => {
        const others = members.map(([name, written]) => `${name} :${written}`)
        const text = `{${['"model":"m"', ...others, '"input":[{"id":"msg_1","role":"user","content":"x"}]'].join(',')}}`
        const json = passText(text).json
        for (const other of others) expect(json).toContain(other)
      }),
    )
  })
})
