import { chatDialect } from '../../../../src/translate/chat/dialect.ts'
import { describe, expect, test } from 'vitest'
import { dataEvent, dataOf, fold, readStream, seedOf, stream } from '../fixture-streams.ts'
import { bytes } from '../../fixture-folder.ts'

const envelope = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_764_940_861, model: 'gpt-5-mini' }

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }

function chunk(delta: unknown, choice: Record<string, unknown> = {}) {
  return { ...envelope, choices: [{ index: 0, delta, finish_reason: null, ...choice }] }
}

const finish = (reason: string, delta: unknown = {}) => chunk(delta, { finish_reason: reason })
const toolDelta = (...tool_calls: unknown[]) => chunk({ tool_calls })

/** What a caller gets of these chunks; a string goes as the data of an event. */
function streamed(...chunks: unknown[]) {
  return stream([bytes(chunks.map(dataEvent).join(''))])
}

/** The deltas of tool calls a caller gets. */
function toolDeltas(...chunks: unknown[]): unknown[] {
  return dataOf(streamed(...chunks, finish('tool_calls'), '[DONE]').text)
    .filter((data) => data !== '[DONE]')
    .flatMap((data) => JSON.parse(data).choices[0]?.delta.tool_calls ?? [])
}

/** An entry of `delta.tool_calls` as upstream might write it. */
function entry(index: number | undefined, id: string | undefined, name: string | undefined, text: string) {
  return {
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    function: { ...(name !== undefined && { name }), arguments: text },
  }
}

/** The first entry of a call as a caller gets it, and the following ones. */
function opened(index: number, id: string, name: string, text: string) {
  return { index, id, type: 'function', function: { name, arguments: text } }
}

function more(index: number, text: string) {
  return { index, function: { arguments: text } }
}

describe('original text', () => {
  const written = [
    `{"id":"chatcmpl-1", "object":"chat.completion.chunk","created":1764940861,"model":"gpt-5-mini","choices":[ {"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null} ]}`,
    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764940861.0,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"content":"\\u0041"},"finish_reason":null}],"x":1e2}`,
    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764940861,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{"}} ]},"finish_reason":null}]}`,
    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764940861,"model":"gpt-5-mini","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{ "arguments":"}"}}]},"finish_reason":null}],"usage":null}`,
    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764940861,"model":"gpt-5-mini","choices":[{"index":0,"delta":{ },"finish_reason":"tool_calls"}],"y":{}}`,
    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764940861,"model":"gpt-5-mini","choices":[ ],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`,
    '[DONE]',
  ]

  test('is forwarded where nothing has to change, finish and usage included', () => {
    expect(dataOf(streamed(...written).text)).toEqual(written)
  })

  test('of the finish is forwarded to a caller that is not sent the usage', () => {
    const said = [
      ...written.slice(0, 5).map(dataEvent),
      dataEvent({ ...envelope, choices: [], usage, system_fingerprint: 'fp' }),
    ]
    const { text } = stream([bytes([...said, dataEvent('[DONE]')].join(''))], seedOf({ usage: false }))
    expect(dataOf(text)).toEqual([...written.slice(0, 5), '[DONE]'])
  })

  test('of several data lines is forwarded line by line', () => {
    const parts = JSON.stringify(chunk({ role: 'assistant', content: 'a' })).split(',"choices"')
    const wire = parts.join('\ndata: ,"choices"')
    const { text } = stream([bytes(`data: ${wire}\n\n`)])
    expect(text).toBe(`data: ${wire}\n\n`)
  })
})

