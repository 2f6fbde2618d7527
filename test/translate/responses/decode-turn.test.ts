import { responsesBodyOf } from '../../../src/translate/responses/wire.ts'
import { responsesDialect } from '../../../src/translate/responses/dialect.ts'
import { fc } from '../../fast-check.ts'
import { times } from '../../thorough.ts'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import type { JsonObject } from '../../../src/json/json.ts'
import { sealOpaque } from '../../../src/translate/engine/opaque-envelope.ts'
import {
  COMPACTION_REQUEST,
  decodeSummary,
  encodeSummary,
  summaryPrompt,
} from '../../../src/translate/responses/compaction.ts'
import { echoOf } from '../../../src/translate/responses/response-object.ts'
import type { TurnItem } from '../../../src/translate/turn.ts'
import { arbitraryBody } from './arbitrary-bodies.ts'
import { answerTo, clientBodies, decode, decodeTurn, turnOf } from './caller-requests.ts'
import { errorOf } from '../faults.ts'

const refused = (body: JsonObject) => errorOf(() => decodeTurn(body))
const user = (...content: readonly unknown[]) => ({ role: 'user', content })

/** The items of an input, without where they stood. */
function items(...input: readonly JsonObject[]): readonly unknown[] {
  return decodeTurn({ input }).turn.items.map(({ path: _path, ...item }: TurnItem) => item)
}

/** The parts of one user message. */
function parts(...content: readonly unknown[]) {
  const [message] = decodeTurn({ input: [user(...content)] }).turn.items
  return message?.type === 'message' ? message.parts : undefined
}

