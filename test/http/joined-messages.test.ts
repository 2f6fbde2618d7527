import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { schemas } from '../../src/api/routes.ts'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'
import { eventsUntil, listen, postMessage } from './session-client.ts'

async function openWorkspace(): Promise<Proxy> {
  const root = await makeFolder()
  await writeFile(join(root, 'notes.txt'), 'one\n')
  await writeFile(join(root, '.agent-policy.yaml'), 'writes: { allow: [notes.txt] }\n')
  return openProxy({ file: `workspaces: [{ path: ${root}, name: app }]\nworkspace: { read-only: false }` })
}

const unifiedDiff = '--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-one\n+two\n'
const steps = [{ calls: [{ tool: 'edit_applyPatch', args: { unifiedDiff } }] }, { text: 'Done' }]

test('a message at a waiting approval joins the run and is in the next request to the model', async () => {
  const proxy = await openWorkspace()
  const headers = { authorization: `Bearer ${proxy.daemon.ownerToken}` }
  const listener = await listen(proxy, '/events', headers)
  const send = async (text: string, more: object = {}) => {
    const reply = await postMessage(proxy, { text, mode: 'agent', model: 'gpt-5-mini', ...more }, headers)
    return schemas.AcceptedMessage.parse(reply.json())
  }
  const work = await send(`Work. [demo:script ${JSON.stringify(steps)}]`)
  const approval = (await eventsUntil(listener, 'approval')).at(-1)?.data['approvalId']
  const joined = await send('Write it in capitals.')
  expect(joined).toMatchObject({ runId: work.id, conversationId: work.conversationId })
  const own = await send('Afterwards', { queue: true })
  expect(own.runId).toBeUndefined()
  expect(own.id).not.toBe(joined.id)
  await proxy.send(`/approvals/${String(approval)}`, { headers, body: '{"decision":"once"}' })
  const events = await eventsUntil(listener, 'done', (event) => event.data['id'] === work.id)
  expect(events.find(({ event }) => event === 'inbound')?.data).toMatchObject({ id: joined.id, runId: work.id })
  const sent = proxy.demo.log.filter(({ route }) => route === '/responses').map(({ body }) => JSON.stringify(body))
  const withIt = sent.filter((body) => body.includes('in capitals'))
  expect(withIt.length).toBeGreaterThan(0)
  const run = (await proxy.send(`/runs/${work.id}`, { headers })).json()
  expect(run).toMatchObject({ joined: [{ id: joined.id, text: 'Write it in capitals.', step: 2 }] })
  await eventsUntil(listener, 'done', (event) => event.data['id'] === own.id)
})

test.each([
  ['queue', { text: 'x', queue: 'yes' }],
  ['conversationId', { text: 'x', conversationId: 1 }],
])('a message whose %s is malformed is refused', async (param, body) => {
  const reply = await postMessage(await openWorkspace(), body)
  expect([reply.status, reply.json()]).toMatchObject([400, { error: { param } }])
})
