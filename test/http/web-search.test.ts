import { describe, expect, test } from 'vitest'
import { failure } from '../upstreams/copilot/failures.ts'
import { streamReply } from '../upstreams/http/outcome.ts'
import { isObject, objectsOf, parseObject, textOf } from '../../src/json/json.ts'
import type { JsonObject } from '../../src/json/json.ts'
import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { bodyOfPrompt, dialectPaths } from './callers.ts'
import { dataOf } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

// Web search for models that have none: a GPT model answers each call of the search on /responses.

const claude = 'claude-opus-4.7'
const search = { type: 'web_search_20250305', name: 'web_search' }
const forced = { type: 'tool', name: 'web_search' }
const read = { name: 'Read', input_schema: { type: 'object', properties: {} } }

function calling(...queries: readonly string[]): string {
  return `${queries.map((query) => `[demo:tool web_search ${JSON.stringify({ query })}]`).join('')} go`
}

function sentTo({ demo }: Proxy, route: string) {
  return demo.log
    .filter((each) => each.route === route)
    .map(({ headers, body }) => ({ headers, body: JSON.parse(body) }))
}

/** An answer of Claude's that searches. */
function callOf(query: string) {
  const events = [
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 10 } } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: `toolu_${query}`, name: 'web_search' },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify({ query }) },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]
  return streamReply(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
}

async function ask(
  proxy: Proxy,
  caller: UpstreamDialectId,
  change: Readonly<Record<string, unknown>>,
  { prompt = calling('herons'), model = claude } = {},
) {
  return await proxy.send(dialectPaths[caller], { body: bodyOfPrompt(caller, model, prompt, change) })
}

/** The message of a Messages caller, streamed or not: blocks by the rules of Anthropic's own client. */
function messageIn(text: string): JsonObject & { readonly content: readonly JsonObject[] } {
  if (text.startsWith('{')) return JSON.parse(text)
  const blocks: Record<string, unknown>[] = []
  let end: JsonObject = {}
  for (const data of dataOf(text)) {
    const event = parseObject(data) ?? {}
    const block = blocks[Number(event['index'])]
    const delta = isObject(event['delta']) ? event['delta'] : {}
    if (event['type'] === 'content_block_start') blocks.push({ ...(event['content_block'] as object) })
    else if (delta['type'] === 'text_delta' && block) block['text'] = `${String(block['text'])}${String(delta['text'])}`
    else if (delta['type'] === 'input_json_delta' && block) block['input'] = JSON.parse(String(delta['partial_json']))
    else if (delta['type'] === 'citations_delta' && block) {
      block['citations'] = [...objectsOf(block['citations']), delta['citation']]
    } else if (event['type'] === 'message_delta') end = { ...delta, usage: event['usage'] }
  }
  return { ...end, content: blocks }
}

function error(code: string) {
  return { type: 'web_search_tool_result_error', error_code: code }
}

const found = [
  { type: 'web_search_result', url: 'https://example.com/herons', title: 'Page one', page_age: null },
  { type: 'web_search_result', url: 'https://example.org/herons', title: 'Page two', page_age: null },
]

