import { responsesDialect } from '../../../../src/translate/responses/dialect.ts'
import { describe, expect, test } from 'vitest'
import { createSseDecoder } from '../../../../src/sse/decode.ts'
import { decode, fold, readLines, readStream, seed, seedWith, stream, toStream } from '../fixture-streams.ts'
import type { Json } from '../fixture-streams.ts'
import { expectGrammar } from '../grammar.ts'
import { bytes } from '../../fixture-folder.ts'

const response = (status: string, output: readonly object[] = []) => ({
  id: 'resp_1',
  object: 'response',
  status,
  model: 'gpt-6-sol',
  output,
})
const created = { type: 'response.created', response: response('in_progress') }
const completed = (...output: object[]) => ({ type: 'response.completed', response: response('completed', output) })
const call = (name: string | undefined, args: string, extra: object = {}) => ({
  id: 'fc_1',
  type: 'function_call',
  status: args === '' ? 'in_progress' : 'completed',
  call_id: 'call_1',
  arguments: args,
  ...(name !== undefined && { name }),
  ...extra,
})
const added = (index: number, item: object) => ({ type: 'response.output_item.added', output_index: index, item })
const done = (index: number, item: object) => ({ type: 'response.output_item.done', output_index: index, item })
const delta = (index: number, text: string) => ({
  type: 'response.function_call_arguments.delta',
  item_id: 'fc_1',
  output_index: index,
  delta: text,
})
const uses = (...names: string[]) =>
  JSON.stringify({ tool_uses: names.map((name) => ({ recipient_name: name, parameters: { n: name } })) })

/** What the caller gets: the calls, as a stream tells them and as the body has them. */
function callsOf(events: readonly object[], from = seed) {
  const wire = toStream(events)
  const streamed = stream(wire, from)
  expectGrammar(streamed.events)
  const emitted = streamed.events
    .filter(({ name }) => name === 'response.output_item.done')
    .map(({ event }) => [event.output_index, event.item.name, event.item.arguments, event.item.call_id])
  const { body } = fold(wire, from)
  const whole: unknown[] = body.output.map((item: Json) => item.call_id)
  expect(emitted.toSorted(([a], [b]) => a - b).map(([, , , id]) => id)).toEqual(whole)
  return emitted
}

const expanded = [
  [0, 'a', '{"n":"functions.a"}', 'call_1'],
  [1, 'b', '{"n":"functions.b"}', 'call_1__2'],
]
const wrapped = uses('functions.a', 'functions.b')

describe('a wrapper that nobody declared becomes the calls in it', () => {
  test.each<[string, readonly object[]]>([
    [
      'sent in pieces',
      [
        created,
        added(0, call('parallel', '')),
        delta(0, wrapped.slice(0, 20)),
        delta(0, wrapped.slice(20)),
        done(0, call('parallel', wrapped)),
        completed(),
      ],
    ],
    ['by its other name', [created, done(0, call('multi_tool_use.parallel', wrapped)), completed()]],
    ['in its namespace', [created, done(0, call('parallel', wrapped, { namespace: 'multi_tool_use' })), completed()]],
    [
      'named when it is done',
      [created, added(0, call(undefined, '')), delta(0, wrapped), done(0, call('parallel', wrapped)), completed()],
    ],
    [
      'whose whole is not stated',
      [
        created,
        added(0, call('parallel', '')),
        delta(0, wrapped),
        done(0, call('parallel', '', { status: 'completed' })),
        completed(),
      ],
    ],
    ['in the final event alone', [created, completed(call('parallel', wrapped))]],
    ['that is not closed', [added(0, call('parallel', '')), delta(0, wrapped), completed()]],
    [
      'that the final event closes',
      [created, added(0, call('parallel', '')), delta(0, wrapped.slice(0, 20)), completed(call('parallel', wrapped))],
    ],
    ['and is stated once more', [created, done(0, call('parallel', wrapped)), completed(call('parallel', wrapped))]],
  ])('%s', (_, events) => {
    expect(callsOf(events)).toEqual(expanded)
  })

  test('whatever follows it', () => {
    const later = call('grep', '{}', { id: 'fc_2', call_id: 'call_2' })
    expect(callsOf([created, done(0, call('parallel', wrapped)), done(1, later), completed()])).toEqual([
      ...expanded,
      [2, 'grep', '{}', 'call_2'],
    ])
  })

  test('two of them', () => {
    const second = call('parallel', wrapped, { id: 'fc_2', call_id: 'call_2' })
    const calls = callsOf([created, done(0, call('parallel', wrapped)), done(1, second), completed()])
    expect(calls.map(([index, name, , id]) => [index, name, id])).toEqual([
      [0, 'a', 'call_1'],
      [1, 'b', 'call_1__2'],
      [2, 'a', 'call_2'],
      [3, 'b', 'call_2__2'],
    ])
  })

  test('a namespace other than the usual one stays', () => {
    const { body } = fold(toStream([created, done(0, call('parallel', uses('files.a', 'b'))), completed()]))
    expect(body.output).toMatchObject([{ name: 'a', namespace: 'files' }, { name: 'b' }])
    expect(body.output[1]).not.toHaveProperty('namespace')
  })

  test('for callers of other dialects too', () => {
    const { events } = decode(toStream([created, done(0, call('parallel', wrapped)), completed()]))
    expect(events.filter(({ type }) => type === 'tool.open')).toEqual([
      { type: 'tool.open', slot: 0, id: 'call_1', name: 'a', kind: 'function' },
      { type: 'tool.open', slot: 1, id: 'call_1__2', name: 'b', kind: 'function' },
    ])
    expect(events.at(-1)).toEqual({ type: 'stop', reason: 'tool_calls' })
  })
})

