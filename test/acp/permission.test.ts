import { describe, expect, test } from 'vitest'
import { toDecision, toQuestion } from '../../src/acp/permission.ts'
import { daemonEvent } from '../../src/api/events.ts'
import type { ApprovalEvent } from '../../src/api/events.ts'

const root = '/home/me/shop'

function approval(fields: object): ApprovalEvent {
  const facts = { sessionId: 's', time: '', id: 'run', approvalId: 'a', callId: 'call', tool: 'mcp.shell.run' }
  const event = daemonEvent.parse({ type: 'approval', state: 'pending', ...facts, ...fields })
  if (event.type !== 'approval') throw new Error('no approval')
  return event
}

describe('a question', () => {
  test.each<[string, object, string, RegExp]>([
    ['of a command', { argv: ['rm', 'a b'], cwd: 'src' }, 'Run this command?', /# in src\\nrm \\"a b\\"/],
    ['of a secret', { tool: 'mcp.fs.read', reads: ['.env'] }, 'Let the agent read .env?', /looks like a secret/],
    ['beyond the sandbox', { argv: ['x'], widening: 'network' }, 'Run this command again with network?', /public host/],
    ['of a tool of another program', { tool: 'mcp.db.drop', args: { all: true } }, 'Call mcp.db.drop?', /all/],
    [
      'with hidden characters in arguments',
      { tool: 'mcp.db.add', args: { a: 'b\u202ec' } },
      'Call mcp.db.add?',
      /b\\\\u202ec/,
    ],
    [
      'of a change with hidden characters',
      { tool: 'mcp.edit.replace', paths: ['a'], diff: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\u202ez\n' },
      'Change a?',
      /hidden characters:.*y\\\\u202ez/,
    ],
    [
      'of a change that makes a file executable',
      {
        tool: 'mcp.edit.applyPatch',
        paths: ['a'],
        files: [{ path: 'a', change: 'modified', executable: true, added: 1, removed: 1 }],
        diff: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n',
      },
      'Change a?',
      /a: changed, made executable/,
    ],
    [
      'of a rename among other changes',
      {
        tool: 'mcp.edit.applyPatch',
        paths: ['a', 'old', 'new'],
        files: [
          { path: 'a', change: 'modified', added: 1, removed: 1 },
          { path: 'new', from: 'old', change: 'renamed', added: 0, removed: 0 },
        ],
        diff: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n',
      },
      'Change 2 files?',
      /old → new: renamed/,
    ],
    ['that no rule answers', { argv: ['x'], closed: ['It is read-only.'] }, 'Run this command?', /It is read-only\./],
    ['that is too long', { argv: ['x'], truncated: true }, 'Run this command?', /too long to show/],
    ['of a plan', { tool: 'mcp.plan.submit', plan: '1. Look' }, 'Accept this plan?', /1\. Look.*changes nothing/],
    ['with hidden characters', { paths: ['a\u202eb'], tool: 'mcp.edit.replace' }, String.raw`Change a\u202eb?`, /./],
  ])('%s', (_name, fields, title, content) => {
    const { toolCall } = toQuestion(root, approval(fields))
    expect(toolCall).toMatchObject({ title, status: 'pending', toolCallId: 'run/call' })
    expect(JSON.stringify(toolCall.content)).toMatch(content)
  })
})

test('the options are the decisions that can be made, the narrowest first', () => {
  const { options } = toQuestion(root, approval({ argv: ['x'] }))
  expect(options.map(({ kind }) => kind)).toEqual(['allow_once', 'allow_always', 'reject_once'])
  const protectedFile = toQuestion(root, approval({ paths: ['.mcp.json'], decisions: ['once', 'refuse'] }))
  expect(protectedFile.options.map(({ optionId }) => optionId)).toEqual(['once', 'refuse'])
  const rules = Object.assign(approval({ argv: ['npm', 'test'] }), { always: ['run: npm test'] })
  expect(toQuestion(root, rules).options.map(({ name, kind }) => [kind, name])).toEqual([
    ['allow_once', 'Allow once'],
    ['allow_always', 'Allow for this run'],
    ['allow_always', 'Always allow in this workspace: run: npm test'],
    ['reject_once', 'Refuse'],
  ])
})

test.each<[unknown, string]>([
  [{ outcome: 'selected', optionId: 'once' }, 'once'],
  [{ outcome: 'selected', optionId: 'run' }, 'refuse'],
  [{ outcome: 'selected', optionId: 'refuse' }, 'refuse'],
  [{ outcome: 'selected', optionId: 'x' }, 'refuse'],
  [{ outcome: 'selected' }, 'refuse'],
  [{ outcome: 'selected', optionId: 1 }, 'refuse'],
  [{ outcome: 'allowed', optionId: 'once' }, 'refuse'],
  [{ outcome: 'cancelled' }, 'cancelled'],
  [null, 'refuse'],
  [undefined, 'refuse'],
])('an editor may answer with anything: %j is %s', (outcome, decision) => {
  const question = toQuestion(root, approval({ paths: ['.mcp.json'], decisions: ['once', 'refuse'] }))
  expect(toDecision(question, { outcome })).toBe(decision)
  if (outcome === undefined) expect(toDecision(question, undefined)).toBe(decision)
})
