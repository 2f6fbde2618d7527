import type { EncodeContext } from '../../../src/translate/dialect.ts'
import { readFileSync } from 'node:fs'
import { fc } from '../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import type { JsonObject } from '../../../src/json/json.ts'
import { openOpaque, sealOpaque } from '../../../src/translate/engine/opaque-envelope.ts'
import { prepareTurn } from '../../../src/translate/engine/tool-codec/prepare-turn.ts'
import { responsesDialect } from '../../../src/translate/responses/dialect.ts'
import type {
  FieldNames,
  FunctionTool,
  MessageItem,
  Opaque,
  Turn,
  TurnItem,
  TurnPart,
} from '../../../src/translate/turn.ts'
import { formatWarning } from '../../../src/translate/warning.ts'
import { encodeContext, traits, turn } from '../turns.ts'
import { expectMatch } from '../wire-match.ts'
import { errorOf } from '../faults.ts'

const gpt = traits('gpt-6-sol', { supports: { reasoningEffort: ['low', 'medium', 'high', 'xhigh'] } })
const gpt4 = traits('gpt-4.1')

/** The words of a Messages caller, as far as the cases need them. */
const anthropicNames: Partial<FieldNames> = { reasoning: 'thinking', effort: 'output_config.effort' }

function messagesTurn(parts: Partial<Turn>): Turn {
  const base = turn(parts)
  return { ...base, fieldNames: { ...base.fieldNames, ...anthropicNames } }
}

/** What upstream is sent, as far as tests look into it. */
interface Sent {
  readonly [member: string]: unknown
  readonly input: readonly SentPart[]
  readonly tools: readonly SentPart[]
}

interface SentPart {
  readonly [member: string]: unknown
  readonly call_id?: string
  readonly content?: unknown
  readonly output?: unknown
  readonly strict?: boolean
}

function encode(parts: Turn, context: Partial<EncodeContext> = {}) {
  const { body, warnings } = responsesDialect.upstream.encodeTurn(parts, encodeContext(context.model ?? gpt, context))
  const value: Sent = JSON.parse(body.toString())
  return { body: value, warnings: warnings.map(formatWarning) }
}

/** A worked case, as far as tests look into it. */
interface WorkedCase {
  readonly in: {
    readonly messages: readonly { readonly content: readonly { readonly signature: string }[] }[]
    readonly tools: readonly { readonly name: string; readonly input_schema: unknown }[]
    readonly tool_choice?: { readonly name: string }
    readonly response_format: {
      readonly json_schema: { readonly name: string; readonly strict: boolean; readonly schema: JsonObject }
    }
  }
  readonly out: { readonly [member: string]: unknown; readonly r?: unknown; readonly tools?: unknown }
  readonly warn?: readonly string[]
}

function worked(id: string): WorkedCase {
  return JSON.parse(readFileSync(new URL(`../../fixtures/worked/${id}.json`, import.meta.url), 'utf8'))
}

const text = (words: string): TurnPart => ({ type: 'text', text: words })

function message(role: MessageItem['role'], parts: string | readonly TurnPart[], path = 'messages.0'): MessageItem {
  return { type: 'message', role, parts: typeof parts === 'string' ? [text(parts)] : parts, path }
}

function call(id: string, name: string, args = '{}'): TurnItem {
  return { type: 'tool_call', kind: 'function', id, name, arguments: args, path: 'messages.0' }
}

function result(callId: string, content: string | readonly TurnPart[], isError = false): TurnItem {
  return { type: 'tool_result', callId, content, isError, path: 'messages.1' }
}

function reasoning(opaque: Opaque | undefined, path = 'messages.0'): TurnItem {
  return { type: 'reasoning', text: 'plan', opaque, path }
}

