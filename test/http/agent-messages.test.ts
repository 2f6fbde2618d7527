import { describe, expect, test } from 'vitest'
import { isObject, objectsOf, parseObject } from '../../src/json/json.ts'
import type { JsonObject } from '../../src/json/json.ts'
import { dataOf } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

// Agents of Codex CLI (multi-agent v2): their tools have an encrypted parameter, and their messages are items of the input.

const path = '/v1/responses'

function agentTool(name: string, properties: JsonObject = { message: { type: 'string', encrypted: true } }) {
  const parameters = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
  return { type: 'function', name, description: `Does ${name}`, strict: false, parameters }
}

function collaboration(...tools: readonly unknown[]) {
  return { type: 'namespace', name: 'collaboration', description: 'Tools for sub-agents.', tools }
}

const agents = collaboration(
  agentTool('spawn_agent'),
  agentTool('followup_task'),
  agentTool('wait_agent', { seconds: { type: 'integer' } }),
)

function user(text: string) {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}

function agentMessage(...content: readonly unknown[]) {
  return { type: 'agent_message', id: 'amsg_1', author: '/root', recipient: '/root/zoo', content }
}

const nothing = { type: 'object', properties: {} }

const addedTools = { type: 'additional_tools', role: 'developer', tools: [agents] }
const search = { type: 'tool_search', execution: 'client', description: 'Searches', parameters: nothing }
const ofSearch = { call_id: 's1', execution: 'client', status: 'completed' }
const foundTools = [
  { type: 'tool_search_call', ...ofSearch, arguments: { query: 'agents' } },
  { type: 'tool_search_output', ...ofSearch, tools: [agents] },
]

const header = { type: 'input_text', text: 'Message Type: NEW_TASK\nPayload:\n' }
const sealed = (text: string) => ({ type: 'encrypted_content', encrypted_content: text })

async function ask(proxy: Proxy, model: string, body: JsonObject) {
  return await proxy.send(path, { body: JSON.stringify({ model, store: false, stream: false, ...body }) })
}

/** Each state of the calls of an answer: those of events, and those of the final response. */
function callsIn(text: string): readonly JsonObject[] {
  const events = text.startsWith('{')
    ? [{ response: parseObject(text) }]
    : dataOf(text).map((data) => parseObject(data) ?? {})
  const items = events.flatMap(({ item, response }) =>
    objectsOf([item]).concat(isObject(response) ? objectsOf(response['output']) : []),
  )
  return items.filter(({ type }) => type === 'function_call')
}

/** The body that upstream got last. */
function sentIn({ demo, codex }: Proxy): string {
  return [...demo.log, ...codex.log].findLast(({ body }) => body.includes('"model"'))?.body ?? ''
}

const call = (name: string) => `[demo:tool ${name} {"message":"Count the zebras"}]`

