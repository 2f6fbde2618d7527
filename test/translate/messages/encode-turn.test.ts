import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import { fc } from '../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import { prepareTurn } from '../../../src/translate/engine/tool-codec/prepare-turn.ts'
import type { ModelTraits } from '../../../src/translate/model-traits.ts'
import type { FieldNames, FunctionTool, Opaque, Turn, TurnItem, TurnPart } from '../../../src/translate/turn.ts'
import { formatWarning } from '../../../src/translate/warning.ts'
import { fixture } from './caller-helpers.ts'
import { contextOf, models, readEncoded, traits } from './upstream-helpers.ts'
import { deepFreeze, errorOf } from '../faults.ts'

/** As a chat caller knows them. */
const fieldNames: FieldNames = {
  maxOutputTokens: 'max_completion_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  seed: 'seed',
  logitBias: 'logit_bias',
  stop: 'stop',
  format: 'response_format',
  verbosity: 'verbosity',
  reasoning: 'reasoning_effort',
  effort: 'reasoning_effort',
  logprobs: 'logprobs',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
}

const accepts = { customTools: false, webSearch: false, stop: true }
const { haiku45, sonnet45, opus46, opus48, sonnet5 } = models

type Role = 'system' | 'user' | 'assistant'

function message(role: Role, content: string | readonly TurnPart[], at = 0): TurnItem {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  return { type: 'message', role, parts, path: `messages.${at}` }
}

const user = (content: string | readonly TurnPart[], at = 0) => message('user', content, at)
const assistant = (content: string | readonly TurnPart[], at = 1) => message('assistant', content, at)
const system = (content: string, at = 0) => message('system', content, at)
const call = (id: string, args = '{}', at = 1): TurnItem => ({
  type: 'tool_call',
  kind: 'function',
  id,
  name: 'f',
  arguments: args,
  path: `messages.${at}`,
})
const result = (callId: string, content: string | readonly TurnPart[] = 'r', rest = {}): TurnItem => ({
  type: 'tool_result',
  callId,
  content,
  isError: false,
  path: 'messages.2',
  ...rest,
})
const reasoning = (text: string, opaque?: Opaque): TurnItem => ({ type: 'reasoning', text, opaque, path: 'messages.1' })
const tool = (name = 'f', rest = {}): FunctionTool => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
  path: 'tools.0',
  ...rest,
})

const effort = (word: string) => ({ reasoning: { effort: word } })
const enabled = (budget: number) => ({ type: 'enabled', budget_tokens: budget })
const wire = (name = 'f') => ({ name, input_schema: { type: 'object', properties: {} } })

function turnOf(rest: Partial<Turn> = {}): Turn {
  return { fieldNames, items: [user('hello')], tools: [], sampling: {}, stop: [], ...rest }
}

interface EncodeOptions {
  readonly model?: ModelTraits
  readonly learnedRefusals?: readonly string[]
}

/** What upstream gets of a Turn. It is frozen, so that an encoder which changes it fails the test. */
function encode(rest: Partial<Turn>, options: EncodeOptions = {}) {
  const turn = turnOf(rest)
  deepFreeze(turn)
  return readEncoded(messagesDialect.upstream.encodeTurn(turn, contextOf(options)))
}

/** As the pipeline does it. */
function prepareAndEncode(rest: Partial<Turn>, options: EncodeOptions = {}) {
  const prepared = prepareTurn(turnOf(rest), accepts)
  const encoded = readEncoded(messagesDialect.upstream.encodeTurn(prepared.turn, contextOf(options)))
  return { ...encoded, warnings: [...prepared.warnings.map(formatWarning), ...encoded.warnings] }
}

/** Without cache marks, which the worked cases leave out. */
function unmarked(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) => (key === 'cache_control' ? undefined : inner))
}

interface Worked {
  readonly out: Readonly<Record<string, unknown>>
  readonly warn?: readonly string[]
}

function worked(number: string): Worked {
  return JSON.parse(fixture(`worked/${number}.json`)) as Worked
}

