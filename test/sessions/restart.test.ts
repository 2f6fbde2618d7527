import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import type { AgentTask, FileChange } from '../../src/agent/agent-task.ts'
import { openSessionStore } from '../../src/sessions/session-store.ts'
import { listenTo, newFile, openTestSessions, problemOf, waitingAgent } from './support.ts'

const patch = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n'
const change = { path: 'a.txt', change: 'modified', added: 1, removed: 1 } as const
const call = { type: 'tool', callId: 'call-1', tool: 'mcp.edit.applyPatch', step: 2 } as const

/** Creates the file of a killed process: with a run, its recorded patch, a patch it has not recorded, and an approval. */
async function leaveRun(): Promise<string> {
  const file = await newFile()
  mkdirSync(dirname(file))
  const copy = await newFile()
  const sessions = await openTestSessions({
    file,
    agent: async ({ emit, onProgress, approve, signal }) => {
      const usage = { inputTokens: 30, outputTokens: 4, cachedInputTokens: 0 }
      onProgress?.({ requests: 2, usage, context: undefined, model: 'test-model' })
      const command = { type: 'tool', tool: 'mcp.shell.run', step: 1 } as const
      emit({ ...command, callId: 'call-a', state: 'started', args: { argv: ['npm', 'test'] } })
      emit({ ...command, callId: 'call-a', state: 'ended', outcome: 'ok', message: 'exit code 1', durationMs: 1 })
      emit({ ...command, callId: 'call-b', state: 'started', args: { cmd: 'rm x' } })
      emit({ ...command, callId: 'call-b', state: 'ended', outcome: 'denied', message: 'Denied.', durationMs: 1 })
      emit({ ...command, callId: 'call-c', state: 'started', args: { cmd: 'make all' } })
      emit({ type: 'fragment', kind: 'commentary', text: 'I patch it.', step: 2 })
      emit({ ...call, state: 'started', args: {} })
      emit({ type: 'diff', callId: 'call-1', patchId: 'entry-1', diff: patch, files: [change] })
      emit({ ...call, state: 'ended', outcome: 'ok', message: 'Patched.', durationMs: 1 })
      emit({ ...call, callId: 'call-2', step: 3, state: 'started', args: {} })
      const asked = { approvalId: 'approval-1', callId: 'call-2', tool: call.tool, step: 3 }
      emit({ type: 'approval', ...asked, state: 'pending' })
      await approve(asked, signal)
      return {}
    },
  })
  const ear = listenTo(sessions)
  sessions.send('change it', { mode: 'agent' })
  sessions.send('later', { mode: 'agent' })
  await ear.heard('approval')
  // Copy the open file to simulate a crash: closing it would complete the record.
  mkdirSync(dirname(copy))
  for (const suffix of ['', '-wal']) writeFileSync(copy + suffix, readFileSync(file + suffix))
  return copy
}

test('an interrupted run ends with that outcome and its changes', async () => {
  const asked: object[] = []
  const unrecorded: FileChange = { path: 'b.txt', change: 'created', added: 3, removed: 0, diff: '+b' }
  const sessions = await openTestSessions({
    file: await leaveRun(),
    randomId: () => 'new-run',
    changes: async (sessionId, { exceptIds }) => {
      asked.push({ sessionId, exceptIds: [...exceptIds] })
      return [unrecorded, { ...change, diff: 'of the same file' }]
    },
  })
  const ear = listenTo(sessions, { after: 0 })
  const done = await ear.heard('done', ({ data }) => data['id'] === 'run-1')
  expect(done.data).toMatchObject({
    outcome: 'interrupted',
    steps: 3,
    requests: 2,
    usage: { inputTokens: 30, outputTokens: 4, cachedInputTokens: 0 },
    model: 'test-model',
    files: [change, { path: 'b.txt', change: 'created', added: 3, removed: 0 }],
    summary: [
      'Changed before the end:',
      '- a.txt: modified, +1 −1',
      '- b.txt: created, +3 −0',
      'Commands that were run, which may have changed more files:',
      '- npm test → exit code 1',
      '- make all → unknown: it may still have been running',
    ].join('\n'),
  })
  expect(asked).toEqual([{ sessionId: 'id-of-app', exceptIds: ['entry-1'] }])
  const late = await ear.heard('done', ({ data }) => data['id'] === 'run-2')
  expect(late.data).toMatchObject({
    outcome: 'interrupted',
    reason: 'copilot-proxy stopped before the run started.',
    files: [],
  })
  expect(await sessions.run('run-1')).toMatchObject({
    state: 'ended',
    outcome: 'interrupted',
    approvals: [{ approvalId: 'approval-1', state: 'expired' }],
    files: [{ ...change, diff: patch }, unrecorded],
    steps: [
      { step: 1 },
      { step: 2, texts: [{ kind: 'commentary', text: 'I patch it.' }], calls: [{ callId: 'call-1' }] },
      { step: 3 },
    ],
  })
  expect(problemOf(() => sessions.decide('approval-1', 'once'))).toBe('approval_decided')
  expect(problemOf(() => sessions.cancel('run-1'))).toBe('run_ended')
  const ids = ear.events.map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted((one, other) => one - other))
  expect(ear.events.filter(({ type }) => type === 'done')).toHaveLength(2)
})

