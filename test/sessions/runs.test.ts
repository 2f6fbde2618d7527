import { expect, onTestFinished, test, vi } from 'vitest'
import type { AgentTask } from '../../src/agent/agent-task.ts'
import { Fault } from '../../src/errors.ts'
import { listenTo, newFile, openTestSessions, problemOf, waitingAgent } from './support.ts'
import type { TestAgent } from './support.ts'

const writes = { callId: 'call-1', tool: 'mcp.edit.applyPatch', step: 1 } as const
const patch = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n'

/** Asks for one approval and answers with the decision. */
const askingAgent: TestAgent = async ({ emit, approve, signal }) => {
  const request = { ...writes, approvalId: 'approval-1', diff: patch, paths: ['a.txt'] }
  emit({ type: 'tool', ...writes, state: 'started', args: { unifiedDiff: patch } })
  emit({ type: 'approval', ...request, state: 'pending' })
  const decision = await approve(request, signal)
  emit({ type: 'approval', ...writes, approvalId: 'approval-1', state: decision })
  emit({ type: 'tool', ...writes, state: 'ended', outcome: 'ok', message: 'Patched a.txt.', durationMs: 5 })
  const file = { path: 'a.txt', change: 'modified', added: 1, removed: 1 } as const
  emit({ type: 'diff', callId: 'call-1', patchId: 'entry-1', diff: patch, files: [file] })
  return { answer: decision, files: [{ ...file, diff: patch }] }
}

test('a run is published from its message to its end, and stored', async () => {
  const sessions = await openTestSessions({
    agent: async ({ emit }) => {
      emit({ type: 'fragment', kind: 'answer', text: 'Hel' })
      emit({ type: 'fragment', kind: 'answer', text: 'lo' })
      return { usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, nanoAiu: 5e8 } }
    },
  })
  const ear = listenTo(sessions)
  const id = sessions.send('Hi', { model: 'gpt-5-mini' })
  await ear.heard('done')
  expect(ear.events.map(({ type }) => type)).toEqual(['inbound', 'lifecycle', 'fragment', 'done', 'lifecycle'])
  expect(ear.events[2]?.data).toEqual({
    id,
    sessionId: 'id-of-app',
    conversationId: 'conversation-1',
    kind: 'answer',
    text: 'Hello',
    time: expect.any(String),
  })
  expect(ear.events[3]?.data).toMatchObject({
    usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, credits: 0.5 },
    steps: 1,
  })
  expect(await sessions.run(id)).toMatchObject({
    id,
    state: 'ended',
    text: 'Hi',
    model: 'test-model',
    answer: 'Hello',
    requests: 1,
  })
  expect(await sessions.messages('id-of-app', { limit: 5 })).toMatchObject([
    {
      id,
      text: 'Hi',
      answer: 'Hello',
      outcome: 'completed',
      steps: 1,
      requests: 1,
      files: [],
      usage: { outputTokens: 2 },
    },
  ])
  expect(sessions.openRuns('id-of-app')).toEqual([])
})

test('consecutive pieces of an answer become one event, and nothing else does', async () => {
  const sessions = await openTestSessions({
    agent: async ({ emit }) => {
      const piece = (text: string, change: object = {}) =>
        emit({ type: 'fragment', kind: 'answer', text, step: 1, ...change })
      for (const text of ['a', 'b', 'c']) piece(text)
      piece('d', { kind: 'step' })
      piece('e', { kind: 'step' })
      piece('f', { kind: 'commentary' })
      piece('g', { kind: 'commentary' })
      piece('h')
      piece('i', { step: 2 })
      piece('j', { kind: 'thinking', step: 2 })
      return {}
    },
  })
  const ear = listenTo(sessions)
  sessions.send('Hi')
  await ear.heard('done')
  const texts = ear.events.flatMap(({ type, data }) => (type === 'fragment' ? [data['text']] : []))
  expect(texts).toEqual(['abc', 'd', 'e', 'f', 'g', 'h', 'i', 'j'])
})

