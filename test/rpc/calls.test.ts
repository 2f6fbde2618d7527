import { describe, expect, it, test, vi } from 'vitest'
import { codes } from '../../src/rpc/json-rpc.ts'
import { connect, failures, fakeWorkspaces, openRpcApp } from './support.ts'
import type { FakeWorkspaces, RpcClient } from './support.ts'

interface Opened extends FakeWorkspaces {
  readonly client: RpcClient
  readonly url: string
  readonly configure: (file: string) => void
}

async function open(names: readonly string[] = ['foo'], file = '', query = ''): Promise<Opened> {
  const fake = fakeWorkspaces(names)
  const { url, configure } = await openRpcApp({ workspaces: () => fake.workspaces, file })
  return { ...fake, client: await connect(url + query), url, configure }
}

const errorOf = (id: unknown, code: number) => ({ jsonrpc: '2.0', id, error: expect.objectContaining({ code }) })
const echo = (id: unknown) => ({ jsonrpc: '2.0', id, result: { session: 'foo', args: {} } })
const deep = '['.repeat(100_000)

/** Messages and their answers; undefined: no answer. */
const messages: readonly (readonly [string, string, unknown])[] = [
  ['text that is no JSON', '{"jsonrpc": "2.0", "method": "foobar, "params"', errorOf(null, -32700)],
  ['an empty message', '', errorOf(null, -32700)],
  ['a broken batch', '[{"jsonrpc":"2.0","method":"echo","id":1},{"jsonrpc"', errorOf(null, -32700)],
  ['deep nesting', deep, errorOf(null, -32700)],
  ['deep nesting in params', `{"jsonrpc":"2.0","id":1,"method":"echo","params":${deep}`, errorOf(null, -32700)],
  ['a number', '1', errorOf(null, -32600)],
  ['null', 'null', errorOf(null, -32600)],
  ['no version', '{"method":"echo","id":1}', errorOf(1, -32600)],
  ['version 1.0', '{"jsonrpc":"1.0","method":"echo","id":1}', errorOf(1, -32600)],
  ['no method', '{"jsonrpc":"2.0","id":1}', errorOf(1, -32600)],
  ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}', errorOf(1, -32600)],
  ['a method that is no string', '{"jsonrpc":"2.0","method":1,"params":"bar"}', errorOf(null, -32600)],
  ['params that are a string', '{"jsonrpc":"2.0","method":"echo","params":"bar","id":"a"}', errorOf('a', -32600)],
  ['an id that is an object', '{"jsonrpc":"2.0","method":"echo","id":{}}', errorOf(null, -32600)],
  ['an id that is a boolean', '{"jsonrpc":"2.0","method":"echo","id":false}', errorOf(null, -32600)],
  ['an id that loses digits', '{"jsonrpc":"2.0","method":"echo","id":12345678901234567890}', errorOf(null, -32600)],
  ['an id beyond all numbers', '{"jsonrpc":"2.0","method":"echo","id":1e999}', errorOf(null, -32600)],
  ['an id that is a string', '{"jsonrpc":"2.0","method":"echo","id":"1"}', echo('1')],
  ['an empty id', '{"jsonrpc":"2.0","method":"echo","id":""}', echo('')],
  ['an id that is a number', '{"jsonrpc":"2.0","method":"echo","id":0}', echo(0)],
  ['a fractional id', '{"jsonrpc":"2.0","method":"echo","id":-1.5}', echo(-1.5)],
  ['an id that is null', '{"jsonrpc":"2.0","method":"echo","id":null}', echo(null)],
  ['an unknown method', '{"jsonrpc":"2.0","method":"mcp.nothing","id":1}', errorOf(1, -32601)],
  ['a method of the prototype', '{"jsonrpc":"2.0","method":"__proto__","id":1}', errorOf(1, -32601)],
  ['an unknown $ request', '{"jsonrpc":"2.0","method":"$/nothing","id":1}', errorOf(1, -32601)],
  ['params by position', '{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}', errorOf(1, -32602)],
  ['a notification', '{"jsonrpc":"2.0","method":"echo"}', undefined],
  ['a notification of an unknown method', '{"jsonrpc":"2.0","method":"mcp.nothing"}', undefined],
  ['a notification with wrong params', '{"jsonrpc":"2.0","method":"echo","params":[1]}', undefined],
  ['a notification that fails', '{"jsonrpc":"2.0","method":"fail"}', undefined],
  ['an unknown $ notification', '{"jsonrpc":"2.0","method":"$/nothing"}', undefined],
  ['an empty batch', '[]', errorOf(null, -32600)],
  ['a batch of one', '[{"jsonrpc":"2.0","method":"echo","id":1}]', [echo(1)]],
  ['a batch that is invalid', '[1]', [errorOf(null, -32600)]],
  ['a batch of invalid requests', '[1,[],"a"]', [null, null, null].map((id) => errorOf(id, -32600))],
  ['a batch of notifications', '[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","method":"nothing"}]', undefined],
  [
    'a mixed batch',
    `[{"jsonrpc":"2.0","method":"echo","id":"1"},{"jsonrpc":"2.0","method":"echo"},{"foo":"boo"},
      {"jsonrpc":"2.0","method":"foo.get","id":"5"},{"jsonrpc":"2.0","method":"fail","params":{"kind":"denied"},"id":9}]`,
    [echo('1'), errorOf(null, -32600), errorOf('5', -32601), errorOf(9, -32001)],
  ],
  [
    'an id twice in a batch',
    '[{"jsonrpc":"2.0","method":"echo","id":1},{"jsonrpc":"2.0","method":"echo","id":1}]',
    [echo(1), errorOf(null, -32600)],
  ],
  [
    'a number and a string as ids',
    '[{"jsonrpc":"2.0","method":"echo","id":1},{"jsonrpc":"2.0","method":"echo","id":"1"}]',
    [echo(1), echo('1')],
  ],
  ['a batch of too many', JSON.stringify(Array.from({ length: 1001 }, () => 1)), errorOf(null, -32600)],
]

