import { kill } from 'node:process'
import { homedir } from 'node:os'
import { expect, onTestFinished, test, vi } from 'vitest'
import { enclosureOfMachine } from '../../../src/workspace/sandbox/create-sandbox.ts'
import { openServers, serverOf } from './support.ts'

function isAlive(pid: number): boolean {
  try {
    kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('starts a server only when its session is first used', async () => {
  const { names, listing, call } = await openServers({ it: serverOf() })
  expect(names()).toEqual([])
  expect(listing()).toMatchObject([{ name: 'it', state: 'stopped' }])
  const { tools } = await call('mcp.tools.list')
  expect(tools).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'it_echo', effect: 'read' })]))
  expect(tools).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'it_change', effect: 'run' })]))
  expect(listing()).toMatchObject([
    {
      state: 'running',
      tools: expect.arrayContaining(['it_echo']),
      resources: [{ uri: 'note://1', name: 'one', description: 'A note' }],
      prompts: [{ name: 'greet', description: 'Says hello' }],
    },
  ])
})

test('a call maps text, structured content, images and failures', async () => {
  const { call } = await openServers({ it: serverOf() })
  expect(await call('it_echo', { a: 1 })).toEqual({ text: '{"a":1}', structuredContent: { a: 1 } })
  expect(await call('mcp.tools.call', { name: 'it_echo', args: { b: 2 } })).toMatchObject({ text: '{"b":2}' })
  expect(await call('it_image')).toEqual({
    text: 'a picture',
    parts: [{ type: 'image', mediaType: 'image/png', base64: 'AAAA' }],
  })
  await expect(call('it_fail')).rejects.toMatchObject({ failure: { kind: 'failed', detail: 'there is no such thing' } })
  await expect(call('it_refuse')).rejects.toMatchObject({
    failure: { kind: 'failed', detail: expect.stringContaining('not like this') },
  })
})

test('a program gets the environment that its settings state, the root, and the token of the gateway', async () => {
  const { call, session } = await openServers({ it: serverOf('plain', { env: { A: 'at ${workspace}' } }) })
  const { env, cwd, argv } = JSON.parse(String((await call('it_env'))['text'])) as Record<string, unknown>
  expect(Object.keys(env as object).toSorted()).toEqual(['A', 'HOME', 'LANG', 'PATH', 'TAP_PROVIDER_TOKEN', 'TERM'])
  expect(env).toMatchObject({ A: `at ${session.folder.root}`, TAP_PROVIDER_TOKEN: 'ptk-of-this-run' })
  expect(cwd).toBe(homedir())
  expect(argv).toEqual([session.folder.root])
  expect(JSON.parse(String((await call('it_roots'))['text']))).toEqual({
    roots: [{ uri: `file://${session.folder.root}`, name: session.name }],
  })
})

test('a sampling request of a server is refused', async () => {
  const { call } = await openServers({ it: serverOf() })
  expect(JSON.parse(String((await call('it_sampling'))['text']))).toMatchObject({ code: -32601 })
})

test('a tool that may change something asks for an approval, one that only reads does not', async () => {
  const { call } = await openServers({ it: serverOf() })
  const approve = vi.fn(async () => false)
  await call('it_echo', {}, { approve })
  expect(approve).not.toHaveBeenCalled()
  await expect(call('it_change', { a: 1 }, { approve })).rejects.toMatchObject({
    failure: { kind: 'approval_refused' },
  })
  expect(approve).toHaveBeenCalledWith({ args: { a: 1 } }, expect.anything(), expect.anything())
})

test('changed tools are announced, and many changes are read together', async () => {
  const { call, names, tools, session } = await openServers({ it: serverOf() })
  await call('it_echo')
  const changed = vi.fn()
  onTestFinished(tools.onListChanged(changed))
  await call('it_change')
  await vi.waitFor(() => expect(names()).toContain('it_added'), 5000)
  expect(changed.mock.calls.length).toBeLessThan(5)
  expect(changed).toHaveBeenCalledWith(session.id)
})

test('a call that follows an announced change does not run a tool that says something else about itself now', async () => {
  const { call } = await openServers({ it: serverOf('world', { trust: true }) })
  await call('it_act')
  await call('it_change')
  // Well before the changes are read together.
  await expect(call('it_act')).rejects.toThrow('has changed the tool "act"')
  expect(await call('it_look')).toMatchObject({ text: 'slow' })
  expect(await call('it_act')).toMatchObject({ text: 'slow' })
  expect(await call('it_added')).toMatchObject({ text: 'slow' })
})

test('progress is passed on within limits', async () => {
  const { call } = await openServers({ it: serverOf() })
  const progress = vi.fn()
  await call('it_report', {}, { progress })
  expect(progress).toHaveBeenNthCalledWith(1, { text: 'step 1' })
  expect(progress.mock.calls.length).toBe(500)
})