describe('messages', () => {
  test('instructions are the first item, developers’ messages stay where they are', () => {
    const { turn } = decodeTurn({
      instructions: 'A',
      input: [
        { role: 'user', content: '1' },
        { role: 'developer', content: 'B' },
        { role: 'system', content: 'C' },
      ],
    })
    expect(turn.items).toEqual([
      { type: 'message', role: 'system', parts: [{ type: 'text', text: 'A' }], path: 'instructions' },
      { type: 'message', role: 'user', parts: [{ type: 'text', text: '1' }], path: 'input.0' },
      { type: 'message', role: 'system', parts: [{ type: 'text', text: 'B' }], path: 'input.1' },
      { type: 'message', role: 'system', parts: [{ type: 'text', text: 'C' }], path: 'input.2' },
    ])
  })

  test('empty instructions say nothing', () => {
    expect(decodeTurn({ instructions: '' }).turn.items).toHaveLength(1)
  })

  test('a string is what the user says', () => {
    expect(decodeTurn({ input: ' hi\n' }).turn.items).toEqual([
      { type: 'message', role: 'user', parts: [{ type: 'text', text: ' hi\n' }], path: 'input' },
    ])
  })

  test('an answer keeps its phase', () => {
    expect(
      items({ role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'x', annotations: [] }] }),
    ).toEqual([{ type: 'message', role: 'assistant', phase: 'commentary', parts: [{ type: 'text', text: 'x' }] }])
  })

  test.each([
    ['text', { type: 'input_text', text: '' }, { type: 'text', text: '' }],
    [
      'a cache mark',
      { type: 'input_text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'text', text: 'x', cache: {} },
    ],
    ['a refusal', { type: 'refusal', refusal: 'no' }, { type: 'refusal', text: 'no' }],
    [
      'an embedded image',
      { type: 'input_image', image_url: 'data:image/PNG;base64,iVBORw0=', detail: 'high' },
      { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0=' }, detail: 'high' },
    ],
    [
      'an image elsewhere',
      { type: 'input_image', image_url: 'https://e.x/a.png' },
      { type: 'image', source: { type: 'url', url: 'https://e.x/a.png' } },
    ],
    [
      'an image that is no base64',
      { type: 'input_image', image_url: 'data:image/svg+xml,<svg/>' },
      { type: 'image', source: { type: 'url', url: 'data:image/svg+xml,<svg/>' } },
    ],
    [
      'an uploaded image',
      { type: 'input_image', file_id: 'file_1' },
      { type: 'image', source: { type: 'file_id', id: 'file_1' } },
    ],
    [
      'a PDF',
      { type: 'input_file', filename: 'Spec.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
      {
        type: 'file',
        source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' },
        filename: 'Spec.pdf',
      },
    ],
    [
      'a PDF that does not say so',
      { type: 'input_file', filename: 'Spec.PDF', file_data: 'JVBERi0=' },
      {
        type: 'file',
        source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' },
        filename: 'Spec.PDF',
      },
    ],
    [
      'a file of some kind',
      { type: 'input_file', filename: 'a.bin', file_data: 'AAEC' },
      {
        type: 'file',
        source: { type: 'base64', mediaType: 'application/octet-stream', data: 'AAEC' },
        filename: 'a.bin',
      },
    ],
    [
      'a file elsewhere',
      { type: 'input_file', file_url: 'https://e.x/a.pdf' },
      { type: 'file', source: { type: 'url', url: 'https://e.x/a.pdf' } },
    ],
    [
      'an uploaded file',
      { type: 'input_file', file_id: 'file_2' },
      { type: 'file', source: { type: 'file_id', id: 'file_2' } },
    ],
    [
      'a text file',
      { type: 'input_file', filename: 'N', file_data: 'data:text/plain;base64,bm90ZSDinJM=' },
      { type: 'text', text: 'N\n\nnote ✓' },
    ],
    [
      'audio',
      { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      { type: 'audio', data: 'AA==', format: 'wav' },
    ],
  ])('part: %s', (_title, part, expected) => {
    expect(parts(part)).toEqual([expected])
  })

  test('unknown parts are left out with a warning', () => {
    const { turn, warnings } = decodeTurn({
      input: [user({ type: 'input_text', text: 'a' }, { type: 'input_video', url: 'x' })],
    })
    expect(turn.items).toMatchObject([{ parts: [{ type: 'text', text: 'a' }] }])
    expect(warnings).toEqual(['dropped;input.0.content.1'])
  })
})

describe('reasoning', () => {
  const sealed = sealOpaque({ vendor: 'anthropic', family: 'claude', form: 'signature', value: 'SIG' })

  test.each([
    [
      'of an upstream of this dialect',
      {
        id: 'rs_1',
        summary: [
          { type: 'summary_text', text: 'a' },
          { type: 'summary_text', text: 'b' },
        ],
        encrypted_content: 'ENC',
      },
      { text: 'a\n\nb', opaque: { vendor: 'openai', family: '', form: 'encrypted_content', id: 'rs_1', value: 'ENC' } },
    ],
    [
      'of another, sealed',
      { id: 'rs_2', summary: [], encrypted_content: sealed },
      { text: '', opaque: { vendor: 'anthropic', provider: 'copilot', family: '', form: 'signature', value: 'SIG' } },
    ],
    [
      'in full',
      { summary: [], content: [{ type: 'reasoning_text', text: 'all of it' }], encrypted_content: null },
      { text: 'all of it' },
    ],
    ['of which nothing is left', { id: 'rs_3' }, { text: '' }],
  ])('%s', (_title, item, expected) => {
    const { turn, warnings } = decodeTurn({ input: [{ type: 'reasoning', ...item }] })
    expect(turn.items).toEqual([{ type: 'reasoning', ...expected, path: 'input.0' }])
    expect(warnings).toEqual([])
  })

  test('a damaged envelope is left out with a warning', () => {
    const { turn, warnings } = decodeTurn({ input: [{ type: 'reasoning', encrypted_content: 'cpx1.AAAA' }] })
    expect(turn.items).toEqual([{ type: 'reasoning', text: '', path: 'input.0' }])
    expect(warnings).toEqual(['thinking_dropped;input.0'])
  })
})

describe('calls', () => {
  test.each([
    [
      'a function',
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{"a":1', status: 'incomplete' },
      { type: 'tool_call', kind: 'function', id: 'c1', name: 'f', arguments: '{"a":1' },
    ],
    [
      'a function without arguments',
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '' },
      { type: 'tool_call', kind: 'function', id: 'c1', name: 'f', arguments: '{}' },
    ],
    [
      'a function of a namespace',
      { type: 'function_call', call_id: 'c1', name: 'f', namespace: 'n', arguments: '{}' },
      { type: 'tool_call', kind: 'function', id: 'c1', name: 'f', namespace: 'n', arguments: '{}' },
    ],
    [
      'a custom tool without input',
      { type: 'custom_tool_call', call_id: 'c2', name: 'p', input: '' },
      { type: 'tool_call', kind: 'custom', id: 'c2', name: 'p', arguments: '' },
    ],
    [
      'a text result',
      { type: 'function_call_output', call_id: 'c1', output: '' },
      { type: 'tool_result', callId: 'c1', content: '', isError: false },
    ],
    [
      'a result of parts',
      {
        type: 'custom_tool_call_output',
        call_id: 'c2',
        output: [
          { type: 'input_text', text: 'x' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA' },
        ],
      },
      {
        type: 'tool_result',
        callId: 'c2',
        content: [
          { type: 'text', text: 'x' },
          { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AA' } },
        ],
        isError: false,
      },
    ],
    [
      'a search',
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
      { type: 'web_search', id: 'ws_1', query: 'q' },
    ],
    [
      'several searches at once',
      { type: 'web_search_call', id: 'ws_1', action: { type: 'search', queries: ['a', 'b'] } },
      { type: 'web_search', id: 'ws_1', query: 'a, b' },
    ],
    [
      'a page that was opened',
      { type: 'web_search_call', id: 'ws_2', action: { type: 'open_page', url: 'https://e.x' } },
      { type: 'web_search', id: 'ws_2', query: 'https://e.x' },
    ],
  ])('%s', (_title, item, expected) => {
    expect(items(item)).toEqual([expected])
  })

  test('calls of hosted tools are dropped together with their outputs, with a warning', () => {
    const { turn, warnings } = decodeTurn({
      input: [
        { role: 'user', content: 'x' },
        { type: 'local_shell_call', id: 'lsh_1', call_id: 'c', action: { type: 'exec', command: ['ls'] } },
        { type: 'local_shell_call_output', id: 'lsh_1', call_id: 'c', output: 'a' },
        { type: 'configuration_update', reasoning: { effort: 'low' } },
        { type: 'something_new' },
      ],
    })
    expect(turn.items).toHaveLength(1)
    expect(warnings).toEqual(['dropped;input.1', 'dropped;input.2', 'dropped;input.3', 'dropped;input.4'])
  })

  test('a reference that leads nowhere is refused', () => {
    expect(refused({ input: [{ type: 'item_reference', id: 'x' }] })).toMatchObject({
      path: 'input.0',
      code: 'item_not_found',
    })
  })

  test('a response that is not stored is refused', () => {
    expect(refused({ previous_response_id: 'resp_1' })).toMatchObject({
      path: 'previous_response_id',
      code: 'previous_response_not_found',
    })
  })
})

describe('compaction', () => {
  test('of upstream stays sealed, under both its names', () => {
    const opaque = { vendor: 'openai', family: '', form: 'encrypted_content', id: 'cmp_1', value: 'ENC' }
    const item = { id: 'cmp_1', encrypted_content: 'ENC' }
    expect(items({ type: 'compaction', ...item }, { type: 'compaction_summary', ...item })).toEqual([
      { type: 'compaction', opaque, text: '' },
      { type: 'compaction', opaque, text: '' },
    ])
  })

  test('a summary of ours is what the user tells the model', () => {
    const encrypted_content = encodeSummary('we did – this ✓')
    expect(items({ type: 'compaction', encrypted_content })).toEqual([
      { type: 'message', role: 'user', parts: [{ type: 'text', text: summaryPrompt('we did – this ✓') }] },
    ])
  })

  test('a trigger at the end asks for a text summary and nothing else', () => {
    const request = responsesDialect.decodeRequest(clientBodies.get('codex-compaction') ?? '')
    const { turn, warnings } = turnOf(request)
    expect(turn.items.at(-1)).toEqual({
      type: 'message',
      role: 'user',
      parts: [{ type: 'text', text: COMPACTION_REQUEST }],
      path: 'input.3',
    })
    expect(turn.toolChoice).toEqual({ type: 'none' })
    expect(turn.tools).toHaveLength(1)
    const answer = answerTo(request)
    expect(answer).toMatchObject({ ...echoOf(responsesBodyOf(request).value), output: [{ type: 'compaction' }] })
    expect(decodeSummary(answer.output[0].encrypted_content)).toBe('Hi')
    expect(warnings).toEqual([])
  })

  test('a summary is not given as JSON', () => {
    const { turn } = decodeTurn({
      input: [user(), { type: 'compaction_trigger' }],
      text: { format: { type: 'json_object' } },
    })
    expect(turn.format).toBeUndefined()
  })

  test('a trigger in the middle is long past', () => {
    const body = { input: [{ type: 'compaction_trigger' }, user()] }
    const { turn, warnings } = decodeTurn(body)
    expect(turn.items).toHaveLength(1)
    expect(warnings).toEqual(['dropped;input.0'])
    expect(answerTo(decode(body)).output).toMatchObject([{ type: 'message' }])
  })

  test('a summary comes out as it went in', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => decodeSummary(encodeSummary(text)) === text))
    expect(decodeSummary('ENC')).toBeUndefined()
  })
})

describe('tools', () => {
  test.each([
    [
      'a function',
      { type: 'function', name: 'f', description: 'd', parameters: { type: 'object' }, strict: true },
      [
        {
          type: 'function',
          name: 'f',
          description: 'd',
          parameters: { type: 'object' },
          strict: true,
          path: 'tools.0',
        },
      ],
      [],
    ],
    [
      'a function that says nothing of itself',
      { type: 'function', name: 'f', description: null, parameters: null, strict: null },
      [{ type: 'function', name: 'f', path: 'tools.0' }],
      [],
    ],
    [
      'a function to be loaded later',
      {
        type: 'function',
        name: 'f',
        defer_loading: true,
        allowed_callers: ['programmatic'],
        async: true,
        output_schema: {},
      },
      [{ type: 'function', name: 'f', path: 'tools.0' }],
      ['adapted;tools.0.defer_loading', 'dropped;tools.0.allowed_callers', 'dropped;tools.0.async'],
    ],
    [
      'a namespace',
      {
        type: 'namespace',
        name: 'n',
        description: 'd',
        tools: [
          { type: 'function', name: 'f' },
          { type: 'custom', name: 'c', format: { type: 'text' } },
        ],
      },
      [
        { type: 'function', name: 'f', namespace: 'n', path: 'tools.0.tools.0' },
        { type: 'custom', name: 'c', namespace: 'n', format: { type: 'text' }, path: 'tools.0.tools.1' },
      ],
      [],
    ],
    [
      'a search as Codex CLI offers it',
      { type: 'web_search', external_web_access: false },
      [{ type: 'web_search', onlyThere: ['external_web_access'], path: 'tools.0' }],
      [],
    ],
    [
      'a search with everything',
      {
        type: 'web_search_preview_2025_03_11',
        external_web_access: true,
        search_context_size: 'high',
        filters: { allowed_domains: ['e.x'], blocked_domains: ['b.x'] },
        user_location: { type: 'approximate', country: 'DE' },
      },
      [
        {
          type: 'web_search',
          allowedDomains: ['e.x'],
          blockedDomains: ['b.x'],
          userLocation: { type: 'approximate', country: 'DE' },
          contextSize: 'high',
          onlyThere: ['filters.blocked_domains'],
          path: 'tools.0',
        },
      ],
      [],
    ],
    [
      'a hosted tool',
      { type: 'file_search', vector_store_ids: [] },
      [{ type: 'hosted', wireType: 'file_search', path: 'tools.0' }],
      [],
    ],
  ])('%s', (_title, tool, expected, warned) => {
    const { turn, warnings } = decodeTurn({ tools: [tool] })
    expect(turn.tools).toEqual(expected)
    expect(warnings).toEqual(warned)
  })

  test('tools that were found by a search of the client are there, with the search and its result', () => {
    const search = { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: { query: 'x' } }
    const found = { type: 'tool_search_output', call_id: 'c', tools: [{ type: 'function', name: 'g' }] }
    const { turn, warnings } = decodeTurn({ input: [user(), search, found, { ...found, tools: [] }] })
    expect(turn.tools).toEqual([{ type: 'function', name: 'g', path: 'input.2.tools.0' }])
    expect(turn.items.slice(1)).toMatchObject([
      { type: 'tool_call', id: 'c', arguments: '{"query":"x"}' },
      { type: 'tool_result', callId: 'c', content: 'Found tools, which can be called now: g' },
      { type: 'tool_result', callId: 'c', content: 'No tools found.' },
    ])
    expect(warnings).toEqual([])
  })

  test('a search that upstream ran is left out, but for the tools that it found', () => {
    const search = { type: 'tool_search_call', call_id: null, execution: 'server', arguments: {} }
    const found = { type: 'tool_search_output', call_id: null, tools: [{ type: 'function', name: 'g' }] }
    const { turn, warnings } = decodeTurn({ input: [user(), search, found] })
    expect(turn.tools).toEqual([{ type: 'function', name: 'g', path: 'input.2.tools.0' }])
    expect(turn.items).toHaveLength(1)
    expect(warnings).toEqual(['dropped;input.1', 'dropped;input.2'])
  })

  const tools = [
    { type: 'function', name: 'f' },
    {
      type: 'namespace',
      name: 'n',
      tools: [
        { type: 'function', name: 'g' },
        { type: 'function', name: 'f' },
        { type: 'function', name: 'h' },
      ],
    },
    { type: 'namespace', name: 'm', tools: [{ type: 'custom', name: 'h' }] },
  ]

  test.each([
    [undefined, undefined],
    [null, undefined],
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [
      { type: 'function', name: 'f' },
      { type: 'tool', name: 'f' },
    ],
    [
      { type: 'function', name: 'f', namespace: 'n' },
      { type: 'tool', name: 'f', namespace: 'n' },
    ],
    // Only one tool can be meant.
    [
      { type: 'function', name: 'g' },
      { type: 'tool', name: 'g', namespace: 'n' },
    ],
    // Several could be, or none is there: prepareTurn refuses the bare name.
    [
      { type: 'custom', name: 'h' },
      { type: 'tool', name: 'h' },
    ],
    [
      { type: 'function', name: 'gone' },
      { type: 'tool', name: 'gone' },
    ],
    [
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }, { type: 'namespace', name: 'm' }],
      },
      { type: 'allowed', mode: 'required', tools: [{ name: 'f' }, { name: 'h', namespace: 'm' }] },
    ],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] }, { type: 'none' }],
  ])('choice %j', (tool_choice, expected) => {
    expect(decodeTurn({ tools, tool_choice }).turn.toolChoice).toEqual(expected)
  })

  test.each([
    [{ type: 'file_search' }],
    [{ type: 'web_search_preview' }],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'image_generation' }] }],
  ])('the choice of a hosted tool is refused: %j', (tool_choice) => {
    expect(refused({ tools, tool_choice })).toMatchObject({ path: 'tool_choice', code: 'unsupported_value' })
  })
})

