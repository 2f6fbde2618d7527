import { expect, test } from 'vitest'
import { foldTurn } from '../../src/translate/fold-turn.ts'
import { createTurn, userMessage } from '../../src/translate/turn-request.ts'
import { chatBody, saying } from './client.ts'
import type { Client } from './client.ts'
import { openProxy } from './harness.ts'

type Listed = Readonly<Record<string, unknown>> & { readonly id: string; readonly status: number }

async function listOf({ send }: Pick<Client, 'send'>, query = '', headers = {}): Promise<readonly Listed[]> {
  const reply = await send(`/requests${query}`, { headers })
  expect(reply.status).toBe(200)
  return (reply.json() as { requests: readonly Listed[] }).requests
}

test('a served request is listed with what it was and what it cost', async () => {
  const proxy = await openProxy()
  expect(await listOf(proxy)).toEqual([])
  const body = { ...saying('the secret plan'), stream: true, seed: 1 }
  const reply = await proxy.chat(body, { headers: { 'user-agent': 'OpenAI/Python 2.8.0' } })
  const [request] = await listOf(proxy)
  expect(request).toMatchObject({
    id: reply.headers['x-request-id'],
    client: 'openai-sdk',
    user_agent: 'OpenAI/Python 2.8.0',
    key: null,
    api: 'chat',
    method: 'POST',
    path: '/v1/chat/completions',
    asked_model: 'gpt-5-mini',
    model: 'gpt-5-mini',
    route: 'copilot/chat',
    status: 200,
    http_status: 200,
    failed: false,
    stream: true,
    input_tokens: expect.any(Number),
    output_tokens: expect.any(Number),
    cached_input_tokens: expect.any(Number),
    credits: expect.any(Number),
    first_byte_ms: expect.any(Number),
    duration_ms: expect.any(Number),
    error: null,
  })
  const one = await proxy.send(`/requests/${request?.id}`)
  expect(one.json()).toMatchObject({ ...request, bodies: 'not_kept', request_body: null, answer_body: null })
  expect(one.text).not.toContain('secret plan')
  expect(one.headers['cache-control']).toBe('no-store')
})

test('token counts, embeddings and the other APIs are listed too', async () => {
  const proxy = await openProxy()
  const { messages } = saying('Hello')
  const post = (path: string, body: object) => proxy.send(path, { body: JSON.stringify(body) })
  await post('/v1/messages', { model: 'claude-sonnet-4.5', max_tokens: 10, messages })
  await post('/v1/messages/count_tokens', { model: 'claude-sonnet-4.5', messages })
  await post('/v1/responses', { model: 'gpt-5-mini', input: 'Hello' })
  await post('/v1/embeddings', { model: 'text-embedding-3-small', input: 'Hello' })
  const listed = await listOf(proxy)
  expect(listed.map(({ api, asked_model: asked }) => [api, asked])).toEqual([
    ['embeddings', 'text-embedding-3-small'],
    ['responses', 'gpt-5-mini'],
    ['count_tokens', 'claude-sonnet-4.5'],
    ['messages', 'claude-sonnet-4.5'],
  ])
})

test.each([
  ['an error of upstream', '[demo:error 429]', 429, 429],
  ['a stream with an error', '[demo:error-mid]', expect.any(Number), 200],
  ['a stream that was cut', '[demo:cut]', 502, 200],
  ['a stream without an end', '[demo:eof]', 502, 200],
])('%s has the same status as in the metrics', async (_what, marker, status, httpStatus) => {
  const proxy = await openProxy()
  await proxy.chat({ ...saying(marker), stream: true })
  const [request] = await listOf(proxy, '?failed=true')
  expect(request).toMatchObject({
    status,
    http_status: httpStatus,
    failed: true,
    asked_model: 'gpt-5-mini',
    model: 'gpt-5-mini',
    error: expect.stringMatching(/\w/),
  })
  expect((await proxy.send('/metrics')).text).toMatch(new RegExp(`requests_total\\{.*status="${request?.status}"`))
})

test('a failure is listed with the sentence that its caller read, which says what to do', async () => {
  const proxy = await openProxy()
  const answers = [
    await proxy.chat({ model: 'gpt-5-minni' }),
    await proxy.chat({ n: 2 }),
    await proxy.chat(saying('[demo:error 429]')),
    await proxy.send('/v1/nothing'),
  ]
  const messages = answers.map((answer) => (answer.json() as { error: { message: string } }).error.message)
  expect(messages[0]).toContain('Run: copilot-proxy models')
  expect((await listOf(proxy)).map(({ error }) => error).toReversed()).toEqual(messages)
})