describe('worked cases', () => {
  test('05: empty content everywhere', () => {
    const { value } = encode({
      items: [user(''), user('hi'), assistant(''), call('c1', ''), result('c1', ''), user('  '), user('go')],
      tools: [tool()],
    })
    expect(unmarked(value['messages'])).toEqual(worked('05').out['messages'])
  })

  const leadingAndLate = [system('D1'), system('S1'), user('u'), system('D2')]

  test.each([opus48, sonnet5])('10: developer messages, leading and late', (model) => {
    const { value, warnings } = encode({ items: leadingAndLate }, { model })
    expect(unmarked({ system: value['system'], messages: value['messages'] })).toEqual(worked('10').out)
    expect(warnings).toEqual([])
  })

  test.each([haiku45, sonnet45, opus46])('10: on models that take no late system message', (model) => {
    const { value } = encode({ items: leadingAndLate }, { model })
    expect(unmarked(value['messages'])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'u' },
          { type: 'text', text: '<system-reminder>\nD2\n</system-reminder>' },
        ],
      },
    ])
  })

  test('19: a schema for the answer', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'integer', minimum: 1 } },
      required: ['a'],
      additionalProperties: false,
    }
    const { value, warnings } = encode({ format: { type: 'json_schema', name: 'out', strict: true, schema } })
    expect({ output_config: value['output_config'] }).toEqual(worked('19').out['m'])
    expect(warnings).toEqual(['schema_simplified;response_format.minimum'])
  })

  test('23: duplicate ids', () => {
    const { value } = prepareAndEncode({
      items: [user('u'), call('x', '{"i":1}'), call('x', '{"i":2}'), result('x', 'r1'), result('x', 'r2')],
      tools: [tool()],
    })
    expect(unmarked(value['messages'])).toEqual(worked('23').out['messages'])
  })

  test('25: missing and orphan results', () => {
    const second: TurnItem = { type: 'tool_call', kind: 'function', id: 'b', name: 'g', arguments: '{}', path: '' }
    const { value, warnings } = prepareAndEncode({
      items: [user('u'), call('a'), second, result('a', 'ra'), result('zz', 'lost'), user('next')],
      tools: [tool(), tool('g')],
    })
    expect(unmarked(value['messages'])).toEqual(worked('25').out['messages'])
    expect(warnings.toSorted()).toEqual(worked('25').warn?.toSorted())
  })

  test('33: a freeform tool', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' }
    const { value, warnings } = prepareAndEncode({
      tools: [{ type: 'custom', name: 'apply_patch', description: 'Edit files', format, path: 'tools.0' }],
    })
    expect(unmarked(value['tools'])).toEqual(worked('33').out['tools'])
    expect(warnings).toEqual(worked('33').warn)
  })
})

