import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { z } from 'zod'
import { relayOutput } from '../../../src/api/server-relay.ts'
import type { RelayInput, RelayOutput } from '../../../src/api/server-relay.ts'
import { scriptOf } from '../../agent/support.ts'
import { openProxy } from '../../http/harness.ts'
import { connect } from '../../rpc/support.ts'
import { makeFolder } from '../../tools/session.ts'
import { connectMcp } from '../server/support.ts'

const key = 'key-of-this-test'

const pathOf = (conversation: string) => `/sessions/app/conversations/${conversation}/servers`

/** A daemon with a workspace `app`, for callers with and without a key. */
async function openDaemon({ hasKeys = true } = {}) {
  const path = await makeFolder({ 'a.txt': 'one\n' })
  const file = JSON.stringify({
    workspaces: [{ path, name: 'app' }],
    agent: { model: 'gpt-5-mini' },
    ...(hasKeys && { server: { 'api-keys': [key] } }),
  })
  const proxy = await openProxy({ file })
  const owner = { authorization: `Bearer ${proxy.daemon.ownerToken}` }
  const keyed = { authorization: `Bearer ${key}` }
  type Headers = Readonly<Record<string, string>>
  const ask = async (route: string, body: object, headers: Headers = owner) =>
    z.looseObject({ id: z.string() }).parse((await proxy.send(route, { headers, body: JSON.stringify(body) })).json())
  return {
    ...proxy,
    owner,
    keyed,
    path,
    begin: async (headers: Headers = owner) => (await ask('/sessions/app/conversations', {}, headers)).id,
    /** Sends a message and resolves when its run has ended. */
    async say(conversationId: string, text: string, headers: Headers = owner) {
      const { id } = await ask('/message', { text, mode: 'agent', conversationId }, headers)
      const state = async () => (await proxy.send(`/runs/${id}`, { headers })).text
      await expect.poll(state).toContain('"state":"ended"')
      return await state()
    },
    /** What the model got last, without backslashes. */
    sent: () =>
      JSON.stringify(proxy.demo.log.findLast(({ route }) => route === '/responses')?.body).replaceAll('\\', ''),
    connect: (conversation: string, headers: Headers = owner) =>
      openSocket(`${proxy.daemon.url.replace('http:', 'ws:')}${pathOf(conversation)}`, headers),
  }
}

const readOnly = { annotations: { readOnlyHint: true, openWorldHint: false } }

/** A program that holds MCP servers. Each has the tool `word`, which answers with a word and only reads. */
function openSocket(url: string, headers: Readonly<Record<string, string>>) {
  const socket = new WebSocket(url, { headers })
  onTestFinished(() => {
    if (socket.readyState === WebSocket.OPEN) socket.terminate()
  })
  const received: RelayOutput[] = []
  const lookers = new Set<() => void>()
  const send = (input: RelayInput): void => socket.send(JSON.stringify(input))
  function answer(channel: number, { id, method }: Readonly<Record<string, unknown>>): void {
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'it', version: '1' },
      },
      'tools/list': { tools: [{ name: 'word', inputSchema: { type: 'object' }, ...readOnly }] },
      'tools/call': { content: [{ type: 'text', text: 'heron' }] },
    }
    if (id === undefined) return
    send({
      type: 'message',
      channel,
      message: Object.assign({ jsonrpc: '2.0' } as const, { id, result: results[String(method)] }),
    })
  }
  socket.on('message', (data: Buffer) => {
    const output = relayOutput.parse(JSON.parse(data.toString()))
    received.push(output)
    if (output.type === 'message') answer(output.channel, output.message)
    for (const look of lookers) look()
  })
  socket.on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  return {
    send,
    socket,
    received,
    closed,
    /** The status of the answer that refuses the handshake. */
    refused: new Promise<number | undefined>((resolve) =>
      socket.once('unexpected-response', (_request, response) => {
        resolve(response.statusCode)
        response.destroy()
      }),
    ),
    async offer(...names: readonly string[]) {
      await once(socket, 'open')
      send({ type: 'servers', servers: names.map((name) => ({ name, fingerprint: 'of-this-test' })) })
    },
    seen: (fits: (output: RelayOutput) => boolean) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (received.some(fits)) resolve()
        }
        lookers.add(look)
        look()
      }),
  }
}

const calling = scriptOf({ calls: [{ tool: 'editor_it_word', args: {} }] }, { text: 'Done.' })

test('only the owner gives servers, and only to conversations of the owner', async () => {
  const on = await openDaemon()
  const [own, ofKey] = [await on.begin(), await on.begin(on.keyed)]
  expect(await on.connect(own, on.keyed).refused).toBe(403)
  // A key cannot make a run of its own have them either, and learns nothing of conversations.
  expect(await on.connect(ofKey, on.keyed).refused).toBe(403)
  expect(await on.connect('of-nobody', on.keyed).refused).toBe(403)
  expect(await on.connect(own, {}).refused).toBe(401)
  expect(await on.connect(own, { authorization: 'Bearer wrong' }).refused).toBe(401)
  expect(await on.connect(ofKey).refused).toBe(403)
  expect(await on.connect('of-nobody').refused).toBe(404)
  expect(await on.connect(own, { ...on.owner, origin: 'https://evil.example' }).refused).toBe(403)
  const plain = await on.send(pathOf(own), { headers: on.owner })
  expect([plain.status, plain.text]).toEqual([400, expect.stringContaining('connect with a WebSocket client')])

  const it = on.connect(own)
  await it.offer('it')
  await it.seen(({ type }) => type === 'ready')
  expect(await on.say(own, calling)).toContain('heron')
})

