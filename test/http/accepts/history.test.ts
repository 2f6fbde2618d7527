import { expect } from 'vitest'
import { isObject } from '../../../src/json/json.ts'
import { EVERYWHERE, STRICT } from '../../upstreams/copilot/refusals/rows.ts'
import { chatRounds, messagesRound, responsesRound, sentCalls, sentMessages, turns } from './histories.ts'
import { knownHistoryFailures } from './known-failures.ts'
import { sentText, testAccepted, tool } from './table.ts'
import type { Accepted, Outcome } from './table.ts'

// Earlier messages that upstream refuses: then each later turn of the conversation fails.

const long = 'c'.repeat(64)
const withRow = (id: string) => ({ refusals: new Set([...STRICT, id]) })

/** All calls and results arrive, each result with the id of its call, and no id twice. */
function checkPairs(count: number): (outcome: Outcome) => void {
  return (outcome) => {
    const { ids, results } = sentCalls(outcome)
    expect(ids).toHaveLength(count)
    expect(results).toEqual(ids)
    expect(new Set(ids).size).toBe(count)
  }
}

const ids: readonly Accepted[] = [
  {
    title: 'P4 ids with dots and colons',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: chatRounds([
      { id: 'functions.f:0', arguments: '{"n":0}' },
      { id: 'functions.f:1', arguments: '{"n":1}' },
    ]),
    check: checkPairs(2),
  },
  {
    title: 'P4 an id with a bar',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: chatRounds([{ id: 'call_abc|fc_def', arguments: '{"n":0}' }]),
    check: checkPairs(1),
  },
  {
    title: 'P4 one id in two turns',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: chatRounds([
      { id: 'call_1', arguments: '{"n":0}' },
      { id: 'call_1', arguments: '{"n":1}' },
    ]),
    check: (outcome) => {
      checkPairs(2)(outcome)
      expect(sentMessages(outcome).filter(({ role }) => role === 'tool')).toMatchObject([
        { content: 'result 0' },
        { content: 'result 1' },
      ])
    },
  },
  {
    title: 'P4 an id of 64 characters',
    caller: 'chat',
    model: 'gpt-4.1',
    body: chatRounds([{ id: long, arguments: '{"n":0}' }]),
    check: checkPairs(1),
  },
  {
    title: 'P4 an id of 50 characters',
    caller: 'messages',
    model: 'gpt-4.1',
    body: messagesRound('t'.repeat(50)),
    check: checkPairs(1),
  },
  {
    title: 'P4 an id of 64 characters',
    caller: 'responses',
    model: 'gpt-4.1',
    body: responsesRound(long, '{"n":0}'),
    check: checkPairs(1),
  },
  {
    title: 'P4 ids that are legal stay',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: chatRounds([
      { id: 'toolu_1-a', arguments: '{"n":0}' },
      { id: 'toolu_2', arguments: '{"n":1}' },
    ]),
    check: (outcome) => expect(sentCalls(outcome).ids).toEqual(['toolu_1-a', 'toolu_2']),
  },
]

/** The arguments are one object, and what the caller sent is in the request. */
function checkArguments(kept: string): (outcome: Outcome) => void {
  return (outcome) => {
    const [text = ''] = sentCalls(outcome).arguments
    expect(JSON.parse(text)).toBeTypeOf('object')
    expect(text).toContain(kept)
    expect(sentCalls(outcome).results).toHaveLength(1)
  }
}

const brokenArguments: readonly Accepted[] = (
  [
    ['a cut text', '{"path":"a.txt","text":"hel', 'hel'],
    ['two values', '{"a":1}{"b":2}', 'b'],
    ['no JSON', 'ls -la', 'ls -la'],
    ['null', 'null', ''],
    ['a list', '[1,2]', '2'],
    ['a slip', '{"a":1,}', 'a'],
  ] as const
).flatMap(([what, text, kept]) =>
  (['gpt-4.1', 'claude-sonnet-4.5', 'gemini-3-pro-preview', 'grok-code-fast-1'] as const).map((model): Accepted => ({
    title: `P5 arguments that are ${what}`,
    caller: 'chat',
    model,
    body: chatRounds([
      // Gemini 3 wants its signature with each call.
      { id: 'call_1', arguments: text, ...(model.startsWith('gemini') && { more: { reasoning_opaque: 'b3BhcXVl' } }) },
    ]),
    check: checkArguments(kept),
  })),
)