describe('pace', () => {
  test('the first event with a choice adds to the reply at once', () => {
    const reply = chatDialect.upstream.createStream(seedOf({ usage: true }))
    expect(reply.push({ event: '', data: JSON.stringify(chunk({ role: 'assistant', content: '' })) })).not.toBe('')
  })

  test('finish, usage and end mark come with the end mark of upstream, not with the end of the connection', () => {
    const reply = chatDialect.upstream.createStream(seedOf({ usage: true }))
    const events = [chunk({ role: 'assistant', content: 'a' }), finish('stop')]
    for (const event of events) reply.push({ event: '', data: JSON.stringify(event) })
    expect(reply.isDone()).toBe(false)
    expect(dataOf(reply.push({ event: '', data: '[DONE]' }))).toEqual([JSON.stringify(finish('stop')), '[DONE]'])
    expect(reply.isDone()).toBe(true)
  })

  test('nothing is added after the end mark', () => {
    const reply = chatDialect.upstream.createStream(seedOf({ usage: true }))
    reply.push({ event: '', data: JSON.stringify(finish('stop')) })
    reply.push({ event: '', data: '[DONE]' })
    expect(reply.push({ event: '', data: JSON.stringify(chunk({ content: 'late' })) })).toBe('')
    expect(reply.push({ event: '', data: '[DONE]' })).toBe('')
    expect(reply.push({ event: 'error', data: '{}' })).toBe('')
    expect(reply.end()).toBe('')
  })

  test('a body is whole at the end mark, and stays as it is', () => {
    const reply = chatDialect.upstream.createFold(seedOf({ usage: false }))
    reply.push({ event: '', data: JSON.stringify(finish('stop', { content: 'a' })) })
    reply.push({ event: '', data: '[DONE]' })
    reply.push({ event: '', data: JSON.stringify(chunk({ content: 'late' })) })
    expect(reply.isDone()).toBe(true)
    expect(reply.end()).toMatchObject({ choices: [{ message: { content: 'a' } }] })
    expect(reply.end()).toEqual(reply.end())
  })

  test('endless whitespace after whole arguments ends the reply before upstream does', () => {
    const reply = chatDialect.upstream.createStream(seedOf({ usage: true }))
    const open = opened(0, 'c', 'f', `{}${'\n'.repeat(21)}`)
    const text = reply.push({ event: '', data: JSON.stringify(toolDelta(open)) })
    expect(reply.isDone()).toBe(true)
    const [first, last, mark] = dataOf(text)
    expect(JSON.parse(first ?? '')).toMatchObject({
      choices: [{ delta: { tool_calls: [{ function: { arguments: `{}${'\n'.repeat(20)}` } }] } }],
    })
    expect(JSON.parse(last ?? '')).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] })
    expect(mark).toBe('[DONE]')
  })

  test.each([
    ['twenty line ends', `{}${'\n'.repeat(20)}`],
    ['spaces', `{${' '.repeat(500)}}`],
    ['line ends inside a string', JSON.stringify('\n'.repeat(50)).replaceAll('\\n', '\n')],
    [
      'a tab for every level',
      JSON.stringify(
        Array.from({ length: 60 }).reduce((inner) => [inner], 1),
        null,
        '\t',
      ),
    ],
    ['line ends between values', '[1,\n\n\n\n\n\n\n\n\n\n\n2,\n\n\n\n\n\n\n\n\n\n\n3]'],
  ])('%s in arguments are not endless', (_title, text) => {
    const open = opened(0, 'c', 'f', text)
    expect(toolDeltas(toolDelta(open))).toEqual([open])
  })
})

describe('counting', () => {
  test('usage is known whether or not the caller asks for it', () => {
    const wire = [bytes(readStream('quirk-14-copilot-usage'))]
    const counted = { inputTokens: 965, outputTokens: 93, cachedInputTokens: 0, reasoningTokens: 0, nanoAiu: 213625000 }
    expect(stream(wire, seedOf({ usage: true })).usage).toEqual(counted)
    expect(stream(wire, seedOf({ usage: false })).usage).toEqual(counted)
    expect(stream([bytes(readStream('quirk-14-copilot-usage-on-finish'))]).usage).toEqual(counted)
    expect(stream([bytes(readStream('quirk-13-usage-everywhere'))]).usage).toMatchObject({ cachedInputTokens: 4 })
    expect(stream([bytes(readStream('quirk-13-usage-absent'))]).usage).toBeUndefined()
  })

  test('events that say nothing are counted and left out', () => {
    const said = chunk({ role: 'assistant', content: 'a' })
    const { text, skipped } = streamed(said, 'null', '"text"', '[1]', finish('stop'), '[DONE]')
    expect(skipped).toBe(3)
    expect(dataOf(text)).toEqual([JSON.stringify(said), JSON.stringify(finish('stop')), '[DONE]'])
    expect(streamed(said, finish('stop'), '[DONE]').skipped).toBe(0)
  })
})

