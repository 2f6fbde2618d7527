import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { makeFolder } from '../../tools/session.ts'
import { openProxy } from '../harness.ts'
import type { Proxy } from '../harness.ts'
import { eventsUntil, listen, postMessage } from '../session-client.ts'

const key = 'key-of-this-test'
const asKey = { authorization: `Bearer ${key}` }

async function openWorkspace(file = ''): Promise<Proxy> {
  return openProxy({ file: `workspaces: [{ path: ${await makeFolder()}, name: app }]\n${file}` })
}

test('a message that begins with the prefix is for the agent', async () => {
  const proxy = await openWorkspace('agent: { prefix: "do:", max-steps: 2 }')
  const listener = await listen(proxy)
  for (const body of [
    { text: 'do: say hello' },
    { text: 'say hello', mode: 'agent' },
    { text: 'do say hello', mode: 'chat' },
  ]) {
    await postMessage(proxy, { ...body, model: 'gpt-5-mini' })
    const events = await eventsUntil(listener, 'done')
    const inbound = events.find(({ event }) => event === 'inbound')
    expect(inbound?.data).toMatchObject(body.mode === 'chat' ? { mode: 'chat' } : { mode: 'agent', text: 'say hello' })
  }
})

test('a message without text gets an error that names the missing and the unknown member', async () => {
  const proxy = await openWorkspace()
  const reply = await postMessage(proxy, { txt: 'hello' })
  expect(reply.json()).toMatchObject({
    error: { message: "Missing required parameter: 'text'. Unknown parameter: 'txt'.", param: 'text' },
  })
})

test.each([
  ['no text', {}, 400, 'text'],
  ['an empty text', { text: ' ' }, 400, 'text'],
  ['only a prefix', { text: 'agent: ' }, 400, 'text'],
  ['an unknown mode', { text: 'x', mode: 'edit' }, 400, 'mode'],
  ['too many steps', { text: 'x', maxSteps: 31 }, 400, 'maxSteps'],
  ['an unknown member', { text: 'x', session: 'app' }, 400, 'session'],
  ['an unknown session', { text: 'x', sessionId: 'unknown' }, 404, null],
  [
    'a binary attachment',
    { text: 'x', attachments: [{ name: 'a', mediaType: 'application/pdf', base64: 'AA==' }] },
    400,
    'attachments[0].mediaType',
  ],
])('a message with %s is refused', async (_what, body, status, param) => {
  const proxy = await openWorkspace()
  const reply = await postMessage(proxy, body)
  expect(reply.status).toBe(status)
  expect(reply.json()).toEqual({
    error: { message: expect.any(String), type: 'invalid_request_error', code: expect.any(String), param },
  })
})

test('with several workspaces, a message names its session', async () => {
  const proxy = await openProxy({
    file: `workspaces: [${await makeFolder()}, { path: ${await makeFolder()}, name: app }]`,
  })
  expect((await postMessage(proxy, { text: 'x' })).json()).toMatchObject({ error: { param: 'sessionId' } })
  expect((await postMessage(proxy, { text: 'x', sessionId: 'app' })).status).toBe(202)
})

test('the files that a message can name are listed by the rules of the workspace', async () => {
  const root = await makeFolder({
    'b.js': '',
    'src/a.js': '',
    'ignored.js': '',
    'hidden.js': '',
    '.gitignore': 'ignored.js',
    '.agent-policy.yaml': 'reads: { deny: [hidden.js] }',
  })
  const proxy = await openProxy({ file: `workspaces: [{ path: ${root}, name: app }]` })
  const reply = await proxy.send('/sessions/app/files')
  expect(reply.json()).toEqual({ files: ['.agent-policy.yaml', '.gitignore', 'b.js', 'src/a.js'], truncated: false })
  await rm(root, { recursive: true })
  const gone = await proxy.send('/sessions/app/files')
  expect(gone.status).toBe(409)
  expect(gone.json()).toMatchObject({ error: { code: 'files_failed', message: expect.stringMatching(/\.$/) } })
})

test('without a workspace, every route says so, and none is suggested', async () => {
  const proxy = await openProxy()
  const replies = await Promise.all([
    postMessage(proxy, { text: 'x' }),
    proxy.send('/runs/x'),
    proxy.send('/runs/x/cancel', { method: 'POST' }),
    proxy.send('/sessions/x/messages'),
    proxy.send('/sessions/x/history', { method: 'DELETE' }),
    proxy.send('/sessions/x/streams'),
    proxy.send('/sessions/x/streams/y'),
    proxy.send('/approvals/x', { body: '{"decision":"once"}' }),
  ])
  for (const reply of replies)
    expect([reply.status, reply.json()]).toMatchObject([404, { error: { code: 'no_workspace' } }])
  expect((await proxy.send('/v1/message', { body: '{}' })).json()).toMatchObject({
    error: { message: expect.stringContaining('POST /v1/messages') },
  })
})

