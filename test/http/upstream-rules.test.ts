import { Agent } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { jsonReply, streamReply, textReply } from '../upstreams/http/outcome.ts'
import { startCopilot } from '../upstreams/copilot.ts'
import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { bodyOfPrompt, callers, dialectPaths } from './callers.ts'
import { dataOf, saying } from './client.ts'
import { chatsOf, openProxy, recordOf } from './harness.ts'
import type { Proxy } from './harness.ts'
import { times } from '../thorough.ts'

test('E12 an expired token is renewed once and the request repeated with the new one', async () => {
  const { chat, openChat, demo } = await openProxy()
  expect((await chat()).status).toBe(200)
  demo.tokens.expireAll()
  expect((await chat()).status).toBe(200)
  expect(demo.exchanges()).toBe(2)
  const [, refused, repeated] = chatsOf(demo)
  expect(repeated?.body).toBe(refused?.body)
  expect(repeated?.headers['authorization']).not.toBe(refused?.headers['authorization'])
  expect(dataOf(await (await openChat()).rest()).at(-1)).toBe('[DONE]')
  expect(demo.count('/chat/completions')).toBe(4)
})

test('E14 hundreds of requests that meet an expired token share one exchange', { timeout: 30_000 }, async () => {
  const { chat, demo } = await openProxy({ file: 'server: { max-concurrent-requests: 1000 }' })
  await chat()
  demo.tokens.expireAll()
  const replies = await Promise.all(Array.from({ length: times(1000) }, () => chat()))
  expect(replies.filter(({ status }) => status !== 200)).toEqual([])
  expect(demo.exchanges()).toBe(2)
})

test('E14 100 requests that arrive before the first token share one exchange', async () => {
  const { chat, demo } = await openProxy({ file: 'server: { max-concurrent-requests: 100 }' })
  const replies = await Promise.all(Array.from({ length: 100 }, () => chat()))
  expect(replies.filter(({ status }) => status !== 200)).toEqual([])
  expect(demo.exchanges()).toBe(1)
})

test('E12 a 401 that a new token does not cure is passed on after one repetition', async () => {
  const { chat, demo } = await openProxy()
  demo.script('/chat/completions', { outcome: textReply(401, 'unauthorized: token expired'), times: 3 })
  const reply = await chat()
  expect(reply.status).toBe(401)
  expect(reply.json()).toEqual({
    error: { message: 'Invalid API key', type: 'authentication_error', code: 'invalid_api_key', param: null },
  })
  expect(demo.count('/chat/completions')).toBe(2)
  expect(demo.exchanges()).toBe(2)
})

test('E12 refresh-on-unauthorized: false passes a 401 on at once', async () => {
  const { chat, demo } = await openProxy({ file: 'copilot: { refresh-on-unauthorized: false }' })
  expect((await chat()).status).toBe(200)
  demo.tokens.expireAll()
  expect((await chat()).status).toBe(401)
  expect(demo.exchanges()).toBe(1)
  expect(demo.count('/chat/completions')).toBe(2)
})

test.each([
  [429, '30', 'rate_limit_error'],
  [402, expect.stringMatching(/GMT$/), 'insufficient_quota'],
])('E11 a %i is passed on with its retry-after and never repeated', async (status, retryAfter, type) => {
  const { chat, demo } = await openProxy()
  for (const stream of [true, false]) {
    const reply = await chat({ ...saying(`[demo:error ${status}]`), stream })
    expect(reply.status).toBe(status)
    expect(reply.headers['retry-after']).toEqual(retryAfter)
    expect(reply.json()).toMatchObject({ error: { type, code: expect.any(String) } })
  }
  expect(demo.count('/chat/completions')).toBe(2)
})

test('E11 upstream’s retry headers are passed on, except for errors that a retry cannot fix', async () => {
  const { chat, demo } = await openProxy()
  const headers = { 'x-should-retry': 'true', 'retry-after-ms': '650', 'retry-after': '1' }
  const refusal = (code: string) => ({ outcome: jsonReply(429, { error: { message: 'slow down', code } }, headers) })
  demo.script('/chat/completions', refusal('rate_limited'), refusal('user_weekly_rate_limited:pro'))
  expect((await chat()).headers).toMatchObject(headers)
  expect((await chat()).headers).toMatchObject({ ...headers, 'x-should-retry': 'false' })
})