describe('a call is not a wrapper', () => {
  test.each([
    ['where its arguments are of another shape', '{"tool_uses":"x"}'],
    ['where it holds nothing', '{"tool_uses":[]}'],
    ['where a use is no call', '{"tool_uses":[{"recipient_name":"a"},{"recipient_name":1}]}'],
    ['where parameters are no object', '{"tool_uses":[{"recipient_name":"a","parameters":[]}]}'],
    ['where its arguments are broken', '{"tool_uses":['],
    ['where it holds too much', uses(...Array.from({ length: 129 }, () => 'a'))],
  ])('%s', (_, args) => {
    const events = [
      created,
      added(0, call('parallel', '')),
      delta(0, args),
      done(0, call('parallel', args)),
      completed(),
    ]
    expect(callsOf(events)).toEqual([[0, 'parallel', args, 'call_1']])
  })

  test('where the caller has a tool of that name', () => {
    const from = seedWith({ upstream: { dialect: 'responses', calls: { grouped: new Set(), hasWrapper: true } } })
    const events = [
      created,
      added(0, call('parallel', '')),
      delta(0, wrapped),
      done(0, call('parallel', wrapped)),
      completed(),
    ]
    expect(callsOf(events, from)).toEqual([[0, 'parallel', wrapped, 'call_1']])
  })
})

test('endless whitespace in a wrapper is a failure, not a wait', () => {
  const events = [created, added(0, call('parallel', '')), delta(0, '{"tool_uses":'), delta(0, '\n'.repeat(100))]
  expect(stream(toStream(events)).fault).toMatchObject({ kind: 'upstream_unusable' })
})

test('an index that is no number at all belongs to no wrapper', () => {
  const odd = { ...delta(0, 'odd'), output_index: { valueOf: 0, toString: 0 } }
  const events = [created, added(0, call('parallel', '')), odd, delta(0, wrapped), done(0, call('parallel', wrapped))]
  expect(callsOf([...events, completed()])).toEqual(expanded)
})

const named = (item: Json) => [item.name, item.namespace]

describe('the namespace of the lite form', () => {
  const from = seedWith({
    upstream: { dialect: 'responses', calls: { grouped: new Set(['read_file']), hasWrapper: false } },
  })
  const output = [
    ['read_file', undefined],
    ['list_dir', 'files'],
  ]

  test('is taken off the calls of tools that had none', () => {
    const { events } = stream(readStream('codex-lite'), from)
    const items = events.filter(({ event }) => event.item !== undefined).map(({ event }) => event.item)
    expect(items.map(({ name, namespace }) => [name, namespace])).toEqual(output.flatMap((row) => [row, row]))
    expect(events.at(-1)?.event.response.output.map(named)).toEqual(output)
    expect(fold(readStream('codex-lite'), from).body.output.map(named)).toEqual(output)
  })

  test('stays on those of tools that stood in one', () => {
    const own = seedWith({
      upstream: { dialect: 'responses', calls: { grouped: new Set(['other']), hasWrapper: false } },
    })
    expect(fold(readStream('codex-lite'), own).body.output[0]).toMatchObject({
      name: 'read_file',
      namespace: 'functions',
    })
  })
})