describe.each([
  ['Messages', claude, '/v1/messages'],
  ['Chat', 'gemini-3-pro-preview', '/chat/completions'],
  ['Chat of a GPT model', 'gpt-4.1', '/chat/completions'],
])('a Messages caller over %s', (_title, model, route) => {
  test.each([true, false])('gets native blocks, cited text and the count of searches (stream: %s)', async (stream) => {
    const proxy = await openProxy()
    const prompt = 'Perform a web search for the query: herons'
    const reply = await ask(proxy, 'messages', { tools: [search], tool_choice: forced, stream }, { model, prompt })
    expect(reply.status).toBe(200)
    expect(reply.headers['x-copilot-proxy-warnings']).toBe('emulated;tools.0')
    const { content, stop_reason: reason, usage } = messageIn(reply.text)
    const [use, result, text, ...rest] = content.slice(content[0]?.['type'] === 'server_tool_use' ? 0 : 1)
    expect(rest).toEqual([])
    expect(use).toMatchObject({
      type: 'server_tool_use',
      id: expect.stringMatching(/^srvtoolu_\w+$/),
      name: 'web_search',
      input: { query: 'herons' },
    })
    expect(result).toMatchObject({ type: 'web_search_tool_result', tool_use_id: use?.['id'], content: found })
    expect(text).toMatchObject({
      type: 'text',
      text: expect.stringContaining('A first simulated page is about herons'),
    })
    expect(objectsOf(text?.['citations'])[0]).toEqual({
      type: 'web_search_result_location',
      url: 'https://example.com/herons',
      title: 'Page one',
      cited_text: expect.stringContaining('A first simulated page'),
      encrypted_index: '',
    })
    expect(reason).toBe('end_turn')
    expect(usage).toMatchObject({ server_tool_use: { web_search_requests: 1 } })

    const lineOf = (sought: string) => proxy.log.find(({ message }) => message === sought)?.fields
    const searchCredits = Number(lineOf('ran a web search')?.['credits'])
    expect(searchCredits).toBeGreaterThan(0)
    expect(lineOf('request served')).toMatchObject({ searchCredits })
    if (!stream) {
      const whole = Number(lineOf('request served')?.['credits']) + searchCredits
      expect(Number(reply.headers['x-copilot-proxy-credits'])).toBeCloseTo(whole, 9)
    }

    const [first, second, ...more] = sentTo(proxy, route)
    expect(more).toEqual([])
    expect([first, second].map((each) => each?.headers['x-initiator'])).toEqual(['user', 'agent'])
    const [searched, ...others] = sentTo(proxy, '/responses')
    expect(others).toEqual([])
    expect(searched?.headers['x-initiator']).toBe('agent')
    expect(searched?.body).toMatchObject({ model: 'gpt-5-mini', stream: true, tools: [{ type: 'web_search' }] })
  })
})

test('a search has the interaction id of its answer and counts as made by the agent', async () => {
  const proxy = await openProxy()
  await ask(proxy, 'messages', { tools: [search, read] })
  const [answer] = sentTo(proxy, '/v1/messages')
  const [searched] = sentTo(proxy, '/responses')
  expect(searched?.headers).toMatchObject({
    'x-initiator': 'agent',
    'openai-intent': 'conversation-agent',
    'x-interaction-type': 'conversation-subagent',
    'x-interaction-id': answer?.headers['x-interaction-id'],
  })
  expect(answer?.headers['x-interaction-id']).toMatch(/^[\da-f-]{36}$/)
})

test('the caller gets the call of a search before the search ends', async () => {
  const proxy = await openProxy()
  const body = bodyOfPrompt('messages', claude, calling('herons [demo:slow 40]'), { tools: [search], stream: true })
  const reply = await proxy.open(dialectPaths.messages, { body })
  let received = ''
  for (
    let next = await reply.next();
    next !== undefined && !received.includes('input_json_delta');
    next = await reply.next()
  ) {
    received += next
  }
  expect(received).toContain('"type":"server_tool_use"')
  expect(proxy.log.filter(({ message }) => message === 'ran a web search')).toEqual([])
  expect(await reply.rest()).toContain('web_search_tool_result')
})