test.each([
  [400, 400, 'simulated: the request body is not acceptable'],
  [403, 403, 'unauthorized: not authorized to use this Copilot feature'],
  [413, 413, 'Request Entity Too Large'],
  [466, 466, 'the specified API version is no longer supported'],
  [500, 500, 'internal server error'],
  [502, 502, 'web page'],
  [503, 503, 'upstream provider is rate limited'],
  [504, 504, 'web page'],
])('E11 a %i is passed on as %i with its message, once', async (status, expected, message) => {
  const { chat, demo, log } = await openProxy()
  const reply = await chat(saying(`[demo:error ${status}]`))
  expect(reply.status).toBe(expected)
  expect(reply.json()).toMatchObject({ error: { message: expect.stringContaining(message) } })
  expect(reply.text).not.toContain('<')
  expect(demo.count('/chat/completions')).toBe(1)
  const line = log.find((each) => each.message === 'the provider refused the request')
  expect(line?.fields).toMatchObject({
    status,
    headers: { 'x-github-request-id': expect.stringContaining('DEMO:') },
  })
  expect(reply.headers['x-github-request-id']).toContain('DEMO:')
  expect(reply.headers['x-copilot-service-request-id']).toContain('demo-service-')
})

test.each([
  ['a redirect', { ...textReply(302, 'elsewhere'), headers: { location: 'http://127.0.0.1:1/' } }],
  ['an empty success', { ...textReply(204, ''), body: '' }],
  ['a 304', { ...textReply(304, ''), body: '' }],
])('E30 %s in place of an answer is a 502', async (_what, outcome) => {
  const { chat, demo } = await openProxy()
  demo.script('/chat/completions', { outcome })
  const reply = await chat()
  expect(reply.status).toBe(502)
  expect(reply.json()).toMatchObject({ error: { code: 'upstream_unusable' } })
})

test('E19 a connection that breaks before any answer is a 502, asked once more at most', async () => {
  const { chat, demo } = await openProxy()
  await demo.until(() => demo.count('/models') === 1)
  demo.script('/chat/completions', { outcome: { kind: 'drop' }, times: 5 })
  const reply = await chat()
  expect(reply.status).toBe(502)
  expect(reply.json()).toMatchObject({ error: { code: 'upstream_unreachable' } })
  // Only where the connection was a kept one, which may have been closed for its age.
  expect(demo.count('/chat/completions')).toBeLessThanOrEqual(2)
})

test(
  'E18 idle connections that upstream closes at any moment cost none of hundreds of requests',
  { timeout: 60_000 },
  async () => {
    const { chat, demo } = await openProxy()
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    for (let round = 0; round < times(1000); round += 1) {
      expect((await chat({}, { agent })).status).toBe(200)
      // In seven orders of closing and asking again: at once, later, or not at all.
      const moment = (round * 5) % 7
      if (moment === 0) demo.dropSockets()
      else if (moment === 1) setImmediate(() => demo.dropSockets())
      else if (moment === 2) await new Promise((resolve) => setImmediate(resolve)).then(() => demo.dropSockets())
    }
  },
)

test('E20 an unreachable upstream is a 502 that says so', async () => {
  const { chat, demo } = await openProxy()
  await chat()
  await demo.close()
  const reply = await chat()
  expect(reply.status).toBe(502)
  expect(reply.json()).toMatchObject({
    error: { code: 'upstream_unreachable', message: expect.stringContaining('refused') },
  })
})

