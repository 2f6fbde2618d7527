import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { createSseDecoder } from '../../src/sse/decode.ts'
import { dialects } from '../../src/translate/dialects.ts'
import type { Dialect, ReplySeed } from '../../src/translate/dialect.ts'
import { translateCall } from '../../src/translate/translated-call.ts'
import type { TranslatedCall } from '../../src/translate/translated-call.ts'
import type { ModelTraits } from '../../src/translate/model-traits.ts'
import { formatWarning } from '../../src/translate/warning.ts'
import { expectMatch, mismatchOf } from './wire-match.ts'
import { encodeContext, recall, replySeed, traits, translateForResponses } from './turns.ts'
import { createResponseStores } from '../../src/pipeline/reply-memory.ts'
import { textOf } from '../../src/json/json.ts'

/**
 * The worked cases of the dialect map, one file each under test/fixtures/worked: what one side sends and what the other
 * must get. A case shows only the members it is about, so an object may have more than the case says; a list may not.
 * `$name` matches any generated value, but the same one everywhere in a case.
 */
type Json = Readonly<Record<string, unknown>>

const folder = new URL('../fixtures/worked/', import.meta.url)
const ids = readdirSync(folder).map((name) => name.slice(0, 2))

const callers = { A: dialects.messages, C: dialects.chat, R: dialects.responses } as const
const upstreams = { m: dialects.messages.upstream, c: dialects.chat.upstream, r: dialects.responses.upstream } as const
type Caller = keyof typeof callers
type Upstream = keyof typeof upstreams

const models: Readonly<Record<Upstream, ModelTraits>> = {
  r: traits('gpt-6-sol', { vendor: 'OpenAI', supports: { reasoningEffort: ['low', 'medium', 'high', 'xhigh'] } }),
  c: traits('gpt-4.1', { vendor: 'Azure OpenAI' }),
  m: traits('claude-opus-4.8', { vendor: 'Anthropic', maxOutputTokens: 32_000, supports: { adaptiveThinking: true } }),
}

/** What a caller must send that a case leaves out. */
const defaults: Readonly<Record<Caller, Json>> = {
  A: { model: 'alias', max_tokens: 1024, messages: [{ role: 'user', content: 'x' }] },
  C: { model: 'alias', messages: [{ role: 'user', content: 'x' }] },
  R: { model: 'alias', input: 'x' },
}

interface Options {
  readonly model?: ModelTraits
  readonly profile?: 'chatgpt'
}

function exchange(
  caller: Caller,
  upstream: Upstream,
  request: Json,
  { model = models[upstream], profile }: Options = {},
): TranslatedCall {
  const dialect: Dialect = callers[caller]
  const call = dialect.decodeRequest(JSON.stringify({ ...defaults[caller], ...request }))
  const context = encodeContext(model, { profile })
  if (upstream === 'r') return translateForResponses(dialect, call, context)
  return translateCall(dialect, upstreams[upstream], call, context)
}

/** What upstream is sent for a request, and the warnings that go with it. */
function encode(caller: Caller, upstream: Upstream, request: Json, options?: Options) {
  const { request: encoded } = exchange(caller, upstream, request, options)
  const body: Json = JSON.parse(encoded.body.toString())
  return { body, warnings: encoded.warnings.map(formatWarning) }
}

function seedFor(upstream: Upstream, { reader }: TranslatedCall): ReplySeed {
  const model = models[upstream]
  return replySeed(model, { requestedModel: 'alias', notes: reader.notes })
}

/** SSE text as the payloads a client reads; `[DONE]` as itself. */
function payloads(text: string): readonly unknown[] {
  const decoder = createSseDecoder()
  const events = [...decoder.push(Buffer.from(text)), ...decoder.end()]
  return events.map(({ data }) => (data === '[DONE]' ? data : JSON.parse(data)))
}

/** What a caller reads of a stream; a failure ends it as the pipeline would end it. */
function stream(
  caller: Caller,
  upstream: Upstream,
  events: readonly unknown[],
  request: Json = {},
): readonly unknown[] {
  const open = exchange(caller, upstream, request)
  const reply = open.reader.createStream(seedFor(upstream, open))
  let text = ''
  try {
    for (const event of events) {
      text += reply.push(toSse(event))
      if (reply.isDone()) break
    }
    text += reply.end()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    text += (reply.fail ?? callers[caller].errorEvent)(error.error, 'req_1')
  }
  return payloads(text)
}

