import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { statementIn } from '../../src/http/caller-statement.ts'
import { initiatorOf, interactionOf, purposeOf } from '../../src/pipeline/interaction.ts'
import { openProxy } from './harness.ts'
import { chatBody } from './client.ts'

const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]
const ofChat = (messages: readonly unknown[]) => ({ model: 'gpt-5-mini', tools, messages })
const saying = (first: string, last = first) => ({ prompts: { first, last, lastAt: 0 } })
const withTools = { isCompaction: false, toolCount: 1, ...saying('Build it') }
const plain = { ...withTools, toolCount: 0 }
const opencode = { 'user-agent': 'opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14' }
const summary = 'Here is the conversation so far:\n\n<conversation>\n[User]: hi'

describe('what a request is for', () => {
  test.each([
    [{}, plain, 'panel'],
    [{}, withTools, 'agent'],
    [{}, { ...withTools, isCompaction: true }, 'compaction'],
    // GitHub's own label
    [{ 'x-interaction-type': 'conversation-subagent' }, withTools, 'subagent'],
    [{ 'x-interaction-type': 'conversation-compaction', 'x-parent-session-id': 's1' }, plain, 'compaction'],
    [{ 'x-interaction-type': 'conversation-edits' }, withTools, 'agent'],
    [{ 'x-interaction-type': 'subagent' }, plain, 'panel'],
    // Claude Code
    [{ 'x-claude-code-agent-id': 'a1' }, withTools, 'subagent'],
    [{ 'x-claude-code-parent-agent-id': 'a1' }, plain, 'subagent'],
    [{ 'x-claude-code-request-class': 'main' }, withTools, 'agent'],
    [{ 'x-claude-code-request-class': 'subagent' }, withTools, 'subagent'],
    [{ 'x-claude-code-request-class': 'workflow' }, withTools, 'subagent'],
    [{ 'x-claude-code-request-class': 'compaction' }, withTools, 'compaction'],
    [{ 'x-claude-code-request-class': 'auxiliary' }, plain, 'background'],
    [{ 'x-claude-code-request-class': 'new-kind' }, withTools, 'agent'],
    [{ 'x-claude-code-request-class': 'compaction', 'x-claude-code-agent-id': 'a1' }, withTools, 'compaction'],
    [{ 'x-claude-code-compaction': 'auto' }, withTools, 'compaction'],
    // Codex
    [{ 'x-openai-subagent': 'review' }, withTools, 'subagent'],
    [{ 'x-openai-subagent': 'collab_spawn' }, withTools, 'subagent'],
    [{ 'x-openai-subagent': 'compact' }, withTools, 'compaction'],
    [{ 'x-openai-subagent': 'memory_consolidation' }, withTools, 'background'],
    [{ 'x-openai-subagent': 'a-later-one' }, withTools, 'subagent'],
    [{ 'x-codex-parent-thread-id': 't1' }, withTools, 'subagent'],
    // opencode
    [{ 'x-parent-session-id': 's1' }, withTools, 'subagent'],
    [opencode, plain, 'panel'],
    [opencode, { ...plain, ...saying('Generate a title for this conversation:\n', 'hi') }, 'background'],
    [opencode, { ...plain, ...saying(summary) }, 'compaction'],
    [opencode, { ...plain, ...saying('Build it', 'Update the anchored summary below using …') }, 'compaction'],
    [opencode, { ...withTools, ...saying(summary) }, 'agent'],
    [{ 'user-agent': 'my-opencode/1' }, { ...plain, ...saying(summary) }, 'panel'],
    [{ 'x-parent-session-id': '  ', 'x-openai-subagent': '' }, withTools, 'agent'],
    [{ 'x-openai-subagent': 'constructor' }, withTools, 'subagent'],
  ] as const)('%j with %j is %s', (headers, facts, purpose) => {
    expect(purposeOf(statementIn(headers), facts)).toBe(purpose)
  })
})

