import { expect, test } from 'vitest'
import type { CodexUpstream } from '../codex.ts'
import { ask, doneItems, eventsOf, loginHeaders, promptOf, replyOf, openCodex } from './test-client.ts'
import type { Fields } from './test-client.ts'

const tool = { type: 'function', name: 'read_file', strict: false, parameters: { type: 'object', properties: {} } }
const functions = { type: 'namespace', name: 'functions', tools: [tool] }
const prompt = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] }
const said = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
const additional = (tools: readonly Fields[]) => ({ type: 'additional_tools', role: 'developer', tools })

function liteBody(change: Fields = {}, text = 'Hi'): Fields {
  return {
    model: 'gpt-5.6-luna',
    instructions: '',
    input: [additional([functions]), prompt, said(text)],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    reasoning: { effort: 'low', context: 'all_turns' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    ...change,
  }
}

function askLite(codex: CodexUpstream, body: Fields): Promise<Response> {
  return ask(codex, body, loginHeaders(codex.login(), { 'x-openai-internal-codex-responses-lite': 'true' }))
}

test('accepts the lite form, and calls the tools in its input', async () => {
  const codex = await openCodex()
  const response = await askLite(codex, liteBody({}, '[demo:tool]'))
  expect(response.status).toBe(200)
  const call = doneItems(eventsOf(await response.text())).find(({ type }) => type === 'function_call')
  expect(call).toMatchObject({ name: 'read_file', namespace: 'functions' })
})

test.for<[string, Fields, RegExp]>([
  ['parallel calls', { parallel_tool_calls: true }, /Responses-Lite requires parallel_tool_calls to be false/],
  ['parallel calls left open', { parallel_tool_calls: undefined }, /parallel_tool_calls to be false/],
  ['another context', { reasoning: { effort: 'low' } }, /all_turns/],
  ['instructions', { instructions: 'Be brief.' }, /instructions/],
  ['tools outside', { tools: [tool] }, /requires tools to be absent/],
  ['no tool choice', { tool_choice: undefined }, /tool_choice/],
  ['tools after the prompt', { input: [prompt, additional([functions]), said('Hi')] }, /additional_tools.*come first/],
  ['tools by the user', { input: [{ ...additional([functions]), role: 'user' }, said('Hi')] }, /by the developer/],
  [
    'hosted tools',
    { input: [additional([{ type: 'web_search' }]), prompt, said('Hi')] },
    /only supports function tools, custom tools, and client-executed tool search.*"unsupported_value"/,
  ],
  ['a function outside its namespace', { input: [additional([tool]), prompt, said('Hi')] }, /namespace/],
  [
    'detail on images',
    {
      input: [
        additional([]),
        prompt,
        { ...said(''), content: [{ type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' }] },
      ],
    },
    /does not support detail/,
  ],
  ['a model without it', { model: 'gpt-5.5' }, /not supported by gpt-5.5/],
])('refuses the lite form with %s', async ([, change, words]) => {
  const codex = await openCodex()
  const { status, body } = await replyOf(await askLite(codex, liteBody(change)))
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toMatch(words)
})

test('takes the lite form without tools', async () => {
  const codex = await openCodex()
  expect((await askLite(codex, liteBody({ input: [prompt, said('Hi')] }))).status).toBe(200)
})

test('refuses the lite form without its header', async () => {
  const codex = await openCodex()
  expect((await ask(codex, liteBody())).status).toBe(400)
})

test('a model can be not found in the standard form, and answers in the lite one', async () => {
  const codex = await openCodex({ settings: { liteOnly: { 'gpt-5.6-luna': 'not_found' } } })
  expect(await replyOf(await ask(codex, promptOf('Hi', { model: 'gpt-5.6-luna' })))).toEqual({
    status: 404,
    body: { detail: 'Model not found gpt-5.6-luna' },
  })
  expect((await ask(codex, promptOf('Hi'))).status).toBe(200)
  expect((await askLite(codex, liteBody())).status).toBe(200)
})

test('a model can ask for the context of the lite form instead', async () => {
  const codex = await openCodex({ settings: { liteOnly: { 'gpt-6-sol': 'context' } } })
  const { status, body } = await replyOf(await ask(codex, promptOf('Hi', { model: 'gpt-6-sol' })))
  expect(status).toBe(400)
  expect(body).toMatchObject({ error: { param: 'reasoning.context' } })
  expect((await askLite(codex, liteBody({ model: 'gpt-6-sol' }))).status).toBe(200)
  const stated = promptOf('Hi', { model: 'gpt-6-sol', reasoning: { context: 'all_turns' } })
  expect((await ask(codex, stated)).status).toBe(200)
})
