import { describe, expect, test } from 'vitest'
import { jsonReply, streamReply } from '../upstreams/http/outcome.ts'
import type { AnswerEvent } from '../../src/pipeline/model-answer.ts'
import { foldTurn } from '../../src/translate/fold-turn.ts'
import type { Turn, TurnEvent } from '../../src/translate/turn.ts'
import { createTurn, userMessage } from '../../src/translate/turn-request.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'

// A program inside the daemon makes model turns without HTTP.

const call = (proxy: Proxy, prompt: string, model = 'gpt-5-mini', signal = new AbortController().signal) =>
  proxy.daemon.runTurn({ id: 'in-process', turn: createTurn([userMessage(prompt)]), model, signal })

const textIn = (events: readonly TurnEvent[]): string =>
  events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('')

async function eventsOf(answer: { readonly events: AsyncIterable<AnswerEvent> }): Promise<readonly AnswerEvent[]> {
  const events: AnswerEvent[] = []
  for await (const event of answer.events) events.push(event)
  return events
}

describe.each([
  ['chat', 'gemini-2.5-pro'],
  ['responses', 'gpt-5.3-codex'],
  ['messages', 'claude-opus-4.7'],
])('over the %s upstream', (dialect, model) => {
  test('a turn streams as events, each with the text that upstream sent', async () => {
    const proxy = await openProxy()
    const answer = await call(proxy, 'Say hello', model)
    const events = await eventsOf(answer)
    expect(answer.route).toBe(`copilot/${dialect}`)
    expect(events[0]?.event.type).toBe('start')
    expect(events.at(-1)?.event).toMatchObject({ type: 'stop', reason: 'end' })
    const received = textIn(events.map(({ event }) => event))
    expect(received).not.toBe('')
    const raw = events.flatMap(({ rawText }) => rawText ?? [])
    expect(raw.length).toBeGreaterThan(1)
    for (const text of raw) expect(text).toMatch(/^(?:(?:event: [\w.]+\n)?data: (?:\{.*\}|\[DONE\])\n\n)+$/)
  })

  test('a turn folds into the items that the next turn sends back', async () => {
    const proxy = await openProxy()
    const { items, stop, usage } = await foldTurn((await call(proxy, 'Say hello', model)).events)
    expect(stop).toBe('end')
    expect(usage?.outputTokens).toBeGreaterThan(0)
    expect(items.at(-1)).toMatchObject({ type: 'message', role: 'assistant' })
    const next = createTurn([userMessage('Say hello'), ...items, userMessage('And again')])
    const signal = new AbortController().signal
    const again = await proxy.daemon.runTurn({ id: 'in-process-2', turn: next, model, signal })
    expect((await foldTurn(again.events)).stop).toBe('end')
    expect(proxy.demo.log.at(-1)?.headers).toMatchObject({ 'x-initiator': 'agent' })
  })
})

test('the texts of the events are all that upstream sent', async () => {
  const proxy = await openProxy()
  const sent = [
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [] } },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'of_another_version' },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  proxy.demo.script('/v1/messages', { outcome: streamReply(sent) })
  const events = await eventsOf(await call(proxy, 'Say hello', 'claude-opus-4.7'))
  expect(events.map(({ rawText }) => rawText ?? '').join('')).toBe(sent.join(''))
})

test('a caller may state who caused the turn', async () => {
  const proxy = await openProxy()
  const turn = createTurn([userMessage('Say hello')])
  const { signal } = new AbortController()
  await foldTurn((await proxy.daemon.runTurn({ id: 'own', turn, model: 'gpt-4.1', initiator: 'agent', signal })).events)
  expect(proxy.demo.log.at(-1)?.headers).toMatchObject({ 'x-initiator': 'agent' })
})

test('a turn is counted and logged like a request', async () => {
  const proxy = await openProxy()
  await foldTurn((await call(proxy, 'Say hello')).events)
  expect(proxy.log.filter(({ message }) => message === 'request served')).toMatchObject([
    { fields: { requestId: 'in-process', model: 'gpt-5-mini', status: 200 } },
  ])
  const { text } = await proxy.send('/metrics')
  expect(text).toContain('copilot_proxy_requests_total{api="turn"')
})

