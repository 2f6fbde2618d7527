import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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

test('neither the model nor a listener nor the run gets a credential of this program that a file contains', async () => {
  const root = await makeFolder()
  const file = `workspaces: [{ path: ${root}, name: app }]\nworkspace: { read-only: false }\nagent: { require-approval: false }`
  const proxy = await openProxy({ file, codexLogin: 'api-key' })
  const { apiKey } = proxy.codex
  await writeFile(join(root, 'notes.txt'), `before ${apiKey} after\ntwo\n`)
  await writeFile(join(root, '.agent-policy.yaml'), 'writes: { allow: [notes.txt] }\n')
  const listener = await listen(proxy, '/events')
  const steps = [
    { calls: [{ tool: 'fs_read', args: { path: 'notes.txt' } }] },
    { calls: [{ tool: 'search_code', args: { query: 'before' } }] },
    // The diff that people see has the line before the change.
    {
      calls: [
        {
          tool: 'edit_applyPatch',
          args: { unifiedDiff: '--- a/notes.txt\n+++ b/notes.txt\n@@ -2 +2 @@\n-two\n+three\n' },
        },
      ],
    },
    { text: 'Done' },
  ]
  const text = `Look. [demo:script ${JSON.stringify(steps)}]`
  const { id } = (await postMessage(proxy, { text, mode: 'agent', model: 'gpt-5-mini' })).json() as { id: string }
  const events = JSON.stringify(await eventsUntil(listener, 'done'))
  const run = (await proxy.send(`/runs/${id}`)).text
  const messages = (await proxy.send('/sessions/app/messages')).text
  expect(run).toContain('+three')
  expect(messages).toContain(id)
  const sent = JSON.stringify(proxy.demo.log)
  for (const answer of [events, run, sent]) expect(answer).toContain('before [redacted] after')
  for (const answer of [events, run, messages, sent]) expect(answer).not.toContain(apiKey)
})
