import { expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'
import { eventsUntil, listen, postMessage } from './session-client.ts'

test('a message is answered with the events of its run', async () => {
  const proxy = await openProxy({ file: `workspaces: [{ path: ${await makeFolder()}, name: app }]` })
  const listener = await listen(proxy, '/events')
  const posted = await postMessage(proxy, { text: 'Say hello', model: 'gpt-5-mini' })
  expect(posted.status).toBe(202)
  const { id, sessionId } = posted.json() as { id: string; sessionId: string }
  const events = await eventsUntil(listener, 'done')
  expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(['inbound', 'lifecycle', 'fragment', 'done']))
  expect(events.filter(({ data }) => data['sessionId'] !== sessionId)).toEqual([])
  expect(events.find(({ event }) => event === 'inbound')?.data).toMatchObject({
    id,
    text: 'Say hello',
    mode: 'chat',
    origin: 'user',
  })
  const done = events.at(-1)?.data
  expect(done).toMatchObject({ id, outcome: 'completed', model: 'gpt-5-mini', requests: 1, files: [] })
  const text = events
    .filter(({ event, data }) => event === 'fragment' && data['kind'] === 'answer')
    .map(({ data }) => data['text'])
  expect(text.join('')).toBe(done?.['answer'])
  expect((await proxy.send(`/runs/${id}`)).json()).toMatchObject({
    id,
    sessionId,
    state: 'ended',
    outcome: 'completed',
    answer: done?.['answer'],
  })
})
