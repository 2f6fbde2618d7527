import { describe, expect, test } from 'vitest'
import { parseJsonReply } from '../../src/agent/json-protocol.ts'

const action = '{"actions":[{"tool":"readFiles","files":["a"]}],"commentary":"Look","done":false}'
const read = { kind: 'actions', actions: [{ tool: 'readFiles', args: { files: ['a'] } }], commentary: 'Look' }
const final = '{"finalSummary":"All done","done":true}'

describe('finds a reply', () => {
  test.each([
    ['alone', action, read],
    ['in a code fence', `\`\`\`json\n${action}\n\`\`\``, read],
    ['in a fence without a language', `\`\`\`\n${action}\n\`\`\``, read],
    ['in a fence that never closes', `\`\`\`json\n${action}`, read],
    ['with prose around it', `I will read. ${action} That is all.`, read],
    ['after a brace in prose', `Use { here. ${action}`, read],
    ['after an object that is no reply', `{"thought":"hm"} ${action}`, read],
    ['after a fence with other JSON', `\`\`\`json\n{"a":1}\n\`\`\`\n${action}`, read],
    ['of several the first', `${action}\n${final}`, read],
    ['at the end of the work', final, { kind: 'final', answer: 'All done' }],
    ['with its done left out', '{"finalSummary":"All done"}', { kind: 'final', answer: 'All done' }],
    ['with commentary for a summary', '{"done":true,"commentary":"All done"}', { kind: 'final', answer: 'All done' }],
    [
      'with arguments in an object of their own',
      '{"actions":[{"tool":"shell_run","args":{"argv":["npm"]}}]}',
      { kind: 'actions', actions: [{ tool: 'shell_run', args: { argv: ['npm'] } }], commentary: '' },
    ],
    [
      'with braces and fences inside a text',
      '{"actions":[{"tool":"createFile","path":"a.md","content":"```js\\nif (x) { }\\n```"}]}',
      {
        kind: 'actions',
        actions: [{ tool: 'createFile', args: { path: 'a.md', content: '```js\nif (x) { }\n```' } }],
        commentary: '',
      },
    ],
    [
      'that claims to be the end with actions still to run',
      '{"actions":[{"tool":"listFiles"}],"done":true,"finalSummary":"Did it"}',
      { kind: 'actions', actions: [{ tool: 'listFiles', args: {} }], commentary: '' },
    ],
    [
      'with line breaks and tabs inside a text',
      '{"actions":[{"tool":"createFile","path":"a","content":"line1\n\tline2\\\\\r\n\\n"}]}',
      {
        kind: 'actions',
        actions: [{ tool: 'createFile', args: { path: 'a', content: 'line1\n\tline2\\\r\n\n' } }],
        commentary: '',
      },
    ],
    [
      'with a mark of reasoning inside a text',
      '{"finalSummary":"It writes </think> and <think>","done":true}',
      { kind: 'final', answer: 'It writes </think> and <think>' },
    ],
  ])('%s', (_, text, expected) => expect(parseJsonReply(text)).toEqual(expected))
})

const draft = 'Maybe {"actions":[{"tool":"createFile","path":"draft.txt","content":"x"}],"done":false}, no.'

describe('what a model writes while it thinks is no reply', () => {
  test.each([
    ['[THINK]', '[/THINK]'],
    ['<think>', '</think>'],
    ['<thinking>', '</thinking>'],
    ['<reasoning effort="high">', '</reasoning>'],
    ['<seed:think>', '</seed:think>'],
    ['<|begin_of_thought|>', '<|end_of_thought|>'],
    ['◁think▷', '◁/think▷'],
    ['<|channel|>analysis<|message|>', '<|end|><|start|>assistant<|channel|>final<|message|>'],
  ])('%s', (begin, end) => {
    expect(parseJsonReply(`${begin}${draft}${end}\n${action}`)).toEqual(read)
    expect(parseJsonReply(`${draft}${end}\n${action}`)).toEqual(read)
    expect(parseJsonReply(`Yes. ${begin}${draft}${end} ${begin}\`\`\`json\n${final}\`\`\`${end}${action}`)).toEqual(
      read,
    )
    expect(parseJsonReply(`${begin}${draft}`)).toMatchObject({ kind: 'invalid' })
  })
})

describe('refuses a reply', () => {
  test.each([
    ['without JSON', 'I have fixed it.', 'no complete JSON object'],
    ['cut off', action.slice(0, -10), 'no complete JSON object'],
    ['without actions', '{"actions":[],"commentary":"hm","done":false}', 'at least one action'],
    ['with nothing to do or say', '{"commentary":"hm"}', 'no complete JSON object'],
    ['that ends without a summary', '{"done":true}', 'needs a finalSummary'],
    ['with an action without a tool', '{"actions":[{"path":"a"}]}', 'actions.0.tool'],
  ])('%s', (_, text, problem) =>
    expect(parseJsonReply(text)).toEqual({ kind: 'invalid', problem: expect.stringContaining(problem) }),
  )
})

test('a commentary is one line of at most 160 characters', () => {
  const long = `a\n${'b'.repeat(300)}`
  const reply = parseJsonReply(JSON.stringify({ actions: [{ tool: 'listFiles' }], commentary: long }))
  expect(reply).toMatchObject({ commentary: `a ${'b'.repeat(157)}…` })
})

test('parses a text full of braces quickly', () => {
  const startedMs = performance.now()
  expect(parseJsonReply('{'.repeat(500_000)).kind).toBe('invalid')
  expect(performance.now() - startedMs).toBeLessThan(20_000)
})
