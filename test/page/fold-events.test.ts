import { describe, expect, test } from 'vitest'
import type { DaemonEvent } from '../../src/api/events.ts'
import type { Timeline } from '../../src/page/timeline.ts'
import {
  emptyTimeline,
  foldChanges,
  foldEvent,
  foldHistory,
  foldReport,
  pendingApprovals,
} from '../../src/page/static/fold-events.js'

const run = { id: 'r1', sessionId: 's1', time: '2026-11-24T10:00:00.000Z' }
const inbound = { ...run, type: 'inbound', text: 'Fix it', mode: 'agent', origin: 'user' } as const
const fragment = (text: string, kind: 'answer' | 'commentary' | 'notice' = 'answer') =>
  ({ ...run, type: 'fragment', text, kind }) as const
const tool = { ...run, type: 'tool', callId: 'c1', tool: 'fs_read', step: 1 } as const
const started = { ...tool, state: 'started', args: {} } as const
const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 0 }
const done = {
  ...run,
  type: 'done',
  outcome: 'completed',
  reason: '',
  summary: '',
  answer: 'Hello',
  steps: 1,
  requests: 1,
  files: [],
  usage,
} as const
const approval = { ...run, type: 'approval', approvalId: 'a1', callId: 'c1', tool: 'shell_run' } as const

const fold = (events: readonly DaemonEvent[], from: Timeline = emptyTimeline): Timeline =>
  events.reduce((timeline, event, at) => foldEvent(timeline, event, `event ${at}`), from)

function onlyRun({ items }: Timeline) {
  const [item, ...others] = items
  expect(others).toEqual([])
  if (item?.kind !== 'run') throw new Error('no run')
  return item
}

const texts = (events: readonly DaemonEvent[]) =>
  onlyRun(fold(events)).parts.map((part) => part.kind === 'text' && part.text)

test('joins the fragments of a text, and begins anew where another part came between', () => {
  const { parts, text, end } = onlyRun(
    fold([inbound, fragment('He'), fragment('llo'), fragment('why', 'commentary'), fragment('!')]),
  )
  expect(parts.map((part) => part.kind === 'text' && part.text)).toEqual(['Hello', 'why', '!'])
  expect([text, end]).toEqual(['Fix it', undefined])
})

const instructions = (path: string, state: 'new' | 'unchanged' | 'changed') =>
  ({ path, state, sha256: 'hash' }) as const

test('says which instructions of the repository are new or changed, as it happens and from the record', () => {
  const files = [
    instructions('AGENTS.md', 'changed'),
    instructions('a/AGENTS.md', 'unchanged'),
    instructions('b/CLAUDE.md', 'new'),
  ]
  const shown = ['AGENTS.md has changed since the last run.', 'Uses b/CLAUDE.md.']
  const live = fold([inbound, ...files.map((each) => ({ ...run, type: 'instructions', ...each }) as const)])
  expect(onlyRun(live).parts.map((part) => part.kind === 'text' && part.text)).toEqual(shown)
  const recorded = {
    ...run,
    conversationId: 'c1',
    text: 'Fix it',
    mode: 'agent',
    origin: 'user',
    state: 'running',
    step: 1,
    startedAt: run.time,
    steps: [],
    approvals: [],
    instructions: files,
    files: [],
    changes: [],
    requests: 1,
    usage,
  } as const
  expect(onlyRun(foldReport(live, recorded)).parts.map((part) => part.kind === 'text' && part.text)).toEqual(shown)
})

test('knows what a run has used so far, and at its end', () => {
  const used = { requests: 2, usage: { ...usage, credits: 0.5 }, context: { tokens: 5, limit: 100 } }
  const running = fold([inbound, { ...run, type: 'usage', ...used }])
  expect(onlyRun(running)).toMatchObject({ used })
  expect(onlyRun(fold([{ ...done, ...used }], running)).end).toMatchObject(used)
})

test('follows a call from its start to its end', () => {
  const timeline = fold([
    inbound,
    { ...started, args: { path: 'a' } },
    { ...tool, state: 'progress', text: 'ab' },
    { ...tool, state: 'progress', text: 'c' },
  ])
  expect(onlyRun(timeline).parts).toMatchObject([
    { kind: 'tool', tool: 'fs_read', args: { path: 'a' }, progress: 'abc' },
  ])
  const ended = fold(
    [{ ...tool, state: 'ended', outcome: 'denied', message: 'The policy forbids it.', durationMs: 3 }],
    timeline,
  )
  expect(onlyRun(ended).parts).toMatchObject([
    { outcome: 'denied', message: 'The policy forbids it.', args: { path: 'a' } },
  ])
})

