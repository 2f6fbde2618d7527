import { responsesDialect } from '../../../../src/translate/responses/dialect.ts'
import { describe, expect, test } from 'vitest'
import { emptyEcho } from '../../../../src/translate/responses/response-object.ts'
import {
  eventsOf,
  fold,
  readLines,
  readStream,
  rightStreams,
  seed,
  seedWith,
  stream,
  toStream,
} from '../fixture-streams.ts'
import { expectGrammar } from '../grammar.ts'
import { remembered } from '../../turns.ts'
import { bytes } from '../../fixture-folder.ts'

const base = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_774_000_000,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  model: 'gpt-5-mini',
  output: [],
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
}
const created = { type: 'response.created', response: base }
const completed = (extra: object = {}) => ({
  type: 'response.completed',
  response: { ...base, status: 'completed', ...extra },
})
const added = (index: number, item: object) => ({ type: 'response.output_item.added', output_index: index, item })
const done = (index: number, item: object) => ({ type: 'response.output_item.done', output_index: index, item })
const message = (id: string, ...texts: string[]) => ({
  id,
  type: 'message',
  status: texts.length === 0 ? 'in_progress' : 'completed',
  role: 'assistant',
  content: texts.map((text) => ({ type: 'output_text', text, annotations: [], logprobs: [] })),
})
const call = (id: string | undefined, args: string, extra: object = {}) => ({
  ...(id !== undefined && { id }),
  type: 'function_call',
  status: args === '' ? 'in_progress' : 'completed',
  call_id: 'call_1',
  name: 'run',
  arguments: args,
  ...extra,
})
const argsDelta = (item_id: string, delta: string, output_index = 0) => ({
  type: 'response.function_call_arguments.delta',
  item_id,
  output_index,
  delta,
})

/** What a final event says of its time is null in the fixtures, which is no time. */
function filled(event: { readonly response?: object }): object {
  const { response } = event
  if (response === undefined || !('status' in response) || response.status !== 'completed') return event
  return { ...event, response: { ...response, completed_at: seed.nowSeconds() } }
}

/** Types and, of deltas, what they say: enough to read the order of a stream. */
function outline(wire: string, from = seed): string[] {
  return stream(wire, from).events.map(({ event }) =>
    event.delta === undefined ? event.type : `${event.type} ${event.delta}`,
  )
}

const push = (reply: ReturnType<typeof responsesDialect.upstream.createStream>, event: object) =>
  reply.push({ event: '', data: JSON.stringify(event) })

describe('original text', () => {
  test.each(rightStreams)('of %s is forwarded, event by event, but where a response object is filled', (name) => {
    const { events } = stream(readStream(name))
    const lines = readLines(name)
    expect(events.map(({ text, event }) => ('response' in event ? event.type : text))).toEqual(
      lines.map((line) => {
        const event = JSON.parse(line)
        return 'response' in event ? event.type : line
      }),
    )
    // Filled, and nothing of it changed.
    for (const [at, { event }] of events.entries()) expect(event).toMatchObject(filled(JSON.parse(lines[at] ?? '')))
  })

  test('is forwarded byte for byte, however it is written', () => {
    const written = [
      `{"type":"response.created", "sequence_number":0,"response":${JSON.stringify({ ...emptyEcho, ...base, completed_at: null, usage: null })}}`,
      `{"sequence_number":1.0,"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]},"x":1e2}`,
      `{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[ ]}}`,
      `{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"\\u0041","logprobs":[],"obfuscation":"abc"}`,
    ]
    const { events } = stream(written.map((data) => `data: ${data}\n\n`).join(''))
    expect(events.slice(0, 4).map(({ text }) => text)).toEqual(written)
    expect(events.map(({ name }) => name).slice(0, 2)).toEqual(['response.created', 'response.output_item.added'])
  })

  test('of unknown events and unknown members stays', () => {
    const { events, skipped } = stream(readStream('unknown-events'))
    expect(events.map(({ event }) => event.type)).toContain('response.copilot.note')
    expect(skipped).toBe(0)
  })

  test('of a failure that upstream reports after output is forwarded too', () => {
    const { events, fault } = stream(readStream('failed-after-output'))
    expect(fault).toMatchObject({ kind: 'upstream_status', status: 503, code: 'server_is_overloaded' })
    const lines = readLines('failed-after-output')
    expect(events.map(({ event }) => event)).toMatchObject(lines.map((line) => JSON.parse(line)))
    expect(events.at(-2)?.text).toBe(lines.at(-2))
  })
})