test('a caller that leaves is listed with 499, which is no failure', async () => {
  const proxy = await openProxy()
  const { next, leave } = await proxy.openChat({ ...saying('[demo:stall]'), stream: true })
  await next()
  leave()
  await expect.poll(() => listOf(proxy)).toMatchObject([{ status: 499, failed: false, model: 'gpt-5-mini' }])
  expect(await listOf(proxy, '?failed=true')).toEqual([])
})

test('refused requests are listed, wrong questions about requests and models are not', async () => {
  const file = 'server: { api-keys: [example-key], max-requests-per-minute: 2 }'
  const proxy = await openProxy({ file })
  const headers = { authorization: 'Bearer example-key' }
  await proxy.chat({ model: 'nonsense' }, { headers })
  await proxy.send('/v1/nonsense', { headers })
  await proxy.chat({}, { headers })
  await proxy.chat({}, { headers })
  await proxy.chat({}, { headers: { origin: 'https://example.com' } })
  expect((await proxy.send('/requests?limit=0', { headers })).status).toBe(400)
  expect((await proxy.send('/requests/12345678', { headers })).status).toBe(404)
  expect((await proxy.send('/v1/models/nonsense', { headers })).status).toBe(404)
  const own = [
    { status: 429, key: 'plain-1', path: '/v1/chat/completions', api: 'chat' },
    { status: 200, key: 'plain-1' },
    { status: 404, key: 'plain-1', path: '/v1/nonsense', api: null, method: 'GET' },
    { status: 404, key: 'plain-1', asked_model: 'nonsense', model: null },
  ]
  expect(await listOf(proxy, '', headers)).toMatchObject(own)
  expect(await listOf(proxy, '?limit=1&key=plain-1&failed=true', headers)).toMatchObject([{ status: 429 }])
  // Only a caller that may see all gets what nobody's key sent.
  proxy.daemon.reconfigure(proxy.configure(''))
  expect(await listOf(proxy)).toMatchObject([{ status: 403, key: null, model: null }, ...own])
})

test('the list needs a key if there are keys; a wrong key is listed, but not for the other keys', async () => {
  const proxy = await openProxy({ file: 'server: { api-keys: [example-key] }' })
  expect((await proxy.send('/requests')).status).toBe(401)
  expect((await proxy.send('/requests/12345678', { headers: { 'x-api-key': 'wrong' } })).status).toBe(401)
  expect(await listOf(proxy, '', { 'x-api-key': 'example-key' })).toEqual([])
  proxy.daemon.reconfigure(proxy.configure(''))
  expect(await listOf(proxy)).toMatchObject([{ status: 401, path: '/requests' }])
})

test('callers without access cannot push other requests out of the list', async () => {
  const proxy = await openProxy({ file: 'server: { api-keys: [example-key] }' })
  const headers = { 'x-api-key': 'example-key' }
  await proxy.chat({}, { headers })
  for (let each = 0; each < 20; each += 1) await proxy.chat()
  proxy.daemon.reconfigure(proxy.configure(''))
  const listed = await listOf(proxy)
  expect(listed.length).toBeLessThan(10)
  expect(listed.at(-1)).toMatchObject({ status: 200 })
})

test.each([
  ['of an allowed origin', { origin: 'http://localhost:5173' }],
  ['of another site', { 'sec-fetch-site': 'cross-site' }],
])('a page %s cannot read the list', async (_what, headers) => {
  const proxy = await openProxy({ file: 'server: { allowed-origins: ["http://localhost:5173"] }' })
  await proxy.chat()
  const [request] = await listOf(proxy)
  expect((await proxy.send('/requests', { headers })).status).toBe(403)
  expect((await proxy.send(`/requests/${request?.id}`, { headers })).status).toBe(403)
})

test("the daemon's own page reads the list", async () => {
  const proxy = await openProxy({
    file: 'server: { allowed-origins: ["http://localhost:5173"] }',
  })
  await proxy.chat()
  const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }
  expect(await listOf(proxy, '', own)).toMatchObject([{ status: 200 }])
  for (const headers of [{ ...own, origin: 'http://localhost:5173' }, { 'sec-fetch-site': 'same-site' }]) {
    expect((await proxy.send('/requests', { headers })).status).toBe(403)
  }
})

