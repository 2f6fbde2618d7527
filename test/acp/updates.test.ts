import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { describe, expect, test } from 'vitest'
import { createUpdates } from '../../src/acp/updates.ts'
import type { UpdatesOptions } from '../../src/acp/updates.ts'
import { daemonEvent } from '../../src/api/events.ts'

const root = '/home/me/shop'
const ofRun = { id: 'run', conversationId: 'c', sessionId: 's', time: '2026-11-29T00:00:00Z' }
const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, credits: 2 }
const ofTool = { type: 'tool', callId: 'call', tool: 'mcp.shell.run', step: 1 }
const ofDone = { type: 'done', answer: '', steps: 1, requests: 1, files: [], usage }
const edit = '--- a/a.js\n+++ b/a.js\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9,1 +9,2 @@\n-far\n+far\n+more\n'

/** The updates for events, of which only the fields that matter are given. */
function toUpdates(events: readonly object[], options: Partial<UpdatesOptions> = {}): readonly SessionUpdate[] {
  const updates = createUpdates({ root, client: {}, creditsBefore: 0, ...options })
  return events.flatMap((event) => updates.of(daemonEvent.parse({ ...ofRun, ...event })))
}

describe('an event becomes what editors show', () => {
  test.each<[string, readonly object[], object | undefined]>([
    [
      'an answer',
      [{ type: 'fragment', kind: 'answer', text: 'Hi', step: 1 }],
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Hi' } },
    ],
    ['a thought', [{ type: 'fragment', kind: 'thinking', text: 'Hm' }], { sessionUpdate: 'agent_thought_chunk' }],
    ['no header of a step', [{ type: 'fragment', kind: 'step', text: 'Step 1 of 30' }], undefined],
    [
      'a call of a tool of another program',
      [{ ...ofTool, tool: 'mcp.db.query', state: 'started', args: { query: 'x' } }],
      { sessionUpdate: 'tool_call', kind: 'other', title: 'db.query x', toolCallId: 'run/call' },
    ],
    [
      'a patch in the format of GPT models',
      [
        {
          ...ofTool,
          tool: 'mcp.edit.applyPatch',
          state: 'started',
          args: {
            unifiedDiff:
              '*** Begin Patch\n*** Update File: a.js\n@@\n-old\n+new\n*** Delete File: b.js\n*** End Patch\n',
          },
        },
      ],
      { title: 'Change a.js, b.js', locations: [{ path: `${root}/a.js` }, { path: `${root}/b.js` }] },
    ],
    [
      'a patch that names no file',
      [{ ...ofTool, tool: 'mcp.edit.applyPatch', state: 'started', args: { unifiedDiff: 'x' } }],
      { title: 'Change', locations: [] },
    ],
    [
      'a call with hidden characters',
      [{ ...ofTool, state: 'started', args: { argv: ['ls', '\u202ex'] } }],
      { title: String.raw`Run ls \u202ex` },
    ],
    [
      'the lines that a call reads',
      [{ ...ofTool, tool: 'mcp.fs.read', state: 'started', args: { path: 'a.js', range: { start: 7, end: 9 } } }],
      { kind: 'read', locations: [{ path: `${root}/a.js`, line: 7 }] },
    ],
    [
      'a failed call',
      [{ ...ofTool, state: 'ended', outcome: 'denied', message: 'The policy denies it.', durationMs: 1 }],
      { status: 'failed', content: [{ content: { text: 'The policy denies it.' } }] },
    ],
    [
      'each hunk of a change',
      [{ type: 'diff', callId: 'call', patchId: '1', diff: edit, files: [] }],
      {
        content: [
          { type: 'diff', path: `${root}/a.js`, oldText: 'same\nold\n', newText: 'same\nnew\n' },
          { type: 'diff', path: `${root}/a.js`, oldText: 'far\n', newText: 'far\nmore\n' },
        ],
      },
    ],
    [
      'a new file',
      [{ type: 'diff', callId: 'call', patchId: '1', diff: '--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n', files: [] }],
      { content: [{ type: 'diff', path: `${root}/b`, oldText: null, newText: 'x\n' }] },
    ],
    [
      'how full the context is, with the credits of the session',
      [{ type: 'usage', requests: 1, usage, context: { tokens: 5, limit: 10 } }],
      { sessionUpdate: 'usage_update', used: 5, size: 10, cost: { amount: 2, currency: 'credits' } },
    ],
    ['no use of a context of unknown size', [{ type: 'usage', requests: 1, usage, context: { tokens: 5 } }], undefined],
    [
      'no notice for an answer alone',
      [{ ...ofDone, outcome: 'completed', reason: 'r', summary: 'No file.' }],
      undefined,
    ],
    ['nothing of other events', [{ type: 'lifecycle', state: 'idle' }], undefined],
  ])('%s', (_name, events, expected) => {
    const updates = toUpdates(events)
    if (expected === undefined) expect(updates).toEqual([])
    else expect(updates).toMatchObject([expected])
  })
})