describe('pace', () => {
  test('the opening waits for the first event that says something, and then comes with it', () => {
    const reply = responsesDialect.upstream.createStream(seed)
    expect(push(reply, { ...created, sequence_number: 0 })).toBe('')
    expect(push(reply, { type: 'response.in_progress', sequence_number: 1, response: base })).toBe('')
    const text = push(reply, { ...added(0, message('msg_1')), sequence_number: 2 })
    expect(eventsOf(text).map(({ event }) => event.type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
    ])
  })

  test.each([
    ['many events', 2000, ''],
    ['large events', 40, 'y'.repeat(65_536)],
  ])('an opening that does not end is let go, so that it takes no more memory: %s', (_what, count, filling) => {
    const reply = responsesDialect.upstream.createStream(seed)
    const progress = { type: 'response.in_progress', response: { ...base, filling } }
    const texts = Array.from({ length: count }, () => push(reply, progress))
    const first = texts.findIndex((text) => text !== '')
    expect(first).toBeGreaterThan(0)
    expect(texts.slice(first).every((text) => text !== '')).toBe(true)
    expect(texts[first]?.length).toBeLessThan(2 * 1024 * 1024)
    // No event is lost or repeated. `response.created` comes before the first one.
    const sent = eventsOf(texts.join('')).map(({ event }) => event.sequence_number)
    expect(sent).toEqual(Array.from({ length: count + 1 }, (_, at) => at))
  })

  test.each([
    ['failed-at-once', { kind: 'upstream_status', status: 429, code: 'rate_limit_exceeded' }],
    ['quirk-07-error-nested', { kind: 'upstream_status', status: 429, code: 'user_global_rate_limited:pro' }],
    ['truncated-at-once', { kind: 'upstream_truncated' }],
  ])('a failure before any output is a status: %s', (name, fault) => {
    const streamed = stream(readStream(name))
    expect(streamed.text).toBe('')
    expect(streamed.fault).toMatchObject(fault)
  })

  test('the reply is done with the final event, and nothing is added after it', () => {
    const reply = responsesDialect.upstream.createStream(seed)
    push(reply, created)
    expect(reply.isDone()).toBe(false)
    expect(remembered(reply).record).toBeUndefined()
    push(reply, completed())
    expect(reply.isDone()).toBe(true)
    expect(push(reply, added(0, message('late')))).toBe('')
    expect(push(reply, { type: 'error', message: 'late' })).toBe('')
    expect(reply.end()).toBe('')
    expect(reply.fail?.({ kind: 'internal' }, 'req-1')).toBe('')
  })

  test('the record is the response a caller can refer to', () => {
    const { record, events } = stream(readStream('reasoning'))
    expect(record).toEqual({ id: 'resp_0a1b2c', response: events.at(-1)?.event.response })
    expect(fold(readStream('reasoning')).body).toEqual(record?.response)
  })

  test('usage is what upstream counted', () => {
    expect(stream(readStream('reasoning')).usage).toEqual({
      inputTokens: 30,
      cachedInputTokens: 16,
      outputTokens: 20,
      reasoningTokens: 12,
    })
    expect(stream(readStream('truncated')).usage).toBeUndefined()
  })
})