describe.each(['claude-sonnet-4.5', 'gemini-3-pro-preview', 'gpt-4.1', 'gpt-5.3-codex', 'gpt-5-mini'])(
  '%s',
  (model) => {
    test.each([true, false])('states that its calls to agents are not encrypted (stream: %s)', async (stream) => {
      const proxy = await openProxy()
      for (const name of ['spawn_agent', 'followup_task']) {
        const input = [user(call(`collaboration__${name}`))]
        const { status, text } = await ask(proxy, model, { input, tools: [agents], stream })
        expect(status).toBe(200)
        const calls = callsIn(text)
        expect(calls).not.toEqual([])
        for (const each of calls) {
          expect(each).toMatchObject({ namespace: 'collaboration', name, encrypted_function_args: [] })
        }
        expect(sentIn(proxy)).not.toContain('"encrypted":')
      }
    })

    test('says nothing of encryption where no parameter is encrypted', async () => {
      const proxy = await openProxy()
      const plain = agentTool('spawn_agent', { message: { type: 'string' }, encrypted: { type: 'boolean' } })
      for (const [tool, tools] of [
        ['collaboration__wait_agent {"seconds":1}', [agents]],
        ['collaboration__spawn_agent {"message":"a","encrypted":true}', [collaboration(plain)]],
        // A tool of its own that has the name of one of the agents' tools.
        ['spawn_agent {"message":"a","encrypted":true}', [plain, agents]],
      ] as const) {
        const { text } = await ask(proxy, model, { input: [user(`[demo:tool ${tool}]`)], tools })
        expect(callsIn(text)).not.toEqual([])
        expect(text).not.toContain('encrypted_function_args')
      }
      // A property may have the name of the mark.
      expect(sentIn(proxy)).toContain('"encrypted":{"type":"boolean"}')
    })

    test('gets the messages of agents in their places, as text', async () => {
      const proxy = await openProxy()
      const input = [
        user('First'),
        agentMessage(header, sealed('Task ZEBRA')),
        agentMessage({ type: 'input_text', text: 'Message Type: MESSAGE\nPayload:\ngAAAA is how it begins' }),
        agentMessage(sealed('gAAAA, said the sheep')),
        user('Last'),
      ]
      const { status } = await ask(proxy, model, { input })
      expect(status).toBe(200)
      expect(sentIn(proxy)).toMatch(
        /First.*NEW_TASK\\nPayload:\\nTask ZEBRA.*gAAAA is how it begins.*gAAAA, said the sheep.*Last/,
      )
      expect(sentIn(proxy)).not.toContain('encrypted_content":"')
    })

    test('refuses a ciphertext, which it cannot read', async () => {
      const proxy = await openProxy()
      const { status, text } = await ask(proxy, model, {
        input: [agentMessage(header, sealed(`gAAAAAB${'k-'.repeat(60)}==`))],
      })
      expect(status).toBe(400)
      expect(JSON.parse(text).error).toMatchObject({
        code: 'invalid_encrypted_content',
        message: expect.stringMatching(/input\[0\]\.content\[1\].*encrypted/),
      })
    })

    test('can call agents whose tools are in an item', async () => {
      const proxy = await openProxy()
      const prompt = user(call('collaboration__spawn_agent'))
      // Older models of GPT take no search in the history.
      const lists = model === 'gpt-5-mini' ? [[addedTools]] : [[addedTools], foundTools]
      for (const items of lists) {
        const { status, text } = await ask(proxy, model, { input: [...items, prompt], tools: [search, agents] })
        const expected = [{ name: 'spawn_agent', encrypted_function_args: [] }]
        expect([status, callsIn(text)], text).toMatchObject([200, expected])
        expect(sentIn(proxy)).not.toContain('"encrypted":')
      }
    })
  },
)

test.each(['stored', 'api-key'] as const)('Codex gets all of it as it is, by a %s login', async (codexLogin) => {
  const proxy = await openProxy({ codexLogin })
  const input = [agentMessage(header, sealed(`gAAAAAB${'k-'.repeat(60)}==`)), user(call('spawn_agent'))]
  const { status, text } = await ask(proxy, 'codex/gpt-5.5', { input, tools: [agents], stream: true })
  expect(status).toBe(200)
  const sent = JSON.parse(sentIn(proxy))
  expect(sent.input[0]).toEqual(input[0])
  expect(sent.tools[0].tools[0].parameters.properties).toEqual({ message: { type: 'string', encrypted: true } })
  expect(callsIn(text)).not.toEqual([])
  expect(text).not.toContain('encrypted_function_args')
})

test('a session goes on after a restart: nothing is remembered', async () => {
  const proxy = await openProxy()
  const input = [
    user('Spawn a helper'),
    {
      type: 'function_call',
      call_id: 'c1',
      namespace: 'collaboration',
      name: 'spawn_agent',
      arguments: '{"message":"a"}',
    },
    { type: 'function_call_output', call_id: 'c1', output: '{"task_name":"/root/zoo"}' },
    agentMessage({ type: 'input_text', text: 'Message Type: FINAL_ANSWER\nPayload:\nThe zoo has 42 zebras.' }),
    user(call('collaboration__followup_task')),
  ]
  for (const model of ['claude-sonnet-4.5', 'gpt-5.3-codex']) {
    const { status, text } = await ask(proxy, model, { input, tools: [agents] })
    expect([status, callsIn(text)]).toMatchObject([200, [{ name: 'followup_task', encrypted_function_args: [] }]])
    expect(sentIn(proxy)).toContain('42 zebras')
  }
})
