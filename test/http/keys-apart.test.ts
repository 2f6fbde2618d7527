import { createHash } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { isObject, objectsOf, objectOf } from '../../src/json/json.ts'
import { makeFolder } from '../tools/session.ts'
import type { Reply, SmallAsk } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'
import { openInMemory } from './in-memory.ts'

// Every route of the daemon is asked by a key about what another key made. A new route needs a row in `routes`.

// Guards against a hang only: the walk sends some hundred requests.
vi.setConfig({ testTimeout: 120_000 })

type Json = Readonly<Record<string, unknown>>

/** What the key `alice` made. Ids that nobody made stand in its place for comparison. */
interface Made {
  readonly responseId: string
  readonly itemId: string
  readonly requestId: string
  readonly callId: string
  readonly sessionId: string
  readonly runId: string
  readonly conversationId: string
}

const nothing: Made = {
  responseId: 'resp_0123456789abcdef0123456789abcdef',
  itemId: 'msg_cpx_0123456789abcdef0123456789abcdef',
  requestId: '01234567-89ab-4cde-8f01-23456789abcd',
  callId: 'call_0123456789abcdef0123456789abcdef',
  sessionId: 'of-nobody',
  runId: '01234567-89ab-4cde-8f01-23456789abcd',
  conversationId: 'conversation-of-nobody',
}

interface Ask extends SmallAsk {
  readonly path: string
}

interface Route {
  /** The requests of another key, with the ids that it tries. */
  readonly asks: (made: Made) => readonly Ask[]
  /**
   * The answer is the same for an id of another key as for an id that nobody made. `never`: a call of a model, whose answer
   * differs each time.
   */
  readonly compared?: 'never'
}

const at = (path: string, ask: SmallAsk = {}): Ask => ({ path, ...ask })
const post = (path: string, body: Json, headers: SmallAsk['headers'] = {}): Ask => ({
  path,
  body: JSON.stringify(body),
  headers,
})
const goOn = { role: 'user', content: 'Go on' }
/** A route that knows nothing of its callers. */
const plain = (path: string): Route => ({ asks: () => [at(path)] })
/** The caller's own session is called as the other key's, and its prompt begins as the other's. */
const sameSession = { 'x-session-id': 'session-of-alice' }

const callRows = (path: string): Route => ({
  compared: 'never',
  asks: ({ callId }) => [
    post(path, { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }, sameSession),
    post(path, {
      model: 'gemini-3-pro-preview',
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: null, tool_calls: [callOf(callId)] },
        { role: 'tool', tool_call_id: callId, content: 'done' },
      ],
    }),
  ],
})
const responsesRows = (path: string): Route => ({
  asks: ({ responseId, itemId }) => [
    post(path, { model: 'gpt-5-mini', input: 'Go on', previous_response_id: responseId }),
    post(path, { model: 'gpt-4.1', input: 'Go on', previous_response_id: responseId, stream: true }),
    post(path, { model: 'gpt-5-mini', input: [{ type: 'item_reference', id: itemId }, goOn] }),
    post(path, { model: 'gpt-5-mini', input: [{ id: itemId }, goOn] }),
  ],
})
const imageRow = (path: string): Route => ({ asks: () => [post(path, { prompt: 'A heron' })] })
const completionRow = (path: string): Route => ({
  compared: 'never',
  asks: () => [post(path, { model: 'gpt-41-copilot', prompt: 'a' })],
})
const byResponse = (path: (id: string) => string, method = 'GET'): Route => ({
  asks: ({ responseId }) => [at(path(responseId), { method })],
})
const session = (path: (made: Made) => string, ask: SmallAsk = {}): Route => ({
  asks: (made) => [at(path(made), ask)],
})
/** Every key may use a session, so its id is no secret. What is in it belongs to keys. */
const shared = (path: (made: Made) => string, ask: SmallAsk = {}): Route => ({
  ...session(path, ask),
  compared: 'never',
})

const ofConversation = ({ conversationId }: Made): string => `/sessions/app/conversations/${conversationId}`

