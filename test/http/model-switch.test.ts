import { describe, expect, test } from 'vitest'
import { isObject, objectsOf } from '../../src/json/json.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

/**
 * A session continues with another model in the middle of a tool loop: one model calls a tool, the next gets the result.
 * Each model thinks before it calls, and the simulated Copilot refuses what the real one would refuse of another's
 * thoughts and calls.
 */
type Json = Readonly<Record<string, unknown>>

/** Native Messages, chat and Responses, and Gemini, which refuses calls without its own thought signature. */
const models = ['claude-opus-4.8', 'claude-sonnet-4.5', 'gpt-5-mini', 'gpt-5.4', 'gemini-3-pro-preview'] as const

const prompt = '[demo:reasoning][demo:tool f {"a":1}][demo:tool f {"a":2}]'
const schema = { type: 'object', properties: { a: { type: 'number' } } }

interface Caller {
  readonly path: string
  readonly start: readonly Json[]
  readonly body: (model: string, history: readonly Json[]) => Json
  /** What the reply and the results of its calls add to the history. */
  readonly goOn: (reply: Json) => readonly Json[]
}

const callers: Readonly<Record<string, Caller>> = {
  messages: {
    path: '/v1/messages',
    start: [{ role: 'user', content: prompt }],
    body: (model, messages) => ({
      model,
      messages,
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      tools: [{ name: 'f', input_schema: schema }],
    }),
    goOn: ({ content }) => [
      { role: 'assistant', content },
      {
        role: 'user',
        content: objectsOf(content)
          .filter(({ type }) => type === 'tool_use')
          .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'done' })),
      },
    ],
  },
  chat: {
    path: '/v1/chat/completions',
    start: [{ role: 'user', content: prompt }],
    body: (model, messages) => ({
      model,
      messages,
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
    }),
    goOn: ({ choices }) => {
      const message = objectsOf(choices)[0]?.['message']
      if (!isObject(message)) throw new Error('no message')
      const calls = objectsOf(message['tool_calls'])
      return [message, ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' }))]
    },
  },
  responses: {
    path: '/v1/responses',
    start: [{ role: 'user', content: prompt }],
    body: (model, input) => ({
      model,
      input,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      tools: [{ type: 'function', name: 'f', parameters: schema }],
    }),
    goOn: ({ output }) => [
      ...objectsOf(output),
      ...objectsOf(output)
        .filter(({ type }) => type === 'function_call')
        .map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output: 'done' })),
    ],
  },
}

async function ask({ send }: Proxy, { path, body }: Caller, model: string, history: readonly Json[]): Promise<Json> {
  const reply = await send(path, { body: JSON.stringify(body(model, history)) })
  expect(reply.status, `${model}: ${reply.text}`).toBe(200)
  return JSON.parse(reply.text)
}

describe.each(Object.keys(callers))('a session of a %s caller', (name) => {
  test.each(models)('that %s began continues with any model', async (first) => {
    const caller = callers[name]
    if (caller === undefined) throw new Error(name)
    const proxy = await openProxy()
    const called = caller.goOn(await ask(proxy, caller, first, caller.start))
    // Two calls, whose results are both there.
    expect(JSON.stringify(called).match(/"done"/g)).toHaveLength(2)
    for (const next of models) {
      const answer = JSON.stringify(await ask(proxy, caller, next, [...caller.start, ...called]))
      expect(answer, next).toContain('done')
    }
  })
})