function fold(caller: Caller, upstream: Upstream, events: readonly unknown[], request: Json = {}) {
  const open = exchange(caller, upstream, request)
  const reply = open.reader.createFold(seedFor(upstream, open))
  for (const event of events) reply.push(toSse(event))
  // As the caller reads it.
  return JSON.parse(JSON.stringify(reply.end()))
}

function toSse(event: unknown) {
  if (event === '[DONE]') return { event: '', data: '[DONE]' }
  const type = typeof event === 'object' && event !== null ? Reflect.get(event, 'type') : undefined
  return { event: textOf(type), data: JSON.stringify(event) }
}

function failureOf(run: () => unknown): Fault {
  try {
    run()
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('it was not refused')
}

/** The last events, as many as the case shows: cases leave out how a stream begins. */
function expectTail(actual: readonly unknown[], expected: readonly unknown[]): void {
  expect(mismatchOf(actual.slice(-expected.length), expected)).toBeUndefined()
}

/** `in`, `out` and `warn` of a case. The cases are data of many shapes; each test below knows its own. */
function worked(id: string) {
  const { in: given, out, warn } = JSON.parse(readFileSync(new URL(`${id}.json`, folder), 'utf8'))
  return { in: given, out, warn }
}

test('there is a test for every case', () => {
  const source = readFileSync(new URL(import.meta.url), 'utf8')
  for (const id of ids) expect(source).toContain(`test('${id} `)
  expect(ids).toHaveLength(34)
})

describe('streams', () => {
  test('01 interleaved parallel tool calls, Responses to Messages', () => {
    const { in: events, out } = worked('01')
    expectMatch(stream('A', 'r', events), out)
  })

  test('02 the same stream to Chat: interleaving is legal, usage chunk last', () => {
    expectMatch(stream('C', 'r', worked('01').in, { stream_options: { include_usage: true } }), worked('02').out)
  })

  test('13 model-written refusal, to Chat', () => {
    const { in: events, out } = worked('13')
    const read = stream('C', 'r', events).filter((chunk) => !isUsageChunk(chunk))
    expectMatch(read, out)
  })

  test('13 model-written refusal, to Messages: a text, and a refusal only where JSON was asked for', () => {
    const { in: events } = worked('13')
    expectMatch(fold('A', 'r', events), {
      content: [{ type: 'text', text: "I can't help." }],
      stop_reason: 'end_turn',
    })
    const output_config = { format: { type: 'json_schema', schema: { type: 'object' } } }
    expectMatch(fold('A', 'r', events, { output_config }), { stop_reason: 'refusal' })
  })

  test('15 cap hit inside tool arguments', () => {
    const { in: events, out } = worked('15')
    expectTail(stream('A', 'r', events), out)
    expectMatch(fold('A', 'r', events), {
      content: [{ type: 'tool_use', input: { path: '/a' } }],
      stop_reason: 'max_tokens',
    })
    expectMatch(fold('C', 'r', events), {
      choices: [{ finish_reason: 'length', message: { tool_calls: [{ function: { arguments: '{"path":"/a' } }] } }],
    })
  })

  test('16 UTF-8 and CRLF split across chunks; surrogate pair split across deltas', () => {
    const { in: input, out } = worked('16')
    const decoder = createSseDecoder()
    const open = exchange('A', 'r', {})
    const reply = open.reader.createStream(seedFor('r', open))
    let text = ''
    for (const hex of input.chunks_hex) {
      for (const event of decoder.push(Buffer.from(hex, 'hex'))) text += reply.push(event)
    }
    const rest = ['"\\ud83d"', '"\\ude00"'].map(
      (delta) =>
        `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":${delta}}\n\n`,
    )
    for (const event of decoder.push(Buffer.from(rest.join('')))) text += reply.push(event)
    const deltas = text.split('\n').flatMap((line) => {
      const found = /"type":"text_delta","text":("[^}]*")\}/.exec(line)
      return found?.[1] === undefined ? [] : [found[1]]
    })
    expect(deltas).toEqual(['"hé 😀"', '"\\ud83d"', '"\\ude00"'])
    expect(deltas.map((delta): string => JSON.parse(delta)).join('')).toBe(out.concatenated)
  })

  test('17 usage-only chunk after finish_reason', () => {
    const { in: events, out } = worked('17')
    expectMatch(stream('A', 'c', events), out)
  })

  test('18 stop sequence emulated on Responses, split over deltas', () => {
    const { in: input, out } = worked('18')
    const events = input.deltas.map((delta: string) => ({
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      delta,
    }))
    expectTail(stream('A', 'r', events, input.request), out)
    expect(encode('A', 'r', input.request).body).not.toHaveProperty('stop')
  })

  test.each(['A', 'C'] as const)('26 upstream failure after text was forwarded, to %s', (caller) => {
    const { in: events, out } = worked('26')
    expectTail(stream(caller, 'r', events), out[caller])
  })

  test('26 upstream failure before any text is a status', () => {
    const [, failed] = worked('26').in
    for (const [caller, status] of [
      ['A', 529],
      ['C', 503],
      ['R', 503],
    ] as const) {
      const open = exchange(caller, 'r', {})
      const reply = open.reader.createStream(seedFor('r', open))
      const created = { type: 'response.created', response: { id: 'resp_5', status: 'in_progress', output: [] } }
      expect(reply.push(toSse(created))).toBe('')
      const fault = failureOf(() => reply.push(toSse(failed)))
      expect(callers[caller].errorStatus(fault.error)).toBe(status)
    }
  })

  test('26 upstream failure after text, Responses to Responses: both events, then the end', () => {
    const { in: events } = worked('26')
    expectTail(stream('R', 'r', events), events)
  })

  test('30 Claude stream to a Responses caller', () => {
    const { in: events, out } = worked('30')
    expectMatch(stream('R', 'm', events), out)
  })
})