test('the output of a call is replaced by a longer one, and stays beside its diff', () => {
  const updates = toUpdates([
    { ...ofTool, state: 'started', args: { argv: ['make'] } },
    { ...ofTool, state: 'progress', text: 'one ' },
    { ...ofTool, state: 'progress', text: 'two' },
    { type: 'diff', callId: 'call', patchId: '1', diff: edit, files: [] },
    { ...ofTool, state: 'ended', outcome: 'ok', message: 'exit code 0', result: '```\nx', durationMs: 1 },
  ])
  const texts = updates.map((update) => JSON.stringify(update))
  expect(texts[2]).toContain(String.raw`one two`)
  expect(updates.at(-1)).toMatchObject({
    status: 'completed',
    // A longer fence, so that the output cannot end it.
    content: [{ type: 'diff' }, { type: 'diff' }, { content: { text: '````\n```\nx\n````' } }],
  })
})

test('credits of earlier runs and of this one are added up', () => {
  const used = { type: 'usage', requests: 1, usage, context: { tokens: 5, limit: 10 } }
  const end = { ...ofDone, outcome: 'completed', reason: 'r', summary: '' }
  const updates = toUpdates([used, used, end, used], { creditsBefore: 10 })
  expect(updates.flatMap((each) => (each.sessionUpdate === 'usage_update' ? each.cost?.amount : []))).toEqual([
    12, 12, 14,
  ])
})

describe('the end of a run', () => {
  const acting = { ...ofTool, state: 'started', args: { argv: ['make'] } }
  const end = {
    ...ofDone,
    reason: 'It reached its limit.',
    summary: 'It reached its limit.\nNo file was changed.\nThe model says:\n> x',
  }
  const compaction = { type: 'compaction', step: 2, isSummarised: true, messages: 1, calls: 1, tokens: 1 }

  test('states what was really changed after a run that acted, and why it ended', () => {
    const [, notice] = toUpdates([acting, { ...end, outcome: 'max_steps' }])
    expect(notice).toMatchObject({
      content: { text: expect.stringContaining('It reached its limit.\nNo file was changed.') },
    })
    const [, completed] = toUpdates([acting, { ...end, outcome: 'completed' }])
    expect(completed).toMatchObject({ content: { text: '\n\nNo file was changed.\n\n' } })
  })

  test('does not repeat the answer of a chat', () => {
    const answer = 'The build is green.\nAll of it.'
    const read = { ...ofTool, tool: 'mcp.ci.status', state: 'started', args: {} }
    expect(toUpdates([read, { ...end, outcome: 'completed', summary: answer, answer }])).toHaveLength(1)
  })

  test('says a reason once that a notice has told, and names the command that undoes', () => {
    const told = { type: 'fragment', kind: 'notice', text: end.reason }
    const changed = 'It reached its limit.\nChanged 1 file:\n  modified a.js (+1 −1)\nTo undo: 00000001-aa.'
    const updates = toUpdates([acting, told, { ...end, outcome: 'max_steps', summary: changed }])
    const text = JSON.stringify(updates)
    expect(text.split('It reached its limit.')).toHaveLength(2)
    expect(text).toContain('To undo: copilot-proxy undo 00000001-aa')
    expect(toUpdates([told, { ...end, outcome: 'max_steps' }])).toHaveLength(1)
    expect(toUpdates([told, { ...end, outcome: 'failed', reason: 'Another one.' }])).toHaveLength(2)
  })

  test('is a notice, and a compaction an update, for editors that take them', () => {
    const client = { session: { notices: {}, compaction: {} } }
    expect(toUpdates([compaction, acting, { ...end, outcome: 'max_steps' }], { client })).toMatchObject([
      { sessionUpdate: 'compaction_update', compactionId: 'run/2', status: 'completed' },
      {},
      {
        sessionUpdate: 'notice',
        severity: 'warning',
        title: 'It reached its limit.',
        description: 'No file was changed.',
      },
    ])
    expect(toUpdates([compaction])).toEqual([])
  })
})