describe('tool calls', () => {
  test('an id that comes after the call was opened does not open another', () => {
    expect(toolDeltas(toolDelta(entry(0, undefined, 'f', '{')), toolDelta(entry(0, 'late', undefined, '}')))).toEqual([
      opened(0, 'call_seed0001_0', 'f', '{'),
      more(0, '}'),
    ])
  })

  test('an id that comes before the name is kept for it', () => {
    expect(toolDeltas(toolDelta(entry(0, 'early', undefined, '{')), toolDelta(entry(0, undefined, 'f', '}')))).toEqual([
      opened(0, 'early', 'f', '{}'),
    ])
  })

  test('calls that wait for a name are numbered when they open', () => {
    expect(
      toolDeltas(
        toolDelta(entry(0, 'a', undefined, '{}'), entry(1, 'b', 'g', '{')),
        toolDelta(entry(0, 'a', 'f', '')),
        toolDelta(entry(1, undefined, undefined, '}')),
      ),
    ).toEqual([opened(0, 'b', 'g', '{'), opened(1, 'a', 'f', '{}'), more(0, '}')])
  })

  test('another name at the same index, without ids, is another call', () => {
    expect(toolDeltas(toolDelta(entry(0, undefined, 'f', '')), toolDelta(entry(0, undefined, 'g', '{}')))).toEqual([
      opened(0, 'call_seed0001_0', 'f', ''),
      opened(1, 'call_seed0001_1', 'g', '{}'),
      more(0, '{}'),
    ])
  })

  test('a stray index in the middle of the only open call belongs to it', () => {
    expect(toolDeltas(toolDelta(entry(0, 'a', 'f', '{"x"')), toolDelta(entry(1, undefined, undefined, ':1}')))).toEqual(
      [opened(0, 'a', 'f', '{"x"'), more(0, ':1}')],
    )
  })

  test('a name that may continue is sent when the next call starts', () => {
    expect(
      toolDeltas(
        toolDelta({ index: 0, id: 'a', function: { name: 'get' } }),
        toolDelta({ index: 0, function: { name: '_it' } }),
        toolDelta(entry(1, 'b', 'g', '{}')),
        toolDelta(entry(0, undefined, undefined, '{"x":1}')),
      ),
    ).toEqual([opened(0, 'a', 'get_it', ''), opened(1, 'b', 'g', '{}'), more(0, '{"x":1}')])
  })

  test('a name with arguments, even empty ones, is sent at once', () => {
    const reply = chatDialect.upstream.createStream(seedOf({ usage: true }))
    const text = reply.push({ event: '', data: JSON.stringify(toolDelta(entry(0, 'a', 'f', ''))) })
    expect(text).toContain('"name":"f"')
  })

  test('a call whose name waits is sent when the answer is cut', () => {
    const { text } = streamed(toolDelta({ index: 0, id: 'a', function: { name: 'f' } }), finish('length'), '[DONE]')
    expect(text).toContain('"name":"f"')
  })

  test('two calls with the same arguments and their own ids stay two', () => {
    expect(toolDeltas(toolDelta(entry(0, 'a', 'f', '{}'), entry(0, 'b', 'f', '{}')))).toEqual([
      opened(0, 'a', 'f', '{}'),
      opened(1, 'b', 'f', '{}'),
    ])
  })

  test('an entry that says nothing at all opens nothing', () => {
    expect(toolDeltas(chunk({ content: 'x' }), toolDelta({}, null, { index: 4 }))).toEqual([])
  })

  test('keys nobody knows stay with their call', () => {
    const signed = { ...opened(0, 'a', 'f', '{}'), extra_content: { google: { thought_signature: 'example' } } }
    expect(toolDeltas(toolDelta(signed))).toEqual([signed])
    expect(toolDeltas(toolDelta({ ...signed, index: 9 }))).toEqual([signed])
  })

  test('a cut call without arguments is not completed', () => {
    const { text } = streamed(toolDelta(opened(0, 'a', 'f', '')), finish('length'), '[DONE]')
    expect(dataOf(text)).toHaveLength(3)
  })
})

const completed = (...output: unknown[]) => ({ type: 'response.completed', response: { output } })
const message = (text: string) => ({ type: 'message', content: [{ type: 'output_text', text }] })
const answerOf = (...chunks: unknown[]) => fold([bytes(chunks.map(dataEvent).join(''))])
const call = (call_id: string, args: string) => ({ type: 'function_call', call_id, name: 'f', arguments: args })

