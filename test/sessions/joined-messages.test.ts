import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import type { AgentTask } from '../../src/agent/agent-task.ts'
import type { Accepted } from '../../src/sessions/sessions.ts'
import { keyOf, listenTo, newFile, openTestSessions, owner, problemOf, waitingAgent } from './support.ts'
import type { TestAgent } from './support.ts'

/** Opens sessions whose agent tells the test of each task, and ends it when the test says so. */
async function openControlled(options: Parameters<typeof openTestSessions>[0] = {}) {
  const tasks = new Map<string, AgentTask>()
  const ends = new Map<string, () => void>()
  const agent: TestAgent = async (task) => {
    tasks.set(task.text, task)
    await new Promise<void>((resolve) => {
      ends.set(task.text, resolve)
      task.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    return {}
  }
  const sessions = await openTestSessions({ agent, ...options })
  const ear = listenTo(sessions)
  const post = (text: string, change: object = {}): Accepted =>
    sessions.start({
      sessionId: 'id-of-app',
      text,
      mode: 'agent',
      attachments: [],
      origin: 'user',
      key: undefined,
      ...change,
    })
  return { ...sessions, ear, tasks, ends, post }
}

const isOf = (id: string) => (event: { readonly data: Readonly<Record<string, unknown>> }) => event.data['id'] === id

test('a message joins the run of its conversation, is read once, and stands in the record', async () => {
  const { post, ear, tasks, ends, run, messages, conversations } = await openControlled()
  const first = post('work')
  const early = post('and this')
  expect(early).toEqual({ id: 'run-2', conversationId: 'conversation-1', runId: first.id })
  await ear.heard('lifecycle')
  await expect.poll(() => tasks.has('work')).toBe(true)
  const seen: string[] = []
  tasks.get('work')?.onJoined?.(({ text }) => seen.push(text))
  const late = post('later', { mode: 'chat' })
  expect(seen).toEqual(['and this', 'later'])
  tasks.get('work')?.onRead?.([early.id, late.id], 3)
  ends.get('work')?.()
  await ear.heard('done')
  expect(ear.events.filter(({ type }) => type === 'inbound').map(({ data }) => [data['id'], data['runId']])).toEqual([
    [first.id, undefined],
    [early.id, first.id],
    [late.id, first.id],
  ])
  const joined = [
    { id: early.id, text: 'and this', step: 3 },
    { id: late.id, text: 'later', step: 3 },
  ]
  expect(await run(first.id)).toMatchObject({ joined })
  expect(await messages('id-of-app', { limit: 9 })).toMatchObject([{ id: first.id, joined }])
  // A run is taken back as a whole.
  const from = (id: string) => () => conversations.runsFrom('id-of-app', 'conversation-1', id, owner, false)
  expect(from(first.id)()).toMatchObject([{ id: first.id }])
  expect(from(late.id)).toThrow(
    expect.objectContaining({
      error: expect.objectContaining({ problem: 'message_not_found', detail: expect.stringContaining(first.id) }),
    }),
  )
})

test('what no model has read when the run ends becomes the next run, with its own id and before the end of the first', async () => {
  const { post, ear, tasks, ends, run } = await openControlled()
  const first = post('work')
  const second = post('next')
  post('and that')
  await expect.poll(() => tasks.has('work')).toBe(true)
  ends.get('work')?.()
  await expect.poll(() => tasks.has('next')).toBe(true)
  const order = ear.events.filter(({ type }) => type === 'inbound' || type === 'done')
  expect(order.map(({ type, data }) => [type, data['id'], data['runId']])).toEqual([
    ['inbound', 'run-1', undefined],
    ['inbound', 'run-2', 'run-1'],
    ['inbound', 'run-3', 'run-1'],
    ['inbound', 'run-2', undefined],
    ['inbound', 'run-3', 'run-2'],
    ['done', 'run-1', undefined],
  ])
  const seen: string[] = []
  tasks.get('next')?.onJoined?.(({ text }) => seen.push(text))
  expect(seen).toEqual(['and that'])
  expect(await run(first.id)).not.toHaveProperty('joined', [expect.anything()])
  expect(await run(second.id)).toMatchObject({ text: 'next', joined: [{ text: 'and that' }] })
})

test('a cancelled run does not lose what was sent meanwhile', async () => {
  const { post, ear, tasks, cancel } = await openControlled()
  const { id } = post('work')
  const next = post('do this instead')
  await expect.poll(() => tasks.has('work')).toBe(true)
  cancel(id)
  await ear.heard('done', isOf(id))
  await expect.poll(() => tasks.has('do this instead')).toBe(true)
  expect(tasks.get('do this instead')?.id).toBe(next.id)
})

test.each([
  ['with queue: true', { queue: true }],
  ['of a provider', { origin: 'provider', provider: 'build' }],
  ['of another key', { key: keyOf('one').key }],
  ['to another conversation', { conversationId: 'conversation-2' }],
  ['in another session', { sessionId: 'id-of-other' }],
])('a message %s does not join', async (_what, change) => {
  const { post, conversations } = await openControlled({ names: ['app', 'other'] })
  expect(post('work').runId).toBeUndefined()
  await conversations.create('id-of-app', undefined, owner)
  const own = { conversationId: 'sessionId' in change || 'key' in change ? undefined : 'conversation-1' }
  expect(post('more', { ...own, ...change }).runId).toBeUndefined()
  expect(post('more', { conversationId: 'conversation-1' }).runId).toBe('run-1')
})

test('a message for the agent joins no chat, and a run of a provider is joined by nobody', async () => {
  const { post } = await openControlled()
  post('question', { mode: 'chat' })
  const work = post('work')
  expect(work.runId).toBeUndefined()
  expect(post('another question', { mode: 'chat' }).runId).toBeDefined()
  const other = await openControlled()
  other.post('report', { origin: 'provider', provider: 'build' })
  expect(other.post('work').runId).toBeUndefined()
})

const asked = { type: 'approval', approvalId: 'p', callId: 'c', tool: 'mcp.plan.submit' } as const

test.each([
  ['plan', 'pending', true],
  ['agent', 'pending', true],
  ['chat', 'pending', true],
  // What asks for a plan must not be done at once.
  ['plan', 'once', false],
  ['agent', 'once', true],
  ['plan', 'refuse', true],
] as const)(
  'a message in the mode %s, at a run whose plan is decided with %s, joins: %s',
  async (mode, state, joins) => {
    const { post, tasks } = await openControlled()
    const first = post('work', { mode: 'plan' })
    await expect.poll(() => tasks.has('work')).toBe(true)
    tasks.get('work')?.emit({ ...asked, state: 'pending', plan: 'Change a.ts.' })
    if (state !== 'pending') tasks.get('work')?.emit({ ...asked, state })
    expect(post('more', { mode }).runId).toBe(joins ? first.id : undefined)
  },
)

test('a message that asks for a plan joins no run that may change files', async () => {
  const { post } = await openControlled()
  post('work')
  expect(post('plan', { mode: 'plan' }).runId).toBeUndefined()
})

test('a run that plans waits for the agent, because it may change files later', async () => {
  const { post, tasks, ends, ear } = await openControlled()
  const first = post('work')
  post('plan', { mode: 'plan', queue: true })
  await expect.poll(() => tasks.has('work')).toBe(true)
  expect(tasks.has('plan')).toBe(false)
  ends.get('work')?.()
  await ear.heard('done', isOf(first.id))
  await expect.poll(() => tasks.get('plan')?.mode).toBe('plan')
})

test('more messages than a run takes are refused', async () => {
  const { post } = await openControlled()
  post('work')
  for (let sent = 0; sent < 20; sent += 1) post('more')
  expect(problemOf(() => post('more'))).toBe('too_many_runs')
})

test.each(['a stop', 'the removal of the workspace'])(
  '%s keeps what was sent meanwhile in the history',
  async (what) => {
    const file = await newFile()
    const sessions = await openControlled({ file, agent: waitingAgent })
    const { post, ear, stop, messages } = sessions
    post('work')
    const { id } = post('do not lose me')
    if (what === 'a stop') await stop(1000)
    else sessions.remove('app')
    const done = await ear.heard('done', isOf(id))
    expect(done.data).toMatchObject({ outcome: 'interrupted', reason: expect.stringContaining('before a model read') })
    expect(await messages('id-of-app', { limit: 9 })).toMatchObject([{ text: 'work' }, { text: 'do not lose me' }])
    if (what !== 'a stop') await stop(1000)
    sessions.close()
    expect(await textsBefore(file)).toContain('do not lose me')
  },
)

/** Returns the history of the next message of a file. */
async function textsBefore(file: string): Promise<string> {
  const histories: AgentTask['history'][] = []
  const sessions = await openTestSessions({
    file,
    randomId: () => 'later',
    agent: async ({ history }) => {
      histories.push(history)
      return {}
    },
  })
  const ear = listenTo(sessions)
  sessions.send('go on')
  await ear.heard('done', isOf('later'))
  await sessions.stop(1000)
  sessions.close()
  return JSON.stringify(histories[0])
}

test('a message that joined is in the history after the process was killed, whether it was read or not', async () => {
  const file = await newFile()
  const copy = await newFile()
  const { post, tasks } = await openControlled({ file })
  post('work')
  const { id } = post('this was read')
  post('this was not')
  await expect.poll(() => tasks.has('work')).toBe(true)
  tasks.get('work')?.onRead?.([id], 1)
  // Copy the open file to simulate a kill: closing it would complete the record.
  mkdirSync(dirname(copy), { recursive: true })
  for (const suffix of ['', '-wal']) writeFileSync(copy + suffix, readFileSync(file + suffix))
  expect(await textsBefore(copy)).toMatch(/work.*this was read.*was interrupted.*this was not/)
  const sessions = await openTestSessions({ file: copy })
  expect(await sessions.messages('id-of-app', { limit: 9 })).toMatchObject([
    { text: 'work', joined: [{ text: 'this was read', step: 1 }] },
    { text: 'this was not', outcome: 'interrupted' },
    { text: 'go on' },
  ])
})