describe('what the server says of itself', () => {
  const limits = { type: 'codex.rate_limits', plan_type: 'plus' }
  const asides = [limits, { type: 'codex.response.metadata' }, { type: 'response.metadata', metadata: {} }]

  test('does not begin a reply that then fails', () => {
    const reply = responsesDialect.upstream.createStream(seed)
    const wire = toStream([...asides, { type: 'keepalive' }, created])
    const text = createSseDecoder()
      .push(bytes(wire))
      .map((event) => reply.push(event))
    expect(text.join('')).toBe('')
    expect(stream(readStream('codex-failed-at-once'))).toMatchObject({ text: '', fault: { status: 503 } })
  })

  test('is not sent on, and nothing is missing', () => {
    const { events, skipped } = stream(readStream('codex-empty-output'))
    expectGrammar(events)
    expect(events.filter(({ name }) => /^codex|metadata/.test(name))).toEqual([])
    expect(skipped).toBe(0)
    expect(decode(readStream('codex-empty-output')).skipped).toBe(0)
    expect(readLines('codex-empty-output').filter((line) => /"codex\.|metadata","/.test(line)).length).toBeGreaterThan(
      1,
    )
  })
})

describe('calls get the names that the caller gave its tools', () => {
  const tools = new Map([
    ['gh__list', { name: 'list', namespace: 'gh', kind: 'function' as const }],
    ['a_b', { name: 'a.b', kind: 'function' as const }],
    ['patch', { name: 'patch it', kind: 'custom' as const }],
  ])
  const from = seedWith({ upstream: { dialect: 'responses', calls: { grouped: new Set(), hasWrapper: false, tools } } })
  const itemsOf = (events: readonly object[]) => {
    const wire = toStream(events)
    const streamed = stream(wire, from)
    expectGrammar(streamed.events)
    const { body } = fold(wire, from)
    const items = streamed.events.filter(({ name }) => name === 'response.output_item.done')
    expect(items.map(({ event }) => event.item)).toEqual(body.output)
    return body.output
  }

  test.each<[string, object, object]>([
    ['of a namespace', call('gh__list', '{}', { x: 1 }), { name: 'list', namespace: 'gh', arguments: '{}', x: 1 }],
    ['that upstream does not take', call('a_b', '{}', { x: 1 }), { name: 'a.b', arguments: '{}', x: 1 }],
    ['inside a namespace', call('a_b', '{}', { namespace: 'gh' }), { name: 'a.b', namespace: 'gh' }],
    [
      'of freeform tools',
      call('patch', '{"input":"*** Begin\\n"}', { x: 1 }),
      { type: 'custom_tool_call', name: 'patch it', input: '*** Begin\n', x: 1 },
    ],
    ['of freeform tools, whatever they call with', call('patch', 'text'), { name: 'patch it', input: 'text' }],
    ['and others stay', call('list', '{}'), { name: 'list', arguments: '{}' }],
  ])('%s', (_, sent, received) => {
    const [item] = itemsOf([created, done(0, sent), completed(sent)])
    expect(item).toMatchObject(received)
  })

  test('also in pieces, beside items that nobody knows', () => {
    const search = { id: 'ts_1', type: 'tool_search_call', arguments: { query: 'q' }, status: 'completed' }
    const patch = call('patch', '{"input":"x"}')
    const items = itemsOf([
      created,
      added(0, call('patch', '')),
      delta(0, '{"input":'),
      delta(0, '"x"}'),
      done(0, patch),
      added(1, search),
      done(1, search),
      completed(patch, search),
    ])
    expect(items).toMatchObject([{ type: 'custom_tool_call', name: 'patch it', input: 'x' }, search])
    expect(items[0]).not.toHaveProperty('arguments')
  })
})