test('without keys, a program that has no token of the owner gives none', async () => {
  const on = await openDaemon({ hasKeys: false })
  expect(await on.connect(await on.begin(), {}).refused).toBe(403)
})

test('no other conversation, key, list or client has the tools, and they go with the connection', async () => {
  const on = await openDaemon()
  const [own, other, ofKey] = [await on.begin(), await on.begin(), await on.begin(on.keyed)]
  const it = on.connect(own)
  await it.offer('it')
  await it.seen(({ type }) => type === 'version')
  await on.say(own, 'Hello')
  expect(on.sent()).toContain('editor_it_word')
  await on.say(other, 'Hello')
  expect(on.sent()).not.toContain('editor_it_word')
  await on.say(ofKey, 'Hello', on.keyed)
  expect(on.sent()).not.toContain('editor_it_word')
  expect(await on.say(other, calling)).toContain('There is no tool')
  for (const path of ['/sessions', '/sessions/app/servers', '/sessions/app/prompts']) {
    expect((await on.send(path, { headers: on.owner })).text).not.toContain('editor')
  }
  const rpc = await connect(`${on.daemon.url.replace('http:', 'ws:')}/rpc`, { headers: on.owner })
  expect(JSON.stringify(await rpc.ask('mcp.tools.list'))).not.toContain('editor_it')
  expect(JSON.stringify(await rpc.ask('mcp.tools.call', { name: 'editor_it_word' }))).toContain('has no tool')
  const { client: mcp } = await connectMcp(`${on.daemon.url}/mcp`, { key: on.daemon.ownerToken })
  expect(JSON.stringify(await mcp.listTools())).not.toContain('editor_it')

  it.socket.close()
  await it.closed
  await on.say(own, 'Hello')
  expect(on.sent()).not.toContain('"name":"editor_it_word"')
})

test('who opens the conversation again takes the place of the one before', async () => {
  const on = await openDaemon()
  const own = await on.begin()
  const first = on.connect(own)
  await first.offer('it')
  await first.seen(({ type }) => type === 'version')
  const second = on.connect(own)
  await second.offer('new')
  expect(await first.closed).toBe(4001)
  await second.seen(({ type }) => type === 'version')
  await on.say(own, 'Hello')
  expect([on.sent().includes('editor_it_word'), on.sent().includes('editor_new_word')]).toEqual([false, true])
})

test('a message that makes no sense closes the connection, and a lost server is told', async () => {
  const on = await openDaemon()
  const own = await on.begin()
  for (const text of ['{', '{"type":"servers"}', '{"type":"open","channel":1,"server":"it"}', '[]']) {
    const { socket, closed } = on.connect(own)
    await once(socket, 'open')
    socket.send(text)
    expect(await closed).toBe(1008)
  }
  const complex = ['['.repeat(2_000_000) + ']'.repeat(2_000_000), `[${'{},'.repeat(2_000_000)}0]`]
  for (const a of complex) {
    const bad = on.connect(own)
    await bad.offer('it')
    await bad.seen(({ type }) => type === 'version')
    bad.socket.send(`{"type":"message","channel":1,"message":{"jsonrpc":"2.0","method":"odd","params":{"a":${a}}}}`)
    expect(await bad.closed).toBe(1008)
  }
  const it = on.connect(own)
  await it.offer('it')
  await it.seen(({ type }) => type === 'version')
  // Of channels that nobody has opened, and an answer that is no MCP.
  it.send({ type: 'closed', channel: 99, reason: 'x' })
  it.send({ type: 'message', channel: 99, message: { jsonrpc: '2.0' } })
  it.send({ type: 'message', channel: 1, message: { jsonrpc: '2.0' } })
  it.send({ type: 'closed', channel: 1, reason: 'it is gone' })
  await it.seen((each) => each.type === 'notice' && each.text === 'The MCP server "editor.it" failed: it is gone.')
  it.send({ type: 'servers', servers: [] })
  expect(await it.closed).toBe(1008)
})

test('the connection ends with the workspace and with the daemon', async () => {
  const on = await openDaemon()
  const first = on.connect(await on.begin())
  await first.offer('it')
  await first.seen(({ type }) => type === 'ready')
  on.daemon.reconfigure(on.configure(JSON.stringify({ workspaces: [await makeFolder()] })))
  expect(await first.closed).toBe(1001)

  const again = await openDaemon()
  const second = again.connect(await again.begin())
  await second.offer('it')
  await second.seen(({ type }) => type === 'ready')
  await Promise.all([again.daemon.close(0), second.closed])
  expect(await second.closed).toBe(1001)
})

test('in a locked workspace, nobody calls them', async () => {
  const on = await openDaemon()
  const own = await on.begin()
  const it = on.connect(own)
  await it.offer('it')
  await it.seen(({ type }) => type === 'version')
  on.daemon.reconfigure(
    on.configure(
      JSON.stringify({
        workspaces: [{ path: on.path, name: 'app', 'read-only': 'locked' }],
        agent: { model: 'gpt-5-mini' },
        server: { 'api-keys': [key] },
      }),
    ),
  )
  expect(await on.say(own, calling)).toContain('This workspace is locked')
})