test('shares what an event did not change, so that a view draws only the rest', () => {
  const before = fold([inbound, started, fragment('a')])
  const after = fold([fragment('b')], before)
  expect(onlyRun(after).parts[0]).toBe(onlyRun(before).parts[0])
  expect(onlyRun(after).parts[1]).not.toBe(onlyRun(before).parts[1])
})

test('an approval waits until it is decided or its run ends', () => {
  const asked = fold([inbound, { ...approval, state: 'pending', argv: ['npm', 'test'] }])
  expect(pendingApprovals(asked)).toMatchObject([
    { run: { key: 'r1' }, approval: { approvalId: 'a1', argv: ['npm', 'test'] } },
  ])
  expect(pendingApprovals(fold([{ ...approval, state: 'refuse' }], asked))).toEqual([])
  expect(pendingApprovals(fold([{ ...done, outcome: 'cancelled' }], asked))).toEqual([])
})

test('a diff belongs to the call that made it', () => {
  const timeline = fold([
    inbound,
    started,
    { ...run, type: 'diff', callId: 'c1', patchId: 'p1', diff: '--- a', files: [] },
  ])
  expect(onlyRun(timeline).parts).toMatchObject([{ tool: 'fs_read', diff: '--- a' }])
})

test('the end shows an answer that no fragment brought, and does not repeat one that came', () => {
  expect(texts([inbound, done])).toEqual(['Hello'])
  expect(texts([inbound, fragment('Hello'), done])).toEqual(['Hello'])
})

test('a run whose message was not seen is shown all the same', () => {
  expect(onlyRun(fold([fragment('late')]))).toMatchObject({ key: 'r1', text: '', parts: [{ text: 'late' }] })
})

describe('history', () => {
  const message = {
    id: 'r0',
    conversationId: 'c1',
    text: 'Before',
    mode: 'chat',
    origin: 'user',
    state: 'ended',
    time: '2026-11-24T09:00:00.000Z',
    outcome: 'completed',
    answer: 'Yes',
  } as const

  test('comes before the events, once, and completes messages that were not seen', () => {
    const timeline = fold([{ ...fragment('late'), time: '' }])
    const { outcome: _outcome, answer: _answer, ...recent } = message
    const messages = [message, { ...recent, id: 'r1', text: 'Fix it', time: run.time }]
    const merged = foldHistory(foldHistory(timeline, messages), messages)
    expect(merged.items).toMatchObject([
      { key: 'r0', text: 'Before', isRecalled: true, end: { outcome: 'completed' }, parts: [{ text: 'Yes' }] },
      { key: 'r1', text: 'Fix it', time: run.time, parts: [{ text: 'late' }] },
    ])
  })

  test('a message of the history says who sent it, how its run ended and what that used', () => {
    const files = [{ path: 'a', change: 'modified', added: 1, removed: 0 }] as const
    const end = {
      outcome: 'failed',
      reason: 'No model.',
      summary: 'S',
      model: 'm',
      steps: 2,
      requests: 3,
      files,
      usage: { ...usage, credits: 0.5 },
    } as const
    const attachments = [{ name: 'a.txt', mediaType: 'text/plain' }]
    const given = { ...message, origin: 'provider', provider: 'build', attachments, ...end } as const
    expect(onlyRun(foldHistory(emptyTimeline, [given]))).toMatchObject({
      provider: 'build',
      attachments: ['a.txt'],
      end,
    })
  })

  test('changes come to the run that made them, and to no other item', () => {
    const before = foldHistory(emptyTimeline, [message])
    const change = { id: '1-a', time: run.time, files: [{ path: 'a', change: 'created' as const }] }
    const { items } = foldChanges(before, [{ ...change, runId: 'r0', undoneBy: '2-a' }, change])
    expect(items).toMatchObject([{ key: 'r0', changes: [{ id: '1-a', undoneBy: '2-a' }] }])
    expect(foldChanges(before, [{ ...change, runId: 'other' }]).items[0]).toBe(before.items[0])
  })

  test("a report brings a run's steps, approvals and end", () => {
    const timeline = foldHistory(emptyTimeline, [message])
    const reported = foldReport(timeline, {
      id: 'r0',
      sessionId: 's1',
      conversationId: 'c1',
      text: 'Before',
      mode: 'agent',
      origin: 'user',
      startedAt: run.time,
      files: [],
      changes: [],
      requests: 2,
      usage,
      state: 'ended',
      outcome: 'max_steps',
      reason: 'The limit of 2 steps is reached.',
      answer: 'Yes',
      step: 2,
      steps: [
        {
          step: 1,
          texts: [{ kind: 'commentary', text: 'I read it.' }],
          calls: [{ callId: 'c', tool: 'fs_read', args: { path: 'a' }, outcome: 'ok', result: 'text', durationMs: 2 }],
        },
      ],
      approvals: [{ approvalId: 'a', callId: 'c', tool: 'shell_run', state: 'once' }],
    })
    expect(onlyRun(reported)).toMatchObject({
      isRecalled: false,
      end: { outcome: 'max_steps', steps: 2 },
      parts: [
        { text: 'Step 1' },
        { fragment: 'commentary', text: 'I read it.' },
        { tool: 'fs_read', args: { path: 'a' }, result: 'text' },
        { approvalId: 'a', state: 'once' },
        { text: 'Yes' },
      ],
    })
  })
})