describe('ids', () => {
  const long = 'Q'.repeat(312)

  test('that change from event to event become one per item, made up where the first is too long', () => {
    const { events, record } = stream(readStream('quirk-01-changing-ids'))
    expectGrammar(events)
    const ids = new Set(events.flatMap(({ event }) => event.item_id ?? event.item?.id ?? []))
    expect([...ids]).toEqual(['rs_cpx_seed1', 'msg_cpx_seed1_1', 'fc_cpx_seed1_2'])
    expect(record?.id).toBe('resp_seed1')
  })

  test('of at most 64 characters are kept as they first came', () => {
    const short = 'a'.repeat(64)
    const item = { ...message('b', 'Hi') }
    const { events } = stream(toStream([created, added(0, message(short)), done(0, item), completed()]))
    expect(new Set(events.flatMap(({ event }) => event.item_id ?? event.item?.id ?? []))).toEqual(new Set([short]))
  })

  test.each([
    ['message', 'msg_cpx'],
    ['reasoning', 'rs_cpx'],
    ['function_call', 'fc_cpx'],
    ['custom_tool_call', 'ctc_cpx'],
    ['web_search_call', 'ws_cpx'],
    ['compaction', 'cmp_cpx'],
  ])('made up for %s begin with %s', (type, prefix) => {
    const item = { id: long, type, call_id: 'c', name: 'n' }
    const from = { ...seed, id: '0123-'.repeat(20) }
    const { events } = stream(toStream([created, added(0, item), completed()]), from)
    const id: string = events[1]?.event.item.id
    expect(id.startsWith(`${prefix}_`)).toBe(true)
    expect(id).toMatch(/^\w{1,64}$/)
  })

  test('that two items share become different', () => {
    const { events } = stream(
      toStream([created, done(0, message('same', 'A')), done(1, message('same', 'B')), completed()]),
    )
    expectGrammar(events)
  })

  test('of calls become different, and no call is lost', () => {
    const calls = [done(0, call('fc_1', '{"a":1}')), done(1, call('fc_2', '{"b":2}'))]
    const { events } = stream(toStream([created, ...calls, completed()]))
    expectGrammar(events)
    const [first, second] = events.at(-1)?.event.response.output ?? []
    expect(first).toMatchObject({ call_id: 'call_1', arguments: '{"a":1}' })
    expect(second.call_id).not.toBe('call_1')
    expect(second.arguments).toBe('{"b":2}')
  })

  test('of the response that change are the first one', () => {
    const { events } = stream(toStream([created, completed({ id: 'resp_2' })]))
    expect(events.map(({ event }) => event.response.id)).toEqual(['resp_1', 'resp_1'])
  })

  test('the filling that hides the length of an event goes when the event is written anew', () => {
    expect(readStream('quirk-01-changing-ids')).toContain('obfuscation')
    expect(stream(readStream('quirk-01-changing-ids')).text).not.toContain('obfuscation')
  })
})

