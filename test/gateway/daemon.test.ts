import { existsSync } from 'node:fs'
import { chmod, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { connect } from '../rpc/support.ts'
import { makeFolder } from '../tools/session.ts'
import { connectRaw, greet, toolOf, type RawProvider } from './support.ts'

interface Found {
  readonly url: string
  readonly token: string
}

/** Starts a daemon with a workspace and the gateway on a free port. */
async function openDaemon(files: Readonly<Record<string, string>> = {}, more = '', trusted = '') {
  const [dir, copilotHome] = [await makeFolder(files), await makeFolder()]
  const on = `workspaces: [${dir}]\ngateway: { enabled: true, port: 0${trusted} }\n${more}`
  const proxy = await openProxy({
    file: on,
    proxies: { COPILOT_HOME: copilotHome, TAP_PROVIDER_TOKEN: 'ptk-inherited' },
  })
  const discoveryFile = join(copilotHome, 'extensions', 'tap', '.provider-token')
  const gatewayDir = join(proxy.codexHome, '..', 'gateway')
  const { sessions } = (await proxy.send('/sessions')).json() as { sessions: { id: string; tools: string[] }[] }
  const sessionId = sessions[0]?.id ?? ''
  async function found(): Promise<Found> {
    const [name = ''] = await readdir(gatewayDir)
    return JSON.parse(await readFile(join(gatewayDir, name), 'utf8')) as Found
  }
  async function bind(tools: readonly object[] = [greet]): Promise<RawProvider> {
    const provider = await connectRaw((await found()).url)
    provider.send({ type: 'auth', token: await readFile(discoveryFile, 'utf8') })
    await provider.next()
    provider.send({ type: 'hello', name: 'mine', protocolVersion: 2, session: sessionId, tools })
    expect(await provider.next()).toMatchObject({ type: 'hello.ack' })
    expect(await provider.next()).toMatchObject({ type: 'session.lifecycle', state: 'started' })
    return provider
  }
  const rpc = () => connect(`${proxy.daemon.url.replace('http', 'ws')}/rpc`)
  return { ...proxy, on, found, bind, rpc, sessionId, discoveryFile, gatewayDir }
}

/** Callers of /rpc are not asked, so they call only tools of trusted providers. */
const openTrusting = () => openDaemon({}, '', ', trusted-programs: [mine]')

it('a client of /rpc calls a tool of a provider by its name and through mcp.tools.call', async () => {
  const { bind, rpc, send } = await openTrusting()
  const provider = await bind()
  expect((await send('/sessions')).json()).toMatchObject({ sessions: [{ tools: expect.arrayContaining(['greet']) }] })
  const client = await rpc()
  for (const ask of [
    () => client.ask('greet', { name: 'Alice' }),
    () => client.ask('mcp.tools.call', { name: 'greet', args: { name: 'Alice' } }),
  ]) {
    const answer = ask()
    const { id, args } = await provider.next()
    expect(args).toEqual({ name: 'Alice' })
    provider.send({ type: 'tool.result', id, data: 'Hello, Alice!' })
    expect(await answer).toMatchObject({ result: { data: 'Hello, Alice!' } })
  }
  const failed = client.ask('greet', { name: 'Bob' })
  const { id } = await provider.next()
  provider.send({ type: 'tool.result', id, error: 'No Bob', errorCode: 'NOT_FOUND' })
  expect(await failed).toMatchObject({ error: { code: -32000, data: { kind: 'failed', errorCode: 'NOT_FOUND' } } })
})

it('H10 a client that disconnects during a call cancels it at the provider, and the late result is dropped', async () => {
  const { bind, rpc } = await openTrusting()
  const provider = await bind()
  const client = await rpc()
  void client.ask('greet', { name: 'Alice' }).catch(() => {})
  const { id } = await provider.next()
  client.socket.terminate()
  expect(await provider.next()).toMatchObject({ type: 'tool.cancel', id, reason: 'cancelled' })
  provider.send({ type: 'tool.result', id, data: 'late' })
  const second = await rpc()
  const answer = second.ask('greet', { name: 'Bob' })
  const asked = await provider.next()
  provider.send({ type: 'tool.result', id: asked['id'], data: 'in time' })
  expect(await answer).toMatchObject({ result: { data: 'in time' } })
})

it('kept and surfaced texts are in the streams of the session, and an injected text becomes a message', async () => {
  const { bind, send, sessionId } = await openDaemon()
  const provider = await bind()
  provider.send({ type: 'push', level: 'keep', event: 'quiet' })
  provider.send({ type: 'push', level: 'surface', event: 'seen', stream: 'detour', metadata: { page: 1 } })
  provider.send({ type: 'push', level: 'inject', event: 'Page asks for help' })
  const path = `/sessions/${sessionId}/streams`
  await vi.waitFor(async () =>
    expect((await send(path)).json()).toMatchObject({
      streams: expect.arrayContaining([
        expect.objectContaining({ name: 'mine', entries: 2 }),
        expect.objectContaining({ name: 'detour', entries: 1 }),
      ]),
    }),
  )
  expect((await send(`${path}/detour`)).json()).toMatchObject({
    entries: [{ provider: 'mine', level: 'surface', text: 'seen', metadata: { page: 1 } }],
  })
  // The provider also gets the lifecycle messages of the run that its injected text starts.
  expect(await provider.next()).toMatchObject({ type: 'session.lifecycle', state: 'started', sessionId })
  expect(await provider.next()).toMatchObject({ type: 'session.lifecycle', state: 'idle', sessionId })
  expect((await send(`/sessions/${sessionId}/messages`)).json()).toMatchObject({
    messages: [{ origin: 'provider', text: expect.stringContaining('Page asks for help') }],
  })
})

it('a formatter of a workspace does not get the token', async () => {
  const { rpc, found, send } = await openDaemon(
    {
      '.agent-policy.yaml':
        'writes: { allow: ["a.py"] }\nshell: { allow: [".venv/bin/ruff format - --stdin-filename"] }\n',
      'ruff.toml': '',
      '.venv/bin/ruff': '#!/bin/sh\nenv\n',
      'a.py': 'a = 1\n',
    },
    'workspace: { read-only: false }\n',
  )
  const { sessions } = (await send('/sessions')).json() as { sessions: { path: string }[] }
  const root = sessions[0]?.path ?? ''
  await chmod(join(root, '.venv/bin/ruff'), 0o755)
  expect(await (await rpc()).ask('mcp.format.apply', { path: 'a.py' })).toMatchObject({ result: { changed: true } })
  const environment = await readFile(join(root, 'a.py'), 'utf8')
  expect(environment).toContain('PATH=')
  expect(environment).not.toContain('TAP_PROVIDER_TOKEN')
  expect(environment).not.toContain((await found()).token)
})

it('commands and tasks of a workspace do not get the token', async () => {
  const { rpc, found } = await openDaemon(
    {
      '.agent-policy.yaml': 'shell: { allow: ["env", "npm run show"] }\n',
      'package.json': JSON.stringify({ scripts: { show: 'env' } }),
    },
    'workspace: { read-only: false }\n',
  )
  const client = await rpc()
  const { token } = await found()
  for (const [method, params] of [
    ['mcp.shell.run', { argv: ['env'] }],
    ['mcp.task.run', { name: 'show' }],
  ] as const) {
    const answer = JSON.stringify(await client.ask(method, params))
    expect(answer).toContain('PATH=')
    expect(answer).not.toContain('TAP_PROVIDER_TOKEN')
    expect(answer).not.toContain(token)
  }
})

it('the configuration opens, moves and closes the gateway while the daemon runs', async () => {
  const { daemon, configure, on, found, bind, discoveryFile, gatewayDir, send, log } = await openDaemon()
  const provider = await bind()
  const before = await found()
  daemon.reconfigure(configure(`${on}log: { level: debug }\n`))
  expect(provider.waiting()).toEqual([])
  daemon.reconfigure(configure(on.replace('port: 0', 'port: 0, host: "::1"')))
  expect(await provider.next()).toMatchObject({ state: 'shutdown.pending' })
  provider.send({ type: 'goodbye' })
  expect(await provider.closed).toBe(1000)
  await vi.waitFor(async () => expect((await found()).url).toMatch(/^ws:\/\/\[::1\]:/))
  // Clients read it once for each run of the daemon.
  expect((await found()).token).toBe(before.token)
  const second = await bind()
  second.send({ type: 'goodbye' })
  await second.closed
  daemon.reconfigure(configure(on.replace('enabled: true', 'enabled: false')))
  await vi.waitFor(() => expect(existsSync(discoveryFile)).toBe(false))
  await vi.waitFor(async () => expect(await readdir(gatewayDir)).toEqual([]))
  daemon.reconfigure(configure(on))
  await vi.waitFor(async () => expect((await found()).token).toBe(before.token))
  daemon.reconfigure(configure(on.replace('enabled: true', 'enabled: false')))
  await vi.waitFor(() => expect(existsSync(discoveryFile)).toBe(false))
  expect(JSON.stringify((await send('/sessions')).json())).not.toContain('greet')
  expect(JSON.stringify(log)).not.toContain('ptk-')
})

it('a daemon that stops notifies its providers and removes its token', async () => {
  const { daemon, bind, discoveryFile } = await openDaemon()
  const provider = await bind([toolOf('slow')])
  const closing = daemon.close(10_000)
  expect(await provider.next()).toMatchObject({ state: 'shutdown.pending', deadline: 5000 })
  provider.send({ type: 'goodbye', reason: 'session ending' })
  expect(await provider.closed).toBe(1000)
  await closing
  expect(existsSync(discoveryFile)).toBe(false)
})

it('without a workspace there is no gateway', async () => {
  const copilotHome = await makeFolder()
  await openProxy({ file: 'gateway: { enabled: true, port: 0 }', proxies: { COPILOT_HOME: copilotHome } })
  expect(await readdir(copilotHome)).toEqual([])
})

it('the agent uses a tool of a provider after an approval that shows the arguments', async () => {
  const { bind, on, daemon, configure, send: plainSend, sessionId } = await openDaemon()
  const provider = await bind()
  // The key that made a run decides its approvals.
  daemon.reconfigure(configure(`${on}\nserver: { api-keys: [key-of-this-test] }`))
  const send = (path: string, ask: { readonly body?: string } = {}) =>
    plainSend(path, { ...ask, headers: { authorization: 'Bearer key-of-this-test' } })
  const text = 'agent: [demo:tool greet {"name":"Alice"}]'
  const started = (await send('/message', { body: JSON.stringify({ text }) })).json() as { id: string }
  expect(await provider.next()).toMatchObject({ type: 'session.lifecycle', state: 'started', sessionId })
  interface Run {
    readonly state: string
    readonly approvals: readonly { readonly approvalId: string; readonly state: string; readonly tool: string }[]
    readonly steps: readonly { readonly calls: readonly object[] }[]
  }
  const run = async () => (await send(`/runs/${started.id}`)).json() as Run
  const waiting = await vi.waitFor(
    async () => {
      const [approval] = (await run()).approvals
      if (approval === undefined) throw new Error('no approval yet')
      return approval
    },
    { timeout: 20_000 },
  )
  expect(waiting).toMatchObject({ tool: 'greet', state: 'pending', args: { name: 'Alice' } })
  expect(provider.waiting()).toEqual([])
  await send(`/approvals/${waiting.approvalId}`, { body: JSON.stringify({ decision: 'once' }) })
  const { id, args } = await provider.next()
  expect(args).toEqual({ name: 'Alice' })
  provider.send({ type: 'tool.result', id, data: 'Hello, Alice!' })
  expect(await provider.next()).toMatchObject({ type: 'session.lifecycle', state: 'idle', sessionId })
  expect(await run()).toMatchObject({
    state: 'ended',
    outcome: 'completed',
    steps: expect.arrayContaining([
      expect.objectContaining({ calls: [expect.objectContaining({ tool: 'greet', outcome: 'ok' })] }),
    ]),
  })
})