test.each(['history', 'last-message'] as const)(
  'under the rule "%s" no agent’s own work counts as the user’s',
  (rule) => {
    const first = { endsWithUser: true, hasAgentHistory: false }
    for (const purpose of ['subagent', 'compaction', 'background'] as const) {
      expect(initiatorOf(purpose, first, rule)).toBe('agent')
    }
    for (const purpose of ['agent', 'panel'] as const) expect(initiatorOf(purpose, first, rule)).toBe('user')
  },
)

describe('the id of a user turn', () => {
  const prompts = { first: 'Build it', last: 'Build it', lastAt: 1 }
  const idOf = (change: object = {}, salt = 'salt') =>
    interactionOf({}, 'agent', { sessionId: 'session-1', prompts, ...change }, salt).id

  test('is a random-form UUID for any prompt', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), fc.integer({ min: -1 }), (last, sessionId, lastAt) => {
        const id = idOf({ sessionId, prompts: { first: last, last, lastAt } })
        expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
        expect(interactionOf(statementIn({ 'x-interaction-id': id }), 'agent', { prompts }, 's').stated).toEqual({
          'x-interaction-id': id,
        })
      }),
    )
  })

  test('differs by prompt, position, conversation and run', () => {
    const ids = [
      idOf(),
      idOf({ prompts: { ...prompts, last: 'Test it' } }),
      idOf({ prompts: { ...prompts, lastAt: 3 } }),
      idOf({ sessionId: 'session-2' }),
      idOf({ sessionId: undefined }),
      idOf({ sessionId: undefined, prompts: { ...prompts, first: 'Plan it' } }),
      idOf({}, 'other salt'),
    ]
    expect(new Set(ids).size).toBe(ids.length)
    expect(idOf()).toBe(ids[0])
  })
})

test.each([
  ['openai-intent', 'conversation-edits', true],
  ['openai-intent', 'copilot-ghost', false],
  ['openai-intent', 'conversation-panel, x', false],
  ['x-interaction-type', 'conversation-background', true],
  ['x-interaction-type', 'CONVERSATION-AGENT', false],
  ['x-interaction-id', '5b3f1e0a-1c2d-4e5f-8a9b-0c1d2e3f4a5b', true],
  ['x-interaction-id', '5b3f1e0a-1c2d-4e5f-8a9b-0c1d2e3f4a5b-1', false],
  ['x-interaction-id', 'session-1', false],
  ['x-agent-task-id', '5b3f1e0a-1c2d-4e5f-8a9b-0c1d2e3f4a5b', false],
])('a caller’s own %s of %j is taken: %j', (name, value, isTaken) => {
  const { stated } = interactionOf(
    statementIn({ [name]: value }),
    'agent',
    { prompts: { first: '', last: '', lastAt: -1 } },
    '',
  )
  expect(stated).toEqual(isTaken ? { [name]: value } : {})
})