describe('what upstream leaves out', () => {
  test('ciphertext of the final event is the one of `output_item.done`, which upstream takes back', () => {
    const { events } = stream(readStream('quirk-02-encrypted-content'))
    expect(events.at(-1)?.event.response.output[0].encrypted_content).toBe('CIPHER-of-done')
  })

  test('an empty output in the final event is filled with the emitted items', () => {
    const { events } = stream(readStream('quirk-05-empty-output'))
    expectGrammar(events)
    expect(events.at(-1)?.event.response.output).toHaveLength(2)
  })

  test('summaries that come whole at the end are emitted as deltas before it', () => {
    const { events } = stream(readStream('quirk-03-summary-in-done'))
    expectGrammar(events)
    const sent = events.filter(({ event }) => event.type === 'response.reasoning_summary_text.delta')
    expect(sent.map(({ event }) => event.delta)).toEqual(['First', 'Second'])
  })

  test.each(['only-done', 'only-terminal', 'arguments-only-in-done', 'bare-deltas', 'incomplete-unclosed'])(
    '%s is sent in the grammar that clients read',
    (name) => {
      const { events, fault } = stream(readStream(name))
      expect(fault).toBeUndefined()
      expectGrammar(events)
    },
  )

  test('an emitted summary that is missing from the item is restored', () => {
    const spot = { item_id: 'rs_1', output_index: 0, summary_index: 0 }
    const { events } = stream(
      toStream([
        created,
        added(0, { id: 'rs_1', type: 'reasoning', summary: [] }),
        { type: 'response.reasoning_summary_part.added', ...spot, part: { type: 'summary_text', text: '' } },
        { type: 'response.reasoning_summary_text.delta', ...spot, delta: 'Plan' },
        done(0, { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'E' }),
        completed(),
      ]),
    )
    expectGrammar(events)
    expect(events.at(-1)?.event.response.output[0]).toMatchObject({
      summary: [{ type: 'summary_text', text: 'Plan' }],
      encrypted_content: 'E',
    })
  })

  test('case 24: a call without arguments has an empty object, emitted like any other arguments', () => {
    const wire = readStream('quirk-04-call-without-id')
    expect(outline(wire).slice(2)).toEqual([
      'response.output_item.added',
      'response.function_call_arguments.delta {}',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(fold(wire).body.output).toMatchObject([{ call_id: 'call_n', name: 'now', arguments: '{}' }])
  })

  test('blank input of a custom tool is input', () => {
    const item = { id: 'ctc_1', type: 'custom_tool_call', status: 'completed', call_id: 'c', name: 'p', input: ' \n' }
    const { events } = stream(toStream([created, done(0, item), completed()]))
    expectGrammar(events)
    expect(events.at(-1)?.event.response.output[0].input).toBe(' \n')
  })

  test('a call that was cut before its arguments stays without', () => {
    const { events } = stream(readStream('incomplete-unclosed'))
    expect(events.at(-1)?.event.response.output[1]).toMatchObject({ arguments: '', status: 'incomplete' })
  })

  test('a call whose name comes late is emitted when it is done', () => {
    const nameless = call('fc_1', '')
    const { events } = stream(
      toStream([
        created,
        added(0, { ...nameless, name: '' }),
        argsDelta('fc_1', '{}'),
        done(0, call('fc_1', '{}')),
        completed(),
      ]),
    )
    expectGrammar(events)
    expect(events.at(-1)?.event.response.output).toMatchObject([{ name: 'run', arguments: '{}' }])
  })

  test('a call that never gets a name is no answer', () => {
    expect(stream(toStream([created, done(0, call('fc_1', '{}', { name: '' }))])).fault).toMatchObject({
      kind: 'upstream_unusable',
    })
  })

  test('the namespace of a call stays, and is not lost between its events', () => {
    const item = call('fc_1', '', { namespace: 'gh' })
    const { events } = stream(toStream([created, added(0, item), done(0, call('fc_1', '{"x":1}')), completed()]))
    expect(events.at(-1)?.event.response.output[0].namespace).toBe('gh')
  })

  test('members of the response and counts that clients demand are there', () => {
    const { events } = stream(
      toStream([
        { type: 'response.created', response: { id: 'resp_1' } },
        { type: 'response.completed', response: { id: 'resp_1', usage: { input_tokens: 3, output_tokens: 4 } } },
      ]),
    )
    expect(events.map(({ event }) => event.response)).toMatchObject([
      { object: 'response', created_at: seed.createdSeconds, status: 'in_progress', model: 'gpt-5-mini', output: [] },
      {
        status: 'completed',
        tools: [],
        usage: {
          input_tokens: 3,
          input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
          output_tokens: 4,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 7,
        },
      },
    ])
  })

  test('the response repeats the caller’s values and not those sent to upstream', () => {
    const { events } = stream(
      readStream('text'),
      seedWith({ upstream: { dialect: 'responses', echo: { store: true, previous_response_id: 'resp_0' } } }),
    )
    for (const { event } of events.filter((one) => one.event.response !== undefined)) {
      expect(event.response).toMatchObject({ store: true, previous_response_id: 'resp_0' })
    }
    expect(events.filter(({ event }) => event.response === undefined).map(({ text }) => text)).toEqual(
      readLines('text').filter((line) => !line.includes('"response":')),
    )
  })

  test('a response that comes whole is emitted as a stream', () => {
    expectGrammar(stream(readStream('whole-body')).events)
    expect(fold(readStream('whole-body')).body).toMatchObject({ output: [{ content: [{ text: 'Hi' }] }] })
  })
})

describe('what upstream says too often or unreadably', () => {
  test('repeated events of an item are left out', () => {
    expectGrammar(stream(readStream('repeated-events')).events)
  })

  test('events that say nothing are left out and counted, `[DONE]` is no line of ours', () => {
    const { skipped, text } = stream(readStream('lines'))
    expect(skipped).toBe(2)
    expect(text).not.toContain('[DONE]')
  })

  test('an event whose name would break the stream is left out', () => {
    const { text, skipped } = stream(
      toStream([created, completed()]).replace('data:', 'data: {"type":"x\\ndata: y"}\n\ndata:'),
    )
    expect(text).not.toContain('data: y')
    expect(skipped).toBe(1)
  })

  test('numbers that are missing or wrong are counted anew', () => {
    const wire = toStream([created, added(0, message('msg_1')), done(0, message('msg_1', 'A')), completed()])
    for (const broken of [
      wire.replaceAll(/"sequence_number":\d,/g, ''),
      wire.replaceAll(/("sequence_number":)\d/g, '$17'),
    ]) {
      expectGrammar(stream(broken).events)
    }
  })

  test('endless whitespace after whole arguments ends the reply', () => {
    const { events, fault } = stream(readStream('runaway-after-arguments'))
    expect(fault).toBeUndefined()
    expectGrammar(events)
    expect(events.at(-1)?.event).toMatchObject({
      type: 'response.completed',
      response: { status: 'completed', output: [{ arguments: '{"x":1}', status: 'completed' }] },
    })
  })

  test('endless whitespace inside arguments is no answer', () => {
    expect(stream(readStream('runaway-in-arguments')).fault).toMatchObject({ kind: 'upstream_unusable' })
  })

  test('indented arguments pass, and so does the input of custom tools', () => {
    const pretty = JSON.stringify({ a: [1, [2, [3]]] }, null, '\t')
    const custom = { id: 'ctc_1', type: 'custom_tool_call', status: 'in_progress', call_id: 'c', name: 'p', input: '' }
    const blank = '\n\t'.repeat(50)
    const events = [
      created,
      added(0, call('fc_1', '')),
      argsDelta('fc_1', pretty),
      done(0, call('fc_1', pretty)),
      added(1, custom),
      { type: 'response.custom_tool_call_input.delta', item_id: 'ctc_1', output_index: 1, delta: blank },
      done(1, { ...custom, status: 'completed', input: blank }),
      completed(),
    ]
    expect(fold(toStream(events)).body.output).toMatchObject([{ arguments: pretty }, { input: blank }])
  })
})

describe('a reply that has begun and fails', () => {
  const opened = toStream([created, added(0, message('msg_1'))])

  test('ends with an error and the failed response, with what came so far', () => {
    const { events } = stream(readStream('truncated'))
    expectGrammar(events)
    const [error, failed] = events.slice(-2).map(({ event }) => event)
    expect(error).toMatchObject({ type: 'error', code: 'upstream_truncated' })
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: {
        id: 'resp_0a1b2c',
        status: 'failed',
        error: { message: expect.stringContaining('is incomplete') },
        output: [{ id: 'msg_01', status: 'incomplete', content: [{ text: 'Broken o' }] }],
      },
    })
  })

  test('keeps what upstream says of a spent plan, and of nothing else', () => {
    const error = {
      type: 'usage_limit_reached',
      message: 'm',
      resets_at: 1_790_010_000,
      resets_in_seconds: 10,
      plan_type: 'plus',
    }
    const { events } = stream(opened + toStream([{ type: 'error', error: { ...error, secret: 's' } }]))
    const spent = { resets_at: 1_790_010_000, resets_in_seconds: 10, plan_type: 'plus' }
    const [sent, failed] = events.slice(-2).map(({ event }) => event)
    const said = 'm. To continue now, buy credits at https://chatgpt.com/codex/settings/usage'
    expect(sent).toMatchObject({ type: 'error', code: 'usage_limit_reached', error: spent })
    expect(failed.response.error).toEqual({ code: 'rate_limit_exceeded', message: said, ...spent })
    expect(JSON.stringify(sent)).not.toContain('secret')
    const odd = { ...error, resets_at: '<html>', resets_in_seconds: null, plan_type: 'p'.repeat(65) }
    const { events: rest } = stream(opened + toStream([{ type: 'error', error: odd }]))
    expect(rest.at(-1)?.event.response.error).toEqual({ code: 'rate_limit_exceeded', message: said })
  })

  test('has no record, and takes no further events', () => {
    const reply = responsesDialect.upstream.createStream(seed)
    for (const line of opened.split('\n').filter((one) => one.startsWith('data: '))) {
      reply.push({ event: '', data: line.slice('data: '.length) })
    }
    expect(eventsOf(reply.fail?.({ kind: 'internal' }, 'req-1') ?? '')).toHaveLength(2)
    expect(remembered(reply).record).toBeUndefined()
    expect(reply.push({ event: '', data: JSON.stringify(completed()) })).toBe('')
    expect(reply.fail?.({ kind: 'internal' }, 'req-1')).toBe('')
  })

  test('is opened first where nothing was written yet', () => {
    const reply = responsesDialect.upstream.createStream(seed)
    const events = eventsOf(reply.fail?.({ kind: 'internal' }, 'req-1') ?? '')
    expect(events.map(({ event }) => event.type)).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
    ])
    expectGrammar(events)
  })

  test.each(['cancelled', 'error-bare', 'quirk-07-error-flat'])('%s keeps to the grammar', (name) => {
    const { events, fault } = stream(readStream(name))
    expect(fault).toBeDefined()
    expectGrammar(events)
  })

  test('a body is a fault instead', () => {
    for (const name of ['truncated', 'failed-after-output', 'cancelled'])
      expect(fold(readStream(name)).fault).toBeDefined()
  })
})