test('a piece of an answer is published although no further one follows', async () => {
  const sessions = await openTestSessions({
    agent: async (task) => {
      task.emit({ type: 'fragment', kind: 'answer', text: 'Hel' })
      return waitingAgent(task)
    },
  })
  const ear = listenTo(sessions)
  sessions.send('Hi')
  expect((await ear.heard('fragment')).data).toMatchObject({ text: 'Hel' })
})

test('the model comes from the message, else from the configuration, else from the default', async () => {
  const tasks: AgentTask[] = []
  const sessions = await openTestSessions({
    agent: async (task) => {
      tasks.push(task)
      return {}
    },
  })
  const ear = listenTo(sessions)
  const first = sessions.send('one', { model: 'given' })
  await ear.heard('done', ({ data }) => data['id'] === first)
  const second = sessions.send('two', { key: { name: 'laptop', id: 'a1' } })
  await ear.heard('done', ({ data }) => data['id'] === second)
  sessions.configure('agent: { model: configured, max-steps: 7, fallback-models: [other] }')
  const third = sessions.send('three', { origin: 'provider', maxSteps: 3 })
  await ear.heard('done', ({ data }) => data['id'] === third)
  expect(tasks.map(({ settings }) => settings.model)).toEqual(['given', 'default-model', 'configured'])
  expect(tasks.map(({ settings }) => settings.maxSteps)).toEqual([30, 30, 3])
  expect(tasks.map(({ initiator }) => initiator)).toEqual(['user', 'user', 'agent'])
  expect(tasks.map(({ caller }) => caller)).toEqual(['agent:local', 'agent:laptop', 'agent:local'])
  expect(tasks[2]?.settings.fallbackModels).toEqual(['other'])
})

const item = (text: string) => ({ type: 'message', role: 'user', parts: [{ type: 'text', text }], path: '' }) as const

test('a run gets the items of earlier runs of its session, and none of other sessions', async () => {
  const histories: AgentTask['history'][] = []
  const sessions = await openTestSessions({
    names: ['app', 'other'],
    agent: async ({ history, text }) => {
      histories.push(history)
      return { items: [item(text)] }
    },
  })
  const ear = listenTo(sessions)
  for (const [text, sessionId] of [
    ['one', 'id-of-app'],
    ['else', 'id-of-other'],
    ['two', 'id-of-app'],
    ['three', 'id-of-app'],
  ] as const) {
    const id = sessions.send(text, { sessionId })
    await ear.heard('done', ({ data }) => data['id'] === id)
  }
  expect(histories).toEqual([[], [], [item('one')], [item('one'), item('two')]])
})

test('a session has one agent run at a time, others wait in order, and chats run concurrently', async () => {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const sessions = await openTestSessions({
    names: ['app', 'other'],
    agent: async ({ text }) => {
      started.push(text)
      await new Promise<void>((resolve) => ends.set(text, resolve))
      return {}
    },
  })
  const ear = listenTo(sessions)
  const [, two] = ['one', 'two', 'three'].map((text) => sessions.send(text, { mode: 'agent' }))
  const waiting = await ear.heard('fragment')
  expect(waiting.data).toMatchObject({
    id: two,
    kind: 'notice',
    text: expect.stringMatching(/^Waiting for another run/),
  })
  sessions.send('chat')
  sessions.send('elsewhere', { mode: 'agent', sessionId: 'id-of-other' })
  await vi.waitFor(() => expect(started).toEqual(['one', 'chat', 'elsewhere']))
  expect(sessions.openRuns('id-of-app').map(({ state }) => state)).toEqual(['running', 'queued', 'queued', 'running'])
  expect(sessions.cancel(two ?? '')).toBe('ended')
  ends.get('one')?.()
  await vi.waitFor(() => expect(started).toContain('three'))
  for (const end of ends.values()) end()
  await ear.heard('lifecycle', ({ data }) => data['state'] === 'idle' && data['sessionId'] === 'id-of-app')
  expect(started).toEqual(['one', 'chat', 'elsewhere', 'three'])
  expect(ear.events.filter(({ type }) => type === 'fragment')).toHaveLength(2)
})