describe('messages', () => {
  const pdf = { type: 'file', source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' } } as const
  const png = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0=' } } as const
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0=' } }

  test.each<[string, readonly TurnPart[], readonly unknown[]]>([
    ['an image', [png], [image]],
    [
      'an image with a misspelt type',
      [{ ...png, source: { ...png.source, mediaType: 'image/jpg' } }],
      [{ ...image, source: { ...image.source, media_type: 'image/jpeg' } }],
    ],
    [
      'an image elsewhere',
      [{ type: 'image', source: { type: 'url', url: 'https://e.x/a.png' } }],
      [{ type: 'image', source: { type: 'url', url: 'https://e.x/a.png' } }],
    ],
    [
      'a PDF',
      [{ ...pdf, filename: 'a.pdf' }],
      [
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
          title: 'a.pdf',
        },
      ],
    ],
    [
      'a text file',
      [{ type: 'file', source: { type: 'base64', mediaType: 'text/plain', data: 'w6k=' }, filename: 'a.txt' }],
      [{ type: 'text', text: 'a.txt\n\né' }],
    ],
  ])('carries %s', (_, parts, blocks) => {
    expect(unmarked(encode({ items: [user(parts)] }).value['messages'])).toEqual([{ role: 'user', content: blocks }])
  })

  test.each<[string, TurnPart]>([
    ['an image of another kind', { ...png, source: { ...png.source, mediaType: 'image/tiff' } }],
    ['an uploaded image', { type: 'image', source: { type: 'file_id', id: 'f' } }],
    ['a document elsewhere', { type: 'file', source: { type: 'url', url: 'https://e.x/a.pdf' } }],
    ['an uploaded file', { type: 'file', source: { type: 'file_id', id: 'f' } }],
    ['a file of another kind', { ...pdf, source: { ...pdf.source, mediaType: 'application/zip' } }],
    ['audio', { type: 'audio', data: 'AA==', format: 'wav' }],
  ])('refuses %s', (_, part) => {
    expect(errorOf(() => encode({ items: [user([part], 3)] }))).toMatchObject({
      kind: 'invalid_request',
      path: 'messages[3].content',
      code: 'unsupported_value',
    })
  })

  test('has a refusal as text, and leaves out images by the assistant', () => {
    const { value, warnings } = encode({
      items: [user('u'), assistant([{ type: 'refusal', text: 'No.' }, png]), user('v')],
    })
    expect(unmarked(value['messages'])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'u' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
      { role: 'user', content: [{ type: 'text', text: 'v' }] },
    ])
    expect(warnings).toEqual(['dropped;messages.1'])
  })

  test('begins with the user', () => {
    const { value } = encode({ items: [assistant('A'), user('u')] })
    expect(unmarked(value['messages'])).toEqual([
      { role: 'user', content: '(continued)' },
      { role: 'assistant', content: [{ type: 'text', text: 'A' }] },
      { role: 'user', content: [{ type: 'text', text: 'u' }] },
    ])
  })

  test.each([
    [[system('S'), user(' ')], 'messages', 'invalid_value'],
    [[user('u'), assistant('{')], 'messages', 'assistant_prefill'],
  ])('refuses a conversation without an open question', (items, path, code) => {
    expect(errorOf(() => encode({ items }))).toMatchObject({ kind: 'invalid_request', path, code })
  })

  test('lets older models continue an answer', () => {
    const { value } = encode({ items: [user('u'), assistant('{')] }, { model: sonnet45 })
    expect(value['messages']).toHaveLength(2)
  })

  test('puts results first, with parts and failures', () => {
    const { value } = encode({
      items: [
        user('u'),
        assistant('Let me see.'),
        call('a', '{"p":1}'),
        call('b', 'broken'),
        result('a', [{ type: 'text', text: ' ' }, png]),
        result('b', '', { isError: true }),
        user('go on'),
      ],
      tools: [tool()],
    })
    expect(unmarked(value['messages'])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'u' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'a', name: 'f', input: { p: 1 } },
          { type: 'tool_use', id: 'b', name: 'f', input: { input: 'broken' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [image] },
          { type: 'tool_result', tool_use_id: 'b', is_error: true, content: 'Error' },
          { type: 'text', text: 'go on' },
        ],
      },
    ])
  })

  test.each([
    ['after the assistant', [user('u'), assistant('A'), system('S'), user('v')]],
    ['between the words of the user', [user('u'), assistant('A'), user('v'), system('S'), user('w')]],
  ])('sends a system message %s as a reminder', (_, items) => {
    const { value } = encode({ items })
    expect(JSON.stringify(value['messages'])).toContain('<system-reminder>\\nS\\n</system-reminder>')
    expect(JSON.stringify(value['messages'])).not.toContain('"role":"system"')
  })

  test('replays what Claude thought and nobody else, with one warning for each message', () => {
    const opaque = { vendor: 'anthropic', family: 'claude', form: 'signature', value: 'SIG' } as const
    const { value, warnings } = encode({
      items: [
        user('u'),
        reasoning('T', opaque),
        reasoning('', { ...opaque, form: 'redacted', value: 'DATA' }),
        reasoning('secret', { ...opaque, vendor: 'openai', form: 'encrypted_content' }),
        reasoning('secret', { ...opaque, vendor: 'google' }),
        reasoning('secret', { ...opaque, form: 'reasoning_opaque' }),
        reasoning('secret'),
        assistant('A'),
        user('v'),
      ],
    })
    expect(unmarked(value['messages'])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'u' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'T', signature: 'SIG' },
          { type: 'redacted_thinking', data: 'DATA' },
          { type: 'text', text: 'A' },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'v' }] },
    ])
    expect(warnings).toEqual(['thinking_dropped;messages.1'])
  })

  test('keeps the text of compacted history and drops searches', () => {
    const opaque = { vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', value: 'E' } as const
    const { value, warnings } = encode({
      items: [
        { type: 'compaction', text: 'Summary', opaque, path: 'input.0' },
        { type: 'web_search', id: 's', query: 'q', path: 'input.1' },
        user('v', 2),
      ],
    })
    expect(unmarked(value['messages'])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Summary' },
          { type: 'text', text: 'v' },
        ],
      },
    ])
    expect(warnings).toEqual(['compaction_dropped;input.0', 'dropped;input.1'])
  })
})

