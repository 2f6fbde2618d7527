import { describe, expect, test } from 'vitest'
import { generationsOf } from '../../clients/upstream-view.ts'
import { connect, create, model, openSocket, responseOf, textOf, user } from './support.ts'

test('an answer is that of POST /v1/responses, an event in each message', async () => {
  const { proxy, client } = await openSocket()
  client.send(create())
  const [metadata, ...events] = await client.answer()
  expect(metadata).toMatchObject({
    type: 'response.metadata',
    headers: { 'x-request-id': expect.any(String), 'x-copilot-proxy-route': 'copilot/responses' },
  })
  const body = JSON.stringify({ model, store: false, stream: true, input: [user('Hello there')] })
  const { text } = await proxy.send('/v1/responses', { body })
  const types = [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)
  expect(events.map(({ type }) => type)).toEqual(types)
  expect(textOf(events)).toContain('Hello from gpt-5.3-codex')
})

test('the warnings of a request are in its first message', async () => {
  const { client } = await openSocket()
  client.send(create({ model: 'gemini-3-pro-preview', reasoning: { effort: 'medium' } }))
  expect((await client.answer())[0]).toMatchObject({
    headers: { 'x-copilot-proxy-warnings': 'clamped;reasoning.effort' },
  })
})

describe.each([model, 'claude-opus-4.7', 'gemini-3-pro-preview'])('a conversation with %s', (name) => {
  test('sends only what is new, and upstream gets all of it', async () => {
    const { proxy, client } = await openSocket()
    const tools = [{ type: 'function', name: 'find_heron', parameters: { type: 'object', properties: {} } }]
    const more = { model: name, tools }
    client.send(create({ ...more, generate: false, input: [user('First [demo:tool find_heron {}]')] }))
    const prepared = await client.answer()
    expect(prepared.map(({ type }) => type)).toEqual(expect.arrayContaining(['response.created', 'response.completed']))
    expect(responseOf(prepared)).toMatchObject({ output: [], usage: { total_tokens: 0 } })
    expect(generationsOf(proxy)).toHaveLength(0)

    client.send(create({ ...more, previous_response_id: responseOf(prepared).id, input: [] }))
    const called = responseOf(await client.answer())
    const call = called.output.find(({ type }) => type === 'function_call')
    const output = { type: 'function_call_output', call_id: call?.['call_id'], output: 'a heron' }
    client.send(create({ ...more, previous_response_id: called.id, input: [output] }))
    expect(textOf(await client.answer())).toContain('The tool answered: a heron')
    const sent = generationsOf(proxy)
    expect(sent).toHaveLength(2)
    expect(sent[1]?.text).toContain('First [demo:tool find_heron')
    expect(sent[1]?.calls).toMatchObject([{ name: 'find_heron', result: expect.stringContaining('a heron') }])
    // The list has what cost something.
    const { requests } = JSON.parse((await proxy.send('/requests')).text)
    expect(requests).toMatchObject([
      { method: 'WEBSOCKET', api: 'responses', status: 200 },
      { method: 'WEBSOCKET', api: 'responses', status: 200 },
    ])
  })
})

describe('ids', () => {
  const unknown = { type: 'error', status: 400, error: { code: 'previous_response_not_found' } }

  test('of an answer that is not stored are of no use elsewhere', async () => {
    const { proxy, client } = await openSocket()
    client.send(create())
    const { id } = responseOf(await client.answer())
    const other = await connect(proxy)
    other.send(create({ previous_response_id: id }))
    expect(await other.answer()).toMatchObject([unknown])
    const body = JSON.stringify({ model, previous_response_id: id, input: 'And?' })
    expect((await proxy.send('/v1/responses', { body })).text).toContain('previous_response_not_found')
    expect((await proxy.send(`/v1/responses/${id}`)).status).toBe(404)
    // In the connection they are.
    client.send(create({ previous_response_id: id, input: [user('And?')] }))
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
  })

  test('of a stored answer can be used by its key, with the whole conversation, also after the connection', async () => {
    const { proxy, client } = await openSocket()
    client.send(create({ generate: false, input: [user('The first words')] }))
    const prepared = responseOf(await client.answer())
    client.send(create({ store: true, previous_response_id: prepared.id, input: [user('The second words')] }))
    const { id } = responseOf(await client.answer())
    client.leave()
    const body = JSON.stringify({ model, previous_response_id: id, input: 'The third words' })
    expect((await proxy.send('/v1/responses', { body })).status).toBe(200)
    expect(generationsOf(proxy).at(-1)?.text).toMatch(/The first words.*The second words.*The third words/)
    const other = await connect(proxy)
    other.send(create({ previous_response_id: id, input: [user('The fourth words')] }))
    expect((await other.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
  })

  test('end with their connection', async () => {
    const { proxy, client } = await openSocket()
    client.send(create())
    const { id } = responseOf(await client.answer())
    client.leave()
    await client.closed
    const other = await connect(proxy)
    other.send(create({ previous_response_id: id }))
    expect(await other.answer()).toMatchObject([unknown])
  })
})

test('what a message says of its request is obeyed', async () => {
  const { proxy, client } = await openSocket()
  const headers = { 'X-Interaction-Type': 'conversation-subagent', Authorization: 'Bearer theirs' }
  client.send(create({ initiator: 'agent', headers, agent_task_id: 'x' }))
  await client.answer()
  const sent = generationsOf(proxy).at(-1)
  expect(sent?.headers).toMatchObject({ 'x-initiator': 'agent', 'x-interaction-type': 'conversation-subagent' })
  expect(sent?.headers['authorization']).not.toContain('theirs')
  for (const name of ['initiator', 'headers', 'agent_task_id', 'type']) {
    expect(Object.keys(JSON.parse(sent?.text ?? ''))).not.toContain(name)
  }
})
