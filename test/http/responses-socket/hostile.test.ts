import { describe, expect, test, vi } from 'vitest'
import { openProxy } from '../harness.ts'
import { connect, create, openSocket, responseOf, textOf, user } from './support.ts'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const keys = (...names: readonly string[]) => `server: { api-keys: [${names.join(', ')}] }`

describe('messages', () => {
  test.each([
    ['no JSON', '{"type":', 'JSON'],
    ['an array', '[]', 'invalid_type'],
    ['another type', '{"type":"response.cancel"}', 'invalid_value'],
    ['a stream of many', '{"type":"response.create","stream_id":"1"}', 'unsupported_parameter'],
    ['a request without input', JSON.stringify(create({ input: undefined })), 'missing_required_parameter'],
    [
      'a request that only prepares, without input',
      JSON.stringify(create({ input: undefined, generate: false })),
      'missing_required_parameter',
    ],
    ['an unknown model', JSON.stringify(create({ model: 'nobody' })), 'model_not_found'],
    ['deep nesting', `{"type":"response.create","input":${'['.repeat(100_000)}`, 'nesting_too_deep'],
  ])('%s is an error, and the connection goes on', async (_what, text, code) => {
    const { client } = await openSocket()
    client.send(text)
    const [error] = await client.answer()
    expect(error).toMatchObject({
      type: 'error',
      status: expect.any(Number),
      error: { type: 'invalid_request_error', message: expect.any(String) },
      headers: { 'x-request-id': expect.any(String) },
    })
    expect(JSON.stringify(error)).toContain(code)
    client.send(create())
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
  })

  test('a receipt is no request', async () => {
    const { client } = await openSocket()
    client.send({ type: 'response.processed', response_id: 'x' })
    client.send(create())
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
  })

  test('over the limit of bodies get an error that names it and close the connection with 1009, those below it do not', async () => {
    const { client } = await openSocket({ file: 'server: { body-limit-mb: 1 }' })
    client.send(create({ input: [user('x'.repeat(900_000))] }))
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
    client.send(create({ input: [user('x'.repeat(1_100_000))] }))
    const [error] = await client.answer()
    expect(error).toMatchObject({ type: 'error', status: 413 })
    expect(JSON.stringify(error)).toContain('1 MB')
    expect((await client.closed)[0]).toBe(1009)
  })

  test('in binary close the connection with 1003', async () => {
    const { client } = await openSocket()
    client.send(Buffer.from(JSON.stringify(create())))
    expect((await client.closed)[0]).toBe(1003)
  })

  test('that come while an answer runs wait for it', async () => {
    const { proxy, client } = await openSocket()
    client.send(create({ input: [user('One [demo:slow 20]')] }))
    client.send(create({ input: [user('Two')] }))
    expect(textOf(await client.answer())).toContain('One')
    expect(textOf(await client.answer())).toContain('Two')
    expect(proxy.demo.aborted()).toBe(0)
  })

  test('that do not wait for their answers close the connection with 1008, and end the answer', async () => {
    const { proxy, client } = await openSocket()
    client.send(create({ input: [user('[demo:stall]')] }))
    await proxy.demo.until(() => proxy.demo.openStreams() > 0)
    for (let at = 0; at < 5; at += 1) client.send(create())
    expect((await client.closed)[0]).toBe(1008)
    await proxy.demo.until(() => proxy.demo.openStreams() === 0)
    expect(proxy.demo.log.filter(({ route }) => route === '/responses')).toHaveLength(1)
  })
})