const png: TurnPart = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0=' } }
const ours: Opaque = { vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', value: 'ENC' }

describe('worked cases', () => {
  test('03 a failed result says so in its first text, and keeps its image', () => {
    const { body } = encode(
      turn({
        items: [
          call('toolu_1', 'shot'),
          result('toolu_1', [text('window lost'), png], true),
          message('user', 'try again'),
        ],
      }),
    )
    expectMatch(body, worked('03').out)
  })

  test('06 our reasoning goes back without its id', () => {
    const { in: request, out } = worked('06')
    const { body, warnings } = encode(
      turn({
        items: [
          message('user', 'q'),
          reasoning(openOpaque(request.messages[1]?.content[0]?.signature ?? '')),
          message('assistant', 'let me look'),
          call('call_1', 'ls', '{"p":"."}'),
          result('call_1', 'a b'),
        ],
      }),
    )
    expectMatch(body, out)
    expect(body['input'][1]).not.toHaveProperty('id')
    expect(warnings).toEqual([])
  })

  test('07 reasoning of another vendor is left out, in order, with a warning', () => {
    const signed: Opaque = { vendor: 'anthropic', family: '', form: 'signature', value: 'EqoB' }
    const { body, warnings } = encode(
      turn({
        items: [
          reasoning(signed),
          reasoning({ ...signed, form: 'redacted' }),
          message('assistant', 'A'),
          message('user', 'go'),
        ],
      }),
    )
    expectMatch(body, worked('07').out)
    expect([...new Set(warnings)]).toEqual(worked('07').warn)
  })

  test('09 the ChatGPT backend gets neither caps nor sampling', () => {
    const { out, warn } = worked('09')
    const { body, warnings } = encode(
      turn({
        items: [
          message('system', [text('You are X.'), text('Be brief.')], 'system'),
          message('user', [text('hi')], 'messages.0'),
        ],
        maxOutputTokens: 4096,
        sampling: { temperature: 0.2 },
      }),
      { profile: 'chatgpt' },
    )
    expectMatch(body, out)
    expect(body).not.toHaveProperty('max_output_tokens')
    expect(body).not.toHaveProperty('temperature')
    expect(warnings).toEqual(warn)
  })

  test('11 later system messages stay where they are', () => {
    const { body } = encode(
      turn({
        items: [
          message('system', 'A'),
          message('user', '1'),
          message('assistant', '2'),
          message('system', 'B'),
          message('system', 'C'),
          message('user', '3'),
        ],
      }),
    )
    expectMatch(body, worked('11').out)
  })

  test('19 a schema that is strict stays strict', () => {
    const { in: request, out } = worked('19')
    const { name, strict, schema } = request.response_format.json_schema
    const { body, warnings } = encode(turn({ format: { type: 'json_schema', name, strict, schema } }))
    expectMatch(body, out.r)
    expect(warnings).toEqual([])
  })

  test('21 and 22 prepared tools', () => {
    for (const id of ['21', '22']) {
      const { in: request, out, warn = [] } = worked(id)
      const tools = request.tools.map(({ name, input_schema: parameters }, at) => {
        return { type: 'function' as const, name, parameters, path: `tools.${at}` }
      })
      const toolChoice = request.tool_choice && { type: 'tool' as const, name: request.tool_choice.name }
      const prepared = prepareTurn(turn({ tools, toolChoice }), responsesDialect.upstream.accepts(new Set()))
      const { to_caller: _reply, ...expected } = out
      const { body, warnings } = encode(prepared.turn)
      expectMatch(body, expected)
      expect([...prepared.warnings.map(formatWarning), ...warnings]).toEqual(warn)
    }
  })

  test('25 a repaired history', () => {
    const items = [message('user', 'u'), call('a', 'f'), call('b', 'g'), result('a', 'ra'), message('user', 'next')]
    const prepared = prepareTurn(turn({ items }), responsesDialect.upstream.accepts(new Set()))
    expect(encode(prepared.turn).body['input'].slice(3, 5)).toEqual([
      {
        type: 'function_call_output',
        call_id: 'b',
        output: 'Error: No result was provided for this tool call.',
      },
      { type: 'function_call_output', call_id: 'a', output: 'ra' },
    ])
  })

  test('27 a required tool, one at a time; and none', () => {
    const tools = [
      { type: 'function' as const, name: 'f', parameters: { type: 'object', properties: {} }, path: 'tools.0' },
    ]
    const { body } = encode(turn({ tools, toolChoice: { type: 'required' }, parallelToolCalls: false }))
    expectMatch(body, worked('27').out)
    const none = encode(turn({ tools, toolChoice: { type: 'none' }, parallelToolCalls: false })).body
    expect(none['tool_choice']).toBe('none')
    expect(none).not.toHaveProperty('parallel_tool_calls')
    const bare = encode(turn({ toolChoice: { type: 'auto' }, parallelToolCalls: true })).body
    for (const member of ['tools', 'tool_choice', 'parallel_tool_calls']) expect(bare).not.toHaveProperty(member)
  })

  test('28 effort is mapped and clamped', () => {
    const { out, warn } = worked('28')
    const asked: Turn['reasoning'][] = [
      { mode: 'adaptive', effort: 'max' },
      { mode: 'enabled', budgetTokens: 10_000 },
      { mode: 'disabled' },
      { mode: 'adaptive', summary: 'none' },
    ]
    const encoded = asked.map((wish) => encode(messagesTurn({ reasoning: wish })))
    expect(encoded.map(({ body }) => ({ reasoning: body['reasoning'] }))).toEqual(out)
    expect(encoded.flatMap(({ warnings }) => warnings)).toEqual(warn)
  })

  test('29 documents', () => {
    const parts: TurnPart[] = [
      { type: 'file', filename: 'Spec', source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' } },
      { type: 'file', source: { type: 'url', url: 'https://e.x/a.pdf' } },
      text('N\n\nnote'),
    ]
    expect(encode(turn({ items: [message('user', parts)] })).body['input'][0]?.content).toEqual(worked('29').out.r)
  })

  test('32 web search', () => {
    const { out, warn } = worked('32')
    const search = {
      type: 'web_search' as const,
      allowedDomains: ['e.x'],
      onlyThere: ['max_uses'],
      path: 'tools.0',
    }
    const { body, warnings } = encode(turn({ tools: [search] }))
    expect(body['tools']).toEqual(out.tools)
    expect(warnings).toEqual(warn)
  })

  test('a search is limited to whole domains, with a warning', () => {
    const search = {
      type: 'web_search' as const,
      allowedDomains: ['e.x/blog', 'E.x/docs/*', 'f.x'],
      onlyThere: [],
      path: 'tools.0',
    }
    const { body, warnings } = encode(turn({ tools: [search] }))
    expect(body['tools']).toEqual([{ type: 'web_search', filters: { allowed_domains: ['e.x', 'f.x'] } }])
    expect(warnings).toEqual(['adapted;tools.0.allowed_domains'])
  })
})

test('is stateless, streams and asks for reasoning that can be handed back', () => {
  expect(encode(turn({ items: [message('user', 'hi')], sessionId: 's' })).body).toEqual({
    model: 'gpt-6-sol',
    prompt_cache_key: 's',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
    include: ['reasoning.encrypted_content'],
    store: false,
    stream: true,
  })
})

describe('instructions', () => {
  test('join the leading system text, with nothing where there is none', () => {
    const items = [message('system', 'D1'), message('system', [text(''), text('S1')]), message('user', 'u')]
    expect(encode(turn({ items })).body['instructions']).toBe('D1\n\nS1')
    expect(encode(turn({ items: items.slice(2) })).body).not.toHaveProperty('instructions')
    expect(encode(turn({ items: items.slice(2) }), { profile: 'chatgpt' }).body['instructions']).toBe('')
  })

  test('stop at a system message that holds more than text', () => {
    const items = [message('system', 'A'), message('system', [text('look'), png]), message('system', 'C')]
    const { body } = encode(turn({ items }))
    expect(body['instructions']).toBe('A')
    expect(body['input'].map(({ role }) => role)).toEqual(['developer', 'developer'])
  })
})

describe('items', () => {
  test.each<[string, TurnItem, unknown]>([
    ['phase is kept', { ...message('assistant', 'x'), phase: 'commentary' }, { phase: 'commentary' }],
    [
      'a refusal stays one',
      message('assistant', [{ type: 'refusal', text: 'no' }]),
      { content: [{ type: 'refusal', refusal: 'no' }] },
    ],
    [
      'an image by url, with its detail',
      message('user', [{ type: 'image', source: { type: 'url', url: 'https://e.x/a.png' }, detail: 'low' }]),
      { content: [{ type: 'input_image', image_url: 'https://e.x/a.png', detail: 'low' }] },
    ],
    [
      'a PDF without a name gets one',
      message('user', [{ type: 'file', source: { type: 'base64', mediaType: 'application/pdf', data: 'JV' } }]),
      { content: [{ type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,JV' }] },
    ],
    [
      'the name of a PDF is kept',
      message('user', [
        { type: 'file', filename: 'A.PDF', source: { type: 'base64', mediaType: 'application/pdf', data: 'JV' } },
      ]),
      { content: [{ filename: 'A.PDF' }] },
    ],
    [
      'other files keep the name they have',
      message('user', [
        { type: 'file', filename: 'a.docx', source: { type: 'base64', mediaType: 'application/x', data: 'AA' } },
      ]),
      { content: [{ filename: 'a.docx', file_data: 'data:application/x;base64,AA' }] },
    ],
    [
      'compaction of this vendor',
      { type: 'compaction', opaque: ours, text: 's', path: 'input.0' },
      { type: 'compaction', encrypted_content: 'ENC' },
    ],
    [
      'a summary without its opaque form',
      { type: 'compaction', text: 'so far', path: 'input.0' },
      { role: 'user', content: [{ type: 'input_text', text: 'so far' }] },
    ],
    [
      'a freeform call',
      { type: 'tool_call', kind: 'custom', id: 'c', name: 'apply_patch', arguments: '*** Begin', path: 'input.0' },
      { type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: '*** Begin' },
    ],
  ])('%s', (_, item, expected) => {
    const items = [message('user', 'u'), item, message('user', 'v')]
    expectMatch(encode(turn({ items })).body['input'][1], expected)
  })

  test.each<[string, readonly TurnItem[]]>([
    ['with the assistant', [message('user', 'u'), message('assistant', '{')]],
    ['with a thought after it', [message('user', 'u'), message('assistant', '{'), reasoning(ours)]],
  ])('a conversation that ends %s is refused, for it asks to be continued', (_, items) => {
    expect(errorOf(() => encode(turn({ items })))).toMatchObject({ code: 'assistant_prefill' })
  })

  test('the result of a freeform call has its own type', () => {
    const custom: TurnItem = { type: 'tool_call', kind: 'custom', id: 'c', name: 'p', arguments: 'x', path: 'input.0' }
    const { body } = encode(turn({ items: [custom, call('f', 'g'), result('c', 'done'), result('f', 'ok')] }))
    expect(body['input'].map(({ type }) => type)).toEqual([
      'custom_tool_call',
      'function_call',
      'custom_tool_call_output',
      'function_call_output',
    ])
  })

  test.each<[string, TurnItem]>([
    ['searches that upstream ran', { type: 'web_search', id: 'ws', query: 'q', path: 'messages.0' }],
    ['readable thoughts alone', reasoning(undefined)],
    ['messages without parts', message('assistant', [])],
  ])('leaves out %s without a word', (_, item) => {
    expect(encode(turn({ items: [message('user', 'u'), item] }))).toMatchObject({
      body: { input: [{ role: 'user' }] },
      warnings: [],
    })
  })

  test.each<[string, TurnItem, string]>([
    [
      'reasoning of another form',
      reasoning({ ...ours, form: 'reasoning_opaque' }, 'input.3'),
      'thinking_dropped;input.3',
    ],
    ['reasoning of another vendor', reasoning({ ...ours, vendor: 'xai' }, 'messages.2'), 'thinking_dropped;messages.2'],
    [
      'compaction of another vendor',
      { type: 'compaction', opaque: { ...ours, vendor: 'anthropic' }, text: '', path: 'input.1' },
      'compaction_dropped;input.1',
    ],
    ['an image the assistant is said to have sent', message('assistant', [png], 'messages.4'), 'dropped;messages.4'],
  ])('leaves out %s with a warning', (_, item, warning) => {
    const { body, warnings } = encode(turn({ items: [message('user', 'u'), item] }))
    expect(body['input']).toHaveLength(1)
    expect(warnings).toEqual([warning])
  })

  test('a vendor we cannot name shares reasoning with nobody', () => {
    const items = [reasoning({ ...ours, vendor: 'unknown' }), message('user', 'u')]
    expect(encode(turn({ items }), { model: traits('mai-code-1') }).warnings).toEqual(['thinking_dropped;messages.0'])
  })

  test('what was sealed for the caller goes back as it was', () => {
    const sealed = sealOpaque({ ...ours, id: 'rs_1' })
    expect(encode(turn({ items: [reasoning(openOpaque(sealed)), message('user', 'u')] })).body['input'][0]).toEqual({
      type: 'reasoning',
      summary: [],
      encrypted_content: 'ENC',
    })
  })

  test.each<[string, string | readonly TurnPart[], unknown]>([
    ['nothing', '', 'Error'],
    ['no parts', [], 'Error'],
    ['words', 'boom', 'Error: boom'],
    ['words that say it', 'error: boom', 'error: boom'],
    ['words that say it in brackets', '[ERROR] boom', '[ERROR] boom'],
    ["Claude Code's tag", '<tool_use_error>boom</tool_use_error>', '<tool_use_error>boom</tool_use_error>'],
    ['words that begin like it', 'errors.log is empty', 'Error: errors.log is empty'],
    [
      'an image alone',
      [png],
      [
        { type: 'input_text', text: 'Error' },
        { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0=', detail: 'high' },
      ],
    ],
  ])('a failed result with %s', (_, content, output) => {
    expect(encode(turn({ items: [call('c', 'f'), result('c', content, true)] })).body['input'][1]?.output).toEqual(
      output,
    )
  })

  test.each<[string, string | readonly TurnPart[], unknown]>([
    ['text as text', [text('a')], 'a'],
    ['nothing as nothing', [], ''],
    [
      'several texts apart',
      [text('a'), text('')],
      [
        { type: 'input_text', text: 'a' },
        { type: 'input_text', text: '' },
      ],
    ],
  ])('a result gives %s', (_, content, output) => {
    expect(encode(turn({ items: [call('c', 'f'), result('c', content)] })).body['input'][1]?.output).toEqual(output)
  })

  test.each<[string, TurnPart]>([
    ['audio', { type: 'audio', data: 'AA', format: 'wav' }],
    ['an uploaded image', { type: 'image', source: { type: 'file_id', id: 'secret-id' } }],
    ['an uploaded file', { type: 'file', source: { type: 'file_id', id: 'secret-id' } }],
  ])('refuses %s, naming the place', (_, part) => {
    const error = errorOf(() => encode(turn({ items: [message('user', [part], 'messages.3')] })))
    expect(error).toMatchObject({ kind: 'invalid_request', path: 'messages[3]', code: 'unsupported_value' })
    expect(JSON.stringify(error)).not.toContain('secret-id')
  })
})

function named(parts: Partial<FunctionTool>): Turn {
  return turn({ tools: [{ type: 'function', name: 'f', path: 'tools.0', ...parts }] })
}

describe('tools', () => {
  const parameters = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  }

  test.each([
    ['strict where it was asked for and is', { parameters, strict: true }, true, []],
    [
      'not strict where the schema is not',
      { parameters: { type: 'object' }, strict: true },
      false,
      ['dropped;tools.0.strict'],
    ],
    ['not strict unless asked', { parameters }, false, []],
    ['not strict where refused', { parameters, strict: false }, false, []],
  ])('are %s', (_, parts, strict, expected) => {
    const { body, warnings } = encode(named(parts))
    expect(body['tools'][0]?.strict).toBe(strict)
    expect(warnings).toEqual(expected)
  })

  test('take an object schema where there is none', () => {
    expect(encode(named({ description: 'd' })).body['tools']).toEqual([
      { type: 'function', name: 'f', description: 'd', strict: false, parameters: { type: 'object', properties: {} } },
    ])
  })

  test('freeform ones pass with their grammar, and are chosen as what they are', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' }
    const { body } = encode(
      turn({
        tools: [
          { type: 'custom', name: 'p', description: 'd', format, path: 'tools.0' },
          { type: 'function', name: 'f', path: 'tools.1' },
        ],
        toolChoice: { type: 'allowed', mode: 'required', tools: [{ name: 'p' }, { name: 'f' }] },
      }),
    )
    expect(body['tools'][0]).toEqual({ type: 'custom', name: 'p', description: 'd', format })
    expect(body['tool_choice']).toEqual({
      type: 'allowed_tools',
      mode: 'required',
      tools: [
        { type: 'custom', name: 'p' },
        { type: 'function', name: 'f' },
      ],
    })
  })

  test('web search with the place of the user', () => {
    const userLocation = { type: 'approximate', country: 'CH' }
    const { body } = encode(turn({ tools: [{ type: 'web_search', userLocation, onlyThere: [], path: 'tools.0' }] }))
    expect(body['tools']).toEqual([{ type: 'web_search', user_location: userLocation }])
  })

  test('parallel calls are not asked of a model that has none', () => {
    const model = traits('gpt-6-sol', { supports: { parallelToolCalls: false } })
    const { body, warnings } = encode({ ...named({}), parallelToolCalls: true }, { model })
    expect(body).not.toHaveProperty('parallel_tool_calls')
    expect(warnings).toEqual(['dropped;parallel_tool_calls'])
    expect(encode({ ...named({}), parallelToolCalls: false }, { model }).warnings).toEqual([])
  })

  test('a hosted tool that comes this far is refused', () => {
    const tools = [{ type: 'hosted' as const, wireType: 'file_search', path: 'tools.2' }]
    expect(errorOf(() => encode(turn({ tools })))).toMatchObject({ path: 'tools[2]', code: 'unsupported_tool' })
  })
})

describe('parameters', () => {
  test.each([
    [1, 16],
    [16, 16],
    [4096, 4096],
  ])('a cap of %i is sent as %i', (cap, sent) => {
    expect(encode(turn({ maxOutputTokens: cap })).body['max_output_tokens']).toBe(sent)
  })

  test('a cap above the model is lowered with a warning', () => {
    const model = traits('gpt-5-mini', { maxOutputTokens: 64_000 })
    const { body, warnings } = encode(turn({ maxOutputTokens: 128_000 }), { model })
    expect(body['max_output_tokens']).toBe(64_000)
    expect(warnings).toEqual(['clamped;max_tokens'])
  })

  test('sampling goes to models that do not reason', () => {
    const sampling = { temperature: 0.2, topP: 0.9 }
    expect(encode(turn({ sampling }), { model: gpt4 })).toMatchObject({
      body: { temperature: 0.2, top_p: 0.9 },
      warnings: [],
    })
    const reasoned = encode(turn({ sampling }))
    expect(reasoned.body).not.toHaveProperty('temperature')
    expect(reasoned.warnings).toEqual(['dropped;temperature', 'dropped;top_p'])
  })

  test('members that upstream lacks are dropped with warnings that use the caller’s names', () => {
    const sampling = { topK: 3, frequencyPenalty: 0.5, presencePenalty: 1, seed: 7, logitBias: { '1': 2 } }
    expect(encode(turn({ sampling }), { model: gpt4 }).warnings).toEqual([
      'dropped;top_k',
      'dropped;frequency_penalty',
      'dropped;presence_penalty',
      'dropped;seed',
      'dropped;logit_bias',
    ])
  })

  test('values that ask for the default lose nothing', () => {
    const sampling = { temperature: 1, topP: 1, frequencyPenalty: 0, presencePenalty: 0, logitBias: {} }
    expect(encode(turn({ sampling })).warnings).toEqual([])
  })

  test('stop texts are watched for elsewhere', () => {
    expect(encode(turn({ stop: ['END'] }))).toMatchObject({ warnings: [] })
    expect(JSON.stringify(encode(turn({ stop: ['END'] })).body)).not.toContain('END')
  })

  test.each<[string, Turn['format'], unknown, string[]]>([
    ['json_object', { type: 'json_object' }, { type: 'json_object' }, []],
    [
      'a schema without a name',
      { type: 'json_schema', schema: { type: 'object', properties: {}, additionalProperties: false } },
      { name: 'response', strict: true },
      [],
    ],
    [
      'a loose schema of which nothing was said',
      { type: 'json_schema', schema: { type: 'object', properties: { a: {} } } },
      { strict: false },
      [],
    ],
    [
      'a schema that is said to be loose',
      { type: 'json_schema', strict: false, schema: { type: 'object', properties: {}, additionalProperties: false } },
      { strict: false },
      [],
    ],
    [
      'a loose schema that is said to be strict',
      { type: 'json_schema', strict: true, description: 'd', schema: { type: 'object' } },
      { strict: false, description: 'd' },
      ['dropped;response_format.strict'],
    ],
  ])('format: %s', (_, format, expected, warned) => {
    const { body, warnings } = encode(turn({ format, verbosity: 'low' }))
    expectMatch(body['text'], { format: expected, verbosity: 'low' })
    expect(warnings).toEqual(warned)
  })

  test('log probabilities are asked for by include', () => {
    expect(encode(turn({ logprobs: { top: 3 } })).body).toMatchObject({
      top_logprobs: 3,
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
    })
    expect(errorOf(() => encode(turn({ logprobs: {} }), { profile: 'chatgpt' }))).toMatchObject({ path: 'logprobs' })
  })

  test('a cache key is kept, or shortened to what upstream takes', () => {
    expect(encode(turn({ cacheKey: 'session-1' })).body['prompt_cache_key']).toBe('session-1')
    const long = encode(turn({ cacheKey: 'k'.repeat(200) })).body['prompt_cache_key']
    expect(long).toHaveLength(64)
    expect(encode(turn({ cacheKey: 'k'.repeat(200) })).body['prompt_cache_key']).toBe(long)
  })
})

describe('reasoning', () => {
  test.each<[string, Turn['reasoning'], string, readonly string[] | undefined, unknown, string[]]>([
    ['nothing said', undefined, 'gpt-6-sol', undefined, undefined, []],
    ['effort alone', { effort: 'high' }, 'gpt-6-sol', undefined, { effort: 'high', summary: 'auto' }, []],
    ['a summary alone', { summary: 'detailed' }, 'gpt-6-sol', undefined, { summary: 'detailed' }, []],
    ['no summary', { effort: 'low', summary: 'none' }, 'gpt-6-sol', undefined, { effort: 'low' }, []],
    ['nothing but no summary', { summary: 'none' }, 'gpt-6-sol', undefined, undefined, []],
    ['none, listed', { effort: 'none' }, 'gpt-5.1', ['none', 'low'], { effort: 'none' }, []],
    ['none, not listed', { effort: 'none' }, 'gpt-5.1', ['low'], { effort: 'low' }, ['clamped;effort']],
    [
      'minimal, no list',
      { effort: 'minimal' },
      'gpt-5.2',
      undefined,
      { effort: 'low', summary: 'auto' },
      ['clamped;effort'],
    ],
    ['between tools', { mode: 'between_tools' }, 'gpt-6-sol', ['low', 'high'], { effort: 'low', summary: 'auto' }, []],
    [
      'a budget above the list',
      { mode: 'enabled', budgetTokens: 31_999 },
      'gpt-5-mini',
      ['low', 'high'],
      { effort: 'high', summary: 'auto' },
      ['clamped;reasoning'],
    ],
    ['a word nobody knows', { effort: 'ultra' }, 'gpt-6-sol', ['low'], undefined, ['dropped;effort']],
    ['a model without levels', { effort: 'high' }, 'gpt-6-sol', [], { summary: 'auto' }, ['dropped;effort']],
    ['a model that does not reason', { effort: 'high' }, 'gpt-4.1', undefined, undefined, ['dropped;reasoning']],
    ['a model that does not reason, asked not to', { effort: 'none' }, 'gpt-4.1', undefined, undefined, []],
    [
      'the model that takes no summary',
      { effort: 'low' },
      'gpt-5.3-codex-spark-preview',
      ['low'],
      { effort: 'low' },
      [],
    ],
  ])('%s', (_, asked, id, reasoningEffort, sent, warned) => {
    const model = traits(id, { supports: { reasoningEffort } })
    const { body, warnings } = encode(turn({ reasoning: asked }), { model })
    expect(body['reasoning']).toEqual(sent)
    expect(warnings).toEqual(warned)
  })

  test('levels upstream has named count more than the list', () => {
    const learnedRefusals = new Set(['efforts:low,medium'])
    const { body, warnings } = encode(turn({ reasoning: { effort: 'high', summary: 'none' } }), { learnedRefusals })
    expect(body['reasoning']).toEqual({ effort: 'medium' })
    expect(warnings).toEqual(['clamped;effort'])
  })
})

describe('learned refusals', () => {
  test('leave out members, with warnings that use the caller’s names', () => {
    const learnedRefusals = new Set([
      'field:text.verbosity',
      'field:max_output_tokens',
      'field:input[].phase',
      'field:absent',
    ])
    const items = [message('user', 'u'), { ...message('assistant', 'a'), phase: 'final_answer' }, message('user', 'v')]
    const { body, warnings } = encode(turn({ items, verbosity: 'low', maxOutputTokens: 100 }), { learnedRefusals })
    expect(body['text']).toEqual({})
    expect(body).not.toHaveProperty('max_output_tokens')
    expect(JSON.stringify(body)).not.toContain('phase')
    expect(warnings).toEqual([
      'refused_upstream;verbosity',
      'refused_upstream;max_tokens',
      'refused_upstream;input[].phase',
    ])
  })

  test('leave out web search', () => {
    const tools = [{ type: 'web_search' as const, onlyThere: ['max_uses'], path: 'tools.0' }]
    const { body, warnings } = encode(turn({ tools }), { learnedRefusals: new Set(['tool:web_search']) })
    expect(body).not.toHaveProperty('tools')
    expect(warnings).toEqual(['dropped;tools.0.max_uses', 'dropped;tools.0'])
  })

  test('leave out what a model without reasoning refuses to include', () => {
    const learnedRefusals = new Set(['encrypted_content'])
    expect(encode(turn(), { learnedRefusals }).body).not.toHaveProperty('include')
    expect(encode(turn({ logprobs: {} }), { learnedRefusals }).body['include']).toEqual([
      'message.output_text.logprobs',
    ])
  })

  test('say whether freeform tools have to be wrapped', () => {
    expect(responsesDialect.upstream.accepts(new Set()).customTools).toBe(true)
    expect(responsesDialect.upstream.accepts(new Set(['custom_tools'])).customTools).toBe(false)
  })
})

test('for any text, only a Fault is thrown and no item has an id', () => {
  const anyPart: fc.Arbitrary<TurnPart> = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text: fc.string({ unit: 'binary' }) }),
    fc.record({ type: fc.constant('refusal' as const), text: fc.string() }),
    fc.constant(png),
    fc.record({
      type: fc.constant('file' as const),
      filename: fc.option(fc.string(), { nil: undefined }),
      source: fc.record({ type: fc.constant('base64' as const), mediaType: fc.string(), data: fc.string() }),
    }),
    fc.constant({ type: 'audio' as const, data: '', format: '' }),
  )
  const anyItem: fc.Arbitrary<TurnItem> = fc.oneof(
    fc.record({
      type: fc.constant('message' as const),
      role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const),
      parts: fc.array(anyPart, { maxLength: 3 }),
      path: fc.constant('messages.0'),
    }),
    fc.record({
      type: fc.constant('tool_call' as const),
      kind: fc.constantFrom('function' as const, 'custom' as const),
      id: fc.string({ maxLength: 200 }),
      name: fc.string({ minLength: 1, maxLength: 200 }),
      arguments: fc.string(),
      path: fc.constant('messages.0'),
    }),
    fc.record({
      type: fc.constant('tool_result' as const),
      callId: fc.string({ maxLength: 200 }),
      content: fc.oneof(fc.string(), fc.array(anyPart, { maxLength: 2 })),
      isError: fc.boolean(),
      path: fc.constant('messages.0'),
    }),
  )
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 12 }), (items) => {
      const prepared = prepareTurn(turn({ items }), responsesDialect.upstream.accepts(new Set()))
      try {
        const { body } = encode(prepared.turn)
        for (const item of body['input']) {
          expect(item).not.toHaveProperty('id')
          expect(item.call_id?.length ?? 0).toBeLessThanOrEqual(64)
        }
      } catch (error) {
        expect(error).toBeInstanceOf(Fault)
      }
    }),
  )
})