describe('thinking', () => {
  const clamped = ['clamped;reasoning_effort']

  test.each<[string, ModelTraits, Partial<Turn>, unknown, unknown, readonly string[]]>([
    ['nothing asked', opus48, {}, undefined, undefined, []],
    ['none', opus48, effort('none'), { type: 'disabled' }, undefined, []],
    ['minimal', opus46, effort('minimal'), { type: 'adaptive' }, { effort: 'low' }, []],
    ['low', opus46, effort('low'), { type: 'adaptive' }, { effort: 'low' }, []],
    ['medium', opus46, effort('medium'), { type: 'adaptive' }, { effort: 'medium' }, []],
    ['high', opus48, effort('high'), { type: 'adaptive', display: 'summarized' }, { effort: 'high' }, []],
    ['xhigh, listed', sonnet5, effort('xhigh'), { type: 'adaptive', display: 'summarized' }, { effort: 'xhigh' }, []],
    ['xhigh, not listed', opus46, effort('xhigh'), { type: 'adaptive' }, { effort: 'high' }, clamped],
    ['xhigh, no list', traits('claude-opus-4.6'), effort('xhigh'), { type: 'adaptive' }, { effort: 'high' }, clamped],
    ['max, no list', traits('claude-opus-4.6'), effort('max'), { type: 'adaptive' }, { effort: 'max' }, []],
    ['max', opus46, effort('max'), { type: 'adaptive' }, { effort: 'high' }, clamped],
    ['a word nobody knows', opus46, effort('ultra'), undefined, undefined, ['dropped;reasoning_effort']],
    ['none, by budget', sonnet45, effort('none'), { type: 'disabled' }, undefined, []],
    ['minimal, by budget', sonnet45, effort('minimal'), enabled(1024), undefined, []],
    ['low, by budget', sonnet45, effort('low'), enabled(1024), undefined, []],
    ['medium, by budget', haiku45, effort('medium'), enabled(8192), undefined, []],
    ['high, by budget', haiku45, effort('high'), enabled(24_576), undefined, []],
    ['xhigh, by budget', haiku45, effort('xhigh'), enabled(32_000), undefined, []],
    ['max, by budget', sonnet45, effort('max'), enabled(27_904), undefined, []],
    ['with a small cap', sonnet45, { ...effort('high'), maxOutputTokens: 4000 }, enabled(3000), undefined, []],
    [
      'with a cap too small',
      sonnet45,
      { ...effort('high'), maxOutputTokens: 1000 },
      { type: 'disabled' },
      undefined,
      ['dropped;reasoning_effort'],
    ],
    [
      'with a forced tool',
      sonnet45,
      { ...effort('high'), tools: [tool()], toolChoice: { type: 'required' } },
      { type: 'disabled' },
      undefined,
      ['dropped;reasoning_effort'],
    ],
    [
      'in a tool loop without thoughts',
      sonnet45,
      { ...effort('high'), tools: [tool()], items: [user('u'), call('a'), result('a')] },
      { type: 'disabled' },
      undefined,
      ['dropped;reasoning_effort'],
    ],
    [
      'in a tool loop without thoughts, adaptive',
      opus46,
      { ...effort('high'), tools: [tool()], items: [user('u'), call('a'), result('a')] },
      { type: 'adaptive' },
      { effort: 'high' },
      [],
    ],
    [
      'with readable text',
      opus46,
      { reasoning: { effort: 'low', summary: 'auto' } },
      { type: 'adaptive', display: 'summarized' },
      { effort: 'low' },
      [],
    ],
    [
      'without readable text',
      opus48,
      { reasoning: { effort: 'low', summary: 'none' } },
      { type: 'adaptive', display: 'omitted' },
      { effort: 'low' },
      [],
    ],
    ['a budget', opus46, { reasoning: { mode: 'enabled', budgetTokens: 9000 } }, enabled(9000), undefined, []],
    [
      'a budget on a newer model',
      sonnet5,
      { reasoning: { mode: 'enabled', budgetTokens: 9000 } },
      { type: 'adaptive', display: 'summarized' },
      { effort: 'high' },
      [],
    ],
    [
      'a budget that is too large',
      sonnet45,
      { reasoning: { mode: 'enabled', budgetTokens: 90_000 } },
      enabled(31_999),
      undefined,
      clamped,
    ],
  ])('%s', (_, model, rest, thinking, config, warnings) => {
    const encoded = encode(rest, { model })
    expect(encoded.value['thinking']).toEqual(thinking)
    expect(encoded.value['output_config']).toEqual(config)
    expect(encoded.warnings).toEqual(warnings)
  })

  test('lets older models think between tool calls', () => {
    expect(encode({ reasoning: { effort: 'low' } }, { model: sonnet45 }).betas).toBe('interleaved-thinking-2025-05-14')
    expect(encode({ reasoning: { effort: 'low' } }, { model: opus46 }).betas).toBeUndefined()
    const learnedRefusals = ['beta:interleaved-thinking-2025-05-14']
    expect(encode({ reasoning: { effort: 'low' } }, { model: sonnet45, learnedRefusals }).betas).toBeUndefined()
  })
})