test('more runs than a session may have are refused', async () => {
  const sessions = await openTestSessions({ agent: waitingAgent })
  for (let sent = 0; sent < 21; sent += 1) sessions.send('again', { mode: 'agent' })
  expect(problemOf(() => sessions.send('again', { mode: 'agent' }))).toBe('too_many_runs')
  for (let sent = 0; sent < 8; sent += 1) sessions.send('again')
  expect(problemOf(() => sessions.send('again'))).toBe('too_many_runs')
})

test('while the agent is switched off, its messages are refused and chats are not', async () => {
  const sessions = await openTestSessions({ settings: 'agent: { enabled: false }' })
  expect(problemOf(() => sessions.send('go', { mode: 'agent' }))).toBe('agent_disabled')
  expect(sessions.send('hello')).toBe('run-1')
  expect(problemOf(() => sessions.send('hello', { sessionId: 'unknown' }))).toBe('session_not_found')
})

test('a cancelled run ends once, with that outcome', async () => {
  const sessions = await openTestSessions({ agent: waitingAgent })
  const ear = listenTo(sessions)
  const id = sessions.send('wait')
  await ear.heard('lifecycle')
  expect(sessions.cancel(id)).toBe('running')
  sessions.cancel(id)
  expect((await ear.heard('done')).data).toMatchObject({ outcome: 'cancelled' })
  expect(problemOf(() => sessions.cancel(id))).toBe('run_ended')
  expect(problemOf(() => sessions.cancel('unknown'))).toBe('run_not_found')
  expect(ear.events.filter(({ type }) => type === 'done')).toHaveLength(1)
})

test('a failure before the agent starts ends the run with its message', async () => {
  const sessions = await openTestSessions({
    defaultModel: () =>
      Promise.reject(new Fault({ kind: 'copilot_unavailable', detail: 'Nobody is logged in', fix: 'Log in.' })),
  })
  const ear = listenTo(sessions)
  sessions.send('hello')
  expect((await ear.heard('done')).data).toMatchObject({ outcome: 'failed', reason: 'Nobody is logged in. Log in.' })
})

test('the first of two decisions wins', async () => {
  const sessions = await openTestSessions({ agent: askingAgent })
  const ear = listenTo(sessions)
  const id = sessions.send('change it', { mode: 'agent' })
  const asked = await ear.heard('approval')
  expect(asked.data).toMatchObject({ id, approvalId: 'approval-1', state: 'pending', diff: patch, paths: ['a.txt'] })
  expect(sessions.openRuns('id-of-app')).toMatchObject([{ id, state: 'waiting', step: 1 }])
  expect(await sessions.run(id)).toMatchObject({
    state: 'waiting',
    approvals: [{ approvalId: 'approval-1', state: 'pending' }],
  })
  expect(sessions.decide('approval-1', 'once')).toBe('once')
  expect(problemOf(() => sessions.decide('approval-1', 'refuse'))).toBe('approval_decided')
  expect(problemOf(() => sessions.decide('unknown', 'once'))).toBe('approval_not_found')
  await ear.heard('done')
  expect(problemOf(() => sessions.decide('approval-1', 'refuse'))).toBe('approval_decided')
  expect(await sessions.run(id)).toMatchObject({
    answer: 'once',
    approvals: [{ approvalId: 'approval-1', state: 'once', diff: patch }],
    steps: [{ step: 1, calls: [{ callId: 'call-1', outcome: 'ok', durationMs: 5, args: { unifiedDiff: patch } }] }],
    files: [{ path: 'a.txt', change: 'modified', added: 1, removed: 1, diff: patch }],
  })
  expect(ear.events.filter(({ type }) => type === 'approval').map(({ data }) => data['state'])).toEqual([
    'pending',
    'once',
  ])
})

test('an approval expires with its run', async () => {
  const sessions = await openTestSessions({ agent: askingAgent })
  const ear = listenTo(sessions)
  const id = sessions.send('change it', { mode: 'agent' })
  await ear.heard('approval')
  sessions.cancel(id)
  await ear.heard('done')
  expect(ear.events.filter(({ type }) => type === 'approval').map(({ data }) => data['state'])).toEqual([
    'pending',
    'expired',
  ])
  expect(problemOf(() => sessions.decide('approval-1', 'once'))).toBe('approval_decided')
})

