import { expect } from 'vitest'
import { STRICT } from '../../upstreams/copilot/refusals/rows.ts'
import { turns } from './histories.ts'
import { knownToolFailures } from './known-failures.ts'
import { prompt, sentText, sentTools, testAccepted, tool } from './table.ts'
import type { Accepted, Outcome } from './table.ts'

// Tools, their names, the choice among them, subagents of Codex CLI, and a full context window.

const nothing = { type: 'object', properties: {} }

const namespaces: readonly Accepted[] = ['', undefined].flatMap((description): readonly Accepted[] => [
  {
    title: `P3 a namespace whose description is ${description === '' ? 'empty' : 'absent'}, in an item`,
    caller: 'responses',
    model: 'gpt-5.6-sol',
    body: {
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [
            {
              type: 'namespace',
              name: 'functions',
              description,
              tools: [{ type: 'custom', name: 'exec', description: 'Run code' }],
            },
          ],
        },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      ],
    },
    check: (outcome) => expect(sentText(outcome)).toContain('exec'),
  },
  {
    title: `P3 a namespace whose description is ${description === '' ? 'empty' : 'absent'}`,
    caller: 'responses',
    model: 'gpt-5.6-sol',
    body: {
      input: 'hi',
      tools: [
        { type: 'namespace', name: 'first', description: 'First', tools: [tool('responses', 'a', nothing)] },
        { type: 'namespace', name: 'mcp__docs', description, tools: [tool('responses', 'find', nothing)] },
      ],
    },
    check: (outcome) => expect(sentTools(outcome).map(({ name }) => name)).toEqual(['a', 'find']),
  },
])

const choices: readonly Accepted[] = (
  [
    ['gemini-3-pro-preview', 'validated'],
    ['gpt-4.1', 'auto'],
    ['claude-sonnet-4.5', 'auto'],
    ['claude-opus-4.7', { type: 'auto' }],
    ['gpt-5.3-codex', 'auto'],
  ] as const
).map(([model, choice]): Accepted => ({
  title: 'P9 tool_choice validated',
  caller: 'chat',
  model,
  body: { ...prompt('chat'), tools: [tool('chat', 't', nothing)], tool_choice: 'validated' },
  check: ({ sent }) => expect(sent['tool_choice']).toEqual(choice),
}))

const openChoices: readonly Accepted[] = (
  [
    ['chat', {}],
    ['chat', { tool_choice: 'auto' }],
    ['responses', { tool_choice: 'auto' }],
    ['messages', { tool_choice: { type: 'auto' } }],
  ] as const
).map(([caller, choice]): Accepted => ({
  title: `P9 a Gemini’s calls are validated if the choice is ${'tool_choice' in choice ? 'auto' : 'open'}`,
  caller,
  model: 'gemini-3-pro-preview',
  body: { ...prompt(caller), tools: [tool(caller, 't', nothing)], ...choice },
  check: ({ sent }) => expect(sent['tool_choice']).toBe('validated'),
}))

const long = 'x'.repeat(79)
const names = [`${long}a`, `${long}b`]

const longNames: readonly Accepted[] = (
  [
    ['messages', 'claude-sonnet-4.5'],
    ['chat', 'claude-opus-4.7'],
    ['responses', 'claude-opus-4.7'],
  ] as const
).map(([caller, model]): Accepted => ({
  title: 'P25 two tool names of 80 characters that differ in the last',
  caller,
  model,
  body: { ...prompt(caller, '[demo:tools]'), tools: names.map((name) => tool(caller, name, nothing)) },
  // The chat API itself takes 64 characters, so its callers get there no further than the check of the proxy.
  check: (outcome) => {
    expect(new Set(sentTools(outcome).map(({ name }) => name)).size).toBe(2)
    expect(outcome.calls.map(({ name }) => name)).toEqual(names)
  },
}))

const laterNames: readonly Accepted[] = [
  {
    title: 'P25 an earlier call of a name of 80 characters',
    caller: 'messages',
    model: 'claude-sonnet-4.5',
    body: {
      max_tokens: 1000,
      tools: [tool('messages', `${long}a`, nothing)],
      tool_choice: { type: 'tool', name: `${long}a` },
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: `${long}a`, input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'x' }] },
      ],
    },
  },
  {
    title: 'P25 a name of 64 characters stays',
    caller: 'messages',
    model: 'claude-sonnet-4.5',
    body: { ...prompt('messages'), tools: [tool('messages', 'x'.repeat(64), nothing)] },
    check: (outcome) => expect(sentTools(outcome)).toMatchObject([{ name: 'x'.repeat(64) }]),
  },
]

const many: readonly Accepted[] = (['chat', 'responses', 'messages'] as const).map((caller): Accepted => ({
  title: 'P26 150 tools',
  caller,
  model: 'claude-sonnet-4.5',
  body: { ...prompt(caller), tools: Array.from({ length: 150 }, (_, at) => tool(caller, `t${at}`, nothing)) },
  check: (outcome) => {
    expect(outcome.route).toBe('/v1/messages')
    expect(sentTools(outcome)).toHaveLength(150)
  },
}))