test('a cancelled call and one beyond its time limit notify the server', async () => {
  const { call, stderr } = await openServers({ it: serverOf('plain', { 'timeout-seconds': 1 }) })
  const controller = new AbortController()
  await call('it_echo')
  const cancelled = call('it_hang', {}, { signal: controller.signal })
  await vi.waitFor(() => expect(stderr()).toContain('hanging'), 5000)
  controller.abort()
  await expect(cancelled).rejects.toMatchObject({ failure: { kind: 'cancelled' } })
  await vi.waitFor(() => expect(stderr().filter((line) => line.startsWith('cancelled'))).toHaveLength(1), 5000)
  await expect(call('it_hang')).rejects.toMatchObject({ failure: { kind: 'timed_out', afterMs: 1000 } })
  expect(await call('it_echo')).toMatchObject({ text: '{}' })
})

test('a crash during a call fails that call, and the server starts again after a pause', async () => {
  const { call, listing, names, later } = await openServers({ it: serverOf() })
  await call('it_echo')
  await expect(call('it_crash')).rejects.toMatchObject({
    failure: { kind: 'failed', detail: 'The MCP server "it" failed during the call: it ended with exit code 3.' },
  })
  expect(listing()).toMatchObject([{ state: 'failed', error: 'it ended with exit code 3' }])
  expect(names()).toContain('it_echo')
  await expect(call('it_echo')).rejects.toMatchObject({
    failure: { detail: expect.stringContaining('A call starts it again in 1 s.') },
  })
  later(1001)
  expect(await call('it_echo')).toMatchObject({ text: '{}' })
  await expect(call('it_crash')).rejects.toThrow('exit code 3')
  later(1001)
  await expect(call('it_echo')).rejects.toThrow('starts it again in 1 s')
  later(1000)
  expect(await call('it_echo')).toMatchObject({ text: '{}' })
})

test('a server that cannot start is reported, and the others work', async () => {
  const { prepare, listing, names } = await openServers({
    gone: { command: ['/nowhere/program'] },
    exits: serverOf('exit'),
    words: serverOf('exit with words', { env: { SECRET: 'hunter2-hunter2-hunter2' } }),
    future: serverOf('future'),
    good: serverOf('garbage'),
  })
  await prepare()
  expect(listing()).toMatchObject([
    { name: 'gone', state: 'failed', error: 'its program or its folder does not exist' },
    { name: 'exits', state: 'failed', error: 'it ended with exit code 7' },
    {
      name: 'words',
      state: 'failed',
      error: 'it ended with exit code 8 (it wrote: Starting / The key [redacted] is wrong)',
    },
    {
      name: 'future',
      state: 'failed',
      error: expect.stringMatching(/protocol version.*2099-01-01 \(it wrote: This is version 9\)$/),
    },
    { name: 'good', state: 'running' },
  ])
  expect(names()).toContain('good_echo')
})

test('null in an answer is what is absent, and an answer that is not MCP fails at once', async () => {
  const { call, listing } = await openServers({ it: serverOf() })
  expect(await call('it_null')).toEqual({ text: 'hi' })
  expect(await call('it_own_null')).toEqual({ text: '', structuredContent: { a: null } })
  for (const name of ['no_result', 'text_result', 'odd_result', 'no_version']) {
    await expect(call(`it_${name}`), name).rejects.toMatchObject({
      failure: { detail: 'The call of the MCP server "it" failed: its answer is not valid MCP.' },
    })
  }
  expect(listing()).toMatchObject([{ state: 'running' }])
})

test('a message that is too long ends the server', async () => {
  const { call } = await openServers({ it: serverOf() })
  await expect(call('it_huge')).rejects.toThrow('it sent a message of more than 10 MB')
})

test('a server that asks and reads no answers is ended', async () => {
  const { call } = await openServers({ it: serverOf() })
  await expect(call('it_pings')).rejects.toThrow('it does not read what it is sent')
})

test('a line with JSON that is no message harms nobody, and one that is too complex ends the server', async () => {
  const { call } = await openServers({ it: serverOf(), deep: serverOf(), wide: serverOf() })
  for (const name of ['deep', 'wide']) {
    await expect(call(`${name}_${name}`)).rejects.toThrow('is nested too deeply or has too many values')
  }
  for (const name of ['batch', 'lists', 'ordinary']) expect(await call(`it_${name}`)).toEqual({ text: 'written' })
})

test('stderr is logged within limits', async () => {
  const { prepare, stderr } = await openServers({ it: serverOf('noise') })
  await prepare()
  await vi.waitFor(() => expect(stderr()).toHaveLength(50), 5000)
  expect(Math.max(...stderr().map(({ length }) => length))).toBeLessThan(1100)
})