describe('parameters', () => {
  test.each<[string, ModelTraits, Partial<Turn>, Readonly<Record<string, unknown>>, readonly string[]]>([
    ['the cap', opus48, { maxOutputTokens: 7 }, { max_tokens: 7 }, []],
    ['the cap of the model', opus48, {}, { max_tokens: 64_000 }, []],
    ['the cap of a model that states none', traits('claude-sonnet-4'), {}, { max_tokens: 8192 }, []],
    ['a cap too large', opus46, { maxOutputTokens: 99_999 }, { max_tokens: 32_000 }, ['clamped;max_completion_tokens']],
    ['temperature', sonnet45, { sampling: { temperature: 0.2 } }, { temperature: 0.2 }, []],
    ['temperature above 1', sonnet45, { sampling: { temperature: 1.5 } }, { temperature: 1 }, ['clamped;temperature']],
    [
      'temperature and top_p',
      opus46,
      { sampling: { temperature: 0.2, topP: 0.5 } },
      { temperature: 0.2, top_p: undefined },
      ['dropped;top_p'],
    ],
    [
      'sampling of newer models',
      opus48,
      { sampling: { temperature: 0.2, topP: 1 } },
      { temperature: undefined, top_p: undefined },
      ['dropped;temperature'],
    ],
    [
      'sampling with thinking',
      sonnet45,
      { sampling: { temperature: 0.2 }, reasoning: { effort: 'low' } },
      { temperature: undefined },
      ['dropped;temperature'],
    ],
    [
      'what Claude has not',
      opus48,
      {
        sampling: { frequencyPenalty: 0.1, presencePenalty: 0, seed: 0, logitBias: { 1: 2 } },
        verbosity: 'low',
        cacheKey: 'k',
      },
      {},
      ['dropped;frequency_penalty', 'dropped;seed', 'dropped;logit_bias', 'dropped;verbosity'],
    ],
    ['stop texts', opus48, { stop: ['END', '\n'] }, { stop_sequences: ['END'] }, ['emulated;stop']],
    [
      'JSON without a schema',
      opus48,
      { format: { type: 'json_object' } },
      { system: [{ type: 'text', text: 'Reply with one JSON object and nothing else.' }], output_config: undefined },
      ['json_hinted;response_format'],
    ],
    [
      'a schema for a model that takes none',
      haiku45,
      { items: [system('S'), user('u')], format: { type: 'json_schema', schema: { type: 'object' } } },
      {
        system: [
          { type: 'text', text: 'S' },
          { type: 'text', text: 'Reply with JSON that matches this schema, and with nothing else:\n{"type":"object"}' },
        ],
        output_config: undefined,
      },
      ['json_hinted;response_format'],
    ],
  ])('%s', (_, model, rest, sent, warnings) => {
    const encoded = encode(rest, { model })
    const value = unmarked(encoded.value) as Record<string, unknown>
    for (const [key, member] of Object.entries(sent)) expect(value[key], key).toEqual(member)
    expect(encoded.warnings).toEqual(warnings)
  })

  test('always streams, under the id and the version of upstream', () => {
    const { value, headers } = encode({})
    expect(value).toMatchObject({ model: 'claude-opus-4.8', stream: true })
    expect(headers).toEqual({ 'anthropic-version': '2023-06-01' })
  })

  test('refuses log probabilities', () => {
    expect(errorOf(() => encode({ logprobs: { top: 2 } }))).toMatchObject({
      path: 'logprobs',
      code: 'unsupported_value',
    })
  })

  test('leaves out what upstream has refused before', () => {
    const learnedRefusals = ['field:stop_sequences', 'efforts:low', 'system-messages:no', 'max-tokens:99']
    const { value, warnings } = encode(
      { items: [user('u'), system('S')], stop: ['END'], reasoning: { effort: 'high' } },
      { learnedRefusals },
    )
    expect(value).toMatchObject({ output_config: { effort: 'low' }, max_tokens: 99 })
    expect(value['stop_sequences']).toBeUndefined()
    expect(JSON.stringify(value['messages'])).toContain('<system-reminder>')
    expect(warnings).toEqual(['clamped;reasoning_effort', 'refused_upstream;stop'])
  })
})