test('removing a workspace ends its runs, including queued ones', async () => {
  const sessions = await openTestSessions({ agent: waitingAgent, names: ['app', 'other'] })
  const ear = listenTo(sessions)
  const ids = [sessions.send('one', { mode: 'agent' }), sessions.send('two', { mode: 'agent' })]
  const other = sessions.send('other', { sessionId: 'id-of-other' })
  sessions.remove('app')
  for (const id of ids) {
    const done = await ear.heard('done', ({ data }) => data['id'] === id)
    expect(done.data).toMatchObject({
      outcome: 'cancelled',
      reason: 'The workspace was removed from the configuration.',
    })
  }
  expect((await ear.heard('lifecycle', ({ data }) => data['state'] === 'removed')).data).toMatchObject({ name: 'app' })
  expect(await sessions.run(other)).toMatchObject({ state: 'running' })
})

test('a stop ends every run with an event, and accepts no more', async () => {
  const sessions = await openTestSessions({ agent: waitingAgent })
  const ear = listenTo(sessions)
  const ids = [sessions.send('one', { mode: 'agent' }), sessions.send('two', { mode: 'agent' }), sessions.send('three')]
  await sessions.stop(1000)
  const done = ear.events.filter(({ type }) => type === 'done')
  expect(done.map(({ data }) => String(data['id'])).toSorted()).toEqual(ids.toSorted())
  expect(done.map(({ data }) => data['reason'])).toEqual(Array(3).fill('copilot-proxy was stopped.'))
  expect(ear.events.map(({ data }) => data['state'])).toContain('shutdown')
  expect(() => sessions.send('more')).toThrow(Fault)
})

test('a run that does not end in time ends as interrupted', async () => {
  const sessions = await openTestSessions({ agent: () => new Promise(() => {}) })
  const ear = listenTo(sessions)
  sessions.send('one')
  await sessions.stop(10)
  expect((await ear.heard('done')).data).toMatchObject({ outcome: 'interrupted' })
})

test('lifecycle listeners are called when runs start and when a session is idle', async () => {
  const sessions = await openTestSessions()
  const heard = vi.fn<(sessionId: string, state: string) => void>()
  const end = sessions.lifecycle(heard)
  const ear = listenTo(sessions)
  sessions.send('one')
  await ear.heard('lifecycle', ({ data }) => data['state'] === 'idle')
  expect(heard.mock.calls).toEqual([
    ['id-of-app', 'started'],
    ['id-of-app', 'idle'],
  ])
  end()
  const second = sessions.send('two')
  await ear.heard('done', ({ data }) => data['id'] === second)
  expect(heard).toHaveBeenCalledTimes(2)
})

test('the record of a run keeps the start of a long diff', async () => {
  const file = { path: 'a.txt', change: 'created', added: 1_000_000, removed: 0 } as const
  const sessions = await openTestSessions({
    agent: async () => ({ files: [{ ...file, diff: '+\n'.repeat(1_000_000) }] }),
  })
  const ear = listenTo(sessions)
  const id = sessions.send('Write it')
  await ear.heard('done')
  const { files } = await sessions.run(id)
  expect(files).toMatchObject([file])
  expect(files[0]?.diff).toMatch(/^\+\n[+\n]{250000,270000}…$/)
})

test('long texts of the history are stored and read a little at a time, and come back as they were', async () => {
  const words = 'Grüße, 世界 👋 "quoted" \n \ud800 '
  // A piece may end in the middle of the emoji.
  const texts = [0, 1, 2, 3].map((shift) => 'x'.repeat(shift) + words.repeat(2 ** 20 / words.length))
  const items: AgentTask['history'] = [
    { type: 'message', role: 'user', parts: texts.map((text) => ({ type: 'text', text })), path: '' },
    item('{"longText":0}'),
  ]
  const histories: AgentTask['history'][] = []
  const sessions = await openTestSessions({
    file: await newFile(),
    agent: async ({ history }) => {
      histories.push(history)
      return { items: histories.length === 1 ? items : [] }
    },
  })
  let turns = 0
  const count = (): void => {
    turns += 1
    turning = setImmediate(count)
  }
  let turning = setImmediate(count)
  onTestFinished(() => clearImmediate(turning))
  const ear = listenTo(sessions)
  const first = sessions.send('Look at this')
  await ear.heard('done', ({ data }) => data['id'] === first)
  expect(turns).toBeGreaterThan(12)
  turns = 0
  const second = sessions.send('And?')
  await ear.heard('done', ({ data }) => data['id'] === second)
  expect(turns).toBeGreaterThan(12)
  expect(histories[1]).toEqual(items)
})