const routes: Readonly<Record<string, Route>> = {
  'GET /healthz': plain('/healthz'),
  'GET /readyz': plain('/readyz'),
  'GET /api/hello': plain('/api/hello'),
  'GET /': plain('/'),
  'GET /page/some-id': plain('/page/main.js'),
  'GET /caller': plain('/caller'),
  // Only the owner gets a code, and a code that nobody was given opens nothing.
  'POST /models/refresh': { asks: () => [at('/models/refresh', { method: 'POST' })] },
  'GET /keys': plain('/keys'),
  // The owner's alone.
  'GET /logins': plain('/logins'),
  'GET /status': plain('/status'),
  'GET /accounts': plain('/accounts'),
  'POST /logins/some-id': { asks: () => [at('/logins/copilot', { method: 'POST' })] },
  'POST /logins/some-id/cancel': { asks: () => [at('/logins/copilot/cancel', { method: 'POST' })] },
  'DELETE /logins/some-id': { asks: () => [at('/logins/copilot', { method: 'DELETE' })] },
  'GET /policies': plain('/policies'),
  'POST /policies': { asks: () => [post('/policies', { model: 'claude-opus-4.5' })] },
  'POST /usage/allow': { asks: () => [at('/usage/allow', { method: 'POST' })] },
  'POST /page/codes': { asks: () => [post('/page/codes', {})] },
  'POST /page/tokens': { asks: () => [post('/page/tokens', { code: 'a'.repeat(32), token: 'b'.repeat(64) })] },
  'GET /usage': { asks: () => [at('/usage'), at('/usage?partial=true')] },
  'GET /cache': plain('/cache'),
  'GET /self-check': plain('/self-check'),
  'GET /openapi.json': plain('/openapi.json'),
  'GET /metrics': plain('/metrics'),
  'GET /requests': {
    asks: ({ requestId }) =>
      ['', '?limit=1000', '?key=alice', '?failed=true', '?model=model-of-alice', `?after=${requestId}`].map((query) =>
        at(`/requests${query}`),
      ),
  },
  'GET /requests/some-id': {
    asks: ({ requestId }) => [at(`/requests/${requestId}`), at(`/requests/${requestId.slice(0, 8)}`)],
  },
  'GET /v1/models': plain('/v1/models'),
  'GET /models': plain('/models'),
  'GET /v1/models/some-id': plain('/v1/models/gpt-5-mini'),
  'GET /models/some-id': plain('/models/gpt-5-mini'),
  'POST /v1/chat/completions': callRows('/v1/chat/completions'),
  'POST /chat/completions': callRows('/chat/completions'),
  'POST /v1/messages': {
    compared: 'never',
    asks: () => [
      post('/v1/messages', {
        model: 'claude-opus-4.7',
        max_tokens: 20,
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    ],
  },
  'POST /v1/messages/count_tokens': {
    asks: () => [
      post('/v1/messages/count_tokens', { model: 'claude-opus-4.7', messages: [{ role: 'user', content: 'Hello' }] }),
    ],
  },
  'POST /v1/embeddings': { asks: () => [post('/v1/embeddings', { model: 'text-embedding-3-small', input: 'a' })] },
  'POST /v1/images/generations': imageRow('/v1/images/generations'),
  'POST /images/generations': imageRow('/images/generations'),
  'POST /v1/images/edits': imageRow('/v1/images/edits'),
  'POST /images/edits': imageRow('/images/edits'),
  'POST /v1/completions': completionRow('/v1/completions'),
  'POST /completions': completionRow('/completions'),
  'POST /embeddings': { asks: () => [post('/embeddings', { model: 'text-embedding-3-small', input: 'a' })] },
  'GET /v1/responses': plain('/v1/responses'),
  'GET /responses': plain('/responses'),
  'POST /v1/responses': responsesRows('/v1/responses'),
  'POST /responses': responsesRows('/responses'),
  'GET /v1/responses/some-id': byResponse((id) => `/v1/responses/${id}`),
  'GET /responses/some-id': byResponse((id) => `/responses/${id}`),
  'GET /v1/responses/some-id/input_items': byResponse((id) => `/v1/responses/${id}/input_items`),
  'GET /responses/some-id/input_items': byResponse((id) => `/responses/${id}/input_items`),
  'DELETE /v1/responses/some-id': byResponse((id) => `/v1/responses/${id}`, 'DELETE'),
  'DELETE /responses/some-id': byResponse((id) => `/responses/${id}`, 'DELETE'),
  'GET /sessions': session(() => '/sessions'),
  'GET /sessions/some-id/messages': {
    asks: ({ conversationId }) => [
      at('/sessions/app/messages'),
      at(`/sessions/app/messages?conversation=${conversationId}`),
    ],
  },
  'GET /sessions/some-id/conversations': shared(({ sessionId }) => `/sessions/${sessionId}/conversations`),
  'POST /sessions/some-id/conversations': {
    asks: ({ conversationId }) => [post('/sessions/app/conversations', { forkOf: conversationId })],
  },
  'PATCH /sessions/some-id/conversations/some-id': session(ofConversation, {
    method: 'PATCH',
    body: '{"title":"Mine"}',
  }),
  'DELETE /sessions/some-id/conversations/some-id': session(ofConversation, { method: 'DELETE' }),
  'POST /sessions/some-id/conversations/some-id/rewind': session((made) => `${ofConversation(made)}/rewind`, {
    method: 'POST',
    body: '{"messageId":"some-id"}',
  }),
  // The owner's alone.
  'GET /sessions/some-id/conversations/some-id/servers': session((made) => `${ofConversation(made)}/servers`),
  'DELETE /sessions/some-id/history': shared(({ sessionId }) => `/sessions/${sessionId}/history`, {
    method: 'DELETE',
  }),
  'GET /sessions/some-id/streams': shared(({ sessionId }) => `/sessions/${sessionId}/streams`),
  'GET /sessions/some-id/streams/some-id': shared(({ sessionId }) => `/sessions/${sessionId}/streams/tool-calls`),
  'GET /sessions/some-id/files': shared(({ sessionId }) => `/sessions/${sessionId}/files`),
  'GET /sessions/some-id/servers': shared(({ sessionId }) => `/sessions/${sessionId}/servers`),
  'GET /sessions/some-id/prompts': shared(({ sessionId }) => `/sessions/${sessionId}/prompts`),
  'GET /sessions/some-id/policy': shared(({ sessionId }) => `/sessions/${sessionId}/policy`),
  'GET /sessions/some-id/changes': shared(({ sessionId }) => `/sessions/${sessionId}/changes`),
  // What another key has changed is in http/routes/change-routes.test.ts: no answer of this walk changes a file.
  'POST /changes/some-id/undo': session(({ runId }) => `/changes/${runId}/undo`, { method: 'POST', body: '{}' }),
  'POST /runs/some-id/undo': session(({ runId }) => `/runs/${runId}/undo`, { method: 'POST', body: '{}' }),
  'GET /runs/some-id': session(({ runId }) => `/runs/${runId}`),
  'POST /runs/some-id/cancel': session(({ runId }) => `/runs/${runId}/cancel`, { method: 'POST', body: '{}' }),
  'POST /runs/some-id/editor': session(({ runId }) => `/runs/${runId}/editor`, {
    body: '{"requestId":"some-id","ok":true,"text":""}',
  }),
  'POST /approvals/some-id': session(({ runId }) => `/approvals/${runId}`, { body: '{"decision":"deny"}' }),
  // A run answers later, and its context is tested in sessions/owners.test.ts.
  'POST /message': {
    asks: ({ conversationId }) => [post('/message', {}), post('/message', { text: 'Go on', conversationId })],
  },
  // A stream without an end: session-routes.test.ts listens to it.
  'GET /events': { asks: () => [] },
  'GET /rpc': plain('/rpc'),
  'GET /mcp': plain('/mcp'),
  'POST /mcp': { asks: () => [post('/mcp', {})] },
  'DELETE /mcp': { asks: () => [at('/mcp', { method: 'DELETE' })] },
}

function callOf(id: string): Json {
  return { id, type: 'function', function: { name: 'f', arguments: '{}' } }
}

const digest = (key: string): string => createHash('sha256').update(key).digest('hex')
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
/** @param keys names with their keys */
const fileWith = (keys: Readonly<Record<string, string>>, folder: string): string =>
  JSON.stringify({
    server: { 'api-keys': Object.entries(keys).map(([name, key]) => `${name}:sha256:${digest(key)}`) },
    log: { bodies: true, 'cache-diagnostics': true },
    workspaces: [folder],
  })

const prompt = 'the secret of alice'
const answered = { temperature: 0, user: 'user-of-alice' }
const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]

/** Everything that the key `alice` makes, and all texts in it that nobody else may get. */
async function makeAll(proxy: Proxy, key: string) {
  const headers = { ...bearer(key), 'user-agent': 'agent-of-alice/1.0', 'x-session-id': 'session-of-alice' }
  const marks = new Set([prompt, 'alice'])
  const requestIds: string[] = []
  const send = async (path: string, body: Json): Promise<Json> => {
    const reply = await proxy.send(path, { body: JSON.stringify(body), headers })
    requestIds.push(String(reply.headers['x-request-id']))
    const value = reply.json()
    return objectOf(value)
  }
  const messages = [{ role: 'user', content: prompt }]
  await send('/v1/chat/completions', { model: 'auto', messages })
  await send('/v1/chat/completions', { model: 'model-of-alice', messages })
  await send('/v1/messages', { model: 'claude-opus-4.7', max_tokens: 20, messages })
  await send('/v1/messages/count_tokens', { model: 'claude-opus-4.7', messages })
  await send('/v1/embeddings', { model: 'text-embedding-3-small', input: prompt })
  const first = await send('/v1/responses', { model: 'gpt-5-mini', input: prompt, metadata: answered })
  const made = await send('/v1/responses', { model: 'gpt-4.1', input: prompt, previous_response_id: first['id'] })
  for (const { id } of [first, made, ...[first, made].flatMap(({ output }) => objectsOf(output))]) {
    // The simulated upstream repeats some of its own ids.
    if (!String(id).includes('demo')) marks.add(String(id))
  }
  const called = await send('/v1/chat/completions', {
    model: 'gemini-3-pro-preview',
    messages: [{ role: 'user', content: '[demo:tool f {"a":1}] the secret of alice' }],
    tools,
    reasoning_effort: 'low',
  })
  const message = objectsOf(called['choices'])[0]?.['message']
  const opaque = isObject(message) ? String(message['reasoning_opaque']) : ''
  const callId = isObject(message) ? String(objectsOf(message['tool_calls'])[0]?.['id']) : ''
  const cache = JSON.parse((await proxy.send('/cache', { headers })).text)
  for (const { session: name } of cache.sessions) marks.add(name)
  for (const each of [opaque, callId, ...requestIds]) marks.add(each)
  expect(cache.sessions.length).toBeGreaterThan(0)
  expect(opaque.length).toBeGreaterThan(10)
  const [sessionId = ''] = objectsOf(JSON.parse((await proxy.send('/sessions', { headers })).text).sessions).map(
    ({ id }) => String(id),
  )
  const requestId = requestIds.at(-1) ?? ''
  const run = await send('/message', { text: prompt, sessionId })
  const runId = String(run['id'])
  const state = async (): Promise<string> => (await proxy.send(`/runs/${runId}`, { headers })).text
  await expect.poll(state, { timeout: 60_000 }).toContain('"state":"ended"')
  const conversationId = String(run['conversationId'])
  marks.add(runId).add(conversationId)
  const itemId = String(objectsOf(made['output'])[0]?.['id'])
  const all: Made = { responseId: String(made['id']), itemId, requestId, callId, sessionId, runId, conversationId }
  return { made: all, marks: [...marks].filter((mark) => mark !== ''), requestIds }
}

/** Asks every route, and expects nothing of `marks` in an answer or in what goes upstream for it. */
async function walk(proxy: Proxy, key: string, made: Made, marks: readonly string[]): Promise<void> {
  for (const [route, { asks, compared }] of Object.entries(routes)) {
    const others = asks(nothing)
    for (const [nth, ask] of asks(made).entries()) {
      const sentBefore = proxy.demo.log.length
      const reply = await askAs(proxy, key, ask)
      const upstream = proxy.demo.log.slice(sentBefore).map(({ body }) => body)
      const unknown = await askAs(proxy, key, others[nth] ?? ask)
      const own = JSON.stringify(ask)
      const foreign = marks.filter((mark) => !own.includes(mark))
      for (const text of [reply.text, JSON.stringify(reply.headers), ...upstream]) {
        expect(
          foreign.filter((mark) => text.includes(mark)),
          `${route}: ${ask.path}`,
        ).toEqual([])
      }
      if (compared !== 'never' && own !== JSON.stringify(others[nth])) {
        expect(shapeOf(reply, made), `${route}: ${ask.path}`).toEqual(shapeOf(unknown, nothing))
      }
    }
  }
}

function askAs(proxy: Proxy, key: string, { path, method, body, headers }: Ask): Promise<Reply> {
  return proxy.send(path, {
    ...(method !== undefined && { method }),
    ...(body !== undefined && { body }),
    headers: { ...headers, ...bearer(key) },
  })
}

/** The answer without the ids of this one request and the ids that were asked for. */
function shapeOf({ status, text }: Reply, ids: Made) {
  let shape = text
  for (const id of Object.values({ ...ids })) shape = shape.replaceAll(id, '{id}')
  return { status, shape: withoutList(shape) }
}

/** The list of last requests grows with each request of the walk. */
function withoutList(text: string): string {
  return text.startsWith('{"requests":') ? '{"requests":…}' : text
}

test('every route of the daemon has a row in the walk', async () => {
  const known = (await openInMemory().routes()).map(({ method, path }) => `${method} ${path}`)
  expect(known.toSorted()).toEqual(Object.keys(routes).toSorted())
})

test('no route gives a key anything of another key, nor a key made anew under its name', async () => {
  const folder = await makeFolder()
  const proxy = await openProxy({ file: fileWith({ alice: 'key-one', bob: 'key-two' }, folder) })
  const { made, marks, requestIds } = await makeAll(proxy, 'key-one')
  await walk(proxy, 'key-two', made, marks)

  const own = bearer('key-one')
  const stored = await proxy.send(`/v1/responses/${made.responseId}`, { headers: own })
  expect(stored.json()).toMatchObject({ id: made.responseId })
  for (const each of requestIds) expect(made.responseId).not.toContain(each.replaceAll('-', ''))
  const items = await proxy.send(`/v1/responses/${made.responseId}/input_items`, { headers: own })
  expect(objectsOf(JSON.parse(items.text).data).filter(({ role }) => role === 'user')).toHaveLength(2)
  for (const ask of responsesRows('/v1/responses').asks(made)) {
    expect((await askAs(proxy, 'key-one', ask)).status).toBe(200)
  }
  expect((await proxy.send(`/requests/${made.requestId}`, { headers: own })).text).toContain(prompt)
  expect((await proxy.send(`/runs/${made.runId}`, { headers: own })).text).toContain(prompt)
  const usage = JSON.parse((await proxy.send('/usage', { headers: own })).text)
  expect(objectsOf(usage.totals.by_key.today).map(({ key }) => key)).toEqual(['alice'])
  expect(usage.plan).toEqual(expect.any(String))

  proxy.daemon.reconfigure(proxy.configure(fileWith({ alice: 'key-three' }, folder)))
  await walk(
    proxy,
    'key-three',
    made,
    marks.filter((mark) => mark !== 'alice'),
  )

  // Without keys, every caller sees all, as the owner does.
  proxy.daemon.reconfigure(proxy.configure(JSON.stringify({ log: { bodies: true, 'cache-diagnostics': true } })))
  expect((await proxy.send(`/v1/responses/${made.responseId}`)).status).toBe(200)
  expect((await proxy.send(`/requests/${made.requestId}`)).text).toContain(prompt)
  expect((await proxy.send('/metrics')).text).toContain('key="alice"')
  const all = JSON.parse((await proxy.send('/usage')).text)
  expect(objectsOf(all.totals.by_key.today).map(({ key }) => key)).toEqual(expect.arrayContaining(['alice', 'bob']))
  expect((await proxy.send(`/v1/responses/${made.responseId}`, { method: 'DELETE' })).status).toBe(200)
  expect((await proxy.send(`/v1/responses/${made.responseId}`)).status).toBe(404)
})