test('a 421 moves on to the next endpoint, and stays there', async () => {
  const wrong = await startCopilot({ record: 10 })
  onTestFinished(() => wrong.close())
  const { chat, demo, store } = await openProxy({
    login: 'none',
    prepare: (right) => {
      wrong.script('/chat/completions', { outcome: textReply(421, 'Misdirected Request'), times: 10 })
      wrong.script('/models', { outcome: textReply(421, 'Misdirected Request'), times: 10 })
      right.configure({ apiUrl: right.url })
    },
  })
  await store.write(recordOf(demo.tokens.issueGithub(), { attributes: { base_url: wrong.url } }))
  await expect.poll(async () => (await chat()).status, { timeout: 5000 }).toBe(200)
  const before = wrong.log.length
  expect((await chat()).status).toBe(200)
  expect(wrong.log.length).toBe(before)
  expect(before).toBeLessThanOrEqual(2)
})

test('E29 of the upstream headers only those on the list reach the caller', async () => {
  const { chat, openChat, demo } = await openProxy()
  const headers = {
    'set-cookie': 'session=example',
    'access-control-allow-origin': '*',
    server: 'upstream',
    'x-request-id': 'theirs',
    'x-internal': 'secret',
    'x-quota-snapshot-chat': 'ent=1',
    'x-usage-ratelimit-session': 'ent=2',
    'x-github-request-id': 'GH:1',
    'x-copilot-service-request-id': 'service-1',
    'transfer-encoding': 'chunked',
  }
  const said = 'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  const outcome = streamReply([said], { headers })
  demo.script('/chat/completions', { outcome }, { outcome })
  const streamed = await openChat()
  await streamed.rest()
  for (const reply of [streamed, await chat()]) {
    expect(reply.headers).toMatchObject({
      'x-quota-snapshot-chat': 'ent=1',
      'x-usage-ratelimit-session': 'ent=2',
      'x-github-request-id': 'GH:1',
      'x-copilot-service-request-id': 'service-1',
    })
    expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    for (const name of ['set-cookie', 'access-control-allow-origin', 'server', 'x-internal', 'x-github-backend']) {
      expect(reply.headers).not.toHaveProperty(name)
    }
  }
})

test('every reply has a request id, which upstream gets too, and the name of its route if it has one', async () => {
  const { send, chat, openChat, demo } = await openProxy()
  const streamed = await openChat()
  await streamed.rest()
  const routed = [
    streamed,
    await chat(),
    await chat(saying('[demo:error 429]')),
    await chat(saying('[demo:error 500]')),
    await chat(saying('[demo:eof] a b c')),
  ]
  for (const [at, { headers }] of routed.entries()) {
    expect(headers['x-copilot-proxy-route']).toBe('copilot/chat')
    expect(chatsOf(demo)[at]?.headers['x-request-id']).toBe(headers['x-request-id'])
  }
  const embeddings = { body: '{"model":"text-embedding-3-small","input":"a"}' }
  expect((await send('/v1/embeddings', embeddings)).headers['x-copilot-proxy-route']).toBe('copilot/embeddings')
  demo.script('/embeddings', { outcome: textReply(429, 'slow down') })
  expect((await send('/v1/embeddings', embeddings)).headers['x-copilot-proxy-route']).toBe('copilot/embeddings')
  const unrouted = [
    await send('/v1/models'),
    await send('/nowhere'),
    await chat({ model: 'nothing' }),
    await send('/healthz'),
  ]
  for (const { headers } of unrouted) expect(headers).not.toHaveProperty('x-copilot-proxy-route')
  const ids = [...routed, ...unrouted].map(({ headers }) => headers['x-request-id'])
  expect(new Set(ids).size).toBe(ids.length)
})

test('the request id is ours, whatever the caller sends', async () => {
  const { chat, demo } = await openProxy()
  const reply = await chat({}, { headers: { 'x-request-id': 'chosen-by-caller' } })
  expect(reply.headers['x-request-id']).not.toBe('chosen-by-caller')
  expect(chatsOf(demo)[0]?.headers['x-request-id']).toBe(reply.headers['x-request-id'])
})

test('warnings about lost fields are sent in a header, on streams and errors too, and logged', async () => {
  const { chat, openChat, log } = await openProxy()
  const change = { max_tokens: 50, temperature: 0.2 }
  const streamed = await openChat(change)
  await streamed.rest()
  for (const { headers } of [streamed, await chat(change), await chat({ ...change, ...saying('[demo:error 429]') })]) {
    expect(headers['x-copilot-proxy-warnings']).toMatch(/max_tokens/)
    expect(headers['x-copilot-proxy-warnings']).toMatch(/temperature/)
  }
  expect((await chat()).headers).not.toHaveProperty('x-copilot-proxy-warnings')
  expect(log.filter(({ fields }) => 'warnings' in fields).length).toBeGreaterThanOrEqual(2)
})