const deltaLine = (text: string, number: number) =>
  `data: {"type":"response.output_text.delta","sequence_number":${number},"output_index":0,"content_index":0,"item_id":"msg_1","delta":"${text}"}\r\n\r\n`

test('case 16: text that is cut anywhere, in characters, line ends and surrogates, comes out whole', () => {
  const wire = bytes(`${deltaLine('hé 😀', 0)}${deltaLine('\\ud83d', 1)}${deltaLine('\\ude00', 2)}`)
  const chunks = Array.from(wire, (byte) => Uint8Array.of(byte))
  const deltas = stream(chunks).events.filter(({ event }) => event.type === 'response.output_text.delta')
  expect(deltas.map(({ event }) => event.delta)).toEqual(['hé 😀', '\ud83d', '\ude00'])
  expect(deltas.map(({ event }) => event.delta).join('')).toBe('hé 😀😀')
  // Half a character is written as an escape, so that it survives the way.
  expect(deltas[1]?.text).toContain('"\\ud83d"')
})

test.each<unknown>([{}, { toString: null }, [], 1, null])('an item whose type is %j is left out', (type) => {
  const text = toStream([
    created,
    added(0, { ...call('fc_1', ''), type }),
    added(1, message('msg_1', 'x')),
    completed(),
  ])
  const from = seedWith({ upstream: { dialect: 'responses', calls: { grouped: new Set(), hasWrapper: false } } })
  expect(fold(text, from).body.output).toMatchObject([{ type: 'message' }])
})

test('an event that is nested too deeply to be written is a fault', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const wire = `data: ${JSON.stringify(created)}\n\ndata: {"type":"response.x","sequence_number":9,"v":${deep}}\n\n`
  expect(stream(wire).fault).toMatchObject({ kind: 'upstream_unusable' })
})