test('following lists the requests that ended after a request', async () => {
  const proxy = await openProxy()
  await proxy.chat()
  const [first] = await listOf(proxy)
  expect(await listOf(proxy, `?after=${first?.id}`)).toEqual([])
  await proxy.chat({ model: 'gpt-4.1' })
  expect(await listOf(proxy, `?after=${first?.id}`)).toMatchObject([{ asked_model: 'gpt-4.1' }])
  expect(await listOf(proxy, '?model=gpt-5-mini')).toEqual([first])
})

test('warnings of the header are listed as losses or as adaptations', async () => {
  const proxy = await openProxy()
  const reply = await proxy.chat({ max_tokens: 50, temperature: 0.2 })
  const [request] = await listOf(proxy)
  const notes = [request?.['warnings'], request?.['adapted']].flat()
  const header = String(reply.headers['x-copilot-proxy-warnings'])
  expect(notes.map((note) => String(note).replace(/ \(.*/, '')).toSorted()).toEqual(header.split(', ').toSorted())
})

test('headers are shown while log.bodies is on, without those that hold credentials', async () => {
  const secrets = { authorization: 'Bearer example-key', cookie: 'a=b', 'x-github-token': 'c' }
  const detailOf = async (file: string) => {
    const proxy = await openProxy({ file })
    await proxy.chat({}, { headers: { ...secrets, 'x-test': 'shown' } })
    const [{ id } = { id: '' }] = await listOf(proxy)
    return (await proxy.send(`/requests/${id}`)).json()
  }
  expect(await detailOf('log: { bodies: false }')).toMatchObject({ request_headers: null })
  const kept = await detailOf('log: { bodies: true }')
  expect(kept).toMatchObject({ request_headers: { 'x-test': 'shown', 'content-type': 'application/json' } })
  for (const name of Object.keys(secrets)) expect(kept).not.toHaveProperty(['request_headers', name])
})

test('bodies are shown while log.bodies is on, without credentials', async () => {
  const proxy = await openProxy({ file: 'log: { bodies: true }' })
  const sent = chatBody({ ...saying('my password=hunter2hunter2'), stream: true })
  await proxy.send('/v1/chat/completions', { body: sent })
  const [{ id } = { id: '' }] = await listOf(proxy)
  const kept = (await proxy.send(`/requests/${id}`)).json()
  expect(kept).toMatchObject({
    bodies: 'kept',
    request_body: sent.replace('hunter2hunter2', '[redacted]'),
    answer_body: expect.stringContaining('data: [DONE]'),
  })
  proxy.daemon.reconfigure(proxy.configure(''))
  expect((await proxy.send(`/requests/${id}`)).json()).toMatchObject({ bodies: 'not_kept', request_body: null })
})

test('a key gets its own requests and no trace of another key’s, by id or in the list', async () => {
  const file = 'server: { api-keys: [example-key, other-key] }\nlog: { bodies: true }'
  const proxy = await openProxy({ file })
  const own = { 'x-api-key': 'example-key' }
  const other = { 'x-api-key': 'other-key' }
  await proxy.chat(saying('for work only'), { headers: own })
  const [{ id } = { id: '' }] = await listOf(proxy, '', own)
  expect((await proxy.send(`/requests/${id}`, { headers: own })).text).toContain('for work only')
  expect(await listOf(proxy, '?key=plain-1', other)).toEqual([])
  const foreign = await proxy.send(`/requests/${id}`, { headers: other })
  const unknown = await proxy.send('/requests/00000000-0000-0000-0000-000000000000', { headers: other })
  expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
})

test('a request from inside the daemon is listed with its time to the first event, also one that fails', async () => {
  const proxy = await openProxy()
  const { signal } = new AbortController()
  const call = { id: 'my-task', model: 'nonsense', signal, turn: createTurn([userMessage('Hello')]) }
  await expect(proxy.daemon.runTurn(call)).rejects.toThrow('model_not_found')
  const answer = await proxy.daemon.runTurn({ ...call, model: 'gpt-5-mini' })
  await foldTurn(answer.events)
  expect(await listOf(proxy)).toMatchObject([
    { client: 'copilot-proxy', status: 200, first_byte_ms: expect.any(Number) },
    { id: 'my-task', client: 'copilot-proxy', path: null, status: 404, api: 'turn' },
  ])
})

test.each(['limit=0', 'limit=1001', 'limit=x', 'failed=maybe'])('refuses ?%s', async (query) => {
  const { send } = await openProxy()
  const reply = await send(`/requests?${query}`)
  expect(reply.status).toBe(400)
  expect(reply.json()).toMatchObject({ error: { param: query.split('=')[0], code: 'invalid_value' } })
})