describe('settings', () => {
  test.each([
    [{ max_output_tokens: 16 }, { maxOutputTokens: 16 }],
    [{ temperature: 0 }, { sampling: { temperature: 0 } }],
    [{ top_p: 0.5 }, { sampling: { topP: 0.5 } }],
    [{ frequency_penalty: 1, presence_penalty: -1 }, { sampling: { frequencyPenalty: 1, presencePenalty: -1 } }],
    [{ parallel_tool_calls: false }, { parallelToolCalls: false }],
    [{ prompt_cache_key: 'k' }, { cacheKey: 'k' }],
    [{ prompt_cache_key: '' }, { cacheKey: undefined }],
    [{ reasoning: { effort: 'high', summary: 'auto' } }, { reasoning: { effort: 'high', summary: 'auto' } }],
    [{ reasoning: { generate_summary: 'concise' } }, { reasoning: { effort: undefined, summary: 'concise' } }],
    [{ reasoning: {} }, { reasoning: undefined }],
    [{ text: { verbosity: 'low' } }, { verbosity: 'low', format: undefined }],
    [{ text: { format: { type: 'text' } } }, { format: undefined }],
    [{ text: { format: { type: 'json_object' } } }, { format: { type: 'json_object' } }],
    [
      { text: { format: { type: 'json_schema', name: 'n', strict: true, schema: { type: 'object' } } } },
      { format: { type: 'json_schema', name: 'n', strict: true, schema: { type: 'object' } } },
    ],
    [{ include: ['message.output_text.logprobs'], top_logprobs: 3 }, { logprobs: { top: 3 } }],
    [{ include: ['message.output_text.logprobs'] }, { logprobs: { top: undefined } }],
    [{ top_logprobs: 3 }, { logprobs: undefined }],
    [
      { temperature: null, max_output_tokens: null, text: null },
      { maxOutputTokens: undefined, sampling: {} },
    ],
  ])('%j', (body, expected) => {
    const { turn, warnings } = decodeTurn(body)
    expect(turn).toMatchObject(expected)
    expect(warnings).toEqual([])
  })

  test('a format of another kind is refused', () => {
    expect(refused({ text: { format: { type: 'grammar' } } })).toMatchObject({ path: 'text.format.type' })
  })

  test('what changes no answer is left out without a word', () => {
    const { warnings } = decodeTurn({
      metadata: {},
      user: 'u',
      client_metadata: {},
      store: true,
      include: ['reasoning.encrypted_content'],
      prompt_cache_retention: '24h',
      truncation: 'disabled',
      safety_identifier: 's',
      stream_options: { include_obfuscation: false },
      background: false,
      service_tier: 'auto',
      reasoning: { context: 'auto', mode: 'standard' },
      max_tool_calls: null,
    })
    expect(warnings).toEqual([])
  })

  test('what might is named', () => {
    const { warnings } = decodeTurn({
      service_tier: 'priority',
      metadata: { a: 'b' },
      max_tool_calls: 3,
      moderation: { model: 'm' },
      context_management: [{ type: 'compaction' }],
      reasoning: { context: 'all_turns', mode: 'pro' },
      stop: ['x'],
      truncation: 'auto',
      include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
      'x\r\ninjected: yes': 1,
    })
    expect(warnings).toEqual([
      'dropped;service_tier',
      'dropped;metadata',
      'dropped;max_tool_calls',
      'dropped;moderation',
      'dropped;context_management',
      'dropped;stop',
      'dropped;truncation',
      'dropped;unknown member',
      'dropped;reasoning.context',
      'dropped;reasoning.mode',
      'dropped;include',
    ])
  })

  test('there are never more names than a header holds', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`member_${at}`, at]))
    expect(decodeTurn(many).warnings).toHaveLength(32)
  })
})