const translatedArguments: readonly Accepted[] = [
  {
    title: 'P5 arguments that are cut',
    caller: 'responses',
    model: 'claude-sonnet-4.5',
    body: responsesRound('call_1', '{"a":"tr'),
    check: (outcome) => expect(sentText(outcome)).toMatch(/tr/),
  },
  {
    title: 'P5 arguments that are whole stay',
    caller: 'chat',
    model: 'gpt-4.1',
    body: chatRounds([{ id: 'call_1', arguments: '{"n": 1.0}' }]),
    check: (outcome) => expect(sentCalls(outcome).arguments).toEqual(['{"n": 1.0}']),
  },
]

const unknownMembers: readonly Accepted[] = [
  {
    title: 'P18 a member of an earlier answer',
    caller: 'chat',
    model: 'gpt-4.1',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b', reasoning_details: [] },
        { role: 'user', content: 'c' },
      ],
    },
    check: ({ warnings }) => expect(warnings).toContain('reasoning_details'),
  },
  {
    title: 'P18 a member of an earlier answer',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b', provider_specific_fields: {} },
        { role: 'user', content: 'c' },
      ],
    },
    check: ({ warnings }) => expect(warnings).toContain('provider_specific_fields'),
  },
  {
    title: 'P18 a member of a call',
    caller: 'chat',
    model: 'gpt-4.1',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' }, provider_specific_fields: {} },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'x' },
      ],
      tools: [tool('chat', 'f', { type: 'object', properties: {} })],
    },
    check: (outcome) => expect(sentCalls(outcome).ids).toHaveLength(1),
  },
]

const opaque = { reasoning_text: 'Thoughts', reasoning_opaque: 'b3BhcXVl' }
const answered = { isOpen: true }

const reasoning: readonly Accepted[] = [
  {
    title: 'P21 reasoning of another account',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    host: withRow('P21 reasoning of another account'),
    body: chatRounds([{ id: 'c1', arguments: '{"n":0}', more: opaque }], answered),
    check: (outcome) => {
      checkPairs(1)(outcome)
      expect(outcome.warnings).not.toBe('')
    },
  },
  {
    title: 'P21 a call without reasoning, and an effort',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: chatRounds([{ id: 'c1', arguments: '{"n":0}' }], { ...answered, reasoning_effort: 'high' }),
    check: checkPairs(1),
  },
  {
    title: 'P21 a call without reasoning, and an effort',
    caller: 'chat',
    model: 'claude-sonnet-4',
    body: chatRounds([{ id: 'c1', arguments: '{"n":0}' }], { ...answered, reasoning_effort: 'high' }),
    check: checkPairs(1),
  },
  {
    title: 'P21 a call without reasoning, and an effort',
    caller: 'responses',
    model: 'claude-sonnet-4',
    body: {
      ...responsesRound('c1', '{"n":0}', { reasoning: { effort: 'high' } }),
      input: [
        { role: 'user', content: 'go' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"n":0}' },
        { type: 'function_call_output', call_id: 'c1', output: 'result 0' },
      ],
    },
    check: checkPairs(1),
  },
  {
    title: 'P21 a call without reasoning, and a budget',
    caller: 'messages',
    model: 'claude-sonnet-4',
    body: messagesRound('c1', { thinking: { type: 'enabled', budget_tokens: 1024 } }),
    check: checkPairs(1),
  },
  {
    title: 'P21 reasoning that upstream takes is sent',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: chatRounds([{ id: 'c1', arguments: '{"n":0}', more: opaque }], answered),
    check: (outcome) => expect(sentText(outcome)).toContain(opaque.reasoning_opaque),
  },
]