it.each(messages)('G29: %s', async (_name, text, answer) => {
  const { client } = await open()
  client.sendText(text)
  if (answer !== undefined) expect(await client.next()).toEqual(answer)
  // The connection lives, and nothing else was sent.
  expect(await client.ask('echo')).toEqual(echo(1))
})

it('G29: an id that is in progress gets -32600 without it, and the first call goes on', async () => {
  const { client, release } = await open()
  const request = '{"jsonrpc":"2.0","id":7,"method":"wait"}'
  client.sendText(request)
  client.sendText(request)
  expect(await client.next()).toMatchObject({ id: null, error: { code: -32600, data: { id: 7 } } })
  release()
  expect(await client.next()).toMatchObject({ id: 7, result: { waited: true } })
  client.sendText('{"jsonrpc":"2.0","id":7,"method":"echo"}')
  expect(await client.next()).toMatchObject({ id: 7, result: {} })
})

it('G29: keys such as __proto__ reach the tool as plain keys', async () => {
  const { client, calls } = await open()
  client.sendText('{"jsonrpc":"2.0","id":1,"method":"echo","params":{"__proto__":{"polluted":true},"constructor":1}}')
  expect(await client.next()).toMatchObject({ id: 1, result: {} })
  expect(Object.hasOwn(Object(calls[0]?.args), '__proto__')).toBe(true)
  expect(Object.getPrototypeOf(calls[0]?.args)).toBe(Object.prototype)
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

describe('failures of tools', () => {
  test.each([
    ['invalid_arguments', -32602, { kind: 'invalid_arguments', path: 'range.start' }],
    ['failed', -32000, { kind: 'failed' }],
    ['denied', -32001, { kind: 'denied' }],
    ['conflict', -32002, { kind: 'conflict', conflicts: failures.conflict.conflicts }],
    ['too_large', -32003, { kind: 'too_large' }],
    ['timed_out', -32004, { kind: 'timed_out', afterMs: 1000 }],
    ['approval_refused', -32005, { kind: 'approval_refused' }],
    ['cancelled', -32800, { kind: 'cancelled' }],
  ] as const)('%s is %i', async (kind, code, data) => {
    const { client } = await open()
    expect(await client.ask('fail', { kind })).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code, message: expect.any(String), data },
    })
  })

  test('a defect is -32603, and its message stays in the log', async () => {
    const fake = fakeWorkspaces()
    const { url, log } = await openRpcApp({ workspaces: () => fake.workspaces })
    const client = await connect(url)
    const answer = await client.ask('break')
    expect(answer).toEqual(errorOf(1, codes.internal))
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(log.filter(({ level }) => level === 'error')).toHaveLength(1)
  })
})

describe('the session', () => {
  test.each([
    ['by name on the URL', '?session=bar', {}, 'bar'],
    ['by id on the URL', '?session=id-of-bar', {}, 'bar'],
    ['in the parameters', '', { session: 'bar' }, 'bar'],
    ['in the parameters rather than on the URL', '?session=foo', { session: 'bar' }, 'bar'],
  ])('is named %s, and the tool does not see it', async (_name, query, params, session) => {
    const { client } = await open(['foo', 'bar'], '', query)
    expect(await client.ask('echo', { ...params, path: 'a' })).toMatchObject({
      result: { session, args: { path: 'a' } },
    })
  })

  test.each([
    ['an unknown one', { session: 'baz' }, 'foo, bar'],
    ['none', {}, 'foo, bar'],
    ['a number', { session: 1 }, 'string'],
  ])('%s is refused with the names of those that exist', async (_name, params, words) => {
    const { client, calls } = await open(['foo', 'bar'])
    const answer = await client.ask('echo', params)
    const message = expect.stringContaining(words)
    expect(answer).toMatchObject({ error: { code: -32602, data: { path: 'session' }, message } })
    expect(calls).toEqual([])
  })

  test('is not needed to list the sessions', async () => {
    const { client } = await open(['foo', 'bar'])
    expect(await client.ask('mcp.session.list')).toMatchObject({ result: { session: 'foo' } })
  })

  test('a connection outlives the last workspace', async () => {
    const { workspaces } = fakeWorkspaces()
    let current: typeof workspaces | undefined = workspaces
    const { url } = await openRpcApp({ workspaces: () => current })
    const client = await connect(url)
    current = undefined
    expect(await client.ask('echo')).toMatchObject({ error: { code: -32602, message: 'No workspace is configured.' } })
  })
})