test('a run is stored as ended, however large its items are', async () => {
  const text = 'x'.repeat(9 * 2 ** 20)
  const sessions = await openTestSessions({
    agent: async () => ({ items: [{ type: 'message', role: 'user', parts: [{ type: 'text', text }], path: '' }] }),
  })
  const ear = listenTo(sessions)
  const id = sessions.send('Look at this')
  await ear.heard('done')
  expect(await sessions.messages('id-of-app', { limit: 5 })).toMatchObject([
    { id, state: 'ended', outcome: 'completed' },
  ])
})

test('history can be deleted, but not during a run', async () => {
  const sessions = await openTestSessions({
    names: ['app', 'other'],
    agent: (task) => (task.text === 'wait' ? waitingAgent(task) : Promise.resolve({})),
  })
  const ear = listenTo(sessions)
  const id = sessions.send('secret words')
  await ear.heard('done')
  const other = sessions.send('kept', { sessionId: 'id-of-other' })
  await ear.heard('done', ({ data }) => data['id'] === other)
  const waiting = sessions.send('wait')
  await expect(sessions.forget('id-of-app')).rejects.toMatchObject({ error: { problem: 'run_in_progress' } })
  sessions.cancel(waiting)
  await ear.heard('done', ({ data }) => data['id'] === waiting)
  await sessions.forget('id-of-app')
  expect(await sessions.messages('id-of-app', { limit: 5 })).toEqual([])
  await expect(sessions.run(id)).rejects.toMatchObject({ error: { problem: 'run_not_found' } })
  expect(await sessions.messages('id-of-other', { limit: 5 })).toHaveLength(1)
  const late = listenTo(sessions, { after: 0 })
  expect(late.events.filter(({ data }) => data['sessionId'] === 'id-of-app')).toEqual([])
  expect(late.events.some(({ data }) => data['sessionId'] === 'id-of-other')).toBe(true)
})

test('the record of a run keeps the start of long texts of its calls, and the whole of a pending approval', async () => {
  const long = 'x'.repeat(200_000)
  const request = { ...writes, approvalId: 'approval-1', diff: long, paths: ['a.txt'] }
  const sessions = await openTestSessions({
    async agent({ emit, approve, signal }) {
      emit({ type: 'approval', ...request, state: 'pending' })
      emit({ type: 'approval', ...writes, approvalId: 'approval-1', state: await approve(request, signal) })
      emit({ type: 'tool', ...writes, state: 'ended', outcome: 'ok', message: 'Done.', result: long, durationMs: 5 })
      return { files: Array.from({ length: 20 }, (_, at) => ({ ...fileOf(at), diff: long })) }
    },
  })
  const ear = listenTo(sessions)
  const id = sessions.send('Write it', { mode: 'agent' })
  await ear.heard('approval')
  expect((await sessions.run(id)).approvals).toMatchObject([{ diff: long }])
  sessions.decide('approval-1', 'once')
  expect((await ear.heard('tool')).data['result']).toBe(long)
  await ear.heard('done')
  const record = await sessions.run(id)
  const start = expect.stringMatching(/^x{65536}…$/)
  expect(record.approvals).toMatchObject([{ state: 'once', diff: start, truncated: true }])
  expect(JSON.stringify(record.steps)).toMatch(/"result":"x{65536}…".*"truncated":true/)
  expect(record.files.map(({ diff }) => diff.length)).toEqual([...Array(10).fill(200_000), 97_153, ...Array(9).fill(1)])
})

function fileOf(at: number) {
  return { path: `${at}.txt`, change: 'created', added: 1, removed: 0 } as const
}
