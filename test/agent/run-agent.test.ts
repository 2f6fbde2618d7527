import { STREAMING_ROUTES } from '../upstreams/copilot/routes.ts'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { runAgent } from '../../src/agent/run-agent.ts'
import { openAgent, scriptOf } from './support.ts'
import { quickFix, quickShopFiles, quickTest, shopFiles } from './shop.ts'

test('the model answers a chat, and its text is emitted as it arrives', async () => {
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
      files: quickShopFiles,
      text: quickFix,
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
    expect(asked).toEqual([quickTest, ['mcp.edit.applyPatch', ['src/total.js'], true]])
    expect(await readFile(join(root, 'src/total.js'), 'utf8')).toContain('item.price * item.quantity')
    expect(outcome.files).toMatchObject([{ path: 'src/total.js', change: 'modified', added: 1, removed: 1 }])
    expect(outcome.summary).toContain('node test/total.test.js → exit code 1')
    expect(outcome.summary).toContain('node test/total.test.js → exit code 0')
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

  test('writes real line breaks into the text of an argument, and its call runs', async () => {
    const raw = '{"path":"a2.txt","content":"line1\n\tline2\n"}'
    const { deps, task, root } = await openAgent({
      files: { '.agent-policy.yaml': 'writes:\n  allow: ["**"]\n' },
      text: scriptOf({ calls: [{ tool: 'createFile', raw }] }, { text: 'Done.' }),
      settings: { model },
    })
    const { outcome, items } = await runAgent(deps, task)
    expect(outcome).toBe('completed')
    expect(await readFile(join(root, 'a2.txt'), 'utf8')).toBe('line1\n\tline2\n')
    // Upstream gets JSON in the next request.
    const call = items.find((item) => item.type === 'tool_call')
    expect(JSON.parse(call?.arguments ?? '')).toEqual({ path: 'a2.txt', content: 'line1\n\tline2\n' })
  })

  test('uses the JSON protocol too', async () => {
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
    expect(
      events.filter((event) => event.type === 'tool' && event.state === 'ended').map(({ message }) => message),
    ).toEqual(['4 lines', 'changed src/total.js'])
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

test('text before a tool call is commentary, and text at the end is the answer', async () => {
  const { deps, task, events } = await openAgent({
    files: { 'a.txt': 'a' },
    text: scriptOf(
      { text: 'I look.', calls: [{ tool: 'fs_read', args: { path: 'a.txt' } }] },
      { text: 'It is short.' },
    ),
  })
  await runAgent(deps, task)
  const texts = events.filter((event) => event.type === 'fragment')
  expect(texts.filter(({ kind }) => kind !== 'step').map(({ kind, text, step }) => [kind, text, step])).toEqual([
    ['commentary', 'I look.', 1],
    ['answer', 'It is short.', 2],
  ])
})

test('a chat can read, and has no tool with an effect', async () => {
  const { deps, task, events } = await openAgent({
    mode: 'chat',
    files: { 'a.txt': 'the content', '.agent-policy.yaml': 'writes:\n  allow: ["**"]\n' },
    text: scriptOf(
      { calls: [{ tool: 'fs_read', args: { path: 'a.txt' } }] },
      { calls: [{ tool: 'createFile', args: { path: 'b.txt', content: 'x' } }] },
      { calls: [{ tool: 'mcp.edit.applyPatch', args: { unifiedDiff: '' } }] },
      { text: 'Read.' },
    ),
  })
  const outcome = await runAgent(deps, task)
  expect(outcome).toMatchObject({ outcome: 'completed', answer: 'Read.', summary: 'Read.' })
  const ended = events.flatMap((event) => (event.type === 'tool' && event.state === 'ended' ? [event.outcome] : []))
  expect(ended).toEqual(['ok', 'failed', 'failed'])
  expect(events.some((event) => event.type === 'approval')).toBe(false)
})

test('a file that exists cannot be created, and the model gets the reason', async () => {
  const { deps, task, events, root } = await openAgent({
    files: { 'a.txt': 'mine\n', '.agent-policy.yaml': 'writes:\n  allow: ["**"]\n' },
    text: scriptOf({ calls: [{ tool: 'createFile', args: { path: 'a.txt', content: 'x\n' } }] }, { text: 'No.' }),
  })
  await runAgent(deps, task)
  const messages = events.flatMap((event) => (event.type === 'tool' && event.state === 'ended' ? [event.message] : []))
  expect(messages).toEqual([expect.stringContaining('a.txt exists already.')])
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('mine\n')
})

test('if a model does not answer, the next one takes over, and a notice names it', async () => {
  const { deps, task, events, demo } = await openAgent({
    text: scriptOf({ error: { status: 429, models: ['gpt-4.1'] }, text: 'Hello' }),
    settings: { model: 'no-such-model', fallbackModels: ['gpt-4.1', 'gpt-5-mini'] },
  })
  const outcome = await runAgent(deps, task)
  expect(outcome).toMatchObject({ outcome: 'completed', model: 'gpt-5-mini', answer: 'Hello', steps: 1 })
  const notices = events.flatMap((event) => (event.type === 'fragment' && event.kind === 'notice' ? [event.text] : []))
  expect(notices).toEqual([
    expect.stringMatching(/^no-such-model did not answer: .* Switching to gpt-4\.1\.$/),
    expect.stringMatching(/^gpt-4\.1 did not answer: .* Switching to gpt-5-mini\.$/),
  ])
  const chats = demo.log.filter(({ route }) => STREAMING_ROUTES.has(route))
  expect(chats.map(({ headers }) => headers['x-initiator'])).toEqual(['user', 'user'])
})

test.each([
  ['GitHub', { status: 400, code: 'model_not_supported' }, 'completed'],
  ['OpenAI', { status: 404, code: 'model_not_found' }, 'completed'],
  ['Anthropic', { status: 404, message: 'model: claude-x' }, 'completed'],
  ['nobody, for a body that is refused', { status: 400, code: 'invalid_request_body' }, 'failed'],
  ['nobody, for a path that does not exist', { status: 404, message: '404 page not found' }, 'failed'],
])('a model that %s does not have is followed by the next one', async (_, facts, expected) => {
  const { deps, task } = await openAgent({
    text: 'Hello',
    settings: { model: 'gpt-4.1', fallbackModels: ['gpt-5-mini'] },
  })
  const runTurn: typeof deps.runTurn = async (call) => {
    if (call.model === 'gpt-4.1') throw new Fault({ kind: 'upstream_status', message: 'No.', ...facts })
    return deps.runTurn(call)
  }
  expect(await runAgent({ ...deps, runTurn }, task)).toMatchObject({ outcome: expected })
})

test('the duration of a call does not count the time that a person takes', async () => {
  let passedMs = 0
  const { deps, task, events } = await openAgent({
    files: { '.agent-policy.yaml': 'writes:\n  allow: ["**"]\n' },
    text: scriptOf({ calls: [{ tool: 'createFile', args: { path: 'a.txt', content: 'a' } }] }, { text: 'Done.' }),
    deps: { now: () => performance.now() + passedMs },
    async approve() {
      passedMs += 3_600_000
      return 'once'
    },
  })
  expect(await runAgent(deps, task)).toMatchObject({ outcome: 'completed', files: [{ path: 'a.txt' }] })
  const [duration = Infinity] = events.flatMap((event) =>
    event.type === 'tool' && event.state === 'ended' ? [event.durationMs] : [],
  )
  expect(duration).toBeLessThan(3_600_000)
  expect(duration).toBeGreaterThanOrEqual(0)
})

test('a failure of every model ends the run with the message of upstream', async () => {
  const { deps, task } = await openAgent({ text: scriptOf({ error: { status: 500 } }) })
  const outcome = await runAgent(deps, task)
  expect(outcome).toMatchObject({ outcome: 'failed', answer: '', steps: 1 })
  expect(outcome.summary).toBe(`${outcome.reason}\nNo file was changed.`)
})

function read(number: number) {
  return { calls: [{ tool: 'fs_read', args: { path: `${number}.txt` } }] }
}

test('a conversation that outgrows the model continues from a summary', async () => {
  const files = Object.fromEntries([1, 2, 3, 4].map((number) => [`${number}.txt`, `${number} word `.repeat(600)]))
  const { deps, task, events, demo } = await openAgent({
    files,
    text: scriptOf(read(1), read(2), read(3), read(4)),
    settings: { maxSteps: 5 },
    deps: { modelFacts: () => ({ contextTokens: 8000, hasToolCalls: true, seesImages: true }) },
  })
  const outcome = await runAgent(deps, task)
  expect(outcome.outcome).toBe('max_steps')
  expect(outcome.items[0]?.type).toBe('compaction')
  expect(outcome.items[1]).toMatchObject({ role: 'user', parts: [{ text: task.text }] })
  expect(outcome.requests).toBeGreaterThan(5)
  expect(JSON.stringify(events)).toContain('Its older part is replaced by a summary.')
  const dropped = events.find((event) => event.type === 'compaction')
  expect(dropped).toMatchObject({ isSummarised: true, messages: 0, calls: expect.any(Number) })
  expect(dropped?.tokens).toBeGreaterThan(1000)
  expect(JSON.stringify(events)).toContain(`Left out: 0 messages and ${dropped?.calls} call`)
  const chats = demo.log.filter(({ route }) => STREAMING_ROUTES.has(route))
  expect(JSON.stringify(chats.at(-1))).toContain('Summary of the earlier part of this conversation')
})

test('a later run gets the items of the earlier one', async () => {
  const first = await openAgent({ mode: 'chat', text: 'My name is Ada.' })
  const { items } = await runAgent(first.deps, first.task)
  const { deps, task, demo } = await openAgent({ mode: 'chat', text: 'Who am I?', history: items })
  await runAgent(deps, task)
  expect(JSON.stringify(demo.log)).toContain('My name is Ada.')
})

test('attachments are sent with the message', async () => {
  const { deps, task } = await openAgent({ mode: 'chat', text: '[demo:echo]' })
  const outcome = await runAgent(deps, {
    ...task,
    attachments: [
      { name: 'note.txt', mediaType: 'text/plain', text: 'a note' },
      { name: 'dot.png', mediaType: 'image/png', base64: 'iVBORw0KGgo=' },
    ],
  })
  // As data, within the marks that the system prompt names.
  const mark = /mark (data-\w+)/.exec(outcome.answer)?.[1]
  expect(outcome.answer).toContain(String.raw`[${mark} begin: attached file \"note.txt\"]\na note\n[${mark} end]`)
  expect(outcome.answer).toContain('data:image/png;base64,iVBORw0KGgo=')
})

const image = (bytes: number) => ({
  name: 'a.png',
  mediaType: 'image/png',
  base64: Buffer.alloc(bytes).toString('base64'),
})
const images = (count: number) => Array.from({ length: count }, () => image(60))

test.each(['gpt-4.1', 'gpt-5.4', 'claude-opus-4.7'])(
  '%s: images of earlier messages that the model does not take are left out, new ones end the run',
  async (model) => {
    const { deps, task, demo, send } = await openAgent({ mode: 'chat', text: 'Look', settings: { model } })
    // The limits are in the live list, which the first request for a model of the seeds does not wait for.
    await expect.poll(async () => (await send('/v1/models')).text).toContain('claude-opus-4.7')
    const first = await runAgent(deps, { ...task, attachments: images(15) })
    expect(first.outcome).toBe('completed')
    const second = await runAgent(deps, { ...task, attachments: images(15), history: first.items })
    expect(second.outcome).toBe('completed')
    expect(demo.log.at(-1)?.body.split('Image omitted')).toHaveLength(11)
    const large = await runAgent(deps, { ...task, attachments: [image(3_300_000)], history: first.items })
    expect(large).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(/this image has \d+ bytes; .* at most/),
    })
    const after = await runAgent(deps, { ...task, history: [...first.items, ...large.items] })
    expect(after.outcome).toBe('completed')
  },
)

test('closing the workspace ends the run', async () => {
  const { deps, task } = await openAgent({ text: 'Hello' })
  const closed = AbortSignal.abort()
  const outcome = await runAgent(deps, { ...task, session: { ...task.session, signal: closed } })
  expect(outcome).toMatchObject({ outcome: 'cancelled', reason: 'The workspace was closed.', requests: 0 })
})

test('an allowed root outside the workspace is refused', async () => {
  const { deps, task } = await openAgent({ text: 'Hello', settings: { allowedRoots: ['../x'] } })
  expect(await runAgent(deps, task)).toMatchObject({ outcome: 'failed', items: [{ role: 'user' }] })
})

test.each([
  [
    'denied',
    { '.agent-policy.yaml': 'writes:\n  deny: ["**"]\n' },
    'but nothing was changed: every change or command was denied',
  ],
  ['allowed', { '.agent-policy.yaml': 'writes:\n  allow: ["**"]\n' }, 'The model gave its final answer.'],
])('the reason and the summary of a run say that every change was %s', async (how, files, reason) => {
  const { deps, task } = await openAgent({
    files,
    text: scriptOf({ calls: [{ tool: 'createFile', args: { path: 'a.txt', content: 'a' } }] }, { text: 'Done.' }),
  })
  const outcome = await runAgent(deps, task)
  expect(outcome).toMatchObject({ outcome: 'completed', reason: expect.stringContaining(reason) })
  expect(outcome.summary.includes('was denied')).toBe(how === 'denied')
})