test.each([true, false])('a Chat caller gets annotations (stream: %s)', async (stream) => {
  const proxy = await openProxy()
  const location = { type: 'approximate', approximate: { country: 'DE' } }
  const options = { search_context_size: 'low', user_location: location }
  for (const model of ['claude-opus-4.6', 'gpt-5-mini']) {
    const reply = await ask(proxy, 'chat', { web_search_options: options, stream }, { model })
    expect(reply.headers['x-copilot-proxy-warnings']).toBe('emulated;web_search_options')
    const bodies = stream ? dataOf(reply.text).map((data) => parseObject(data) ?? {}) : [reply.json()]
    const choices = objectsOf(bodies).flatMap((body) => objectsOf(body['choices']))
    const words = choices.flatMap(({ message, delta }) =>
      isObject(message) ? [message] : isObject(delta) ? [delta] : [],
    )
    const text = words.map(({ content }) => textOf(content)).join('')
    const annotations = words.flatMap((each) => objectsOf(each['annotations']))
    expect(annotations.length).toBeGreaterThan(0)
    for (const each of annotations) {
      expect(each).toMatchObject({ type: 'url_citation', url_citation: { title: expect.stringMatching(/^Page/) } })
      const { start_index: start, end_index: end, url } = each['url_citation'] as Record<string, never>
      expect(text.slice(start, end)).toContain(url)
    }
    expect(words.some((each) => each['tool_calls'] !== undefined)).toBe(false)
    expect(choices.map(({ finish_reason: reason }) => reason).findLast(Boolean)).toBe('stop')
  }
  for (const { body } of sentTo(proxy, '/responses')) {
    const wanted = { search_context_size: 'low', user_location: { type: 'approximate', country: 'DE' } }
    expect(body.tools).toEqual([{ type: 'web_search', ...wanted }])
  }
})

test('a Responses caller gets web_search_call items', async () => {
  const proxy = await openProxy()
  const reply = await ask(proxy, 'responses', { tools: [{ type: 'web_search' }] })
  expect(reply.json()).toMatchObject({
    output: [
      { type: 'message' },
      { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'herons' } },
      {
        type: 'message',
        content: [{ annotations: expect.arrayContaining([expect.objectContaining({ title: 'Page one' })]) }],
      },
    ],
  })
})

test('a search without access to the live web is not run here', async () => {
  const proxy = await openProxy()
  const tools = [
    { type: 'web_search', external_web_access: false },
    { type: 'function', name: 'f' },
  ]
  const reply = await ask(proxy, 'responses', { tools }, { prompt: 'Hello' })
  expect(reply.headers['x-copilot-proxy-warnings']).toBe('dropped;tools.0')
})

test('a GPT model on /responses searches by itself', async () => {
  const proxy = await openProxy()
  const prompt = 'Perform a web search for the query: herons'
  const change = { tools: [search], tool_choice: forced }
  const reply = await ask(proxy, 'messages', change, { model: 'gpt-5.4', prompt })
  expect(reply.headers['x-copilot-proxy-warnings']).toBeUndefined()
  expect(messageIn(reply.text).content.map(({ type }) => type)).toEqual([
    'server_tool_use',
    'web_search_tool_result',
    'text',
  ])
  const [only, ...more] = sentTo(proxy, '/responses')
  expect(more).toEqual([])
  expect(only?.body).toMatchObject({ model: 'gpt-5.4', tools: [{ type: 'web_search' }], tool_choice: 'required' })
})

