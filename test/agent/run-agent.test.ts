import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runAgent } from '../../src/agent/run-agent.ts'
import { openAgent, scriptOf } from './support.ts'
import { shopFiles } from './shop.ts'

test('a chat is answered by the model, and its text is told as it comes', async () => {
  const { deps, task, events } = await openAgent({ mode: 'chat', text: 'Hello' })
  const outcome = await runAgent(deps, task)
  expect(outcome).toMatchObject({ outcome: 'completed', model: 'gpt-5-mini' })
  expect(outcome.answer).toContain('You said: Hello')
  expect(events.map((event) => ('text' in event ? event.text : '')).join('')).toBe(outcome.answer)
})

/** A model of each upstream dialect. */
const models = [
  ['chat', 'gpt-4.1'],
  ['responses', 'gpt-5.4'],
  ['messages', 'claude-opus-4.7'],
] as const

describe.each(models)('a model of %s', (dialect, model) => {
  test('reads, runs the failing test, patches after an approval, runs the test again and reports', async () => {
    const asked: unknown[] = []
    const { deps, task, events, root, demo } = await openAgent({
      files: shopFiles,
      text: 'The test fails. Fix it. [demo:script fix-test]',
      settings: { model },
      approve: async ({ tool, argv, paths, diff }) => {
        asked.push(argv ?? [tool, paths, diff?.includes('+  return items.reduce')])
        return 'run'
      },
    })
    const outcome = await runAgent(deps, task)
    expect(outcome).toMatchObject({ outcome: 'completed', steps: 5, requests: 5, model })
    expect(outcome.answer).toBe(
      'The total of an order left out the quantities. It counts them now, and all tests pass.',
    )
    expect(asked).toEqual([
      ['npm', 'test'],
      ['mcp.edit.applyPatch', ['src/total.js'], true],
    ])
    expect(await readFile(join(root, 'src/total.js'), 'utf8')).toContain('item.price * item.quantity')
    expect(outcome.files).toMatchObject([{ path: 'src/total.js', change: 'modified', added: 1, removed: 1 }])
    expect(outcome.summary).toContain('npm test → exit code 1')
    expect(outcome.summary).toContain('npm test → exit code 0')
    const ended = events.filter((event) => event.type === 'tool' && event.state === 'ended')
    expect(ended.map(({ tool, outcome: how, step }) => [tool, how, step])).toEqual([
      ['mcp.shell.run', 'ok', 1],
      ['mcp.fs.read', 'ok', 2],
      ['mcp.fs.read', 'ok', 2],
      ['mcp.edit.applyPatch', 'ok', 3],
      ['mcp.shell.run', 'ok', 4],
    ])
    const path = { chat: '/chat/completions', responses: '/responses', messages: '/v1/messages' }[dialect]
    const requests = demo.log.filter(({ route }) => route === path)
    expect(requests.map(({ headers }) => headers['x-initiator'])).toEqual(['user', 'agent', 'agent', 'agent', 'agent'])
  })

  test('works by the JSON protocol, too', async () => {
    const { deps, task, root, events } = await openAgent({
      files: shopFiles,
      text: scriptOf(
        { text: '{"actions":[{"tool":"readFiles","files":["src/total.js"]}],"commentary":"Look","done":false}' },
        {
          text: '{"actions":[{"tool":"editFile","path":"src/total.js","content":"export const total = 1\\n"}],"done":false}',
        },
        { text: '{"finalSummary":"Replaced it","done":true}' },
      ),
      settings: { model, protocol: 'json' },
    })
    const outcome = await runAgent(deps, task)
    expect(outcome).toMatchObject({ outcome: 'completed', answer: 'Replaced it', steps: 3 })
    expect(await readFile(join(root, 'src/total.js'), 'utf8')).toBe('export const total = 1\n')
    const texts = events.filter((event) => event.type === 'fragment')
    expect(texts.map(({ kind, text }) => [kind, text])).toEqual([
      ['step', 'Step 1 of 30'],
      ['commentary', 'Look'],
      ['step', 'Step 2 of 30'],
      ['step', 'Step 3 of 30'],
      ['answer', 'Replaced it'],
    ])
  })
})