test('an approval has everything that a person should know, and keeps it when it is decided', () => {
  const facts = {
    approvalId: 'a',
    callId: 'c',
    tool: 'mcp.plan.submit',
    plan: '# Plan',
    closed: ['This workspace is read-only.'],
    decisions: ['once', 'refuse'],
  } as const
  const parts = onlyRun(
    fold([
      inbound,
      { ...run, ...facts, type: 'approval', state: 'pending' },
      { ...run, type: 'approval', approvalId: 'a', callId: 'c', tool: 'mcp.plan.submit', state: 'once' },
    ]),
  ).parts
  const { callId: _, ...shown } = facts
  expect(parts).toEqual([{ kind: 'approval', key: 'approval a', ...shown, state: 'once' }])
})

test('notes tell of pushes, errors and gaps', () => {
  const common = { sessionId: 's1', time: run.time }
  const { items } = fold([
    { ...common, type: 'push', provider: 'ci', stream: 'builds', level: 'surface', text: 'red' },
    { ...common, type: 'error', code: 'disk_full', message: 'The disk is full.' },
    { type: 'gap', from: 4, to: 9 },
  ])
  expect(items).toMatchObject([
    { tone: 'push', title: 'ci, builds', text: 'red' },
    { tone: 'error', text: 'The disk is full.' },
    { tone: 'gap', title: 'Missed events: 6' },
  ])
})

test('keeps a bounded number of items and characters', () => {
  const many = fold(Array.from({ length: 400 }, (_, at) => ({ ...inbound, id: `r${at}` })))
  expect(many.items).toHaveLength(300)
  expect(many.items.at(-1)).toMatchObject({ key: 'r399' })
  const long = fold([
    inbound,
    ...Array.from({ length: 10 }, () => ({ ...tool, state: 'progress', text: 'x'.repeat(5000) }) as const),
  ])
  expect(onlyRun(long).parts).toMatchObject([{ progress: 'x'.repeat(20_000) }])
})

describe('a message that joins a run', () => {
  const joins = { ...inbound, id: 'm2', runId: 'r1', text: 'Use tabs', time: '2026-11-24T10:00:01.000Z' } as const

  test('stands in the stream of that run', () => {
    const { parts } = onlyRun(fold([inbound, fragment('Hel'), joins, fragment('lo')]))
    expect(parts).toMatchObject([
      { text: 'Hel' },
      { kind: 'message', key: 'message m2', text: 'Use tabs' },
      { text: 'lo' },
    ])
  })

  test('moves to the run that it starts because no model has read it', () => {
    const { runId: _runId, ...own } = joins
    const { items } = fold([inbound, joins, own, done])
    expect(items).toMatchObject([
      { key: 'r1', parts: [{ fragment: 'answer' }] },
      { key: 'm2', text: 'Use tabs', parts: [] },
    ])
  })
})

test('keeps the last plan of a run', () => {
  const plan = { ...run, type: 'plan', items: [{ text: 'Fix it', state: 'pending' }] } as const
  const last = { ...plan, items: [{ text: 'Fix it', state: 'completed' }] } as const
  expect(onlyRun(fold([inbound, plan, last])).plan).toEqual(last.items)
})