describe('the limits of the tool', () => {
  test('domains are sent to upstream, and pages of other domains are removed', async () => {
    const proxy = await openProxy()
    const allowed = { ...search, allowed_domains: ['heron.example'] }
    const blocked = { ...search, type: 'web_search_20260209', blocked_domains: ['example.com'] }
    const urls: unknown[] = []
    for (const tool of [allowed, blocked]) {
      const { content } = messageIn((await ask(proxy, 'messages', { tools: [tool] })).text)
      urls.push(objectsOf(content[2]?.['content']).map(({ url }) => url))
    }
    // The simulated search filters by allowed domains alone, and has a second page of any domain.
    expect(urls).toEqual([['https://heron.example/herons'], [expect.stringMatching(/^https:\/\/example\.org\//)]])
    const [first, second] = sentTo(proxy, '/responses').map(({ body }) => body)
    expect(first.tools).toEqual([{ type: 'web_search', filters: { allowed_domains: ['heron.example'] } }])
    expect(second.tools).toEqual([{ type: 'web_search' }])
    expect(JSON.stringify(second.input)).toContain('herons -site:example.com')
  })

  test('too many searches, an endless query and an empty one are errors without an upstream request', async () => {
    const proxy = await openProxy()
    const prompt = calling('a', 'b') + calling('x'.repeat(2000)) + '[demo:tool web_search {"question":1}]'
    const reply = await ask(proxy, 'messages', { tools: [{ ...search, max_uses: 1 }] }, { prompt })
    const message = messageIn(reply.text)
    const results = message.content.filter(({ type }) => type === 'web_search_tool_result')
    expect(results.map(({ content }) => content)).toEqual([
      expect.arrayContaining([expect.objectContaining({ url: 'https://example.com/a' })]),
      error('max_uses_exceeded'),
      error('query_too_long'),
      error('invalid_tool_input'),
    ])
    expect(message['usage']).toMatchObject({ server_tool_use: { web_search_requests: 1 } })
    expect(sentTo(proxy, '/responses')).toHaveLength(1)
    const [, second] = sentTo(proxy, '/v1/messages')
    const answered = objectsOf(second?.body.messages.at(-1).content)
    expect(answered.map(({ is_error: isError }) => isError)).toEqual([undefined, true, true, true])
  })

  test('a model that never stops searching must answer after ten rounds, then it is cut off', async () => {
    const proxy = await openProxy()
    proxy.demo.script('/v1/messages', ...Array.from({ length: 12 }, (_, at) => ({ outcome: callOf(`q${at}`) })))
    const reply = await ask(proxy, 'messages', { tools: [{ ...search, max_uses: 2 }] })
    const message = messageIn(reply.text)
    expect(message['stop_reason']).toBe('end_turn')
    expect(message.content).toHaveLength(2 * 11)
    const sent = sentTo(proxy, '/v1/messages')
    expect(sent.map(({ body }) => body.tool_choice?.type)).toEqual([...Array(10).fill(undefined), 'none'])
    expect(proxy.demo.count('/responses')).toBe(2)
  })
})

describe('a search that fails does not fail the answer', () => {
  test.each([
    ['429', 'too_many_requests'],
    ['500', 'unavailable'],
    ['402', 'unavailable'],
  ])('%s', async (status, code) => {
    const proxy = await openProxy()
    const prompt = calling(`herons [demo:error ${status} 0]`)
    const reply = await ask(proxy, 'messages', { tools: [search] }, { prompt })
    expect(reply.status).toBe(200)
    const { content, usage } = messageIn(reply.text)
    expect(content[2]?.['content']).toEqual({ type: 'web_search_tool_result_error', error_code: code })
    expect(content[3]).toMatchObject({ text: `The tool answered: The web search failed: ${code}.` })
    expect(usage).toMatchObject({ server_tool_use: null })
    expect(proxy.log.filter(({ message }) => message === 'a web search failed')).toHaveLength(1)
  })

  test('in the middle of its stream', async () => {
    const proxy = await openProxy()
    const reply = await ask(proxy, 'messages', { tools: [search] }, { prompt: calling('herons [demo:cut]') })
    expect(messageIn(reply.text).content[2]?.['content']).toMatchObject({ error_code: 'unavailable' })
  })
})

test('a caller that leaves ends the search', async () => {
  const proxy = await openProxy()
  const body = bodyOfPrompt('messages', claude, calling('herons [demo:stall]'), { tools: [search], stream: true })
  const reply = await proxy.open(dialectPaths.messages, { body })
  await proxy.demo.until(() => proxy.demo.count('/responses') > 0 && proxy.demo.openStreams() > 0)
  reply.leave()
  await proxy.demo.until(() => proxy.demo.openStreams() === 0)
  expect(proxy.demo.aborted()).toBe(1)
})

test('a caller that leaves while upstream continues the answer ends that request', async () => {
  const proxy = await openProxy()
  proxy.demo.script('/v1/messages', { outcome: callOf('herons') }, { outcome: { kind: 'silent' } })
  const body = bodyOfPrompt('messages', claude, 'go', { tools: [search], stream: true })
  const reply = await proxy.open(dialectPaths.messages, { body })
  await proxy.demo.until(() => proxy.demo.count('/v1/messages') === 2)
  reply.leave()
  await proxy.demo.until(() => proxy.demo.openStreams() === 0)
  expect(proxy.demo.aborted()).toBe(1)
})

test.each([true, false])(
  'upstream that dies after a search is an error, not an answer (stream: %s)',
  async (stream) => {
    const proxy = await openProxy()
    proxy.demo.script('/v1/messages', { outcome: callOf('herons') }, { outcome: streamReply([]) })
    const reply = await ask(proxy, 'messages', { tools: [search], stream })
    expect(reply.status).toBe(stream ? 200 : 502)
    expect(reply.text).toMatch(/"type":"error".*is incomplete/)
    expect(reply.text).not.toContain('message_stop')
    expect(proxy.demo.openStreams()).toBe(0)
  },
)

test('if upstream does not continue, the answer ends with the search results', async () => {
  const proxy = await openProxy()
  const prompt = calling('herons')
  const body = bodyOfPrompt('messages', claude, prompt, { tools: [search] })
  const refusal = failure(400, { message: 'messages: something else', code: 'invalid' })
  proxy.demo.script('/v1/messages', { outcome: callOf('herons') }, { outcome: refusal })
  const { status, text } = await proxy.send(dialectPaths.messages, { body })
  expect(status).toBe(200)
  expect(messageIn(text)).toMatchObject({ stop_reason: 'end_turn' })
  expect(messageIn(text).content.at(-1)).toMatchObject({ type: 'web_search_tool_result', content: found })
})

test('a continuation after a search goes out again without what upstream refuses, and the model is known by it', async () => {
  const proxy = await openProxy()
  const body = bodyOfPrompt('messages', claude, 'go', { tools: [search], max_tokens: 3000 })
  const words = 'max_tokens: 3000 > 2000, which is the maximum allowed number of output tokens for claude-opus-4.7'
  const refusal = failure(400, { message: words, code: 'invalid' })
  proxy.demo.script('/v1/messages', { outcome: callOf('herons') }, { outcome: refusal })
  const { status, text } = await proxy.send(dialectPaths.messages, { body })
  expect(status).toBe(200)
  expect(messageIn(text).content.at(-1)).toMatchObject({ type: 'text' })
  await proxy.send(dialectPaths.messages, { body })
  const sent = sentTo(proxy, '/v1/messages').map((each) => Number(each.body.max_tokens))
  expect(sent.slice(0, 4)).toEqual([3000, 3000, 2000, 2000])
})

test('a call of the caller’s tool next to a search is passed to the caller, and the next request returns both', async () => {
  const proxy = await openProxy()
  const prompt = `[demo:tool Read]${calling('herons')}`
  const tools = [read, search]
  const message = messageIn((await ask(proxy, 'messages', { tools }, { prompt })).text)
  expect(message).toMatchObject({ stop_reason: 'tool_use', usage: { server_tool_use: { web_search_requests: 1 } } })
  expect(message.content.map(({ type }) => type)).toEqual([
    'text',
    'tool_use',
    'server_tool_use',
    'web_search_tool_result',
  ])
  expect(proxy.demo.count('/v1/messages')).toBe(1)

  const messages = [
    { role: 'user', content: prompt },
    { role: 'assistant', content: message.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: message.content[1]?.['id'], content: 'read' }] },
  ]
  const next = await ask(proxy, 'messages', { tools, messages })
  expect(next.status).toBe(200)
  const [, replayed] = sentTo(proxy, '/v1/messages')
  expect(replayed?.body.messages).toMatchObject([
    { role: 'user' },
    {
      role: 'assistant',
      content: [{ type: 'text' }, { type: 'tool_use', name: 'Read' }, { type: 'tool_use', name: 'web_search' }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', content: expect.stringContaining('A first simulated page is about herons') },
        { type: 'tool_result', content: 'read' },
      ],
    },
  ])
})

test.each([claude, 'gemini-3-pro-preview', 'gpt-5.4'])(
  'searches of the history are readable without the tool: %s',
  async (model) => {
    const proxy = await openProxy()
    const { content } = messageIn((await ask(proxy, 'messages', { tools: [search] })).text)
    const messages = [
      { role: 'user', content: 'first' },
      { role: 'assistant', content },
      { role: 'user', content: 'second' },
    ]
    const reply = await ask(proxy, 'messages', { messages }, { model })
    expect(reply.status).toBe(200)
    const route = { [claude]: '/v1/messages', 'gpt-5.4': '/responses' }[model] ?? '/chat/completions'
    const [sent] = sentTo(proxy, route).slice(-1)
    const text = JSON.stringify(sent?.body.messages?.[1] ?? sent?.body.input)
    expect(text).toContain('[Web search: herons]')
    expect(text).toContain('https://example.org/herons')
  },
)

describe('messages.web-search-model', () => {
  test('names the model that searches', async () => {
    const proxy = await openProxy({ file: 'messages: { web-search-model: gpt-5.4 }' })
    await ask(proxy, 'messages', { tools: [search] })
    expect(sentTo(proxy, '/responses').map(({ body }) => body.model)).toEqual(['gpt-5.4'])
  })

  test.each(['""', 'claude-opus-4.7', 'nonsense'])(
    '%s: no search is run, and the tool is refused as without web search',
    async (name) => {
      const proxy = await openProxy({ file: `messages: { web-search-model: ${name} }` })
      await ask(proxy, 'messages', {}, { prompt: 'Hello' })
      const reply = await ask(proxy, 'messages', { tools: [search], tool_choice: forced })
      expect(reply.status).toBe(400)
      const left = await ask(proxy, 'messages', { tools: [search, read] }, { prompt: 'Hello' })
      expect(left.headers['x-copilot-proxy-warnings']).toBe('dropped;tools.0')
      expect(proxy.demo.count('/responses')).toBe(0)
      const received = proxy.log.filter(({ message }) => message.startsWith('web search is unavailable'))
      expect(received.length > 0).toBe(name !== '""')
    },
  )
})

test('a search is counted and logged as a request of the model that ran it', async () => {
  const proxy = await openProxy()
  await ask(proxy, 'messages', { tools: [search] })
  const line = proxy.log.find(({ message }) => message === 'ran a web search')
  expect(line?.fields).toMatchObject({ model: 'gpt-5-mini', route: 'copilot/responses', pages: 2 })
  expect(line?.fields['tokensIn']).toBeGreaterThan(0)
  const { text } = await proxy.send('/metrics')
  expect(text).toMatch(
    /copilot_proxy_requests_total\{api="responses",route="copilot\/responses",model="gpt-5-mini",status="200"\} 1/,
  )
  expect(text).toMatch(/copilot_proxy_input_tokens_total\{provider="copilot",model="gpt-5-mini"\} [1-9]/)
})

test('a request without the tool is unchanged', async () => {
  const proxy = await openProxy()
  const reply = await ask(proxy, 'messages', { tools: [read] }, { prompt: 'Hello' })
  expect(reply.headers['x-copilot-proxy-warnings']).toBeUndefined()
  expect(sentTo(proxy, '/v1/messages')[0]?.body).toMatchObject({ messages: [{ role: 'user', content: 'Hello' }] })
  expect(proxy.demo.count('/responses')).toBe(0)
})