describe('tools', () => {
  const two = { tools: [tool(), tool('g')] }

  test.each<[string, Partial<Turn>, readonly unknown[] | undefined, unknown]>([
    ['no choice', two, [wire(), wire('g')], undefined],
    ['auto', { ...two, toolChoice: { type: 'auto' } }, [wire(), wire('g')], { type: 'auto' }],
    ['none', { ...two, toolChoice: { type: 'none' }, parallelToolCalls: false }, [wire(), wire('g')], { type: 'none' }],
    ['required', { ...two, toolChoice: { type: 'required' } }, [wire(), wire('g')], { type: 'any' }],
    [
      'required, one at a time',
      { ...two, toolChoice: { type: 'required' }, parallelToolCalls: false },
      [wire(), wire('g')],
      { type: 'any', disable_parallel_tool_use: true },
    ],
    ['one', { ...two, toolChoice: { type: 'tool', name: 'g' } }, [wire(), wire('g')], { type: 'tool', name: 'g' }],
    [
      'some',
      { ...two, toolChoice: { type: 'allowed', mode: 'required', tools: [{ name: 'g' }] } },
      [wire('g')],
      { type: 'any' },
    ],
    [
      'one at a time',
      { ...two, parallelToolCalls: false },
      [wire(), wire('g')],
      { type: 'auto', disable_parallel_tool_use: true },
    ],
    ['several at a time', { ...two, parallelToolCalls: true }, [wire(), wire('g')], undefined],
    ['none there', { toolChoice: { type: 'auto' }, parallelToolCalls: false }, undefined, undefined],
  ])('%s', (_, rest, tools, choice) => {
    const { value } = prepareAndEncode(rest)
    expect(unmarked({ tools: value['tools'], choice: value['tool_choice'] })).toEqual(
      JSON.parse(JSON.stringify({ tools, choice })),
    )
  })

  test('says that strictness is lost', () => {
    const { value, warnings } = encode({ tools: [tool('f', { strict: true, description: 'd' })] })
    expect(unmarked(value['tools'])).toEqual([{ ...wire(), description: 'd' }])
    expect(warnings).toEqual(['dropped;tools.0.strict'])
  })
})

describe('cache marks', () => {
  const mark = { cache_control: { type: 'ephemeral' } }

  test('are put on the tools, the system text and the last two messages', () => {
    const { value, betas } = encode({
      items: [system('S1'), system('S2'), user('u'), assistant('A'), user([{ type: 'text', text: 'v' }]), system('D')],
      tools: [tool(), tool('g')],
    })
    expect(value['tools']).toMatchObject([{ name: 'f' }, { name: 'g', ...mark }])
    expect(value['system']).toEqual([
      { type: 'text', text: 'S1' },
      { type: 'text', text: 'S2', ...mark },
    ])
    expect(JSON.stringify(value).split('cache_control')).toHaveLength(5)
    expect(value['messages']).toMatchObject([
      {},
      { content: [{ text: 'A', ...mark }] },
      { content: [{ text: 'v', ...mark }] },
      { role: 'system' },
    ])
    expect(betas).toBeUndefined()
  })

  test('are put on no thought', () => {
    const thought = { type: 'reasoning', text: 't', path: 'p' } as const
    const opaque = { vendor: 'anthropic', family: 'claude', form: 'signature', value: 'sig' } as const
    const { value } = encode({ items: [user('u'), { ...thought, opaque }, user('v')] })
    expect(value['messages']).toMatchObject([
      { content: [mark] },
      { content: [{ type: 'thinking' }] },
      { content: [mark] },
    ])
    expect(JSON.stringify(value).split('cache_control')).toHaveLength(3)
  })

  test("are the caller's own where there are any, the last four of them", () => {
    const parts = ['a', 'b', 'c', 'd', 'e'].map((text) => ({ type: 'text' as const, text, cache: { ttl: '1h' } }))
    const { value, betas } = encode({ items: [system('S'), user(parts)], tools: [tool()] })
    const cache_control = { type: 'ephemeral', ttl: '1h' }
    expect(value['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          ...['b', 'c', 'd', 'e'].map((text) => ({ type: 'text', text, cache_control })),
        ],
      },
    ])
    expect(value['system']).toEqual([{ type: 'text', text: 'S' }])
    expect(betas).toBe('extended-cache-ttl-2025-04-11')
  })
})