const history = [
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: 'Hi' },
]
const toolTurn = [
  { role: 'user', content: 'Read it' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'text' },
]

const first = [{ role: 'user', content: 'Hello' }]
const afterSystem = [{ role: 'system', content: 'Be brief' }, ...first]
const later = [...history, { role: 'user', content: 'And?' }]

test.each([
  ['history', 'a first message', 'user', first],
  ['history', 'a system text and a first message', 'user', afterSystem],
  ['history', 'a later message of the user', 'agent', later],
  ['history', 'the result of a tool', 'agent', toolTurn],
  ['last-message', 'a first message', 'user', first],
  ['last-message', 'a later message of the user', 'user', later],
  ['last-message', 'the result of a tool', 'agent', toolTurn],
])('under the rule "%s", %s counts as made by the %s', async (rule, _what, initiator, messages) => {
  const { chat, demo } = await openProxy({ file: `copilot: { initiator: ${rule} }` })
  expect((await chat({ messages })).status).toBe(200)
  expect(chatsOf(demo)[0]?.headers['x-initiator']).toBe(initiator)
  for (const stated of ['user', 'agent']) {
    await chat({ messages }, { headers: { 'x-initiator': stated } })
    expect(chatsOf(demo).at(-1)?.headers['x-initiator']).toBe(stated)
  }
  // A value upstream would refuse does not reach it.
  expect((await chat({ messages }, { headers: { 'x-initiator': 'robot' } })).status).toBe(200)
  expect(chatsOf(demo).at(-1)?.headers['x-initiator']).toBe(initiator)
})

test('upstream gets the configured identity, and no header of the caller', async () => {
  const { chat, demo } = await openProxy({
    file: 'copilot: { headers: { editor-version: vscode/1.99, openai-intent: "" } }\nserver: { api-keys: [example-key] }',
  })
  await chat(
    {},
    {
      headers: {
        authorization: 'Bearer example-key',
        cookie: 'a=b',
        'user-agent': 'curl',
        'editor-version': 'mine/1',
        'x-forwarded-for': '10.0.0.1',
        'openai-organization': 'org',
      },
    },
  )
  const { headers = {} } = chatsOf(demo)[0] ?? {}
  expect(headers).toMatchObject({
    'editor-version': 'vscode/1.99',
    'user-agent': 'GitHubCopilotChat/0.54.0',
    'copilot-integration-id': 'vscode-chat',
    accept: 'text/event-stream',
    'content-type': 'application/json',
  })
  for (const name of ['cookie', 'x-forwarded-for', 'openai-organization', 'openai-intent', 'copilot-vision-request']) {
    expect(headers).not.toHaveProperty(name)
  }
  expect(JSON.stringify(headers)).not.toContain('example-key')
})

test('an image anywhere in the request sets the vision header', async () => {
  const { chat, demo } = await openProxy()
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const messages = [
    { role: 'user', content: [image] },
    { role: 'assistant', content: 'A dot' },
    { role: 'user', content: 'Sure?' },
  ]
  expect((await chat({ messages })).status).toBe(200)
  expect(chatsOf(demo)[0]?.headers['copilot-vision-request']).toBe('true')
})

test('an embeddings request is split as upstream wants it, and put together again', async () => {
  const { send, demo } = await openProxy()
  const input = Array.from({ length: 1100 }, (_, at) => `text ${at}`)
  const reply = await send('/v1/embeddings', {
    body: JSON.stringify({ model: 'text-embedding-3-small', input, dimensions: 4 }),
  })
  expect(reply.status).toBe(200)
  expect(reply.json()).toMatchObject({ object: 'list', model: 'text-embedding-3-small', data: { length: 1100 } })
  const sent = demo.log.filter(({ route }) => route === '/embeddings')
  expect(sent.flatMap(({ body }) => JSON.parse(body).input)).toEqual(input)
  expect(sent.length).toBe(3)
})