test('malicious names and schemas are left out, and slow patterns are stopped', async () => {
  const { prepare, names, call, log, tools, session, listing } = await openServers({
    it: serverOf('hostile'),
    many: serverOf('many'),
  })
  await prepare()
  expect(names().filter((name) => name.startsWith('it_'))).toEqual([
    'it_fs_read',
    'it_same_name',
    expect.stringMatching(/^it_same_name_[0-9a-f]{8}$/),
    'it_slow',
  ])
  expect(names().filter((name) => name.startsWith('many_'))).toHaveLength(200)
  expect(tools.list(session).find(({ name }) => name === 'mcp.fs.read')?.provider).toBeUndefined()
  expect(log.lines.filter(({ message }) => message === 'a tool of an MCP server is left out')).toHaveLength(3)
  expect(listing()).toMatchObject([
    { problems: [expect.stringContaining('"remote" cannot be used'), expect.stringContaining('inputSchema')] },
    { problems: ['it has more than 200 tools'] },
  ])
  await expect(call('it_slow', { text: `${'a'.repeat(40)}!` })).rejects.toMatchObject({
    failure: { kind: 'invalid_arguments' },
  })
})

test('a tool that is left out is in the log once, however often the list changes', async () => {
  const { call, log, listing } = await openServers({ it: serverOf('shapeless') })
  // Each call reads the list that the call before has announced.
  for (let count = 0; count < 4; count += 1) await call('it_change')
  expect(log.lines.filter(({ message }) => message === 'a tool of an MCP server is left out')).toHaveLength(1)
  expect(listing()).toMatchObject([{ problems: [expect.stringContaining('inputSchema')] }])
})

test('a changed configuration ends, starts and replaces servers', async () => {
  const { call, configure, names } = await openServers({ one: serverOf(), two: serverOf() })
  await call('one_echo')
  const { pid } = JSON.parse(String((await call('two_env'))['text'])) as { pid: number }
  configure({ one: serverOf(), three: serverOf() })
  expect(names()).not.toContain('two_echo')
  await vi.waitFor(() => expect(names()).toContain('three_echo'), 5000)
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 5000)
  expect(names()).toContain('one_echo')
})

test('a name stays with its tool when the settings of the server change', async () => {
  const { call, configure, names, prepare } = await openServers({ p: serverOf('dot first') })
  await prepare()
  const [dot = '', slash = ''] = names()
  const said = async () => JSON.stringify([await call(dot), await call(slash)])
  const before = await said()
  configure({ p: serverOf('slash first', { 'timeout-seconds': 50 }) })
  await prepare()
  expect(names().toSorted()).toEqual([dot, slash].toSorted())
  expect(await said()).toBe(before)
})

test('closing kills a server that ignores SIGTERM, and its child processes', async () => {
  const { call, mcp, stderr } = await openServers({ it: serverOf('stubborn') })
  const { pid } = JSON.parse(String((await call('it_env'))['text'])) as { pid: number }
  await vi.waitFor(() => expect(stderr()).toHaveLength(1), 5000)
  const child = Number(/^child (\d+)$/.exec(stderr()[0] ?? '')?.[1])
  expect([isAlive(pid), isAlive(child)]).toEqual([true, true])
  await mcp.close()
  await vi.waitFor(() => expect([isAlive(pid), isAlive(child)]).toEqual([false, false]), 5000)
})

test('a call can be cancelled while its server ends', async () => {
  const { call, mcp, stderr } = await openServers({ it: serverOf('stubborn') })
  const controller = new AbortController()
  const cancelled = call('it_hang', {}, { signal: controller.signal })
  await vi.waitFor(() => expect(stderr()).toContain('hanging'), 5000)
  const closed = mcp.close()
  controller.abort()
  await expect(cancelled).rejects.toMatchObject({ failure: { kind: 'cancelled' } })
  await closed
})

test('closing ends a server that is still starting', async () => {
  const { prepare, mcp, listing } = await openServers({ it: serverOf('silent') })
  void prepare()
  await vi.waitFor(() => expect(listing()).toMatchObject([{ state: 'starting' }]))
  await mcp.close()
  expect(listing()).toMatchObject([{ state: 'stopped' }])
})

test('a server with `sandbox: true` runs enclosed, or not at all', async () => {
  const { prepare, listing, call } = await openServers(
    { it: serverOf('plain', { sandbox: true }) },
    { workspace: { 'sandbox-folders': [import.meta.dirname] } },
  )
  await prepare()
  if ((await enclosureOfMachine()).kind === 'none') {
    expect(listing()).toMatchObject([{ state: 'failed', error: expect.stringContaining('it cannot be enclosed') }])
    return
  }
  expect(listing()).toMatchObject([{ state: 'running' }])
  // It has neither the token of the gateway nor the home folder of the user.
  expect(JSON.stringify(await call('it_env'))).not.toContain('ptk-')
  expect(JSON.stringify(await call('it_env'))).toContain('XDG_CACHE_HOME')
})