const blanks: readonly Accepted[] = [
  {
    title: 'P22 line ends before a call',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: chatRounds([{ id: 'c1', arguments: '{"n":0}', more: { content: '\n\n' } }], answered),
    check: checkPairs(1),
  },
  {
    title: 'P22 a block of line ends before a call',
    caller: 'messages',
    model: 'claude-sonnet-4',
    body: messagesRound('c1', { before: [{ type: 'text', text: '\n\n' }] }),
    check: checkPairs(1),
  },
  {
    title: 'P22 words before a call stay',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: chatRounds([{ id: 'c1', arguments: '{"n":0}', more: { content: '\nLook: ' } }], answered),
    check: (outcome) => expect(sentMessages(outcome)[1]).toMatchObject({ content: '\nLook: ' }),
  },
  ...(['claude-sonnet-4.5', 'claude-opus-4.1', 'claude-sonnet-4'] as const).map((model): Accepted => ({
    title: 'P29 a begun answer that ends with a space',
    caller: 'chat',
    model,
    body: turns('chat', 'a', 'The answer is '),
    check: (outcome) => {
      expect(sentText(outcome)).toContain('The answer is"')
      expect(outcome.warnings).not.toBe('')
    },
  })),
  {
    title: 'P29 a begun answer stays',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: turns('chat', 'a', 'The answer is'),
    check: (outcome) => expect(sentText(outcome)).toContain('The answer is"'),
  },
]

/** What the model is made to say: `one END two`, a line end, `three`. */
const said = '[demo:script [{"text":"one END two\\nthree"}]]'

const stops: readonly Accepted[] = [
  {
    title: 'P15 a stop sequence',
    caller: 'chat',
    model: 'gpt-5-chat',
    body: { ...turns('chat', said), stop: ['END'] },
    check: ({ text, finish }) => expect([text, finish]).toEqual(['one ', 'stop']),
  },
  {
    title: 'P15 a stop sequence that is no list',
    caller: 'chat',
    model: 'gpt-5-chat',
    body: { ...turns('chat', said), stop: 'END' },
    check: ({ text }) => expect(text).toBe('one '),
  },
  {
    title: 'P15 a stop sequence',
    caller: 'messages',
    model: 'gpt-5-chat',
    body: { ...turns('messages', said), stop_sequences: ['END'] },
    check: ({ text, finish }) => expect([text, finish]).toEqual(['one ', 'stop_sequence']),
  },
  ...(['claude-opus-4.7', 'claude-sonnet-4.5', 'claude-sonnet-4'] as const).map((model): Accepted => ({
    title: 'P15 a line end as stop sequence',
    caller: 'chat',
    model,
    body: { ...turns('chat', said), stop: ['\n'] },
    check: ({ text, finish }) => expect([text, finish]).toEqual(['one END two', 'stop']),
  })),
  {
    title: 'P15 a line end beside a sequence that upstream takes',
    caller: 'messages',
    model: 'claude-sonnet-4.5',
    body: { ...turns('messages', said), stop_sequences: ['three', '\n'] },
    check: ({ text, finish }) => expect([text, finish]).toEqual(['one END two', 'stop_sequence']),
  },
]

function effortOf({ sent }: Outcome): unknown {
  const config = sent['output_config'] ?? sent['reasoning']
  return isObject(config) ? config['effort'] : sent['reasoning_effort']
}

const user = { role: 'user', content: 'a' }
const assistant = { role: 'assistant', content: 'b' }
const change = (effort: string) => ({ role: 'system', content: [], output_config: { effort } })

const efforts: readonly Accepted[] = (['claude-sonnet-5', 'gpt-5.3-codex'] as const).flatMap((model) =>
  (
    [
      ['before the newest prompt', [user, assistant, change('low'), user], 'low'],
      ['after an earlier prompt', [user, change('low'), assistant, user], 'low'],
      ['twice', [user, change('low'), assistant, user, change('medium'), assistant, user], 'medium'],
      ['after the newest prompt', [user, assistant, user, change('low')], 'low'],
      ['never', [user, assistant, user], 'high'],
    ] as const
  ).map(([when, messages, effort]): Accepted => ({
    title: `P23 an effort that changes ${when}`,
    caller: 'messages',
    model,
    body: { max_tokens: 1000, output_config: { effort: 'high' }, messages },
    check: (outcome) => expect(effortOf(outcome)).toBe(effort),
  })),
)

testAccepted(
  [
    ...ids,
    ...brokenArguments,
    ...translatedArguments,
    ...unknownMembers,
    ...reasoning,
    ...blanks,
    ...stops,
    ...efforts,
    {
      title: 'reported refusals that a host does not have cost nothing',
      caller: 'chat',
      model: 'claude-sonnet-4.5',
      host: { refusals: EVERYWHERE },
      body: chatRounds([{ id: 'c1', arguments: '{"n":0}', more: opaque }], answered),
      check: ({ requests }) => expect(requests).toBe(1),
    },
  ],
  knownHistoryFailures,
)
