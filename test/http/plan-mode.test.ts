import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'
import { eventsUntil, listen, postMessage } from './session-client.ts'

const submit = (plan: string) => ({ calls: [{ tool: 'plan_submit', args: { plan } }] })
const create = { calls: [{ tool: 'createFile', args: { path: 'b.txt', content: 'b' } }] }

async function openApp() {
  const root = await makeFolder({ '.agent-policy.yaml': 'writes: { allow: [b.txt] }\n' })
  const proxy = await openProxy({ file: `workspaces: [{ path: ${root}, name: app }]\nworkspace: { read-only: false }` })
  const headers = { authorization: `Bearer ${proxy.daemon.ownerToken}` }
  const listener = await listen(proxy, '/events', headers)
  return {
    ...proxy,
    post: async (steps: readonly object[], more: object = {}) => {
      const text = `${'prefix' in more ? String(more.prefix) : ''}Do it. [demo:script ${JSON.stringify(steps)}]`
      const { prefix: _, ...body } = { prefix: '', ...more }
      const reply = await postMessage(proxy, { text, mode: 'plan', model: 'gpt-5-mini', ...body }, headers)
      return reply.json() as { id: string; runId?: string; conversationId: string }
    },
    say: (text: string) => postMessage(proxy, { text, mode: 'plan' }, headers),
    /** The next question of the run. */
    asked: async () =>
      (await eventsUntil(listener, 'approval', ({ data }) => data['state'] === 'pending')).at(-1)?.data,
    decide: (id: unknown, decision: string) =>
      proxy.send(`/approvals/${String(id)}`, { headers, body: JSON.stringify({ decision }) }),
    done: async () => (await eventsUntil(listener, 'done')).at(-1)?.data,
    report: async (id: string) => (await proxy.send(`/runs/${id}`, { headers })).json(),
    created: () => readFile(join(root, 'b.txt'), 'utf8'),
  }
}

test('a plan is an approval: refused with a message it is revised, accepted it is carried out with the usual questions', async () => {
  const { post, say, asked, decide, done, report, created, demo } = await openApp()
  const { id } = await post([
    create,
    submit('Create b.txt.'),
    submit('Create b.txt, with b.'),
    create,
    { text: 'Done.' },
  ])
  const first = await asked()
  expect(first).toMatchObject({
    id,
    tool: 'mcp.plan.submit',
    plan: 'Create b.txt.',
    decisions: ['once', 'refuse'],
  })
  await expect(created()).rejects.toThrow('ENOENT')
  expect((await report(id)) as object).toMatchObject({
    state: 'waiting',
    mode: 'plan',
    approvals: [{ plan: 'Create b.txt.' }],
  })
  expect((await say('Say what is in it.')).json()).toMatchObject({ runId: id })
  await decide(first?.['approvalId'], 'refuse')
  const second = await asked()
  expect(second).toMatchObject({ plan: 'Create b.txt, with b.' })
  expect(demo.log.filter(({ body }) => body.includes('Say what is in it.')).length).toBeGreaterThan(0)
  await decide(second?.['approvalId'], 'once')
  const third = await asked()
  expect(third).toMatchObject({ paths: ['b.txt'], decisions: ['once', 'run', 'always', 'refuse'] })
  await decide(third?.['approvalId'], 'once')
  expect(await done()).toMatchObject({ outcome: 'completed', files: [{ path: 'b.txt' }] })
  expect(await created()).toBe('b')
  expect(await report(id)).toMatchObject({ approvals: [{ state: 'refuse' }, { state: 'once' }, { state: 'once' }] })
})

test.each([
  ['with the prefix of the agent', { prefix: 'agent:' }],
  ['as it is', {}],
])('a message in the mode plan %s only plans', async (_, more) => {
  const { post, done, created } = await openApp()
  await post([create, { text: 'I could not.' }], more)
  expect(await done()).toMatchObject({
    outcome: 'completed',
    reason: 'The model gave its final answer. No plan was accepted, so nothing was changed.',
    files: [],
  })
  await expect(created()).rejects.toThrow('ENOENT')
})
