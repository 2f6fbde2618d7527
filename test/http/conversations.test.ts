import { expect, test } from 'vitest'
import { schemas } from '../../src/api/routes.ts'
import { makeFolder } from '../tools/session.ts'
import type { Reply } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'
import { eventsUntil, listen, postMessage } from './session-client.ts'

const path = '/sessions/app/conversations'

async function openWorkspace(more = ''): Promise<Proxy> {
  return openProxy({ file: `workspaces: [{ path: ${await makeFolder()}, name: app }]\n${more}` })
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Sends a message and waits for the end of its run. */
async function say(proxy: Proxy, text: string, conversationId?: string, headers = ownerOf(proxy)) {
  const listener = await listen(proxy, '/events', headers)
  const reply = await postMessage(proxy, { text, model: 'gpt-5-mini', conversationId }, headers)
  const accepted = schemas.AcceptedMessage.parse(reply.json())
  const events = await eventsUntil(listener, 'done')
  listener.leave()
  return { ...accepted, events }
}

const ownerOf = (proxy: Proxy) => bearer(proxy.daemon.ownerToken)

function change(proxy: Proxy, method: string, of: string, body?: object, headers = ownerOf(proxy)): Promise<Reply> {
  return proxy.send(of, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
}

async function listed(proxy: Proxy, headers = ownerOf(proxy)) {
  return schemas.ConversationList.parse((await proxy.send(path, { headers })).json()).conversations
}

async function textsOf(proxy: Proxy, conversation: string): Promise<readonly string[]> {
  const reply = await proxy.send(`/sessions/app/messages?conversation=${conversation}`, { headers: ownerOf(proxy) })
  return schemas.MessageList.parse(reply.json()).messages.map(({ text }) => text)
}

/** What the model was sent last. */
const lastSent = (proxy: Proxy): string =>
  JSON.stringify(proxy.demo.log.findLast(({ route }) => route === '/responses')?.body)

test('a message goes to the conversation that it names, else to the last one, and knows that one alone', async () => {
  const proxy = await openWorkspace()
  const first = await say(proxy, 'The first word is heron.\nAnd more.')
  expect(first.events.filter(({ data }) => 'id' in data).map(({ data }) => data['conversationId'])).not.toContain(
    undefined,
  )
  const other = schemas.Conversation.parse((await change(proxy, 'POST', path, {})).json())
  expect(other).toMatchObject({ title: '', isOwn: true })
  const second = await say(proxy, 'The second word is stork.')
  expect(second.conversationId).toBe(other.id)
  expect(lastSent(proxy)).not.toContain('heron')
  await say(proxy, 'Go on', first.conversationId)
  expect(lastSent(proxy)).toContain('heron')
  expect(lastSent(proxy)).not.toContain('stork')
  expect(await listed(proxy)).toMatchObject([
    { id: first.conversationId, title: 'The first word is heron.', lastMessageAt: expect.any(String) },
    { id: other.id, title: 'The second word is stork.' },
  ])
  expect(await textsOf(proxy, other.id)).toEqual(['The second word is stork.'])
})

test('a conversation is renamed, and keeps its title', async () => {
  const proxy = await openWorkspace()
  const { conversationId } = await say(proxy, 'Hello')
  const reply = await change(proxy, 'PATCH', `${path}/${conversationId}`, { title: '  Birds ' })
  expect(reply.json()).toMatchObject({ id: conversationId, title: 'Birds', lastMessageAt: expect.any(String) })
  await say(proxy, 'More')
  expect(await listed(proxy)).toMatchObject([{ title: 'Birds' }])
  for (const title of ['', ' ', 'x'.repeat(201)]) {
    const refusal = await change(proxy, 'PATCH', `${path}/${conversationId}`, { title })
    expect([refusal.status, refusal.json()]).toMatchObject([400, { error: { param: 'title' } }])
  }
})

test('a fork has the messages up to the one that it names, with what they did, and goes its own way', async () => {
  const proxy = await openWorkspace()
  const { conversationId, id } = await say(proxy, 'One is heron.')
  await say(proxy, 'Two is stork.')
  const fork = schemas.Conversation.parse(
    (await change(proxy, 'POST', path, { forkOf: conversationId, until: id })).json(),
  )
  expect(fork).toMatchObject({ title: 'One is heron.' })
  expect(await textsOf(proxy, fork.id)).toEqual(['One is heron.'])
  await say(proxy, 'Go on', fork.id)
  expect(lastSent(proxy)).toContain('heron')
  expect(lastSent(proxy)).not.toContain('stork')
  const whole = schemas.Conversation.parse((await change(proxy, 'POST', path, { forkOf: conversationId })).json())
  expect((await change(proxy, 'DELETE', `${path}/${conversationId}`)).status).toBe(204)
  expect(await textsOf(proxy, whole.id)).toEqual(['One is heron.', 'Two is stork.'])
  expect(await textsOf(proxy, fork.id)).toEqual(['One is heron.', 'Go on'])
  await say(proxy, 'And then', whole.id)
  expect(lastSent(proxy)).toMatch(/heron.*stork/)
})

test('a deleted conversation is gone with its messages and events, and the next message begins a new one', async () => {
  const proxy = await openWorkspace()
  const kept = await say(proxy, 'keep this')
  const other = schemas.Conversation.parse((await change(proxy, 'POST', path, {})).json())
  const { id } = await say(proxy, 'delete this', other.id)
  expect((await change(proxy, 'DELETE', `${path}/${other.id}`)).status).toBe(204)
  expect((await listed(proxy)).map((each) => each.id)).toEqual([kept.conversationId])
  expect((await proxy.send(`/runs/${id}`, { headers: ownerOf(proxy) })).status).toBe(404)
  const again = await listen(proxy, '/events?lastEventId=0', ownerOf(proxy))
  expect(JSON.stringify(await eventsUntil(again, 'done'))).toContain('keep this')
  await say(proxy, 'the end')
  expect(JSON.stringify(await eventsUntil(again, 'done'))).not.toContain('delete this')
  expect((await change(proxy, 'DELETE', `${path}/${kept.conversationId}`)).status).toBe(204)
  expect(await listed(proxy)).toEqual([])
  expect((await say(proxy, 'new')).conversationId).not.toBe(kept.conversationId)
})

test.each([
  ['a message to an unknown conversation', 'POST', '/message', { text: 'x', conversationId: 'none' }, 404],
  ['the messages of an unknown one', 'GET', '/sessions/app/messages?conversation=none', undefined, 404],
  ['a new title of an unknown one', 'PATCH', `${path}/none`, { title: 'x' }, 404],
  ['the deletion of an unknown one', 'DELETE', `${path}/none`, undefined, 404],
  ['a fork of an unknown one', 'POST', path, { forkOf: 'none' }, 404],
  ['a fork until a message of nothing', 'POST', path, { until: 'none' }, 400],
  ['an unknown member', 'POST', path, { titel: 'x' }, 400],
  ['an unknown session', 'GET', '/sessions/none/conversations', undefined, 404],
])('%s is refused', async (_what, method, of, body, status) => {
  const proxy = await openWorkspace()
  const reply = await change(proxy, method, of, body)
  expect([reply.status, reply.json()]).toMatchObject([status, { error: { message: expect.any(String) } }])
})

test('a conversation is neither deleted nor forked while its run is in progress', async () => {
  const proxy = await openWorkspace()
  const { id, conversationId } = schemas.AcceptedMessage.parse(
    (await postMessage(proxy, { text: '[demo:stall]', model: 'gpt-5-mini' }, ownerOf(proxy))).json(),
  )
  for (const reply of [
    await change(proxy, 'DELETE', `${path}/${conversationId}`),
    await change(proxy, 'POST', path, { forkOf: conversationId, until: id }),
  ]) {
    expect([reply.status, reply.json()]).toMatchObject([409, { error: { code: 'run_in_progress' } }])
  }
})

test('a key has its own conversations, and the owner continues a fork of them', async () => {
  const proxy = await openWorkspace('server: { api-keys: [key-one, key-two] }')
  const one = bearer('key-one')
  const first = await say(proxy, 'The word is heron.', undefined, one)
  const second = await say(proxy, 'Hello', undefined, bearer('key-two'))
  expect(second.conversationId).not.toBe(first.conversationId)
  expect(await listed(proxy, one)).toMatchObject([{ id: first.conversationId, isOwn: true }])
  expect(await listed(proxy)).toMatchObject([{ isOwn: false }, { isOwn: false }])
  const refused = await postMessage(proxy, { text: 'x', conversationId: first.conversationId }, ownerOf(proxy))
  expect([refused.status, refused.json()]).toMatchObject([403, { error: { code: 'conversation_of_other' } }])
  const fork = schemas.Conversation.parse((await change(proxy, 'POST', path, { forkOf: first.conversationId })).json())
  await say(proxy, 'Go on', fork.id)
  expect(lastSent(proxy)).toContain('heron')
  expect(await listed(proxy, one)).toHaveLength(1)
  expect((await change(proxy, 'PATCH', `${path}/${first.conversationId}`, { title: 'Mine' }, one)).status).toBe(200)
  expect((await change(proxy, 'DELETE', `${path}/${first.conversationId}`, undefined, one)).status).toBe(204)
})