describe('an end in the Responses dialect', () => {
  const summary = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Summed up.' }] }

  test('is the answer where the chunks before it had none', () => {
    const refusal = { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }
    const opening = chunk({ role: 'assistant', content: '' })
    const { body } = answerOf(opening, completed(summary, message('Hello'), refusal, call('a', '{}'), call('b', '{}')))
    expect(body).toMatchObject({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            reasoning_text: 'Summed up.',
            content: 'Hello',
            refusal: 'No.',
            tool_calls: [{ id: 'a' }, { id: 'b' }],
          },
        },
      ],
    })
  })

  test.each([
    ['text', chunk({ content: 'Hel' }), { content: 'Hel' }],
    ['reasoning', chunk({ reasoning_text: 'At length.' }), { content: null, reasoning_text: 'At length.' }],
    ['a call', toolDelta(opened(0, 'a', 'f', '{}')), { content: null, tool_calls: [{ id: 'a' }] }],
  ])('adds its reason and usage, but no content, after %s', (_title, before, answer) => {
    const output = [summary, message('Hello'), call('b', '{}')]
    const incomplete_details = { reason: 'max_output_tokens' }
    const response = { output, incomplete_details, usage: { input_tokens: 12, output_tokens: 3 } }
    const { body } = answerOf(before, { type: 'response.incomplete', response })
    expect(body).toMatchObject({
      choices: [{ finish_reason: 'length', message: answer }],
      usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
    })
    expect(JSON.stringify(body)).not.toMatch(/Hello|Summed|"b"/)
  })

  test('is truncated where a response is incomplete', () => {
    const response = { output: [call('a', '{"x"')], incomplete_details: { reason: 'max_output_tokens' } }
    expect(answerOf({ type: 'response.incomplete', response }).body).toMatchObject({
      choices: [{ finish_reason: 'length', message: { tool_calls: [{ function: { arguments: '{"x"' } }] } }],
    })
  })

  test('is a failure where neither it nor a chunk has an answer', () => {
    const event = { type: 'response.output_text.delta', output_index: 0, delta: 'Hello' }
    expect(answerOf(event, completed()).fault).toEqual({
      kind: 'upstream_unusable',
      detail: 'it ended the stream without an answer',
    })
  })
})

test('more calls than any answer holds are a failure, for each is looked for among all before it', () => {
  const calls = Array.from({ length: 2001 }, (_, at) => toolDelta(opened(at, `c${at}`, 'f', '{}')))
  expect(streamed(...calls.slice(1), finish('tool_calls'), '[DONE]').fault).toBeUndefined()
  expect(streamed(...calls, finish('tool_calls'), '[DONE]').fault).toEqual({
    kind: 'upstream_unusable',
    detail: 'it made more than 2000 tool calls at once',
  })
})

test('of lines joined in one event, those before a failure reach the caller', () => {
  const joined = `data: ${JSON.stringify(chunk({ content: 'a' }))}\ndata: {"error":{"code":503,"message":"gone"}}\n\n`
  const { text, fault } = stream([bytes(joined)])
  expect(text).toContain('"content":"a"')
  expect(fault).toMatchObject({ kind: 'upstream_status', status: 503 })
})

describe('an event that is not JSON', () => {
  const damaged = { kind: 'upstream_unusable', detail: 'it sent an event that is not JSON' }

  test('fails the answer, also where other lines of the event could be read: what they say is passed on', () => {
    expect(streamed('{"choices":', finish('stop'), '[DONE]').fault).toEqual(damaged)
    const good = JSON.stringify(chunk({ role: 'assistant', content: 'a' }))
    const { text, fault } = streamed(`${good}\ndata: {"choices":`, finish('stop'), '[DONE]')
    expect(fault).toEqual(damaged)
    expect(dataOf(text)).toEqual([good])
  })

  test('is another thing than an answer that is empty', () => {
    expect(streamed(finish('stop'), '[DONE]').fault).toBeUndefined()
  })
})

describe('hostile events', () => {
  test('an event nested more deeply than can be written ends in a fault', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    const { fault } = streamed(`{"choices":[{"delta":{"content":"a","x":${deep}}}]}`)
    expect(fault).toEqual({
      kind: 'upstream_unusable',
      detail: 'it sent a JSON event that is nested too deeply or has too many values',
    })
  })

  test('__proto__ is a key like any other', () => {
    const { text } = streamed('{"__proto__":{"polluted":1},"choices":[]}', finish('stop', { content: 'a' }), '[DONE]')
    expect(text).toContain('"__proto__":{"polluted":1}')
    expect({}).not.toHaveProperty('polluted')
  })
})