test('every route needs a key where there are keys, and messages count for its limits', async () => {
  const proxy = await openWorkspace(
    `server: { api-keys: [${key}], key-limits: { plain-1: { requests-per-minute: 2 } } }`,
  )
  const unkeyed = await Promise.all([
    postMessage(proxy, { text: 'x' }),
    proxy.send('/events'),
    proxy.send('/runs/x'),
    proxy.send('/sessions/app/messages'),
    proxy.send('/approvals/x', { body: '{"decision":"once"}' }),
  ])
  expect(unkeyed.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
  const statuses: number[] = []
  for (let sent = 0; sent < 3; sent += 1)
    statuses.push((await postMessage(proxy, { text: 'hello', model: 'gpt-5-mini' }, asKey)).status)
  expect(statuses).toEqual([202, 202, 429])
  // An answer that the daemon has asked for does not count.
  const answer = await proxy.send('/runs/x/editor', { body: '{"requestId":"y","ok":false}', headers: asKey })
  expect(answer.status).toBe(404)
})

test('another method is refused with those that a route has', async () => {
  const proxy = await openWorkspace()
  const replies = await Promise.all([
    proxy.send('/message'),
    proxy.send('/events', { method: 'POST' }),
    proxy.send('/sessions', { method: 'DELETE' }),
    proxy.send('/sessions/x/messages', { method: 'PUT' }),
  ])
  expect(replies.map(({ status, headers }) => [status, headers['allow']])).toEqual([
    [405, 'POST'],
    [405, 'GET'],
    [405, 'GET, HEAD'],
    [405, 'GET, HEAD'],
  ])
  // OpenAI's envelope, although two of the paths look like those of the Messages API.
  for (const { json } of replies)
    expect(json()).toEqual({ error: expect.objectContaining({ code: 'method_not_allowed' }) })
})

test('requests that a run makes count for the limits of its key, and wait for them', async () => {
  const proxy = await openWorkspace(
    `server: { api-keys: [${key}], rate-limit: refuse, key-limits: { plain-1: { requests-per-minute: 2 } } }`,
  )
  const listener = await listen(proxy, '/events', asKey)
  const script = [
    { calls: [{ tool: 'fs_list', args: {} }] },
    { calls: [{ tool: 'fs_list', args: { limit: 5 } }] },
    { text: 'Done.' },
  ]
  const text = `Look. [demo:script ${JSON.stringify(script)}]`
  const sent = await postMessage(proxy, { text, mode: 'agent', model: 'gpt-5-mini' }, asKey)
  const { id } = sent.json() as { id: string }
  await eventsUntil(listener, 'tool', ({ data }) => data['state'] === 'ended' && data['step'] === 2)
  // The message and the second request were the two of this minute.
  expect((await postMessage(proxy, { text: 'x' }, asKey)).status).toBe(429)
  expect((await proxy.send(`/runs/${id}`, { headers: asKey })).json()).toMatchObject({ state: 'running', step: 3 })
  await proxy.send(`/runs/${id}/cancel`, { method: 'POST', headers: asKey })
  expect((await eventsUntil(listener, 'done')).at(-1)?.data).toMatchObject({ outcome: 'cancelled', requests: 3 })
})

test('pages of other origins are refused', async () => {
  const proxy = await openWorkspace()
  const foreign = { origin: 'https://evil.example' }
  expect((await postMessage(proxy, { text: 'x' }, foreign)).status).toBe(403)
  expect((await proxy.send('/events', { headers: foreign })).status).toBe(403)
  const simple = await proxy.send('/message', { body: '{"text":"x"}', headers: { 'content-type': 'text/plain' } })
  expect(simple.status).toBe(415)
})

test('a run is cancelled once, and an approval needs to exist', async () => {
  const plain = await openWorkspace(`server: { api-keys: [${key}] }`)
  const send: Proxy['send'] = (path, ask) => plain.send(path, { ...ask, headers: asKey })
  const listener = await listen(plain, '/events', asKey)
  const { id } = (await postMessage(plain, { text: '[demo:stall] wait', model: 'gpt-5-mini' }, asKey)).json() as {
    id: string
  }
  await eventsUntil(listener, 'lifecycle')
  expect((await send('/sessions')).json()).toMatchObject({
    sessions: [{ runs: [{ id, mode: 'chat', state: 'running' }] }],
  })
  expect((await send('/sessions/app/history', { method: 'DELETE' })).json()).toMatchObject({
    error: { code: 'run_in_progress' },
  })
  const cancelled = await send(`/runs/${id}/cancel`, { method: 'POST' })
  expect([cancelled.status, cancelled.json()]).toMatchObject([202, { id }])
  expect((await eventsUntil(listener, 'done')).at(-1)?.data).toMatchObject({ outcome: 'cancelled' })
  const again = await send(`/runs/${id}/cancel`, { method: 'POST' })
  expect([again.status, again.json()]).toMatchObject([409, { error: { code: 'run_ended' } }])
  const decision = await send('/approvals/unknown', { body: '{"decision":"once"}' })
  expect([decision.status, decision.json()]).toMatchObject([404, { error: { code: 'approval_not_found' } }])
  expect((await send('/approvals/unknown', { body: '{"decision":"maybe"}' })).status).toBe(400)
  expect((await send('/sessions/app/messages?limit=1')).json()).toMatchObject({
    messages: [{ id, outcome: 'cancelled' }],
  })
  expect((await send('/sessions/app/messages?limit=0')).status).toBe(400)
  expect((await send('/sessions/app/history', { method: 'DELETE' })).status).toBe(204)
  expect((await send(`/runs/${id}`)).status).toBe(404)
})

test('without keys, a caller reads and cancels, and only the owner decides', async () => {
  const proxy = await openWorkspace()
  const listener = await listen(proxy)
  const { id } = (await postMessage(proxy, { text: 'hello', model: 'gpt-5-mini' })).json() as { id: string }
  await eventsUntil(listener, 'done')
  const refused = await proxy.send('/sessions/app/history', { method: 'DELETE' })
  expect([refused.status, refused.json()]).toMatchObject([
    403,
    { error: { code: 'owner_required', message: expect.stringContaining('copilot-proxy page') } },
  ])
  expect((await proxy.send(`/runs/${id}`)).json()).toMatchObject({ id, outcome: 'completed' })
})

test('another key is answered as for an id that does not exist', async () => {
  const asOther = { authorization: 'Bearer other-key-of-this-test' }
  const proxy = await openWorkspace(`server: { api-keys: [${key}, other-key-of-this-test] }`)
  const listener = await listen(proxy, '/events', asKey)
  const text = 'a private text [demo:stall]'
  const { id } = (await postMessage(proxy, { text, model: 'gpt-5-mini' }, asKey)).json() as { id: string }
  await eventsUntil(listener, 'inbound')
  const asked = async (headers: Readonly<Record<string, string>>, run: string) => {
    const replies = await Promise.all([
      proxy.send(`/runs/${run}`, { headers }),
      proxy.send(`/runs/${run}/cancel`, { method: 'POST', headers }),
      proxy.send(`/sessions/app/messages?before=${run}`, { headers }),
      proxy.send('/sessions', { headers }),
    ])
    return replies.map(({ status, text: body }) => [status, body])
  }
  const foreign = await asked(asOther, id)
  expect(foreign).toEqual(await asked(asOther, 'unknown'))
  expect(JSON.stringify(foreign)).not.toMatch(/private|running/)
  expect((await proxy.send(`/runs/${id}`, { headers: asKey })).json()).toMatchObject({ state: 'running', text })
  // The listener of the other key first gets an event of its own.
  const other = await listen(proxy, '/events?lastEventId=0', asOther)
  await postMessage(proxy, { text: 'hello', model: 'gpt-5-mini' }, asOther)
  expect(JSON.stringify(await eventsUntil(other, 'done'))).not.toContain('private')
})

test('a key that may use only some models gets one of them by default', async () => {
  const proxy = await openWorkspace(`server: { api-keys: [${key}], key-limits: { plain-1: { models: [gpt-5-mini] } } }`)
  const listener = await listen(proxy, '/events', asKey)
  await postMessage(proxy, { text: 'Say hello' }, asKey)
  expect((await eventsUntil(listener, 'done')).at(-1)?.data).toMatchObject({
    outcome: 'completed',
    model: 'gpt-5-mini',
  })
})

test('without a model in message and configuration, the newest Claude Sonnet answers, as for launch opencode', async () => {
  const proxy = await openWorkspace()
  const listener = await listen(proxy)
  await postMessage(proxy, { text: 'Say hello' })
  expect((await eventsUntil(listener, 'done')).at(-1)?.data).toMatchObject({
    model: expect.stringMatching(/^claude-sonnet-/),
  })
})