const search = {
  type: 'tool_search',
  execution: 'client',
  description: 'Searches tools',
  parameters: { type: 'object', properties: { query: { type: 'string' } } },
}

const foundBefore = [
  { type: 'tool_search_call', call_id: 'call_s1', execution: 'client', status: 'completed', arguments: { query: 'z' } },
  {
    type: 'tool_search_output',
    call_id: 'call_s1',
    execution: 'client',
    status: 'completed',
    tools: [{ type: 'namespace', name: 'zoo', description: 'Zoo', tools: [tool('responses', 'find', nothing)] }],
  },
]

const otherSearches: readonly Accepted[] = [
  ...(['claude-sonnet-4.5', 'gpt-4.1', 'gemini-3-pro-preview'] as const).flatMap((model): readonly Accepted[] => [
    {
      title: 'P27 a call of a found tool comes back in its namespace',
      caller: 'responses',
      model,
      body: { input: [...foundBefore, { role: 'user', content: '[demo:tool zoo__find {}]' }], tools: [search] },
      check: ({ raw }) => {
        expect(raw).toContain('"namespace":"zoo"')
        expect(raw).not.toContain('tool_search_call')
      },
    },
    {
      title: 'P27 the arguments of a search are an object',
      caller: 'responses',
      model,
      body: { input: '[demo:tool tool_search {"query":"zebra docs"}]', tools: [search] },
      check: ({ raw }) => expect(raw).toContain('"arguments":{"query":"zebra docs"}'),
    },
    {
      title: 'P27 a function of the client with the name of the search is a function',
      caller: 'responses',
      model,
      body: {
        input: '[demo:tool tool_search {"a":1}]',
        tools: [tool('responses', 'tool_search', { type: 'object', properties: { a: { type: 'integer' } } }), search],
      },
      check: ({ calls }) => expect(calls).toEqual([{ name: 'tool_search', arguments: { a: 1 } }]),
    },
  ]),
  {
    title: 'P27 GPT gets the search itself',
    caller: 'responses',
    model: 'gpt-5.6-sol',
    body: { input: [...foundBefore, { role: 'user', content: 'hi' }], tools: [search] },
    check: ({ sent }) => {
      expect(sent['tools']).toEqual([search])
      expect(JSON.stringify(sent)).toContain('"tool_search_output"')
    },
  },
]

const searches: readonly Accepted[] = (['claude-sonnet-4.5', 'gpt-4.1'] as const).flatMap(
  (model): readonly Accepted[] => [
    {
      title: 'P27 a search of tools is offered, and its call comes back as one',
      caller: 'responses',
      model,
      body: { input: '[demo:tool]', tools: [search] },
      check: ({ raw }) => {
        expect(raw).toContain('"tool_search_call"')
        expect(raw).toContain('"execution":"client"')
      },
    },
    {
      title: 'P27 tools that a search has found can be called',
      caller: 'responses',
      model,
      body: {
        input: [
          { role: 'user', content: 'go' },
          {
            type: 'tool_search_call',
            call_id: 'call_s1',
            execution: 'client',
            status: 'completed',
            arguments: { query: 'zebra docs' },
          },
          {
            type: 'tool_search_output',
            call_id: 'call_s1',
            execution: 'client',
            status: 'completed',
            tools: [
              { type: 'namespace', name: 'zoo', description: 'Zoo', tools: [tool('responses', 'find', nothing)] },
            ],
          },
        ],
        tools: [search],
      },
      check: (outcome) => {
        expect(sentText(outcome)).toContain('zebra docs')
        expect(sentText(outcome)).toContain('call_s1')
        expect(sentTools(outcome).some(({ name }) => String(name).includes('find'))).toBe(true)
      },
    },
  ],
)

const task = 'Task ZEBRA-42: reply with done'
const spawn = {
  type: 'namespace',
  name: 'collaboration',
  description: 'Tools for spawning and managing sub-agents.',
  tools: [
    {
      type: 'function',
      name: 'spawn_agent',
      description: 'Spawn',
      strict: false,
      parameters: {
        type: 'object',
        properties: { task_name: { type: 'string' }, message: { type: 'string', encrypted: true } },
        required: ['task_name', 'message'],
        additionalProperties: false,
      },
    },
  ],
}

function agentMessage(content: readonly unknown[], author: string, recipient: string) {
  return { type: 'agent_message', id: 'amsg_1', author, recipient, content }
}

const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })

/** The task is in the request as readable text. */
function checkTask(outcome: Outcome): void {
  expect(sentText(outcome)).toContain('ZEBRA-42')
  expect(sentText(outcome)).not.toMatch(/"encrypted_content":"Task/)
}

const subagents: readonly Accepted[] = [
  {
    title: 'P8 a tool with an encrypted parameter, and its call',
    caller: 'responses',
    model: 'gpt-5.3-codex',
    body: {
      store: false,
      input: [user(`[demo:tool collaboration__spawn_agent ${JSON.stringify({ task_name: 'zoo', message: task })}]`)],
      tools: [spawn],
    },
    check: ({ sent, calls, raw }) => {
      expect(JSON.stringify(sent)).not.toContain('"encrypted":')
      expect(calls).toEqual([{ name: 'spawn_agent', arguments: { task_name: 'zoo', message: task } }])
      expect(raw).toContain('"namespace":"collaboration"')
    },
  },
  ...(['claude-sonnet-4.5', 'gpt-5.3-codex', 'gpt-4.1', 'gemini-3-pro-preview'] as const).flatMap(
    (model): readonly Accepted[] => [
      {
        title: 'P8 the task of a subagent',
        caller: 'responses',
        model,
        body: {
          store: false,
          input: [
            { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'You are a helper.' }] },
            agentMessage(
              [
                { type: 'input_text', text: 'Message Type: NEW_TASK\nTask name: /root/zoo\nSender: /root\nPayload:\n' },
                { type: 'encrypted_content', encrypted_content: task },
              ],
              '/root',
              '/root/zoo',
            ),
          ],
        },
        check: checkTask,
      },
      {
        title: 'P8 the answer of a subagent',
        caller: 'responses',
        model,
        body: {
          store: false,
          input: [
            user('Spawn a helper'),
            agentMessage(
              [{ type: 'input_text', text: 'Message Type: FINAL_ANSWER\nPayload:\nThe zoo has 42 zebras.' }],
              '/root/zoo',
              '/root',
            ),
          ],
        },
        check: (outcome) => expect(sentText(outcome)).toContain('42 zebras'),
      },
    ],
  ),
  {
    title: 'P8 a real ciphertext to a model that cannot read it',
    caller: 'responses',
    model: 'claude-sonnet-4.5',
    body: {
      input: [
        agentMessage([{ type: 'encrypted_content', encrypted_content: `gAAAA${'b'.repeat(80)}` }], '/root', '/root/a'),
      ],
    },
    status: 400,
    check: ({ error }) => expect(error).toMatch(/encrypted/),
  },
]

const safeguards: readonly Accepted[] = (['claude-sonnet-4.5', 'gpt-4.1', 'gpt-5.3-codex'] as const).flatMap((model) =>
  ['Tidy up', '[demo:tool Bash {"command":"ls"}]'].map((text): Accepted => ({
    title: `P7 safeguards with ${text === 'Tidy up' ? 'a text' : 'a call'}`,
    caller: 'messages',
    model,
    headers: { 'anthropic-beta': 'dangerous-tool-use-2026-09-03' },
    body: {
      ...prompt('messages', text),
      safeguards: [{ type: 'dangerous_tool_use', classifier_context: { v: 1, permission_mode: 'auto' } }],
      tools: [tool('messages', 'Bash', { type: 'object', properties: { command: { type: 'string' } } })],
    },
    status: 'any',
    check: ({ status, error, raw }) => {
      if (status === 200) expect(raw).toContain('safeguard_results')
      else expect([status, error]).toEqual([400, expect.stringContaining('safeguards')])
    },
  })),
)

const window = (id: string) => ({ refusals: new Set([...STRICT, id]), windowTokens: 400 })
const tooLong = 'word '.repeat(1000)

const windows: readonly Accepted[] = (
  [
    ['messages', 'gpt-5.3-codex', 'P20 full window, GPT'],
    ['responses', 'gpt-5.3-codex', 'P20 full window, GPT'],
    ['chat', 'gpt-5.3-codex', 'P20 full window, GPT'],
    ['chat', 'gpt-5-mini', 'P20 full window, GPT'],
    ['messages', 'claude-sonnet-4.5', 'P20 full window, Bedrock'],
    ['chat', 'claude-sonnet-4.5', 'P20 full window, Bedrock'],
    ['messages', 'gemini-3-pro-preview', 'P20 full window, Gemini'],
    ['chat', 'gemini-3-pro-preview', 'P20 full window, Gemini'],
    ['responses', 'gemini-3-pro-preview', 'P20 full window, Gemini'],
  ] as const
).map(([caller, model, row]): Accepted => ({
  title: `P20 a full context window`,
  caller,
  model,
  host: window(row),
  body: prompt(caller, tooLong),
  status: 400,
  check: ({ error, code }) => {
    if (caller === 'messages') {
      expect(error).toContain('prompt is too long')
      expect(code).toBe('invalid_request_error')
    } else expect(code).toBe('context_length_exceeded')
  },
}))

const outputTooLong: Accepted = {
  title: 'P20 prompt and output limit together',
  caller: 'chat',
  model: 'claude-sonnet-4.5',
  host: { ...window('P20 prompt and output together'), windowTokens: 3000 },
  body: { ...turns('chat', 'word '.repeat(500)), max_tokens: 2900 },
  check: ({ sent, warnings }) => {
    expect(sent['max_tokens']).toBeLessThan(2400)
    expect(warnings).toContain('max_tokens')
  },
}

testAccepted(
  [
    ...namespaces,
    ...choices,
    ...openChoices,
    ...longNames,
    ...laterNames,
    ...many,
    ...searches,
    ...otherSearches,
    ...subagents,
    ...safeguards,
    ...windows,
    outputTooLong,
  ],
  knownToolFailures,
)
