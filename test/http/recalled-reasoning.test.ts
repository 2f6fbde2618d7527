import { describe, expect, test } from 'vitest'
import { isObject, objectsOf, objectOf, textOf } from '../../src/json/json.ts'
import { dataOf } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

type Json = Readonly<Record<string, unknown>>

const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
const prompt = { role: 'user', content: '[demo:replay][demo:tool f {"a":1}] go' }

const models = [
  ['gpt-5.3-codex', '/responses'],
  ['claude-opus-4.7', '/v1/messages'],
  ['gemini-3-pro-preview', '/chat/completions'],
] as const

/** One turn of a client that knows no member of a message but OpenAI's own. */
async function turn({ chat, openChat }: Proxy, model: string, messages: readonly Json[], stream: boolean) {
  const ask = { model, messages, tools, reasoning_effort: 'low' }
  if (!stream) {
    const reply = await chat(ask)
    return { status: reply.status, said: choiceOf(reply.json(), 'message'), text: reply.text }
  }
  const reply = await openChat(ask)
  const text = await reply.rest()
  const deltas = dataOf(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => choiceOf(JSON.parse(data), 'delta'))
  // Tools of one argument object: the pieces of the first call are joined, which is all there is.
  const calls = deltas.flatMap((delta) => objectsOf(delta['tool_calls']))
  const pieces = calls.map(({ function: called }) => objectOf(called))
  const args = pieces.map(({ arguments: piece }) => textOf(piece)).join('')
  const first = calls[0] && {
    id: calls[0]['id'],
    type: 'function',
    function: { name: pieces[0]?.['name'], arguments: args },
  }
  return { status: reply.status, said: { tool_calls: first && [first] } as Json, text }
}

function choiceOf(body: unknown, key: 'message' | 'delta'): Json {
  const inner = isObject(body) ? objectsOf(body['choices'])[0]?.[key] : undefined
  return objectOf(inner)
}

/** What the client sends back of a turn, with the results of its calls. */
function goOn({ tool_calls: calls }: Json, rest: Json = {}): readonly Json[] {
  expect(objectsOf(calls)).toHaveLength(1)
  return [
    { role: 'assistant', content: null, tool_calls: calls, ...rest },
    ...objectsOf(calls).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' })),
  ]
}

describe.each(models)('a client that drops reasoning_opaque, with %s', (model, route) => {
  test.each([true, false])('finishes a tool loop, one upstream request a turn (stream: %s)', async (stream) => {
    const proxy = await openProxy()
    const first = await turn(proxy, model, [prompt], stream)
    expect(first.status).toBe(200)
    expect(first.text).toContain('"reasoning_opaque"')
    const second = await turn(proxy, model, [prompt, ...goOn(first.said)], stream)
    expect({ status: second.status, text: second.text }).toMatchObject({ status: 200 })
    expect(second.said['tool_calls']).toBeUndefined()
    expect(proxy.demo.count(route)).toBe(2)
  })

  test('fails with calls under other ids, because the model requires its reasoning', async () => {
    const proxy = await openProxy()
    const { said } = await turn(proxy, model, [prompt], false)
    const renamed = objectsOf(said['tool_calls']).map(({ type, function: called }) => ({
      id: 'call_other',
      type,
      function: called,
    }))
    const { status } = await turn(proxy, model, [prompt, ...goOn({ tool_calls: renamed })], false)
    expect({ status, requests: proxy.demo.count(route) }).not.toEqual({ status: 200, requests: 2 })
  })
})

const gemini = 'gemini-3-pro-preview'

/** What upstream got last, of the only assistant message. */
function sentOpaque({ demo }: Proxy): unknown {
  const body: unknown = JSON.parse(String(demo.log.findLast(({ route }) => route === '/chat/completions')?.body))
  const messages = isObject(body) ? objectsOf(body['messages']) : []
  return messages.find(({ role }) => role === 'assistant')?.['reasoning_opaque']
}

test('reasoning that the client returns is never replaced', async () => {
  const proxy = await openProxy()
  const { said } = await turn(proxy, gemini, [prompt], false)
  await turn(proxy, gemini, [prompt, ...goOn(said)], false)
  expect(sentOpaque(proxy)).toBe(said['reasoning_opaque'])
  await turn(proxy, gemini, [prompt, ...goOn(said, { reasoning_opaque: 'b3du' })], false)
  expect(sentOpaque(proxy)).toBe('b3du')
})

test('under chat.strict the model gets what the client sent', async () => {
  const proxy = await openProxy({ file: 'chat: { strict: true }' })
  const { said } = await turn(proxy, gemini, [prompt], false)
  expect(said['reasoning_opaque']).toEqual(expect.any(String))
  const { status } = await turn(proxy, gemini, [prompt, ...goOn(said)], false)
  expect(status).toBe(400)
  expect(sentOpaque(proxy)).toBeUndefined()
})