describe('bodies', () => {
  test('08 reasoning item with two summary parts, Responses to Messages', () => {
    const { in: response, out } = worked('08')
    expectMatch(fold('A', 'r', [{ type: 'response.completed', response }]), out)
  })

  test('14 content_filter finish, Chat upstream to Messages', () => {
    const { in: body, out } = worked('14')
    expectMatch(fold('A', 'c', [body, '[DONE]']), out)
  })

  test('14 the reverse: a refusal of Messages', () => {
    const events = [
      { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 1, output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Part' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'refusal', stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]
    expectMatch(fold('C', 'm', events), {
      choices: [{ finish_reason: 'content_filter', message: { content: 'Part' } }],
    })
    expectMatch(fold('R', 'm', events), {
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [{ status: 'incomplete', content: [{ text: 'Part' }] }],
    })
  })

  test('24 empty tool arguments, all directions', () => {
    const { in: item, out } = worked('24')
    const events = [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, id: 'fc_1', status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, id: 'fc_1', status: 'completed' } },
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } },
    ]
    expectMatch(fold('A', 'r', events), { content: [out.A] })
    expectMatch(fold('C', 'r', events), { choices: [{ message: { tool_calls: [out.C] } }] })
    expectMatch(fold('R', 'r', events), { output: [out.R] })
    const deltas = stream('A', 'r', events).filter((event) => JSON.stringify(event).includes('input_json_delta'))
    expect(deltas).toEqual(out.A_stream_deltas)
    const pieces = stream('C', 'r', events).flatMap(toolDeltasOf)
    expectMatch(pieces.at(-1), out.C_stream_last_delta)
  })

  test('24 empty tool arguments in requests', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }
    const messages = [
      { role: 'user', content: 'u' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'r' },
    ]
    expectMatch(encode('C', 'm', { messages }).body['messages'], [
      {},
      { content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
      {},
    ])
    for (const input of [{}, null]) {
      const blocks = [
        { role: 'user', content: 'u' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'r' }] },
      ]
      expectMatch(encode('A', 'r', { messages: blocks }).body['input'], [{}, { arguments: '{}' }, {}])
    }
  })
})

function isUsageChunk(chunk: unknown): boolean {
  return JSON.stringify(chunk).includes('"choices":[]')
}

