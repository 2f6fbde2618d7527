import { describe, expect, test } from 'vitest'
import { dataOf } from '../client.ts'
import type { Reply } from '../client.ts'
import { openProxy } from '../harness.ts'
import type { Proxy } from '../harness.ts'

type Json = Readonly<Record<string, unknown>>

function ask({ send }: Proxy, change: Json): Promise<Reply> {
  return send('/v1/responses', { body: JSON.stringify({ model: 'gpt-5-mini', input: 'Hello', ...change }) })
}

/** The body of the last request of a route upstream. */
function lastSent({ demo }: Proxy, route = '/responses') {
  const found = demo.log.findLast((request) => request.route === route)
  return JSON.parse(found?.body ?? 'null')
}

function roles(input: readonly Json[]): readonly unknown[] {
  return input.map((item) => item['role'] ?? item['type'])
}

describe.each([
  ['native', 'gpt-5-mini'],
  ['over chat', 'gpt-4.1'],
  ['over messages', 'claude-opus-4.7'],
])('a conversation by previous_response_id, %s', (_how, model) => {
  test('carries the previous response and those before it', async () => {
    const proxy = await openProxy()
    const first = JSON.parse((await ask(proxy, { model, input: 'one' })).text)
    const second = JSON.parse((await ask(proxy, { model, input: 'two', previous_response_id: first.id })).text)
    const third = await ask(proxy, { model, input: 'three', previous_response_id: second.id })
    expect(third.status).toBe(200)
    const sent = JSON.stringify(proxy.demo.log.at(-1)?.body)
    for (const said of ['one', 'two', 'three']) expect(sent).toContain(said)
    expect(sent.indexOf('one')).toBeLessThan(sent.indexOf('two'))
    expect(sent).not.toContain('previous_response_id')
  })

  test('works for a streamed reply too', async () => {
    const proxy = await openProxy()
    const streamed = await ask(proxy, { model, input: 'one', stream: true })
    const last = JSON.parse(dataOf(streamed.text).at(-1) ?? '')
    expect(last.type).toBe('response.completed')
    expect((await ask(proxy, { model, previous_response_id: last.response.id })).status).toBe(200)
  })
})

test.each([
  ['native', 'gpt-5-mini'],
  ['over chat', 'gpt-4.1'],
  ['over messages', 'claude-opus-4.7'],
])('a response says what was asked for and when it was complete, %s', async (_how, model) => {
  const proxy = await openProxy()
  const asked = { prompt_cache_key: 'k', max_tool_calls: 3, safety_identifier: 'me', store: false }
  const said = { ...asked, background: false, top_logprobs: 0, frequency_penalty: 0, presence_penalty: 0 }
  const from = Math.floor(Date.now() / 1000)
  const body = JSON.parse((await ask(proxy, { model, ...asked })).text)
  const events = dataOf((await ask(proxy, { model, ...asked, stream: true })).text).map((text) => JSON.parse(text))
  const responses: readonly Json[] = events.flatMap(({ response }) => response ?? [])
  expect(responses.map(({ status }) => status)).toEqual(['in_progress', 'in_progress', 'completed'])
  for (const response of [body, ...responses]) {
    expect(response).toMatchObject(said)
    const isDone = response['status'] === 'completed'
    expect(response['completed_at']).toEqual(isDone ? expect.any(Number) : null)
    if (isDone) expect(response['completed_at']).toBeGreaterThanOrEqual(from)
  }
})

test('the joined input has all items in order, including the reply', async () => {
  const proxy = await openProxy()
  const first = JSON.parse((await ask(proxy, { input: 'one' })).text)
  await ask(proxy, { input: [{ role: 'user', content: 'two' }], previous_response_id: first.id })
  expect(roles(lastSent(proxy).input)).toEqual(expect.arrayContaining(['user', 'assistant', 'user']))
  expect(lastSent(proxy).store).toBe(false)
})

test('instructions of the earlier response are not inherited', async () => {
  const proxy = await openProxy()
  const first = JSON.parse((await ask(proxy, { instructions: 'be brief' })).text)
  await ask(proxy, { previous_response_id: first.id })
  expect(JSON.stringify(lastSent(proxy))).not.toContain('be brief')
})

test('an unknown previous_response_id is the documented 400', async () => {
  const proxy = await openProxy()
  const reply = await ask(proxy, { previous_response_id: 'resp_unknown' })
  expect(reply.status).toBe(400)
  expect(reply.json()).toMatchObject({
    error: { code: 'previous_response_not_found', param: 'previous_response_id', type: 'invalid_request_error' },
  })
  expect(proxy.demo.count('/responses')).toBe(0)
})

test('store: false keeps nothing', async () => {
  const proxy = await openProxy()
  const first = JSON.parse((await ask(proxy, { store: false })).text)
  expect((await ask(proxy, { previous_response_id: first.id })).status).toBe(400)
  expect((await proxy.send(`/v1/responses/${first.id}`)).status).toBe(404)
})