describe('mcp.tools.call', () => {
  test('runs any tool of the session', async () => {
    const { client, calls } = await open(['foo', 'bar'])
    expect(
      await client.ask('mcp.tools.call', { name: 'echo', args: { session: 'mine' }, session: 'bar' }),
    ).toMatchObject({
      result: { session: 'bar', args: { session: 'mine' } },
    })
    expect(calls[0]?.name).toBe('echo')
  })

  test.each([
    ['an unknown tool', { name: 'nothing' }, 'name'],
    ['no name', {}, 'name'],
    ['itself', { name: 'mcp.tools.call' }, 'name'],
  ])('refuses %s with -32602', async (_name, params, path) => {
    const { client } = await open()
    expect(await client.ask('mcp.tools.call', params)).toMatchObject({ error: { code: -32602, data: { path } } })
  })
})

describe('progress', () => {
  test('arrives before the answer and never after it', async () => {
    const { client } = await open()
    expect(await client.ask('report')).toEqual({
      jsonrpc: '2.0',
      method: '$/progress',
      params: { id: 1, text: 'one', stream: 'stdout' },
    })
    expect(await client.next()).toEqual({ jsonrpc: '2.0', method: '$/progress', params: { id: 1, text: 'two' } })
    expect(await client.next()).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    expect(await client.ask('echo')).toMatchObject({ id: 2, result: {} })
  })

  test('of a notification is not sent', async () => {
    const { client } = await open()
    client.sendText('{"jsonrpc":"2.0","method":"report"}')
    expect(await client.ask('echo')).toEqual(echo(1))
  })
})

describe('cancel', () => {
  test('ends the call that its id names with -32800, and no other', async () => {
    const { client, waiting, release } = await open()
    client.sendText('{"jsonrpc":"2.0","id":1,"method":"wait"}')
    client.sendText('{"jsonrpc":"2.0","id":"1","method":"wait"}')
    await vi.waitFor(() => expect(waiting()).toBe(2))
    client.sendText('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"1"}}')
    expect(await client.next()).toEqual({
      jsonrpc: '2.0',
      id: '1',
      error: { code: -32800, message: 'The call was cancelled.', data: { kind: 'cancelled' } },
    })
    release()
    expect(await client.next()).toMatchObject({ id: 1, result: { waited: true } })
  })

  test.each(['{}', '{"id":99}', '{"id":null}', '[1]', '{"id":{}}'])('of %s does nothing', async (params) => {
    const { client } = await open()
    client.sendText(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":${params}}`)
    expect(await client.ask('echo')).toEqual(echo(1))
  })

  test('a client that leaves cancels its calls', async () => {
    const { client, calls, waiting } = await open()
    client.sendText('[{"jsonrpc":"2.0","id":1,"method":"wait"},{"jsonrpc":"2.0","method":"wait"}]')
    await vi.waitFor(() => expect(waiting()).toBe(2))
    client.socket.terminate()
    await vi.waitFor(() => expect(waiting()).toBe(0))
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, true])
  })
})

describe('the rate limit', () => {
  test('counts calls and names the setting and the pause', async () => {
    const { client, calls } = await open(['foo'], 'server: { max-requests-per-minute: 2 }')
    await client.ask('echo')
    await client.ask('nothing')
    await client.ask('echo')
    expect(await client.ask('echo')).toMatchObject({
      error: {
        code: -32000,
        message: expect.stringContaining('server.max-requests-per-minute'),
        data: { kind: 'rate_limited', retryAfterSeconds: expect.any(Number) },
      },
    })
    expect(calls).toHaveLength(2)
  })

  test('of a key holds for all its connections', async () => {
    const fake = fakeWorkspaces()
    const { url } = await openRpcApp({
      workspaces: () => fake.workspaces,
      file: 'server: { api-keys: [k], key-limits: { plain-1: { requests-per-minute: 1 } } }',
    })
    const headers = { authorization: 'Bearer k' }
    await (await connect(url, { headers })).ask('echo')
    expect(await (await connect(url, { headers })).ask('echo')).toMatchObject({
      error: { data: { kind: 'rate_limited' } },
    })
  })

  test('lets a call that waits for its turn be cancelled', async () => {
    const { client, calls } = await open(['foo'], 'server: { max-requests-per-minute: 1, rate-limit: wait }')
    await client.ask('echo')
    client.sendText('{"jsonrpc":"2.0","id":"late","method":"echo"}')
    client.sendText('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"late"}}')
    expect(await client.next()).toMatchObject({ id: 'late', error: { code: -32800 } })
    expect(calls).toHaveLength(1)
  })
})
