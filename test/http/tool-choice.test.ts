import { expect, test } from 'vitest'
import { bodyOfPrompt, dialectPaths } from './callers.ts'
import { chatsOf, openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

const tool = { type: 'function', function: { name: 'find', parameters: { type: 'object', properties: {} } } }

async function askValidated(proxy: Proxy, model: string, change: Readonly<Record<string, unknown>>) {
  const given = { tools: [tool], tool_choice: 'validated', ...change }
  return await proxy.send(dialectPaths.chat, { body: bodyOfPrompt('chat', model, 'Hello', given) })
}

/** `tool_choice` of the last request to the upstream route. */
function sentChoice({ demo }: Proxy, route: string): unknown {
  const body: { readonly tool_choice?: unknown } = JSON.parse(
    demo.log.findLast((each) => each.route === route)?.body ?? '{}',
  )
  return body.tool_choice
}

const chat = '/chat/completions'

test.each([
  ['Gemini', 'gemini-3-pro-preview', chat, 'validated'],
  ['GPT on chat', 'gpt-4.1', chat, 'auto'],
  ['GPT on Responses', 'gpt-5.3-codex', '/responses', 'auto'],
  ['Claude on chat', 'claude-sonnet-4.5', chat, 'auto'],
  ['Claude on Messages', 'claude-opus-4.7', '/v1/messages', { type: 'auto' }],
])(
  'a chat caller may send tool_choice validated to %s, which gets it or auto',
  async (_who, model, route, expected) => {
    const proxy = await openProxy()
    for (const stream of [true, false]) {
      const reply = await askValidated(proxy, model, { stream })
      expect([reply.status, sentChoice(proxy, route)]).toEqual([200, expected])
    }
  },
)

test('a chat request to Gemini that is translated for a web search keeps tool_choice validated', async () => {
  const proxy = await openProxy()
  const reply = await askValidated(proxy, 'gemini-3-pro-preview', { web_search_options: {} })
  const sent: { readonly tools?: readonly unknown[] } = JSON.parse(chatsOf(proxy.demo).at(-1)?.body ?? '{}')
  expect(sent.tools).toHaveLength(2)
  expect([reply.status, sentChoice(proxy, chat)]).toEqual([200, 'validated'])
})

test('without tools, tool_choice validated is left out', async () => {
  const proxy = await openProxy()
  for (const model of ['gemini-3-pro-preview', 'gpt-5.3-codex', 'claude-opus-4.7']) {
    expect((await askValidated(proxy, model, { tools: undefined })).status).toBe(200)
  }
  expect(sentChoice(proxy, chat)).toBeUndefined()
})

test('a tool_choice that no model knows is refused by its name', async () => {
  const { send } = await openProxy()
  const body = bodyOfPrompt('chat', 'gemini-3-pro-preview', 'Hello', { tools: [tool], tool_choice: 'validate' })
  const reply = await send(dialectPaths.chat, { body })
  expect(reply.status).toBe(400)
  expect(reply.json()).toMatchObject({ error: { param: 'tool_choice' } })
})
