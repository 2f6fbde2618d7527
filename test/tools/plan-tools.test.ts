import { expect, test } from 'vitest'
import { runAgent } from '../../src/agent/run-agent.ts'
import { createToolSet } from '../../src/agent/tool-set.ts'
import { openAgent, scriptOf } from '../agent/support.ts'
import { openProxy } from '../http/harness.ts'
import { eventsUntil, listen, postMessage } from '../http/session-client.ts'
import { openWorkspaceRpc } from '../rpc/open-workspace.ts'
import { makeFolder } from './session.ts'

const first = [
  { text: 'Read the code', state: 'in_progress' },
  { text: 'Fix it', state: 'pending' },
] as const
const second = [
  { text: 'Read the code', state: 'completed' },
  { text: 'Fix it', state: 'in_progress' },
] as const
const steps = [
  { calls: [{ tool: 'plan_set', args: { items: first } }] },
  { calls: [{ tool: 'plan_set', args: { items: second } }] },
  { text: 'Done.' },
]

test('the plan of a run is sent as an event each time, and the last one is in the record of the run', async () => {
  const proxy = await openProxy({ file: `workspaces: [{ path: ${await makeFolder()}, name: app }]` })
  const listener = await listen(proxy, '/events')
  const posted = await postMessage(proxy, { text: scriptOf(...steps), mode: 'agent', model: 'gpt-5-mini' })
  const { id } = posted.json() as { id: string }
  const events = await eventsUntil(listener, 'done')
  const plans = events.filter(({ event }) => event === 'plan').map(({ data }) => [data['id'], data['items']])
  expect(plans).toEqual([
    [id, first],
    [id, second],
  ])
  expect((await proxy.send(`/runs/${id}`)).json()).toMatchObject({ plan: second, outcome: 'completed' })
})

test.each([
  ['an unknown state', [{ text: 'a', state: 'doing' }]],
  ['no text', [{ text: '', state: 'pending' }]],
  ['too many items', Array.from({ length: 51 }, () => ({ text: 'a', state: 'pending' }))],
])('a plan with %s is refused and not shown', async (_title, items) => {
  const { deps, task, events } = await openAgent({
    text: scriptOf({ calls: [{ tool: 'plan_set', args: { items } }] }, { text: 'Done.' }),
  })
  await runAgent(deps, task)
  expect(events.filter(({ type }) => type === 'plan')).toEqual([])
  expect(events).toContainEqual(expect.objectContaining({ type: 'tool', outcome: 'invalid_arguments' }))
})

test('only a run of the agent has a plan', async () => {
  const { client } = await openWorkspaceRpc({}, '')
  expect(await client.ask('mcp.plan.set', { items: first })).toMatchObject({
    error: { code: -32000, message: 'Only a run of the agent has a plan.' },
  })
  const { deps, session } = await openAgent({ text: '' })
  expect(createToolSet(deps.tools, session, 'chat').find('plan_set')).toBeUndefined()
})

test('a model calls each tool by its name on the bus without mcp., with _ in place of the dots', async () => {
  const { deps, session } = await openAgent({ text: '' })
  const { offered, find } = createToolSet(deps.tools, session, 'agent')
  const names = offered.map(({ name }) => name)
  const hidden = new Set(['mcp.tools.list', 'mcp.tools.call', 'mcp.session.list'])
  const expected = deps.tools
    .list(session)
    .filter(({ name }) => !hidden.has(name))
    .map(({ name }) => ({ bus: name, model: name.replace('mcp.', '').replaceAll('.', '_') }))
  for (const { bus, model } of expected) {
    expect(names).toContain(model)
    for (const name of [bus, model]) expect(find(name)).toMatchObject({ name: bus })
  }
  // The names of the JSON protocol.
  for (const name of ['listFiles', 'readFiles', 'createFile', 'editFile']) expect(find(name)).toMatchObject({ name })
})
