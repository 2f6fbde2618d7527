import { describe, expect, test } from 'vitest'
import { failure } from '../upstreams/copilot/failures.ts'
import { streamReply } from '../upstreams/http/outcome.ts'
import { isObject, objectsOf, parseObject } from '../../src/json/json.ts'
import { bodyOfPrompt, dialectPaths } from './callers.ts'
import { contentOf, dataOf, saying } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

// Callers of other dialects get the complete answer although a Messages upstream pauses it (`pause_turn`).

const model = 'claude-opus-4.7'
const route = '/v1/messages'

function typesOf(content: unknown) {
  return objectsOf(content).map(({ type }) => type)
}

/** What upstream was sent, oldest first. */
function sentTo({ demo }: Proxy) {
  return demo.log
    .filter((each) => each.route === route)
    .map(({ headers, body }) => ({ headers, body: JSON.parse(body) }))
}

function messageEvent(event: Readonly<Record<string, unknown>>): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`
}

function partOf(text: string, reason: string): readonly string[] {
  return [
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 10 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 3 } },
  ].map(messageEvent)
}

/** Upstream's events up to its last one. */
const paused = partOf('So far.', 'pause_turn')
const completing = partOf(' And the rest.', 'end_turn')
const stop = messageEvent({ type: 'message_stop' })

test.each([true, false])(
  'a chat caller gets one answer, its usage that of all requests (stream: %s)',
  async (stream) => {
    const proxy = await openProxy()
    const ask = { model, ...saying('[demo:pause 2] go'), stream, stream_options: { include_usage: true } }
    const reply = await proxy.chat(ask)
    const sent = sentTo(proxy)
    expect(sent).toHaveLength(3)
    const chunks = stream ? dataOf(reply.text).map((data) => parseObject(data) ?? {}) : [parseObject(reply.text) ?? {}]
    const content = stream ? contentOf(reply.text) : objectsOf(chunks[0]?.['choices'])[0]?.['message']
    const words = `Let me look that up.Let me look that up.Hello from ${model}`
    if (stream) expect(content).toContain(words)
    else expect(content).toMatchObject({ content: expect.stringContaining(words) })
    // The roles, the finish and the usage of one answer.
    expect(reply.text.match(/"role"/g)).toHaveLength(1)
    expect(reply.text.match(/"finish_reason":"stop"/g)).toHaveLength(1)
    const counts = chunks.map(({ usage }) => usage).filter(isObject)
    expect(counts).toHaveLength(1)
    expect(counts[0]).toMatchObject({ completion_tokens: 3 + 3 + 12 })
  },
)

test('a Responses caller gets one answer with the searches between its texts, streamed and as one body alike', async () => {
  const proxy = await openProxy()
  const ask = async (stream: boolean) => {
    const { text } = await proxy.send(dialectPaths.responses, {
      body: bodyOfPrompt('responses', model, '[demo:pause] go', { stream }),
    })
    if (!stream) return JSON.parse(text)
    const events = dataOf(text).map((data) => JSON.parse(data))
    expect(events.map(({ type }) => type).filter((type) => /^response\.(created|completed)$/.test(type))).toEqual([
      'response.created',
      'response.completed',
    ])
    expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, at) => at))
    return events.at(-1).response
  }
  const streamed = await ask(true)
  const whole = await ask(false)
  for (const { status, output, usage } of [streamed, whole]) {
    expect(status).toBe('completed')
    expect(output).toMatchObject([
      { type: 'message', content: [{ text: 'Let me look that up.' }] },
      { type: 'web_search_call', action: { query: 'simulated' } },
      { type: 'message', content: [{ text: expect.stringMatching(/^Hello from/) }] },
    ])
    expect(usage).toMatchObject({ output_tokens: 3 + 11 })
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens)
  }
})

test('upstream gets its blocks back unchanged in a continuation that counts as made by the agent', async () => {
  const proxy = await openProxy()
  const reply = await proxy.chat({ model, ...saying('[demo:pause 2][demo:reasoning] go'), reasoning_effort: 'low' })
  expect(reply.status).toBe(200)
  const [first, second, third] = sentTo(proxy)
  expect([first, second, third].map((each) => each?.headers['x-initiator'])).toEqual(['user', 'agent', 'agent'])
  for (const each of [second, third]) {
    const lastWords = each?.body.messages.at(-1)
    expect(each?.body).toEqual({ ...first?.body, messages: first?.body.messages.concat(lastWords) })
    expect(lastWords.role).toBe('assistant')
    expect(each?.headers['anthropic-beta']).toBe(first?.headers['anthropic-beta'])
  }
  // The simulation checks signatures and the searches' ciphertext itself.
  const round = ['thinking', 'text', 'server_tool_use', 'web_search_tool_result']
  expect(typesOf(second?.body.messages.at(-1).content)).toEqual(round)
  expect(typesOf(third?.body.messages.at(-1).content)).toEqual([...round, ...round])
  expect(second?.body.messages.at(-1).content[2]).toMatchObject({ input: { query: 'simulated' } })
})

test('an answer is continued five times, then ends', async () => {
  const proxy = await openProxy()
  const reply = await proxy.chat({ model, ...saying('[demo:pause 99] go') })
  expect(reply.json()).toMatchObject({
    choices: [{ message: { content: 'Let me look that up.'.repeat(6) }, finish_reason: 'length' }],
  })
  expect(sentTo(proxy)).toHaveLength(6)
})

test('a call of the caller’s tool at the end is passed to the caller', async () => {
  const proxy = await openProxy()
  const tools = [{ type: 'function', function: { name: 'Read', parameters: { type: 'object', properties: {} } } }]
  const reply = await proxy.chat({ model, tools, ...saying('[demo:pause][demo:tool Read] go') })
  expect(reply.json()).toMatchObject({
    choices: [{ message: { tool_calls: [{ function: { name: 'Read' } }] }, finish_reason: 'tool_calls' }],
  })
  expect(sentTo(proxy)).toHaveLength(2)
})

test.each([
  ['by itself where its request is passed on', 'Read', 'pause_turn', 2],
  ['not where its request is translated, for a name upstream refuses', 'r'.repeat(140), 'end_turn', 4],
] as const)('a Messages caller continues %s', async (_, name, reason, requests) => {
  const proxy = await openProxy()
  const tools = [{ name, input_schema: { type: 'object', properties: {} } }]
  for (const stream of [true, false]) {
    const body = bodyOfPrompt('messages', model, '[demo:pause] go', { stream, tools })
    expect((await proxy.send(dialectPaths.messages, { body })).text).toContain(`"stop_reason":"${reason}"`)
  }
  expect(sentTo(proxy)).toHaveLength(requests)
})

test.each([
  ['without its last event', paused],
  ['with a mark of OpenAI’s kind in its place', [...paused, 'data: [DONE]\n\n']],
  ['with more events after its end, and never closed', [...paused, stop, messageEvent({ type: 'ping' })]],
])('a paused answer that ends %s is continued', async (how, pieces) => {
  const proxy = await openProxy()
  const ending = how.includes('never') ? 'hold' : 'end'
  for (const stream of [true, false]) {
    proxy.demo.script(
      route,
      { outcome: streamReply(pieces, { ending }) },
      { outcome: streamReply([...completing, stop]) },
    )
    const { text } = await proxy.chat({ model, ...saying('go'), stream })
    expect(text).toContain('"finish_reason":"stop"')
    expect(stream ? contentOf(text) : text).toContain('So far. And the rest.')
  }
})

test('a continuation goes out again without what upstream refuses', async () => {
  const proxy = await openProxy()
  const block = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const searching = [
    { type: 'content_block_start', index: 1, content_block: block },
    { type: 'content_block_stop', index: 1 },
  ].map(messageEvent)
  const words = 'max_tokens: 3000 > 2000, which is the maximum allowed number of output tokens for claude-opus-4.7'
  const refusal = failure(400, { message: words, code: 'invalid' })
  proxy.demo.script(
    route,
    { outcome: streamReply([...paused.slice(0, -1), ...searching, ...paused.slice(-1), stop]) },
    { outcome: refusal },
    { outcome: streamReply([...completing, stop]) },
  )
  const { text } = await proxy.chat({ model, ...saying('go'), max_tokens: 3000 })
  expect(text).toContain('So far. And the rest.')
  const sent = sentTo(proxy)
  expect(sent.map(({ body }) => Number(body.max_tokens))).toEqual([3000, 3000, 2000])
  expect(sent[2]?.body.messages).toEqual(sent[1]?.body.messages)
})

test('parts that arrive in one piece each are neither lost nor repeated', async () => {
  const proxy = await openProxy()
  for (const stream of [true, false]) {
    const whole = [[...paused, stop].join(''), [...completing, stop].join('')].map((piece) => streamReply([piece]))
    proxy.demo.script(route, ...whole.map((outcome) => ({ outcome })))
    const { text } = await proxy.chat({ model, ...saying('go'), stream })
    expect(stream ? contentOf(text) : text).toContain('So far. And the rest.')
    expect(text.match(/So far/g)).toHaveLength(1)
  }
})

describe('an upstream that does not continue', () => {
  const refusals = [400, 404, 413, 422].flatMap((status) => [true, false].map((stream) => [status, stream] as const))

  test.each(refusals)('leaves the answer marked as truncated: refused with %s (stream: %s)', async (status, stream) => {
    const proxy = await openProxy()
    const refusal = failure(status, {
      message: 'This model does not support assistant message prefill.',
      code: 'invalid',
    })
    for (const pieces of [[...paused, stop], paused]) {
      proxy.demo.script(route, { outcome: streamReply(pieces) }, { outcome: refusal })
      const ask = { model, ...saying('go'), stream, stream_options: { include_usage: true } }
      const reply = await proxy.chat(ask)
      expect(reply.status).toBe(200)
      expect(stream ? contentOf(reply.text) : reply.text).toContain('So far.')
      expect(reply.text.match(/"finish_reason":"length"/g)).toHaveLength(1)
      expect(reply.text).toContain('"completion_tokens":3')
      expect(reply.text).not.toContain('prefill')
    }
    expect(proxy.log.filter(({ level }) => level === 'warn')).toMatchObject(
      Array.from({ length: 2 }, () => ({
        message: 'the provider did not continue the answer',
        fields: { error: { status } },
      })),
    )
  })

  const busy = failure(429, { message: 'slow down', code: 'rate_limited' }, { 'retry-after': '7' })

  test('is an error event in a stream that has begun: a failure', async () => {
    const proxy = await openProxy()
    proxy.demo.script(route, { outcome: streamReply([...paused, stop]) }, { outcome: busy })
    const text = await (await proxy.openChat({ model, ...saying('go') })).rest()
    expect(contentOf(text.slice(0, text.indexOf('data: {"error"')))).toBe('So far.')
    expect(text).toContain('slow down')
    expect(text).not.toContain('[DONE]')
  })

  test('is a status if nothing has been sent', async () => {
    const proxy = await openProxy()
    proxy.demo.script(route, { outcome: streamReply([...paused, stop]) }, { outcome: busy })
    const reply = await proxy.chat({ model, ...saying('go') })
    expect({ status: reply.status, wait: reply.headers['retry-after'] }).toEqual({ status: 429, wait: '7' })
  })

  test.each([
    ['nothing', []],
    ['a beginning', completing.slice(0, 3)],
  ])('is reported with the request id of the failed reply: %s', async (_, pieces) => {
    const proxy = await openProxy()
    for (const stream of [true, false]) {
      const named = (place: string) => ({ headers: { 'x-github-request-id': `${place}-${stream}` } })
      proxy.demo.script(
        route,
        { outcome: streamReply([...paused, stop], named('first')) },
        { outcome: streamReply(pieces, named('second')) },
      )
      const reply = await proxy.chat({ model, ...saying('go'), stream })
      expect(reply.status).toBe(stream ? 200 : 502)
      expect(reply.text).toContain(`second-${stream}`)
      expect(reply.text).not.toContain(`first-${stream}`)
      expect(reply.text).not.toContain('"finish_reason":"stop"')
    }
  })
})

test('a caller that leaves during the pause ends what upstream was asked for', async () => {
  const proxy = await openProxy()
  proxy.demo.script(route, { outcome: streamReply([...paused, stop]) }, { outcome: { kind: 'silent' } })
  const reply = await proxy.openChat({ model, ...saying('go') })
  await reply.next()
  await proxy.demo.until(() => proxy.demo.count(route) === 2)
  reply.leave()
  await proxy.demo.until(() => proxy.demo.aborted() === 1)
})
