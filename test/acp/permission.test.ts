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
    ['that no rule answers', { argv: ['x'], closed: ['It is read-only.'] }, 'Run this command?', /It is read-only\./],
    ['that is too long', { argv: ['x'], truncated: true }, 'Run this command?', /too long to show/],
    ['of a plan', { tool: 'mcp.plan.submit', plan: '1. Look' }, 'Accept this plan?', /1\. Look.*changes nothing/],
    ['with hidden characters', { paths: ['a\u202eb'], tool: 'mcp.edit.replace' }, String.raw`Change a\u202eb?`, /./],
  ])('%s', (_name, fields, title, content) => {
    const { toolCall } = toQuestion(root, approval(fields), [])
    expect(toolCall).toMatchObject({ title, status: 'pending', toolCallId: 'run/call' })
    expect(JSON.stringify(toolCall.content)).toMatch(content)
  })
})

test('the options are the decisions that can be made, the narrowest first', () => {
  const { options } = toQuestion(root, approval({ argv: ['x'] }), [])
  expect(options.map(({ kind }) => kind)).toEqual(['allow_once', 'allow_always', 'reject_once'])
  const protectedFile = toQuestion(root, approval({ paths: ['.mcp.json'], decisions: ['once', 'refuse'] }), [])
  expect(protectedFile.options.map(({ optionId }) => optionId)).toEqual(['once', 'refuse'])
  const rules = Object.assign(approval({ argv: ['npm', 'test'] }), { always: ['run: npm test'] })
  expect(toQuestion(root, rules, []).options.map(({ name, kind }) => [kind, name])).toEqual([
    ['allow_once', 'Allow once'],
    ['allow_always', 'Allow for this run'],
    ['allow_always', 'Always allow in this workspace: run: npm test'],
    ['reject_once', 'Refuse'],
  ])
  // An editor may answer with anything.
  expect(['once', 'run', 'refuse', 'x'].map((id) => toDecision(protectedFile, id))).toEqual([
    'once',
    'refuse',
    'refuse',
    'refuse',
  ])
})
