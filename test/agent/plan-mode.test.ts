import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AgentTask, ApprovalRequest } from '../../src/agent/agent-task.ts'
import { runAgent } from '../../src/agent/run-agent.ts'
import type { ApprovalDecision } from '../../src/api/run.ts'
import { STREAMING_ROUTES } from '../upstreams/copilot/routes.ts'
import { jsonStep, openAgent, scriptOf } from './support.ts'

const files = { 'a.txt': 'one\n', '.agent-policy.yaml': 'writes:\n  allow: ["**"]\nshell:\n  allow: ["true"]\n' }
const plan = { calls: [{ tool: 'plan_submit', args: { plan: '# Plan\n\n1. Create b.txt.' } }] }
const create = { calls: [{ tool: 'createFile', args: { path: 'b.txt', content: 'b' } }] }

/** Runs a script in the mode `plan`, with a decision for each plan. Everything else is allowed. */
async function planWith(
  decisions: readonly ApprovalDecision[],
  text: string,
  settings: Partial<AgentTask['settings']> = {},
) {
  const asked: ApprovalRequest[] = []
  const left = [...decisions]
  const agent = await openAgent({
    mode: 'plan',
    files,
    text,
    settings,
    approve: async (request) => {
      asked.push(request)
      return request.plan === undefined ? 'once' : (left.shift() ?? 'refuse')
    },
  })
  const outcome = await runAgent(agent.deps, agent.task)
  const ends = agent.events.flatMap((event) =>
    event.type === 'tool' && event.state === 'ended' ? [`${event.tool}: ${event.outcome}`] : [],
  )
  return { ...agent, asked, outcome, ends, created: () => readFile(join(agent.root, 'b.txt'), 'utf8') }
}

function requestsOf({ log }: Awaited<ReturnType<typeof openAgent>>['demo']): readonly string[] {
  return log.filter(({ route }) => STREAMING_ROUTES.has(route)).map(({ body }) => body)
}

test('nothing is written or run before the plan is accepted, and everything as usual afterwards', async () => {
  const { outcome, ends, asked, events, created } = await planWith(
    ['once'],
    scriptOf(
      { calls: [{ tool: 'fs_read', args: { path: 'a.txt' } }] },
      create,
      { calls: [{ tool: 'mcp.shell.run', args: { argv: ['true'] } }] },
      { calls: [{ tool: 'plan_set', args: { items: [{ text: 'Look', state: 'completed' }] } }] },
      plan,
      create,
      { text: 'Done.' },
    ),
  )
  expect(ends).toEqual([
    'mcp.fs.read: ok',
    'mcp.edit.applyPatch: denied',
    'mcp.shell.run: denied',
    'mcp.plan.set: ok',
    'mcp.plan.submit: ok',
    'mcp.edit.applyPatch: ok',
  ])
  const denials = events.filter(
    (event) => event.type === 'tool' && event.state === 'ended' && event.outcome === 'denied',
  )
  for (const denial of denials) expect(denial).toHaveProperty('message', expect.stringContaining('this run only plans'))
  expect(asked.map(({ plan: text, paths }) => text ?? paths)).toEqual(['# Plan\n\n1. Create b.txt.', ['b.txt']])
  expect(await created()).toBe('b')
  expect(outcome).toMatchObject({ outcome: 'completed', reason: 'The model gave its final answer.' })
})

test('the model gets the tools that read, and all tools once the plan is accepted', async () => {
  const { demo } = await planWith(['once'], scriptOf(plan, { text: 'Done.' }))
  const offered = requestsOf(demo)
  expect(offered).toHaveLength(2)
  const [before = '', after = ''] = offered
  for (const name of ['fs_read', 'search_code', 'git_diff', 'plan_set', 'plan_submit'])
    expect(before).toContain(`"name":"${name}"`)
  for (const name of ['shell_run', 'edit_applyPatch', 'createFile', 'task_run'])
    expect([before.includes(`"name":"${name}"`), after.includes(`"name":"${name}"`)]).toEqual([false, true])
  expect(after).not.toContain('"name":"plan_submit","description"')
})

test('a refused plan leaves the run read-only, and the model may revise it', async () => {
  const { ends, created, outcome } = await planWith(
    ['refuse', 'once'],
    scriptOf(plan, create, plan, create, { text: 'Done.' }),
  )
  expect(ends).toEqual([
    'mcp.plan.submit: approval_refused',
    'mcp.edit.applyPatch: denied',
    'mcp.plan.submit: ok',
    'mcp.edit.applyPatch: ok',
  ])
  expect(await created()).toBe('b')
  expect(outcome.files).toHaveLength(1)
})

test.each([
  ['that submitted none', scriptOf({ text: 'It is one line.' })],
  ['whose plan was refused', scriptOf(plan, { text: 'Then not.' })],
])('the final answer of a run %s says that nothing was changed', async (_, text) => {
  const { outcome } = await planWith(['refuse'], text)
  expect(outcome).toMatchObject({
    outcome: 'completed',
    reason: 'The model gave its final answer. No plan was accepted, so nothing was changed.',
  })
  expect(outcome.summary).toContain('nothing was changed')
})

test('an unusable plan is refused without a question', async () => {
  const { asked, ends } = await planWith(
    [],
    scriptOf(
      {
        calls: [
          { tool: 'plan_submit', args: { plan: ' ' } },
          { tool: 'plan_submit', args: {} },
        ],
      },
      { text: 'No.' },
    ),
  )
  expect([asked, ends]).toEqual([[], ['mcp.plan.submit: invalid_arguments', 'mcp.plan.submit: invalid_arguments']])
})

test.each(['agent', 'chat'] as const)('a run in the mode %s has no plan to submit', async (mode) => {
  const { deps, task, events } = await openAgent({ mode, files, text: scriptOf(plan, { text: 'Done.' }) })
  await runAgent(deps, task)
  expect(events.some(({ type }) => type === 'approval')).toBe(false)
})

const action = (tool: string, args: object) => jsonStep({ actions: [{ tool, ...args }], done: false })

test('the JSON protocol submits a plan and carries it out', async () => {
  const { ends, created, demo } = await planWith(
    ['once'],
    scriptOf(
      action('createFile', { path: 'b.txt', content: 'b' }),
      action('plan_submit', { plan: 'Create b.txt.' }),
      action('createFile', { path: 'b.txt', content: 'b' }),
      jsonStep({ finalSummary: 'Done.', done: true }),
    ),
    { protocol: 'json' },
  )
  expect(ends).toEqual(['mcp.edit.applyPatch: denied', 'mcp.plan.submit: ok', 'mcp.edit.applyPatch: ok'])
  expect(await created()).toBe('b')
  const prompts = requestsOf(demo)
  expect(prompts[0]).toContain('- plan_submit: ')
  expect(prompts[0]).not.toContain('- createFile {')
  expect(prompts.at(-1)).toContain('- createFile {')
})