test('the next message has the interrupted ones before it, with their steps, their changes and a note', async () => {
  const histories: AgentTask['history'][] = []
  const sessions = await openTestSessions({
    file: await leaveRun(),
    randomId: () => `new-${histories.length}`,
    changes: slowChanges,
    agent: async ({ history }) => {
      histories.push(history)
      return {}
    },
  })
  const ear = listenTo(sessions)
  const id = sessions.send('continue')
  await ear.heard('done', ({ data }) => data['id'] === id)
  const texts = histories[0]?.map((item) => (item.type === 'message' ? JSON.stringify(item.parts) : '')) ?? []
  expect(texts).toMatchObject([
    expect.stringContaining('change it'),
    expect.stringMatching(
      /was interrupted\. copilot-proxy stopped in the middle of the run\..*npm.*exit code 1.*I patch it\..*had not ended.*a\.txt: modified, \+1 −1/,
    ),
    expect.stringContaining('later'),
    expect.stringContaining('copilot-proxy stopped before the run started.'),
  ])
})

/** A journal that takes a while to read. */
async function slowChanges(): Promise<readonly FileChange[]> {
  await new Promise(setImmediate)
  return []
}

test('an interrupted run is never shown as running', async () => {
  const file = await leaveRun()
  const first = await openTestSessions({ file, changes: slowChanges })
  expect(await first.run('run-1')).toMatchObject({ state: 'ended', outcome: 'interrupted' })
  first.close()
  const second = await openTestSessions({ file: await leaveRun(), changes: slowChanges })
  expect(await second.messages('id-of-app', { limit: 5 })).toMatchObject([
    { id: 'run-1', state: 'ended', outcome: 'interrupted' },
    { id: 'run-2', state: 'ended', outcome: 'interrupted' },
  ])
})

test('an interrupted run ends only once', async () => {
  const file = await leaveRun()
  for (let start = 1; start <= 2; start += 1) {
    const sessions = await openTestSessions({ file })
    const ear = listenTo(sessions, { after: 0 })
    await ear.heard('done', ({ data }) => data['id'] === 'run-2')
    await sessions.stop(0)
    sessions.close()
    expect(ear.events.filter(({ type, data }) => type === 'done' && data['id'] === 'run-1')).toHaveLength(1)
  }
})

test('event ids continue after those of the previous process, and a client resumes across the restart', async () => {
  const file = await newFile()
  const first = await openTestSessions({ file })
  const ear = listenTo(first)
  first.send('one')
  const done = await ear.heard('done')
  await first.stop(1000)
  first.close()
  const second = await openTestSessions({ file, now: () => 1000, randomId: () => 'second' })
  const later = listenTo(second, { after: done.id - 1 })
  second.send('two')
  await later.heard('done', ({ data }) => data['id'] === 'second')
  expect(later.events[0]).toEqual(done)
  expect(later.events.map(({ type, data }) => data['state'] ?? type)).toEqual([
    'done',
    'idle',
    'shutdown',
    'inbound',
    'started',
    'done',
    'idle',
  ])
  const ids = later.events.map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
})