test('a stored response can be read, its input listed, and deleted', async () => {
  const proxy = await openProxy()
  const made = JSON.parse((await ask(proxy, { input: 'one' })).text)
  expect((await proxy.send(`/v1/responses/${made.id}`)).json()).toEqual(made)
  expect((await proxy.send(`/v1/responses/${made.id}/input_items`)).json()).toMatchObject({
    object: 'list',
    data: [{ role: 'user' }],
    has_more: false,
  })
  expect((await proxy.send(`/v1/responses/${made.id}`, { method: 'DELETE' })).json()).toEqual({
    id: made.id,
    object: 'response',
    deleted: true,
  })
  const gone = await proxy.send(`/v1/responses/${made.id}`)
  expect(gone.status).toBe(404)
  expect(gone.json()).toMatchObject({ error: { code: 'response_not_found' } })
})

test('an item_reference is replaced by the item of a stored response', async () => {
  const proxy = await openProxy()
  const made = JSON.parse((await ask(proxy, { input: 'one' })).text)
  const message = made.output.find((item: Json) => item['type'] === 'message')
  const input = [
    { role: 'user', content: 'one' },
    { type: 'item_reference', id: message.id },
    { role: 'user', content: 'two' },
  ]
  expect((await ask(proxy, { input })).status).toBe(200)
  expect(JSON.stringify(lastSent(proxy).input[1])).toContain(message.content[0].text)
  const unknown = await ask(proxy, { input: [{ type: 'item_reference', id: 'msg_nothing' }] })
  expect(unknown.json()).toMatchObject({ error: { code: 'item_not_found' } })
})

describe('sends the request again without the parts that upstream refuses', () => {
  test('ciphertext of another upstream, once, with a warning', async () => {
    const proxy = await openProxy()
    const input = [
      { role: 'user', content: 'one' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'Zm9yZWlnbg==' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'yo', annotations: [] }] },
      { role: 'user', content: 'two' },
    ]
    const reply = await ask(proxy, { input })
    expect(reply.status).toBe(200)
    expect(proxy.demo.count('/responses')).toBe(2)
    expect(roles(lastSent(proxy).input)).not.toContain('reasoning')
    expect(reply.headers['x-copilot-proxy-warnings']).toContain('thinking_dropped')
  })

  test('an unknown field, and remembers its second refusal', async () => {
    const proxy = await openProxy()
    for (const sent of [2, 4]) {
      expect((await ask(proxy, { brand_new_member: 1 })).status).toBe(200)
      expect(proxy.demo.count('/responses')).toBe(sent)
    }
    const again = await ask(proxy, { brand_new_member: 1 })
    expect(again.status).toBe(200)
    expect(proxy.demo.count('/responses')).toBe(5)
    expect(again.headers['x-copilot-proxy-warnings']).toContain('brand_new_member')
  })

  test('but returns a refusal that it cannot repair', async () => {
    const proxy = await openProxy()
    const reply = await ask(proxy, { input: '[demo:error 400]' })
    expect(reply.status).toBe(400)
    expect(proxy.demo.count('/responses')).toBe(1)
  })
})

test('no id longer than 64 characters reaches upstream, whatever the caller sends', async () => {
  const proxy = await openProxy()
  const first = JSON.parse((await ask(proxy, { input: '[demo:reasoning] one', reasoning: { effort: 'low' } })).text)
  const long = 'x'.repeat(300)
  const input = [
    { id: long, role: 'user', content: 'one' },
    ...first.output,
    { type: 'function_call', id: long, call_id: `call_${long}`, name: 'f', arguments: '{}' },
    { type: 'function_call_output', id: long, call_id: `call_${long}`, output: 'r' },
    { role: 'user', content: 'two' },
  ]
  const reply = await ask(proxy, { input })
  expect(reply.status).toBe(200)
  const ids = JSON.stringify(lastSent(proxy)).match(/"(?:id|call_id)":"[^"]*"/g) ?? []
  for (const id of ids) expect(id.length).toBeLessThanOrEqual(64 + '"call_id":""'.length)
  expect(proxy.demo.count('/responses')).toBe(2)
})

const codexTools = {
  type: 'namespace',
  name: 'functions',
  description: '',
  tools: [{ type: 'function', name: 'f', strict: false, parameters: { type: 'object', properties: {} } }],
}
const codexPrompt = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }

test.each([
  ['of tools', { tools: [codexTools] }],
  ['in the input', { input: [{ type: 'additional_tools', role: 'developer', tools: [codexTools] }, codexPrompt] }],
])('a namespace %s whose description is empty is answered by every kind of model', async (_where, change) => {
  const proxy = await openProxy()
  for (const [model, route] of [
    ['gpt-5.3-codex', '/responses'],
    ['gpt-4.1', '/chat/completions'],
    ['claude-opus-4.7', '/v1/messages'],
  ] as const) {
    for (const stream of [true, false]) {
      const reply = await ask(proxy, { model, stream, ...change })
      expect([model, reply.status]).toEqual([model, 200])
      expect(JSON.stringify(lastSent(proxy, route))).toContain('"name":"f"')
      expect(JSON.stringify(lastSent(proxy, route))).not.toContain('"description":""')
    }
    // Nothing was refused and sent again.
    expect(proxy.demo.count(route)).toBe(2)
  }
})