describe('the echo', () => {
  /** What an answer to the request has besides the members of any reply. */
  function echoed(body: JsonObject): JsonObject {
    const answer = answerTo(decode(body))
    for (const member of ofReply) {
      expect(answer).toHaveProperty(member)
      delete answer[member]
    }
    return answer
  }

  const ofReply = [
    'id',
    'object',
    'created_at',
    'status',
    'completed_at',
    'error',
    'incomplete_details',
    'model',
    'output',
    'usage',
  ]

  test('has the defaults of a request that says nothing', () => {
    expect(echoed({})).toEqual({
      access_programs: null,
      background: false,
      frequency_penalty: 0,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: {},
      parallel_tool_calls: true,
      presence_penalty: 0,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: true,
      temperature: 1,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
    })
  })

  test('repeats the request', () => {
    const body = {
      instructions: 'i',
      max_output_tokens: 20,
      max_tool_calls: 2,
      metadata: { a: 'b' },
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      reasoning: { effort: 'low', summary: 'auto' },
      safety_identifier: 's',
      store: false,
      temperature: 0,
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      tool_choice: 'none',
      top_logprobs: 2,
      top_p: 0.1,
      truncation: 'auto',
      user: 'u',
    }
    expect(echoed(body)).toMatchObject(body)
  })

  test('has what the schema wants of every function', () => {
    const { tools } = echoed({
      tools: [
        { type: 'function', name: 'f', extra: 1 },
        { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g', strict: false }] },
        { type: 'web_search' },
      ],
    })
    expect(tools).toEqual([
      { type: 'function', name: 'f', extra: 1, description: null, parameters: null, strict: null },
      {
        type: 'namespace',
        name: 'n',
        tools: [{ type: 'function', name: 'g', strict: false, description: null, parameters: null }],
      },
      { type: 'web_search' },
    ])
  })
})

test('a list may be longer than a call may have arguments', () => {
  const many = Array.from({ length: 200_000 }, () => ({ type: 'function', name: 'f', async: true }))
  const unknown = Array.from({ length: 200_000 }, () => ({ type: 'item_of_tomorrow' }))
  const { turn, warnings } = turnOf(decode({ input: [{ type: 'additional_tools', tools: many }, ...unknown] }))
  expect(turn.tools).toHaveLength(200_000)
  expect(warnings).toHaveLength(400_000)
})

test('whatever body is taken, its Turn is made or refused', () => {
  let made = 0
  fc.assert(
    fc.property(arbitraryBody, (text) => {
      try {
        const { turn } = turnOf(responsesDialect.decodeRequest(text))
        expect(turn.items.every(({ path }) => /^(?:instructions|input(?:\.\d+)?)$/.test(path))).toBe(true)
        made += 1
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
    { numRuns: 2000 },
  )
  // Were they all refused, nothing would have been shown.
  expect(made).toBeGreaterThan(times(200))
})