test('a damaged file is moved aside, and clients with ids of it get a gap event', async () => {
  const file = await newFile()
  mkdirSync(dirname(file))
  writeFileSync(file, 'no database'.repeat(1000))
  const sessions = await openTestSessions({ file })
  const ear = listenTo(sessions, { after: 5 })
  expect(ear.events).toMatchObject([{ type: 'gap', data: { from: 6, to: expect.any(Number) } }])
  sessions.send('hello')
  const done = await ear.heard('done')
  expect(done.id).toBeGreaterThan(Number(ear.events[0]?.data['to']))
  expect(readFileSync(`${file}.damaged`, 'latin1')).toContain('no database')
  expect(sessions.log.lines).toContainEqual(
    expect.objectContaining({ level: 'error', fields: expect.objectContaining({ file: `${file}.damaged` }) }),
  )
})

test('a file of a newer version is refused and stays unchanged', async () => {
  const file = await newFile()
  openSessionStore(file).close()
  const { DatabaseSync } = await import('node:sqlite')
  const newer = new DatabaseSync(file)
  newer.exec('PRAGMA user_version = 99')
  newer.close()
  const before = readFileSync(file)
  const sessions = await openTestSessions({ file })
  expect(problemOf(() => sessions.send('hello'))).toBe('sessions_unavailable')
  expect(problemOf(() => listenTo(sessions))).toBe('sessions_unavailable')
  await expect(sessions.messages('id-of-app', { limit: 1 })).rejects.toMatchObject({
    error: { problem: 'sessions_unavailable' },
  })
  expect(readFileSync(file).equals(before)).toBe(true)
})

test('the file is created only with the first message or listener', async () => {
  const file = await newFile()
  const sessions = await openTestSessions({ file })
  expect(sessions.openRuns('id-of-app')).toEqual([])
  sessions.remove('app')
  await sessions.stop(0)
  expect(existsSync(file)).toBe(false)
  listenTo(sessions)
  expect(existsSync(file)).toBe(true)
})

test('a full disk ends no run: it is reported and logged once, and events in memory are stored when there is room', async () => {
  const file = await newFile()
  const settings = 'agent: { max-steps: 30 }'
  const sessions = await openTestSessions({
    file,
    settings,
    maxBytes: 600 * 1024,
    agent: async (task) => {
      const { emit, text } = task
      for (let number = 0; number < 40; number += 1) {
        emit({ type: 'fragment', kind: 'commentary', text: `${number} ${text.slice(0, 1).repeat(20_000)}` })
      }
      return text === 'wait' ? waitingAgent(task) : {}
    },
  })
  const ear = listenTo(sessions)
  const id = sessions.send('fill')
  expect((await ear.heard('error')).data).toMatchObject({ code: 'disk_full', sessionId: 'id-of-app' })
  expect((await ear.heard('done')).data).toMatchObject({ id, outcome: 'completed' })
  expect(ear.events.filter(({ type }) => type === 'fragment')).toHaveLength(40)
  const second = sessions.send('x')
  await ear.heard('done', ({ data }) => data['id'] === second)
  expect(ear.events.filter(({ type }) => type === 'error')).toHaveLength(1)
  expect(sessions.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
})

test('a disk that is too full for an attachment is reported and ends no run', async () => {
  const text = 'x'.repeat(2 * 2 ** 20)
  const sessions = await openTestSessions({
    file: await newFile(),
    maxBytes: 2 ** 20,
    agent: async () => ({ items: [{ type: 'message', role: 'user', parts: [{ type: 'text', text }], path: '' }] }),
  })
  const ear = listenTo(sessions)
  const id = sessions.send('Look')
  expect((await ear.heard('done')).data).toMatchObject({ id, outcome: 'completed' })
  expect(ear.events.filter(({ type }) => type === 'error').map(({ data }) => data['code'])).toEqual(['disk_full'])
})

test('a process with optional sessions runs without a record while another one has the file, and reports it', async () => {
  const file = await newFile()
  const first = await openTestSessions({ file })
  const firstEar = listenTo(first)
  first.send('one')
  await firstEar.heard('done')
  const second = await openTestSessions({ file, isOptional: true })
  const ear = listenTo(second)
  second.send('two')
  await ear.heard('done')
  expect((await ear.heard('error')).data).toMatchObject({ code: 'sessions_not_stored' })
  expect(await first.messages('id-of-app', { limit: 5 })).toMatchObject([{ text: 'one' }])
  const third = await openTestSessions({ file, randomId: () => 'run-3' })
  expect(problemOf(() => third.send('three'))).toBe('sessions_unavailable')
  await first.stop(0)
  first.close()
  third.send('three')
  expect(await third.messages('id-of-app', { limit: 5 })).toMatchObject([{ text: 'one' }, { text: 'three' }])
})