describe('upstream', () => {
  const purposes = ['openai-intent', 'x-interaction-type', 'x-initiator'] as const

  test('gets intent, type and one id per user turn, in all three APIs', async () => {
    const { send, demo } = await openProxy({ file: 'copilot: { initiator: last-message }' })
    const ids: unknown[] = []
    const ask = async (path: string, body: object, headers: Record<string, string> = {}) => {
      expect(await send(path, { body: JSON.stringify(body), headers })).toMatchObject({ status: 200 })
      const sent = demo.log.at(-1)?.headers ?? {}
      expect(sent['x-agent-task-id']).toBe(sent['x-request-id'])
      ids.push(sent['x-interaction-id'])
      return purposes.map((name) => sent[name])
    }
    const user = { role: 'user', content: 'Look around' }

    const chat = '/v1/chat/completions'
    const toolCalls = [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }]
    const called = { role: 'assistant', content: null, tool_calls: toolCalls }
    const result = { role: 'tool', tool_call_id: 'call_1', content: 'Done' }
    expect(await ask(chat, { model: 'gpt-5-mini', messages: [user] })).toEqual([
      'conversation-panel',
      'conversation-panel',
      'user',
    ])
    expect(await ask(chat, ofChat([user]))).toEqual(['conversation-agent', 'conversation-agent', 'user'])
    expect(await ask(chat, ofChat([user, called, result]))).toEqual([
      'conversation-agent',
      'conversation-agent',
      'agent',
    ])
    const note = { role: 'system', content: 'Be brief' }
    expect((await ask(chat, ofChat([user, note])))[2]).toBe('user')
    expect(new Set(ids).size).toBe(1)
    await ask(chat, ofChat([user, called, result, { role: 'assistant', content: 'Seen' }, user]))
    expect(new Set(ids).size).toBe(2)

    ids.length = 0
    const use = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
    const handedIn = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Done' }
    const reminder = { type: 'text', text: '<system-reminder>Be brief</system-reminder>' }
    const ofMessages = (...more: readonly object[]) => ({
      model: 'claude-sonnet-4.5',
      max_tokens: 100,
      tools: [{ name: 'look', input_schema: { type: 'object', properties: {} } }],
      messages: [{ role: 'user', content: [reminder, { type: 'text', text: 'Look around' }] }, ...more],
    })
    const subagent = { 'x-claude-code-agent-id': 'a1' }
    expect(await ask('/v1/messages', ofMessages(), subagent)).toEqual([
      'conversation-agent',
      'conversation-subagent',
      'agent',
    ])
    const loop = [
      { role: 'assistant', content: [use] },
      { role: 'user', content: [handedIn, reminder] },
    ]
    await ask('/v1/messages', ofMessages(...loop))
    expect(new Set(ids).size).toBe(1)

    const input = [{ role: 'user', content: 'Look around' }, { type: 'compaction_trigger' }]
    expect(await ask('/v1/responses', { model: 'gpt-5.4', store: false, input })).toEqual([
      'conversation-agent',
      'conversation-compaction',
      'agent',
    ])
  })

  test('gets the values of the caller or the configuration, and no header that either removes', async () => {
    const { send, demo, daemon, configure } = await openProxy()
    const sentWith = async (headers: Record<string, string> = {}) => {
      expect((await send('/v1/chat/completions', { body: chatBody(), headers })).status).toBe(200)
      return demo.log.at(-1)?.headers ?? {}
    }
    const id = '5b3f1e0a-1c2d-4e5f-8a9b-0c1d2e3f4a5b'
    const own = { 'x-interaction-type': 'conversation-subagent', 'x-interaction-id': id, 'openai-intent': 'a b' }
    expect(await sentWith({ ...own, 'editor-version': 'mine/1', 'x-agent-task-id': id })).toMatchObject({
      'openai-intent': 'conversation-agent',
      'x-interaction-type': 'conversation-subagent',
      'x-initiator': 'agent',
      'x-interaction-id': id,
      'editor-version': 'vscode/1.126.0',
      'x-agent-task-id': expect.not.stringMatching(id),
    })
    daemon.reconfigure(
      configure(
        'copilot: { headers: { openai-intent: conversation-edits, x-interaction-id: "", vscode-machineid: ab12 } }',
      ),
    )
    const changed = await sentWith(own)
    expect(changed).toMatchObject({
      'openai-intent': 'conversation-edits',
      'x-interaction-type': 'conversation-subagent',
      'vscode-machineid': 'ab12',
    })
    expect(changed).not.toHaveProperty('x-interaction-id')
  })

  test('gets no purpose headers without a purpose, and GitHub never', async () => {
    const { send, demo } = await openProxy()
    const body = JSON.stringify({ model: 'text-embedding-3-small', input: 'Hi' })
    expect((await send('/v1/embeddings', { body })).status).toBe(200)
    for (const { route, headers } of demo.log) {
      for (const name of ['openai-intent', 'x-interaction-type', 'x-interaction-id', 'vscode-machineid']) {
        expect([route, name, headers[name]]).toEqual([
          route,
          name,
          route === '/models' && name === 'openai-intent' ? 'model-access' : undefined,
        ])
      }
    }
    expect(new Set(demo.log.map(({ route }) => route))).toEqual(
      new Set(['/copilot_internal/v2/token', '/models', '/embeddings']),
    )
  })
})