describe('whatever a Turn holds', () => {
  const text = fc.constantFrom('', ' ', 'a', '{"a":1')
  const part = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text }),
    fc.record({ type: fc.constant('refusal' as const), text }),
    fc.record({
      type: fc.constant('image' as const),
      source: fc.record({
        type: fc.constant('base64' as const),
        mediaType: fc.constantFrom('image/png', 'x'),
        data: text,
      }),
    }),
  )
  const path = fc.constant('messages.0')
  const item = fc.oneof(
    fc.record({
      type: fc.constant('message' as const),
      role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const),
      parts: fc.array(part, { maxLength: 3 }),
      path,
    }),
    fc.record({
      type: fc.constant('tool_call' as const),
      kind: fc.constant('function' as const),
      id: fc.constantFrom('a', 'b', ''),
      name: fc.constantFrom('f', 'a b'),
      arguments: text,
      path,
    }),
    fc.record({
      type: fc.constant('tool_result' as const),
      callId: fc.constantFrom('a', 'b', 'zz'),
      content: fc.oneof(text, fc.array(part, { maxLength: 2 })),
      isError: fc.boolean(),
      path,
    }),
    fc.record({
      type: fc.constant('reasoning' as const),
      text,
      opaque: fc.option(
        fc.record({
          vendor: fc.constantFrom('anthropic' as const, 'openai' as const, 'unknown' as const),
          family: text,
          form: fc.constantFrom('signature' as const, 'redacted' as const, 'encrypted_content' as const),
          value: text,
        }),
        { nil: undefined },
      ),
      path,
    }),
    fc.record({ type: fc.constant('compaction' as const), text, path }),
  )
  const turn = fc.record({
    items: fc.array(item, { maxLength: 10 }),
    tools: fc.constantFrom([], [tool('f')]),
    reasoning: fc.record({ effort: fc.constantFrom('none', 'low', 'max', 'odd', undefined) }),
    maxOutputTokens: fc.option(fc.nat(40_000), { nil: undefined }),
  })
  const model = fc.constantFrom(...Object.values(models), traits('claude'), traits('odd-model'))

  interface WireBlock {
    readonly type: string
    readonly id?: string
    readonly tool_use_id?: string
    readonly text?: string
  }
  interface WireMessage {
    readonly role: string
    readonly content: string | readonly WireBlock[]
  }
  const blocksOf = (content: WireMessage['content']): readonly WireBlock[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content

  test('the conversation upstream gets is one it takes, or there is a Fault', () => {
    fc.assert(
      fc.property(turn, model, (rest, each) => {
        let encoded
        try {
          encoded = prepareAndEncode(rest, { model: each })
        } catch (error) {
          expect(error).toBeInstanceOf(Fault)
          return
        }
        // Built by the encoder under test, of its own types.
        const sent = encoded.value['messages'] as readonly WireMessage[]
        // Upstream reads adjacent messages of one role as one turn.
        const messages: { readonly role: string; readonly content: WireBlock[] }[] = []
        for (const { role, content } of sent) {
          const last = messages.at(-1)
          if (last?.role === role && role !== 'system') last.content.push(...blocksOf(content))
          else messages.push({ role, content: [...blocksOf(content)] })
        }
        expect(messages[0]?.role).toBe('user')
        for (const [at, { role, content }] of messages.entries()) {
          expect(content.length).toBeGreaterThan(0)
          for (const block of blocksOf(content)) if (block.type === 'text') expect(block.text?.trim()).not.toBe('')
          if (role === 'system') expect(messages[at - 1]?.role).toBe('user')
          const calls = blocksOf(content)
            .filter(({ type }) => type === 'tool_use')
            .map(({ id }) => id)
          const results =
            blocksOf(messages[at + 1]?.content ?? [])
              .slice(0, calls.length)
              .map((block) => block.tool_use_id) ?? []
          if (calls.length > 0) expect(new Set(results)).toEqual(new Set(calls))
        }
        expect(encoded.json.split('"cache_control"').length - 1).toBeLessThanOrEqual(4)
      }),
      { numRuns: 1000 },
    )
  })
})