describe('access', () => {
  test('no key and a wrong key are refused before anything is read', async () => {
    const proxy = await openProxy({ file: keys('right-key') })
    await expect(connect(proxy)).rejects.toThrow('status 401')
    await expect(connect(proxy, bearer('wrong'))).rejects.toThrow('status 401')
    const client = await connect(proxy, bearer('right-key'))
    client.send(create())
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
  })

  test.each([
    ['a foreign Host', { host: 'evil.example' }],
    ['a foreign Origin', { origin: 'https://evil.example' }],
    ['a null Origin', { origin: 'null' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
  ])('%s is refused with 403', async (_what, headers) => {
    const proxy = await openProxy()
    await expect(connect(proxy, headers)).rejects.toThrow('status 403')
  })

  test('an allowed Origin is let in, until it is no longer allowed', async () => {
    const proxy = await openProxy({
      file: 'server: { allowed-origins: ["https://app.example"], api-keys: [right-key] }',
    })
    const client = await connect(proxy, { origin: 'https://app.example', ...bearer('right-key') })
    client.send(create())
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
    proxy.daemon.reconfigure(proxy.configure(keys('right-key')))
    client.send(create())
    expect(await client.answer()).toMatchObject([{ type: 'error', status: 403 }])
    expect((await client.closed)[0]).toBe(1008)
  })

  test('a key that is removed ends its answer with an error and its connection, and no other', async () => {
    const proxy = await openProxy({ file: keys('first-key', 'other-key') })
    const [client, idle, other] = await Promise.all(
      ['first-key', 'first-key', 'other-key'].map((key) => connect(proxy, bearer(key))),
    )
    client?.send(create({ input: [user('[demo:stall]')] }))
    await proxy.demo.until(() => proxy.demo.openStreams() > 0)
    await vi.waitFor(async () => expect(await client?.next()).toMatchObject({ type: 'response.output_text.delta' }))
    proxy.daemon.reconfigure(proxy.configure(keys('other-key')))
    const messages = await client?.answer()
    expect(messages?.map(({ type }) => type)).toEqual(expect.arrayContaining(['error', 'response.failed']))
    expect((await client?.closed)?.[0]).toBe(1008)
    expect((await idle?.closed)?.[0]).toBe(1008)
    await proxy.demo.until(() => proxy.demo.openStreams() === 0)
    other?.send(create())
    expect((await other?.answer())?.at(-1)).toMatchObject({ type: 'response.completed' })
  })

  test('a key as a subprotocol appears in no answer and in no list', async () => {
    const proxy = await openProxy({ file: `${keys('right-key')}\nlog: { bodies: true }` })
    const client = await connect(proxy, {}, ['copilot-proxy', 'copilot-proxy.bearer.right-key'])
    client.send(create())
    await client.answer()
    const { text } = await proxy.send('/requests', { headers: bearer('right-key') })
    const [{ id }] = JSON.parse(text).requests
    expect((await proxy.send(`/requests/${id}`, { headers: bearer('right-key') })).text).not.toContain('right-key')
  })
})

describe('limits hold for each message', () => {
  test('of requests per minute', async () => {
    const { client } = await openSocket({ file: 'server: { max-requests-per-minute: 2, rate-limit: refuse }' })
    client.send(create({ generate: false }))
    const { id } = responseOf(await client.answer())
    client.send(create({ previous_response_id: id, input: [] }))
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
    for (const generate of [true, false]) {
      client.send(create({ generate }))
      expect(await client.answer()).toMatchObject([
        { type: 'error', status: 429, headers: { 'retry-after': expect.any(String) } },
      ])
    }
  })

  test('of credits of a key', async () => {
    const file = 'server: { api-keys: [right-key], key-limits: { plain-1: { credits-per-day: 0.000001 } } }'
    const { client } = await openSocket({ file }, bearer('right-key'))
    client.send(create())
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
    client.send(create())
    expect(await client.answer()).toMatchObject([{ type: 'error', status: expect.any(Number) }])
  })
})

describe('failures of upstream', () => {
  test('before the first event are one message with status and headers, and the connection goes on', async () => {
    const { client } = await openSocket()
    client.send(create({ input: [user('[demo:error 429 7]')] }))
    expect(await client.answer()).toMatchObject([
      { type: 'error', status: 429, error: { message: expect.any(String) }, headers: { 'retry-after': '7' } },
    ])
    client.send(create())
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
  })

  test('in the middle are the events of HTTP, and the connection goes on', async () => {
    const { client } = await openSocket()
    client.send(create({ input: [user('[demo:cut]')] }))
    const types = (await client.answer()).map(({ type }) => type)
    expect(types).toContain('response.created')
    expect(types.slice(-2)).toEqual(['error', 'response.failed'])
    client.send(create())
    expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.completed' })
  })
})

test('a client that leaves ends its request to upstream', async () => {
  const { proxy, client } = await openSocket()
  client.send(create({ input: [user('[demo:stall]')] }))
  await proxy.demo.until(() => proxy.demo.openStreams() > 0)
  client.leave()
  await proxy.demo.until(() => proxy.demo.openStreams() === 0)
  expect(proxy.demo.aborted()).toBe(1)
  await vi.waitFor(async () => {
    const { requests } = JSON.parse((await proxy.send('/requests')).text)
    expect(requests).toMatchObject([{ status: 499, method: 'WEBSOCKET' }])
  })
})

test('a shutdown closes idle connections, and ends an answer that takes too long with an error', async () => {
  const { proxy, client } = await openSocket()
  const idle = await connect(proxy)
  client.send(create({ input: [user('[demo:stall]')] }))
  await proxy.demo.until(() => proxy.demo.openStreams() > 0)
  const closing = proxy.daemon.close(200)
  expect((await idle.closed)[0]).toBe(1001)
  expect((await client.answer()).at(-1)).toMatchObject({ type: 'response.failed' })
  expect((await client.closed)[0]).toBe(1001)
  await closing
})