test('an embeddings reply without embeddings is a 502', async () => {
  const { send, demo } = await openProxy()
  demo.script('/embeddings', { outcome: jsonReply(200, { data: [] }) }, { outcome: textReply(200, 'fine') })
  for (let round = 0; round < 2; round += 1) {
    const reply = await send('/v1/embeddings', { body: '{"model":"text-embedding-3-small","input":"a"}' })
    expect(reply.status).toBe(502)
    expect(reply.json()).toMatchObject({ error: { code: 'upstream_unusable' } })
  }
})

/** As many functions as that, in the words of a dialect. */
function functions(caller: UpstreamDialectId, count: number) {
  const schema = { type: 'object', properties: {} }
  return Array.from({ length: count }, (_, at) => {
    const name = `f${at}`
    if (caller === 'messages') return { name, input_schema: schema }
    if (caller === 'responses') return { type: 'function', name, parameters: schema }
    return { type: 'function', function: { name, parameters: schema } }
  })
}

describe.each(callers)('tools of a %s caller', (caller) => {
  const ask = async (proxy: Proxy, model: string, count: number) =>
    proxy.send(dialectPaths[caller], { body: bodyOfPrompt(caller, model, 'go', { tools: functions(caller, count) }) })

  test.each(['gpt-4.1', 'gpt-5.3-codex', 'kimi-k2.6'])('are 128 at most for %s, and more are a 400', async (model) => {
    const proxy = await openProxy()
    expect((await ask(proxy, model, 128)).status).toBe(200)
    const refused = await ask(proxy, model, 129)
    expect(refused.status).toBe(400)
    expect(refused.text).toContain(`expected at most 128 tools for ${model}, got 129`)
    if (caller !== 'messages') expect(refused.json()).toMatchObject({ error: { param: 'tools' } })
    expect(proxy.demo.log.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  test.each(['gpt-5.4', 'kimi-k3', 'claude-opus-4.7'])('are as many as the caller likes for %s', async (model) => {
    expect((await ask(await openProxy(), model, 300)).status).toBe(200)
  })
})

test.each([
  ['kimi-k2.6', 'functions.'],
  ['kimi-k3', ''],
])('a tool loop of any caller works with %s, whatever ids and sampling parameters it has', async (model, prefix) => {
  const proxy = await openProxy()
  const soFar = [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_other', type: 'function', function: { name: 'f1', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_other', content: 'one' },
    { role: 'user', content: '[demo:tools] on' },
  ]
  const request = { model, tools: functions('chat', 2), temperature: 0, stream: false }
  const calling = await proxy.chat({ ...request, messages: soFar })
  expect(calling.headers['x-copilot-proxy-warnings']).toContain('clamped;temperature')
  const answer = JSON.parse(calling.text).choices[0].message
  // The model's own ids, which count on.
  expect(answer.tool_calls.map(({ id }: { id: string }) => id)).toEqual([`${prefix}f0:1`, `${prefix}f1:2`])
  const results = answer.tool_calls.map(({ id }: { id: string }) => ({ role: 'tool', tool_call_id: id, content: id }))
  const answered = await proxy.chat({ ...request, messages: [...soFar, answer, ...results] })
  expect(answered.json()).toMatchObject({
    choices: [{ message: { content: expect.stringContaining('The tool answered') } }],
  })
  expect(JSON.parse(chatsOf(proxy.demo).at(-1)?.body ?? '')).toMatchObject({ temperature: 1, top_p: 0.95 })
  for (const caller of ['responses', 'messages'] as const) {
    const change = { tools: functions(caller, 1), temperature: 0.5 }
    const body = bodyOfPrompt(caller, model, '[demo:tool f0] go', change)
    const reply = await proxy.send(dialectPaths[caller], { body })
    expect(reply.text).toContain(`"${prefix}f0:0"`)
    expect(reply.headers['x-copilot-proxy-warnings']).toContain('clamped;temperature')
  }
})