function toolDeltasOf(chunk: unknown): readonly unknown[] {
  if (typeof chunk !== 'object' || chunk === null) return []
  const choices: unknown = Reflect.get(chunk, 'choices')
  const [choice] = Array.isArray(choices) ? choices : []
  return choice?.delta?.tool_calls ?? []
}

function expectRequest(id: string, caller: Caller, upstream: Upstream, options?: Options): void {
  const { in: request, out, warn } = worked(id)
  const { body, warnings } = encode(caller, upstream, request, options)
  expectMatch(body, out)
  if (warn !== undefined) expect(warnings).toEqual(warn)
}

describe('requests', () => {
  test('03 tool result with image and is_error, Messages to Responses', () => expectRequest('03', 'A', 'r'))
  test('04 two tool results with images, Messages to Chat', () => expectRequest('04', 'A', 'c'))
  test('05 empty content everywhere, Chat to Messages', () => expectRequest('05', 'C', 'm'))
  test('06 thinking plus tool use replay with our signature', () => expectRequest('06', 'A', 'r'))
  test('07 foreign signature is dropped, order kept', () => expectRequest('07', 'A', 'r'))
  test('09 system array with attribution block, to the ChatGPT backend', () =>
    expectRequest('09', 'A', 'r', { profile: 'chatgpt' }))
  test('10 developer role, leading and late, to Claude', () => expectRequest('10', 'C', 'm'))
  test('10 developer role, late, to an older Claude', () => {
    const model = traits('claude-sonnet-4.5', { vendor: 'Anthropic' })
    const { body } = encode('C', 'm', worked('10').in, { model })
    const late = { type: 'text', text: '<system-reminder>\nD2\n</system-reminder>' }
    expectMatch(body['messages'], [{ role: 'user', content: [{ text: 'u' }, late] }])
  })
  test('11 several system messages mid-conversation, Chat to Responses', () => expectRequest('11', 'C', 'r'))

  test('12 assistant prefill', () => {
    const { in: request, out } = worked('12')
    const { error } = failureOf(() => encode('A', 'r', request))
    expect(dialects.messages.errorStatus(error)).toBe(400)
    expectMatch(dialects.messages.errorBody(error, 'req_1', 0), out)
  })

  test('19 json_schema, Chat to Responses and to Messages', () => {
    const { in: request, out } = worked('19')
    expectMatch(encode('C', 'r', request).body, out.r)
    const { body } = encode('C', 'm', request)
    expectMatch(body, out.m)
    expect(JSON.stringify(body)).not.toContain('"minimum"')
  })

  test('20 n greater than 1', () => {
    const { in: request, out } = worked('20')
    const { error } = failureOf(() => encode('C', 'r', request))
    expect(dialects.chat.errorStatus(error)).toBe(400)
    const { message: _wording, ...rest } = out.error
    expectMatch(dialects.chat.errorBody(error, 'req_1', 0), { error: rest })
  })

  test('21 tool name over 64 characters, both directions', () => {
    const { in: input, out } = worked('21')
    const { upstream_returns: item, ...request } = input
    const { to_caller: toCaller, ...sent } = out
    expectMatch(encode('A', 'r', request).body, sent)
    const events = [
      { type: 'response.output_item.done', output_index: 0, item: { ...item, status: 'completed' } },
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } },
    ]
    expectMatch(fold('A', 'r', events, request), { content: [toCaller] })
  })

  test('22 tool schemas without type, object or properties', () => expectRequest('22', 'A', 'r'))
  test('23 duplicate tool ids in history', () => expectRequest('23', 'C', 'm'))

  test('25 missing and orphan tool results', () => {
    const { in: request, out, warn } = worked('25')
    const { body, warnings } = encode('C', 'm', request)
    expectMatch(body, out)
    expect(warnings.toSorted()).toEqual(warn.toSorted())
  })

  test('27 any + disable_parallel, and none', () => {
    expectRequest('27', 'A', 'r')
    const { tools } = worked('27').in
    const none = encode('A', 'r', { tools, tool_choice: { type: 'none' } }).body
    expect(none['tool_choice']).toBe('none')
    expect(none).not.toHaveProperty('parallel_tool_calls')
    const bare = encode('A', 'r', { tool_choice: { type: 'auto' } }).body
    expect(bare).not.toHaveProperty('tool_choice')
    expect(bare).not.toHaveProperty('parallel_tool_calls')
  })

  test('28 effort mapping and clamp', () => {
    const { in: requests, out, warn } = worked('28')
    const encoded = requests.map((request: Json) => encode('A', 'r', request))
    expectMatch(
      encoded.map(({ body }: { body: Json }) => body),
      out,
    )
    expect(encoded[3].body.reasoning).not.toHaveProperty('summary')
    expect(encoded.flatMap(({ warnings }: { warnings: readonly string[] }) => warnings)).toEqual(warn)
  })

  test('29 documents', () => {
    const { in: request, out } = worked('29')
    const messages = [{ role: 'user', content: request.content }]
    const { body } = encode('A', 'r', { messages })
    expectMatch(body['input'], [{ content: out.r }])
    const { error } = failureOf(() => encode('A', 'c', { messages }))
    expect(dialects.messages.errorStatus(error)).toBe(out.c.status)
    expectMatch(dialects.messages.errorBody(error, 'req_1', 0), { error: { type: out.c.error.type } })
    expect(JSON.stringify(dialects.messages.errorBody(error, 'req_1', 0))).toContain(out.c.error.message)
  })

  test('31 previous_response_id on a stateless upstream', () => {
    const { in: input, out } = worked('31')
    const { local_store: stored, ...request } = input
    const call = dialects.responses.decodeRequest(JSON.stringify({ model: 'gpt-6-sol', ...request }))
    const { input: before, output } = stored.resp_7
    const responses = createResponseStores(() => 0)({ key: undefined })
    const request7 = { input: before, inputChars: 0, previousId: undefined }
    responses.put('resp_7', { ...request7, response: { output } })
    const joined = recall(dialects.responses, call, { responses })
    const context = encodeContext(models.r, { profile: 'chatgpt' })
    const { request: encoded } = translateForResponses(dialects.responses, joined, context)
    const body: Json = JSON.parse(encoded.body.toString())
    expectMatch(body, out)
    expect(body).not.toHaveProperty('previous_response_id')
  })

  test('32 web search, request and result', () => {
    const { in: input, out, warn } = worked('32')
    const { upstream_item: item, upstream_text: part, ...request } = input
    const { body, warnings } = encode('A', 'r', request)
    expectMatch(body['tools'], out.tools)
    expect(warnings).toEqual(warn)
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] }
    const reply = fold(
      'A',
      'r',
      [
        {
          type: 'response.completed',
          response: {
            id: 'resp_1',
            status: 'completed',
            output: [item, message],
            usage: { input_tokens: 1, output_tokens: 1 },
          },
        },
      ],
      request,
    )
    expectMatch(reply.stop_reason, out.stop_reason)
    expectMatch(reply.usage.server_tool_use, out.usage.server_tool_use)
    const [use, , text] = out.content
    expectMatch(reply.content[0], use)
    // The result list is closed before the annotations that fill it arrive, so it may be empty.
    expectMatch(reply.content[1], { type: 'web_search_tool_result', tool_use_id: use.id })
    expectMatch(reply.content[2], text)
  })

  test('33 custom (freeform) tool to Claude and back', () => {
    const { in: input, out, warn } = worked('33')
    const { upstream_block: block, ...request } = input
    const { body, warnings } = encode('R', 'm', request)
    expectMatch(body['tools'], out.tools)
    expect(warnings).toEqual(warn)
    const partial_json = JSON.stringify(block.input)
    const events = [
      { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 1, output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: { ...block, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]
    expectMatch(fold('R', 'm', events, request), { output: [out.to_caller] })
  })

  test('34 namespace tools and additional_tools from Codex CLI to Chat', () => {
    const { in: request, out } = worked('34')
    expectMatch(encode('R', 'c', request).body, out)
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'gh__list', arguments: '{}' } }
    const events = [
      { choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [call] }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      '[DONE]',
    ]
    expectMatch(fold('R', 'c', events, request), { output: [{ type: 'function_call', namespace: 'gh', name: 'list' }] })
  })
})
