import { ProtocolError } from '@modelcontextprotocol/client'
import { describe, expect, test, vi } from 'vitest'
import { failures } from '../../rpc/support.ts'
import { connectMcp, openMcpApp, protocols } from './support.ts'

describe.each(protocols)('over HTTP with the protocol of %s', (protocol) => {
  test('negotiates the version, and describes the server', async () => {
    const { url } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    expect(client.getNegotiatedProtocolVersion()).toBe(protocol)
    expect(client.getServerVersion()).toMatchObject({ name: 'copilot-proxy', version: '0.0.0-test' })
    expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: true } })
    expect(client.getInstructions()).toContain('the folder /w/foo (workspace "foo")')
  })

  test('lists the tools of the workspace under their names for models', async () => {
    const { url } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual('echo wait report fail break big fs_read session_list'.split(' '))
    expect(tools.find(({ name }) => name === 'fs_read')).toMatchObject({
      title: 'Read a file',
      inputSchema: { type: 'object' },
      annotations: { title: 'Read a file', readOnlyHint: true, openWorldHint: false },
    })
  })

  test('returns the result as structured content and as text, and names the caller in the audit line', async () => {
    const { url, calls } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    const result = await client.callTool({ name: 'fs_read', arguments: { path: 'a' } })
    const expected = { session: 'foo', args: { path: 'a' } }
    expect(result.structuredContent).toEqual(expected)
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(expected) }])
    expect(result.isError ?? false).toBe(false)
    expect(calls[0]).toMatchObject({ name: 'mcp.fs.read', caller: 'mcp:local' })
  })

  test('calls a tool without arguments', async () => {
    const { url, calls } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    await client.callTool({ name: 'echo' })
    expect(calls[0]?.args).toEqual({})
  })

  test.each(Object.values(failures))(
    'a failure of the kind $kind is a result that the model reads',
    async (failure) => {
      const { url } = await openMcpApp()
      const { client } = await connectMcp(url, { protocol })
      const result = await client.callTool({ name: 'fail', arguments: { kind: failure.kind } })
      expect(result.isError).toBe(true)
      expect(result.structuredContent).toMatchObject({ error: { kind: failure.kind, message: expect.any(String) } })
      expect(JSON.stringify(result.content)).toContain('detail' in failure ? failure.detail : '.')
    },
  )

  test('a conflict shows the expected and the found lines', async () => {
    const { url } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    const result = await client.callTool({ name: 'fail', arguments: { kind: 'conflict' } })
    const text = 'The patch does not match.\n\na.ts:3\nexpected:\n  x\nfound:\n  y'
    expect(result.content).toEqual([{ type: 'text', text }])
    expect(result.structuredContent).toMatchObject({ error: { conflicts: failures.conflict.conflicts } })
  })

  test.each(['nothing', '__proto__', 'mcp.fs.read', 'tools_call', 'tools_list', ''])(
    'an unknown tool "%s" is an error of the protocol',
    async (name) => {
      const { url, calls } = await openMcpApp()
      const { client } = await connectMcp(url, { protocol })
      await expect(client.callTool({ name })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining(`no tool "${name}"`),
      })
      expect(calls).toEqual([])
    },
  )

  test('a defect is an internal error, and its message stays in the log', async () => {
    const { url, log } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    const error = await client.callTool({ name: 'break' }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ProtocolError)
    expect(error).toMatchObject({ code: -32603 })
    expect(String(error)).not.toContain('secret')
    expect(log.filter(({ level }) => level === 'error')).toHaveLength(1)
  })

  test('sends progress before the result to a client that wants it', async () => {
    const { url } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    const parts: unknown[] = []
    await client.callTool({ name: 'report' }, { onprogress: (part) => parts.push(part) })
    expect(parts).toEqual([
      { progress: 1, message: 'one' },
      { progress: 2, message: 'two' },
    ])
  })

  test('sends no progress without a progress token', async () => {
    const { url, calls } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    await client.callTool({ name: 'report' })
    expect(calls[0]?.progress).toBeUndefined()
  })

  test('a cancelled call is aborted, and others continue', async () => {
    const { url, calls, waiting, release } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    const controller = new AbortController()
    const cancelled = client.callTool({ name: 'wait' }, { signal: controller.signal }).catch((error: unknown) => error)
    await vi.waitFor(() => expect(waiting()).toBe(1))
    const other = client.callTool({ name: 'wait' })
    await vi.waitFor(() => expect(waiting()).toBe(2))
    controller.abort('enough')
    await vi.waitFor(() => expect(waiting()).toBe(1))
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, false])
    expect(await cancelled).toBeInstanceOf(Error)
    release()
    expect((await other).structuredContent).toEqual({ waited: true })
  })

  test('announces a changed list of tools to the clients of that workspace', async () => {
    const { url, listChanged } = await openMcpApp(['foo', 'bar'])
    const changed = { foo: 0, bar: 0 }
    for (const name of ['foo', 'bar'] as const) {
      const { client } = await connectMcp(`${url}?session=${name}`, { protocol })
      client.setNotificationHandler('notifications/tools/list_changed', () => {
        changed[name] += 1
      })
      if (protocol === '2026-07-28') await client.listen({ toolsListChanged: true })
    }
    await vi.waitFor(() => {
      listChanged('id-of-foo')
      expect(changed.foo).toBeGreaterThan(0)
    })
    expect(changed.bar).toBe(0)
  })

  test('refuses a call of a client that has 100 in progress', async () => {
    const { url, waiting, release } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    const calls = Array.from({ length: 100 }, () => client.callTool({ name: 'wait' }))
    await vi.waitFor(() => expect(waiting()).toBe(100), { timeout: 10_000 })
    const refused = await client.callTool({ name: 'echo' })
    expect(refused).toMatchObject({ isError: true, structuredContent: { error: { kind: 'busy' } } })
    release()
    for (const { structuredContent } of await Promise.all(calls)) expect(structuredContent).toEqual({ waited: true })
    expect((await client.callTool({ name: 'echo' })).isError ?? false).toBe(false)
  })

  test('answers ping', async () => {
    const { url } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    if (protocol === '2025-11-25') await expect(client.ping()).resolves.toEqual({})
    // The newer protocol version has no ping.
    else await expect(client.ping()).rejects.toThrow()
  })
})
