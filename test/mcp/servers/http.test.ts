import { expect, test, vi } from 'vitest'
import { openHttpServer } from './http-server.ts'
import { openServers } from './support.ts'

test.each([404, 400])(
  'a server that answers %i because it has lost the session gets a new one, and each call is made once',
  async (status) => {
    const remote = await openHttpServer()
    const { call, listing, log } = await openServers({ far: { url: remote.url } })
    await call('far_echo')
    remote.forgetSessions(status)
    const results = await Promise.all([call('far_echo', { a: 1 }), call('far_echo', { a: 2 })])
    expect(results).toMatchObject([
      { text: expect.stringContaining('"a":1') },
      { text: expect.stringContaining('"a":2') },
    ])
    expect([remote.begun(), remote.calls()]).toEqual([2, 3])
    expect(listing()).toMatchObject([{ state: 'running' }])
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([])
  },
)

test('a server that loses every session fails the call instead of beginning sessions forever', async () => {
  const remote = await openHttpServer()
  const { call, listing } = await openServers({ far: { url: remote.url } })
  await call('far_echo')
  remote.forgetSessions()
  remote.loseCalls()
  await expect(call('far_echo')).rejects.toThrow('The MCP server "far" failed during the call')
  expect(remote.begun()).toBe(2)
  expect(listing()).toMatchObject([{ state: 'failed' }])
})

test('an unreachable server fails with a reason, and is used again when it is back', async () => {
  const remote = await openHttpServer()
  const { call, listing, later } = await openServers({ far: { url: remote.url } })
  await call('far_echo')
  await remote.close()
  await expect(call('far_echo')).rejects.toThrow('The MCP server "far" failed during the call: the connection failed (')
  expect(listing()).toMatchObject([{ state: 'failed', tools: ['far_echo'] }])
  later(1001)
  await expect(call('far_echo')).rejects.toThrow('The MCP server "far" is not running: the connection failed (')
  await remote.open()
  await expect(call('far_echo')).rejects.toThrow('A call starts it again in 2 s.')
  later(2001)
  expect(await call('far_echo', { a: 1 })).toMatchObject({ text: expect.stringContaining('"a":1') })
  expect(listing()).toMatchObject([{ state: 'running' }])
})

test('tools that a server adds are announced', async () => {
  const remote = await openHttpServer()
  const { call, names } = await openServers({ far: { url: remote.url } })
  await call('far_echo')
  await vi.waitFor(() => expect(remote.streams()).toBe(1))
  remote.add('more')
  await vi.waitFor(() => expect(names()).toEqual(['far_echo', 'far_more']))
})

test.each([false, true])(
  'null in an answer is what is absent, and the connection stays (as a stream: %s)',
  async (asStream) => {
    const remote = await openHttpServer()
    const { call, listing } = await openServers({ far: { url: remote.url } })
    remote.answerWith({ content: [{ type: 'text', text: 'hi' }], _meta: null, isError: null }, asStream)
    expect(await call('far_echo')).toEqual({ text: 'hi' })
    for (const wrong of ['hi', { content: 3 }]) {
      remote.answerWith(wrong, asStream)
      await expect(call('far_echo')).rejects.toThrow(
        /^The call of the MCP server "far" failed: its answer is not valid MCP\.$/,
      )
    }
    expect(listing()).toMatchObject([{ state: 'running' }])
    expect(remote.begun()).toBe(1)
  },
)