test('a tool call comes back as an item, and its result goes up', async () => {
  const proxy = await openProxy()
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, path: '' }] as const
  const turn = createTurn([userMessage('Look around')], { tools, toolChoice: { type: 'required' } })
  const answer = await proxy.daemon.runTurn({
    id: 'tools',
    turn,
    model: 'gpt-5-mini',
    signal: new AbortController().signal,
  })
  const { items, stop } = await foldTurn(answer.events)
  expect(stop).toBe('tool_calls')
  const asked = items.find(({ type }) => type === 'tool_call')
  expect(asked).toMatchObject({ name: 'look', kind: 'function' })
})

test('leaving the loop early cancels the upstream request and ends the admission', async () => {
  const proxy = await openProxy({ file: 'server: { max-concurrent-requests: 1 }' })
  const event = `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content: 'one' }, finish_reason: null }] })}\n\n`
  proxy.demo.script('/chat/completions', { outcome: streamReply([event], { ending: 'hold' }) })
  const answer = await call(proxy, 'Say hello', 'gemini-2.5-pro')
  for await (const { event: said } of answer.events) if (said.type === 'text.delta') break
  expect(proxy.log.at(-1)).toMatchObject({
    message: 'the caller disconnected before the answer was complete',
    fields: { status: 499 },
  })
  const { stop } = await foldTurn((await call(proxy, 'Say hello', 'gemini-2.5-pro')).events)
  expect(stop).toBe('end')
})

test('a program that leaves during a web search causes no further request for its answer', async () => {
  const proxy = await openProxy()
  const events = [
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 10 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'toolu_1', name: 'web_search' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"query":"herons"}' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]
  // One chunk, so that the search has begun when the program leaves.
  const chunk = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  proxy.demo.script('/v1/messages', { outcome: streamReply([chunk]) })
  const tools: Turn['tools'] = [{ type: 'web_search', path: '', onlyThere: [] }]
  const turn = { ...createTurn([userMessage('go')]), tools }
  const { signal } = new AbortController()
  const model = 'claude-opus-4.7'
  const answer = await proxy.daemon.runTurn({ id: 'in-process', turn, model, signal })
  for await (const { event } of answer.events) if (event.type === 'search.open') break
  await proxy.demo.until(() => proxy.demo.count('/responses') === 1 && proxy.demo.openStreams() === 0)
  // A later turn: its request would be the third if the answer went on.
  await foldTurn((await call(proxy, 'Say hello', model)).events)
  expect(proxy.demo.count('/v1/messages')).toBe(2)
})

test('an abort ends the admission of an answer that nobody reads', async () => {
  const proxy = await openProxy({ file: 'server: { max-concurrent-requests: 1 }' })
  const controller = new AbortController()
  await call(proxy, 'Say hello', 'gemini-2.5-pro', controller.signal)
  controller.abort()
  expect(proxy.log.at(-1)).toMatchObject({
    message: 'the caller disconnected before the answer was complete',
    fields: { status: 499 },
  })
  const { stop } = await foldTurn((await call(proxy, 'Say hello', 'gemini-2.5-pro')).events)
  expect(stop).toBe('end')
})

test('a refusal of upstream is thrown before there is an answer', async () => {
  const proxy = await openProxy()
  proxy.demo.script('/chat/completions', {
    outcome: jsonReply(429, { error: { message: 'slow down', code: 'rate_limited' } }),
  })
  await expect(call(proxy, 'Say hello', 'gemini-2.5-pro')).rejects.toMatchObject({
    error: { kind: 'upstream_status', status: 429 },
  })
})

test('an answer that is cut off throws after its events', async () => {
  const proxy = await openProxy()
  const event = `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content: 'one' }, finish_reason: null }] })}\n\n`
  proxy.demo.script('/chat/completions', { outcome: streamReply([event], { ending: 'cut' }) })
  const answer = await call(proxy, 'Say hello', 'gemini-2.5-pro')
  const events: TurnEvent[] = []
  const reading = (async () => {
    for await (const { event: said } of answer.events) events.push(said)
  })()
  await expect(reading).rejects.toMatchObject({ error: { kind: 'upstream_truncated' } })
  expect(textIn(events)).toBe('one')
})

test('an abort ends the turn', async () => {
  const proxy = await openProxy()
  proxy.demo.script('/chat/completions', { outcome: { kind: 'silent' } })
  const controller = new AbortController()
  const asking = call(proxy, 'Say hello', 'gemini-2.5-pro', controller.signal)
  controller.abort()
  await expect(asking).rejects.toMatchObject({ name: 'AbortError' })
  const { text } = await proxy.send('/metrics')
  expect(text).toMatch(/^copilot_proxy_requests_total\{api="turn".*status="499"\} 1$/m)
})
