import { expect, test } from 'vitest'
import { replayRun } from '../../src/acp/replay.ts'
import { runReport } from '../../src/api/run.ts'

const root = '/home/me/shop'

const report = runReport.parse({
  id: 'run',
  sessionId: 's',
  conversationId: 'c',
  text: 'Repair it.',
  mode: 'agent',
  origin: 'user',
  attachments: [{ name: 'a.png', mediaType: 'image/png' }],
  joined: [
    { id: 'second', text: 'Be quick.', time: '', step: 2 },
    { id: 'third', text: 'Thanks.', time: '' },
  ],
  state: 'ended',
  step: 2,
  outcome: 'completed',
  answer: 'It is repaired.',
  startedAt: '',
  steps: [
    {
      step: 1,
      texts: [
        { kind: 'commentary', text: 'I look.' },
        { kind: 'notice', text: 'Another model took over.' },
      ],
      calls: [
        { callId: '1', tool: 'mcp.plan.set', args: {}, outcome: 'ok', message: '' },
        { callId: '2', tool: 'mcp.shell.run', args: { argv: ['ls'] }, outcome: 'ok', message: '', result: 'a.js' },
      ],
    },
    {
      step: 2,
      texts: [],
      calls: [
        {
          callId: '3',
          tool: 'mcp.edit.replace',
          args: { path: 'a.js', oldText: 'old', newText: 'new' },
          outcome: 'ok',
          message: '',
        },
        { callId: '4', tool: 'mcp.edit.replace', args: { path: 'b.js', oldText: 'old', newText: 'new' } },
      ],
    },
  ],
  approvals: [],
  plan: [{ text: 'Look', state: 'completed' }],
  files: [],
  changes: [],
  requests: 1,
  usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
})

test('a run of the past is told in its order: messages, words, calls, the plan and the answer', () => {
  const diff = { type: 'diff', path: `${root}/a.js`, oldText: 'old', newText: 'new' }
  expect(replayRun(root, report)).toMatchObject([
    { sessionUpdate: 'user_message_chunk', content: { text: 'Repair it.\n\n(Attached: a.png)' } },
    { sessionUpdate: 'agent_message_chunk', content: { text: 'I look.' } },
    {
      sessionUpdate: 'tool_call',
      title: 'Run ls',
      status: 'completed',
      content: [{ content: { text: expect.stringContaining('a.js') } }],
    },
    { sessionUpdate: 'user_message_chunk', content: { text: 'Be quick.' } },
    { sessionUpdate: 'tool_call', status: 'completed', content: [diff] },
    // The run ended before this call.
    { sessionUpdate: 'tool_call', status: 'failed', content: [] },
    { sessionUpdate: 'user_message_chunk', content: { text: 'Thanks.' } },
    { sessionUpdate: 'plan', entries: [{ content: 'Look', status: 'completed' }] },
    { sessionUpdate: 'agent_message_chunk', content: { text: 'It is repaired.' } },
  ])
})

test('a call that still runs is shown as such', () => {
  const calls = replayRun(root, { ...report, state: 'running' }).filter((each) => each.sessionUpdate === 'tool_call')
  expect(calls.at(-1)).toMatchObject({ status: 'in_progress' })
})

test('a patch in the format of GPT models is shown as the change that it made', () => {
  const unifiedDiff =
    '*** Begin Patch\n*** Update File: a.js\n@@\n same\n-old\n+new\n*** Add File: b.js\n+b\n*** End Patch\n'
  const call = { callId: '1', tool: 'mcp.edit.applyPatch', args: { unifiedDiff }, outcome: 'ok' as const, message: '' }
  const calls = replayRun(root, { ...report, steps: [{ step: 1, texts: [], calls: [call] }] })
  expect(calls.find((each) => each.sessionUpdate === 'tool_call')).toMatchObject({
    title: 'Change a.js, b.js',
    content: [
      { type: 'diff', path: `${root}/a.js`, oldText: 'same\nold\n', newText: 'same\nnew\n' },
      { type: 'diff', path: `${root}/b.js`, oldText: null, newText: 'b\n' },
    ],
  })
})
