import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { methods } from '@agentclientprotocol/sdk'
import type { ContentBlock, SessionUpdate } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { sessionList } from '../../src/api/sessions.ts'
import { quickFix, quickShopFiles } from '../agent/shop.ts'
import { scriptOf } from '../agent/support.ts'
import { isThorough } from '../thorough.ts'
import { makeFolder } from '../tools/session.ts'
import type { Editor } from './acp-editor.ts'
import { newSession, openShop, openWithUpstream, say, serve } from './acp-shop.ts'
import { startCli } from './cli.ts'

const { session } = methods.agent

/** The editor closes the pipe. */
async function leave({ cli }: Editor): Promise<void> {
  cli.child.stdin?.end()
  expect(await cli.ended).toMatchObject({ code: 0, stderr: '' })
}

const allow = 'once'

test('repairs a file: streams text, shows calls with kinds, places and diffs, and asks before each effect', async () => {
  const { root, total, editor } = await openShop()
  const it = await editor({ choose: () => allow })
  const id = await newSession(it, root)
  expect(await say(it, id, quickFix)).toEqual({ stopReason: 'end_turn' })
  expect(await total()).toContain('item.price * item.quantity')
  expect(it.text(id)).not.toBe('')
  const updates = it.updates(id)
  const calls = updates.flatMap((update) => (update.sessionUpdate === 'tool_call' ? update : []))
  expect(calls.map(({ title, kind, status }) => ({ title, kind, status }))).toContainEqual({
    title: 'Run node test/total.test.js',
    kind: 'execute',
    status: 'in_progress',
  })
  const edit = calls.find(({ kind }) => kind === 'edit')
  expect(edit?.locations).toEqual([{ path: join(root, 'src/total.js') }])
  const ends = updates.flatMap((update) =>
    update.sessionUpdate === 'tool_call_update' && update.toolCallId === edit?.toolCallId ? update : [],
  )
  expect(ends.at(-1)).toMatchObject({
    status: 'completed',
    content: expect.arrayContaining([
      {
        type: 'diff',
        path: join(root, 'src/total.js'),
        oldText: expect.stringContaining('sum + item.price, 0'),
        newText: expect.stringContaining('item.price * item.quantity'),
      },
    ]),
  })
  const change = it.asked.find(({ toolCall }) => toolCall.kind === 'edit')
  expect(change?.toolCall.title).toBe('Change src/total.js?')
  expect(change?.toolCall.content).toContainEqual(expect.objectContaining({ type: 'diff' }))
  expect(change?.options.map(({ optionId, kind, name }) => [optionId, kind, name])).toEqual([
    ['once', 'allow_once', 'Allow once'],
    ['run', 'allow_always', 'Allow this file for this run'],
    ['always', 'allow_always', 'Always allow in this workspace: edit src/total.js'],
    ['refuse', 'reject_once', 'Refuse'],
  ])
  const command = it.asked.find(({ toolCall }) => toolCall.kind === 'execute')
  expect(JSON.stringify(command?.toolCall.content)).toContain('node test/total.test.js')
  expect(updates).toContainEqual(expect.objectContaining({ sessionUpdate: 'usage_update', size: expect.any(Number) }))
  expect(JSON.stringify(updates)).toContain('modified src/total.js')
  expect(it.strays).toEqual([])
})

test.runIf(isThorough)('a refused permission changes nothing, and "for this run" is asked once', async () => {
  const { root, total, editor } = await openShop()
  const refusing = await editor({ choose: () => 'refuse' })
  const first = await newSession(refusing, root)
  expect(await say(refusing, first, quickFix)).toEqual({ stopReason: 'end_turn' })
  expect(await total()).toBe(quickShopFiles['src/total.js'])
  expect(JSON.stringify(refusing.updates(first))).toContain('3 approvals in a row were refused.')

  const allowing = await editor({ choose: () => 'run' })
  const second = await newSession(allowing, root)
  await say(allowing, second, quickFix)
  expect(allowing.asked.filter(({ toolCall }) => toolCall.kind === 'execute')).toHaveLength(1)
  expect(await total()).toContain('item.price * item.quantity')
})

const endless = `[demo:slow 50] ${scriptOf({ text: 'word '.repeat(2000) })}`

test.each([
  ['at once', endless, () => Promise.resolve()],
  ['in the middle of an answer', endless, (it: Editor, id: string) => it.seen(id, isText)],
  [
    'at a question',
    quickFix,
    (it: Editor, id: string) => it.seen(id, ({ sessionUpdate }) => sessionUpdate === 'tool_call'),
  ],
])('cancel %s ends the turn as cancelled', async (_name, goal, until) => {
  const { root, total, editor } = await openShop()
  const question = Promise.withResolvers<void>()
  const it = await editor({ choose: () => question.promise.then(() => undefined) })
  const id = await newSession(it, root)
  const turn = say(it, id, goal)
  await until(it, id)
  await it.agent.notify(session.cancel, { sessionId: id })
  question.resolve()
  expect(await turn).toEqual({ stopReason: 'cancelled' })
  expect(await total()).toBe(quickShopFiles['src/total.js'])
  // The session goes on.
  expect(await say(it, id, scriptOf({ text: 'Hello' }))).toEqual({ stopReason: 'end_turn' })
})

function isText({ sessionUpdate }: SessionUpdate): boolean {
  return sessionUpdate === 'agent_message_chunk'
}

test('a second prompt joins the run, and both end with it', async () => {
  const { root, editor } = await openShop()
  const it = await editor({ choose: () => allow })
  const id = await newSession(it, root)
  const first = say(it, id, quickFix)
  await it.seen(id, ({ sessionUpdate }) => sessionUpdate === 'tool_call')
  const second = say(it, id, 'Be quick.')
  expect(await Promise.all([first, second])).toEqual([{ stopReason: 'end_turn' }, { stopReason: 'end_turn' }])
  expect(JSON.stringify(it.updates(id))).toContain('The model reads what you sent meanwhile.')
})

test.runIf(isThorough)(
  'a prompt that joined a run which was cancelled is cancelled too, and begins no run of its own',
  async () => {
    const { root, editor } = await openShop()
    const it = await editor()
    const id = await newSession(it, root)
    const first = say(it, id, endless)
    await it.seen(id, isText)
    const second = say(it, id, endless)
    await it.agent.notify(session.cancel, { sessionId: id })
    expect(await Promise.all([first, second])).toEqual([{ stopReason: 'cancelled' }, { stopReason: 'cancelled' }])
  },
)

test.runIf(isThorough)('shows the plan of the model', async () => {
  const { root, editor } = await openShop()
  const it = await editor()
  const id = await newSession(it, root)
  const items = [
    { text: 'Look', state: 'completed' },
    { text: 'Repair', state: 'in_progress' },
  ]
  await say(it, id, scriptOf({ calls: [{ tool: 'plan_set', args: { items } }] }, { text: 'Done.' }))
  expect(it.updates(id)).toContainEqual({
    sessionUpdate: 'plan',
    entries: [
      { content: 'Look', priority: 'medium', status: 'completed' },
      { content: 'Repair', priority: 'medium', status: 'in_progress' },
    ],
  })
  expect(it.updates(id).map(({ sessionUpdate }) => sessionUpdate)).not.toContain('tool_call')
})

test('in the mode chat nothing is changed, and an unknown mode is refused', async () => {
  const { root, total, editor } = await openShop()
  const it = await editor({ choose: () => allow })
  const { sessionId, modes } = await it.agent.request(session.new, { cwd: root, mcpServers: [] })
  expect(modes?.currentModeId).toBe('agent')
  expect(modes?.availableModes.map(({ id }) => id)).toContain('chat')
  await it.agent.request(session.setMode, { sessionId, modeId: 'chat' })
  await say(it, sessionId, quickFix)
  expect(it.asked).toEqual([])
  expect(await total()).toBe(quickShopFiles['src/total.js'])
  await expect(it.agent.request(session.setMode, { sessionId, modeId: 'x' })).rejects.toMatchObject({ code: -32602 })
})

test('an accepted plan ends the mode plan, and a refused one does not', async () => {
  const { root, total, editor } = await openShop()
  const answers = ['refuse', 'once', 'once']
  const it = await editor({ choose: () => answers.shift() })
  const id = await newSession(it, root)
  await it.agent.request(session.setMode, { sessionId: id, modeId: 'plan' })
  const submit = { calls: [{ tool: 'plan_submit', args: { plan: '1. Add a line.' } }] }
  const edit = { tool: 'edit_replace', args: { path: 'src/total.js', oldText: '/**', newText: '/** Sums.' } }
  const modes = () =>
    it.updates(id).flatMap((update) => (update.sessionUpdate === 'current_mode_update' ? update.currentModeId : []))
  await say(it, id, scriptOf(submit, { text: 'Not now.' }))
  expect(modes()).toEqual(['plan'])
  await say(it, id, scriptOf(submit, { text: 'Accepted.' }))
  expect(modes()).toEqual(['plan', 'agent'])
  expect(it.updates(id)).toContainEqual({
    sessionUpdate: 'config_option_update',
    configOptions: expect.arrayContaining([expect.objectContaining({ id: 'mode', currentValue: 'agent' })]),
  })
  await say(it, id, scriptOf({ calls: [edit] }, { text: 'Done.' }))
  expect(await total()).toContain('/** Sums.')
})

test.runIf(isThorough)('the mode and the model are options too, and the model gets the next messages', async () => {
  const { root, editor, sent } = await openWithUpstream()
  const it = await editor()
  const { sessionId, configOptions } = await it.agent.request(session.new, { cwd: root, mcpServers: [] })
  expect(configOptions?.map(({ id, category }) => [id, category])).toEqual([
    ['mode', 'mode'],
    ['model', 'model'],
  ])
  const set = (configId: string, value: string) =>
    it.agent.request(session.setConfigOption, { sessionId, configId, value })
  const { configOptions: after } = await set('model', 'gpt-5.2')
  expect(after.find(({ id }) => id === 'model')).toMatchObject({ currentValue: 'gpt-5.2' })
  await set('mode', 'chat')
  await it.seen(
    sessionId,
    (update) => update.sessionUpdate === 'current_mode_update' && update.currentModeId === 'chat',
  )
  await say(it, sessionId, 'Hello')
  expect(sent()).toContain('gpt-5.2')
  for (const [option, value] of [
    ['model', 'no-such-model'],
    ['mode', 'x'],
    ['x', 'agent'],
  ] as const) {
    await expect(set(option, value)).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(value) })
  }
})

test('two folders are workspaces of one process', async () => {
  const { root, editor } = await openShop()
  const other = await makeFolder({ 'heron.txt': 'A heron.\n' })
  const it = await editor({ choose: () => allow })
  const [one, two] = [await newSession(it, root), await newSession(it, other)]
  await say(it, two, scriptOf({ calls: [{ tool: 'fs_read', args: { path: 'heron.txt' } }] }, { text: 'Done.' }))
  await say(it, one, scriptOf({ calls: [{ tool: 'fs_read', args: { path: 'heron.txt' } }] }, { text: 'Done.' }))
  expect(JSON.stringify(it.updates(two))).toContain('A heron.')
  expect(JSON.stringify(it.updates(one))).not.toContain('A heron.')
})

test('refuses what it cannot do in a sentence', async () => {
  const { root, home, editor } = await openShop()
  const it = await editor()
  const cases: readonly (readonly [object, number, RegExp])[] = [
    [{ cwd: home, mcpServers: [] }, -32602, /home/i],
    [{ cwd: '/no/such/folder', mcpServers: [] }, -32602, /no such folder|does not exist/i],
    [{ cwd: 'src', mcpServers: [] }, -32602, /absolute path/],
    [{ cwd: root, mcpServers: [], additionalDirectories: [home] }, -32602, /one folder/],
    [{ cwd: 7 }, -32602, /./],
  ]
  for (const [params, code, message] of cases) {
    await expect(it.agent.request('session/new', params)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  }
  const unknown = { sessionId: 'none', prompt: [{ type: 'text' as const, text: 'x' }] }
  await expect(it.agent.request(session.prompt, unknown)).rejects.toMatchObject({ code: -32002 })
  await expect(it.agent.request(session.load, { sessionId: 'none', cwd: root, mcpServers: [] })).rejects.toMatchObject({
    code: -32002,
  })
  const id = await newSession(it, root)
  await expect(say(it, id, '  ')).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('empty') })
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/tiff' } as const
  await expect(say(it, id, image)).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('PNG') })
  await expect(say(it, id, 'x'.repeat(2 ** 21))).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('at most'),
  })
  // A sentence for the person, without the words of the protocol before it.
  await expect(say(it, id, '[demo:error 402 free_quota_exceeded]')).rejects.toMatchObject({
    code: -32603,
    message: expect.stringMatching(/^You have exceeded your free quota/),
  })
  expect(await say(it, id, 'Hello')).toEqual({ stopReason: 'end_turn' })
  expect(it.strays).toEqual([])
})

test('a folder that the simulation cannot serve is refused with the reason', async () => {
  const { root, env, editor } = await openShop()
  // The simulation keeps its data in the folder for temporary files.
  const it = await editor({ env: { ...env, TMPDIR: root } })
  await expect(newSession(it, root)).rejects.toMatchObject({
    message: expect.stringMatching(/contains .*, a folder of copilot-proxy itself/),
  })
})

test('a prompt of a conversation that was deleted elsewhere says so', async () => {
  const { root, home, env, editor } = await openShop()
  const daemon = await serve(root, env, { args: ['--demo'] })
  const it = await editor({ ...daemon.here })
  const id = await newSession(it, root)
  await say(it, id, 'Hello')
  const token = (await readFile(join(home, 'proxy', 'owner-token'), 'utf8')).trim()
  const headers = { authorization: `Bearer ${token}` }
  const { sessions } = sessionList.parse(await (await fetch(`${daemon.url}/sessions`, { headers })).json())
  const url = `${daemon.url}/sessions/${sessions[0]?.id}/conversations/${id}`
  expect((await fetch(url, { method: 'DELETE', headers })).ok).toBe(true)
  await expect(say(it, id, 'Hello')).rejects.toMatchObject({
    code: -32002,
    message: expect.stringMatching(/This conversation no longer exists: it was deleted/),
  })
  const next = await newSession(it, root)
  expect(await say(it, next, 'Hello')).toEqual({ stopReason: 'end_turn' })
})

test('bad lines get an error each, and the connection goes on', async () => {
  const { env } = await openShop()
  const cli = startCli(['acp', '--demo'], env)
  const initialize = { jsonrpc: '2.0', id: 2, method: 'initialize', params: { protocolVersion: 9 } }
  const early = { jsonrpc: '2.0', id: 1, method: 'session/list', params: {} }
  cli.child.stdin?.end(['{ no json', '[]', JSON.stringify(early), JSON.stringify(initialize), ''].join('\n'))
  const { code, stdout, stderr } = await cli.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual(
    expect.arrayContaining([
      [null, -32700],
      [null, -32600],
      [1, -32600],
      [2, undefined],
    ]),
  )
  expect(answers.find(({ id }) => id === 2)?.result.protocolVersion).toBe(1)
})

test('a message that is too long ends the connection with a sentence', async () => {
  const { env } = await openShop({ COPILOT_PROXY_SERVER_BODY_LIMIT_MB: '1' })
  const cli = startCli(['acp', '--demo'], env)
  const request = { jsonrpc: '2.0', id: 1, method: 'session/list', params: { x: 'y'.repeat(2_000_000) } }
  cli.child.stdin?.on('error', () => {}).write(`${JSON.stringify(request)}\n`)
  const { code, stdout, stderr } = await cli.ended
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain('The editor sent a message of more than 1 MB (server.body-limit-mb)')
})

test('without a login, it says what to run; an editor with terminals can start the login', async () => {
  const { root, editor } = await openShop()
  const it = await editor({ args: ['acp'] })
  const failure = { code: -32000, message: expect.stringContaining('copilot-proxy login') }
  await expect(newSession(it, root)).rejects.toMatchObject(failure)
  await expect(it.agent.request(methods.agent.authenticate, { methodId: 'command' })).rejects.toMatchObject(failure)
  const { authMethods } = await it.agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: { auth: { terminal: true } },
  })
  expect(authMethods?.map((method) => ('args' in method ? method.args : undefined))).toEqual([
    ['--login', 'copilot'],
    ['--login', 'codex'],
  ])
})

test('text and images of the prompt are attached, and a linked file is read as the agent reads it', async () => {
  const { root, editor, sent } = await openWithUpstream()
  await writeFile(join(root, '.env'), 'KEY=1\n')
  const buffers = new Map([
    [join(root, 'src/total.js'), 'the unsaved text\n'],
    [join(root, '.env'), 'a secret of the editor\n'],
  ])
  const it = await editor({ capabilities: { fs: { readTextFile: true } }, buffers, choose: () => 'refuse' })
  const id = await newSession(it, root)
  const link = (path: string): ContentBlock => ({
    type: 'resource_link',
    name: path,
    uri: pathToFileURL(join(root, path)).href,
  })
  const resource: ContentBlock = {
    type: 'resource',
    resource: { uri: pathToFileURL(join(root, 'test/total.test.js')).href, text: 'the embedded text' },
  }
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image: ContentBlock = { type: 'image', data: pixel, mimeType: 'image/png' }
  const links = ['src/total.js', '.env', 'package.json'].map(link)
  await say(it, id, 'Look at ', ...links, ' and ', resource, image)
  const said = sent()
  expect(said).toContain('Look at @src/total.js')
  expect(said).toContain('the unsaved text')
  expect(said).toContain('not saved')
  expect(said).toContain('the embedded text')
  expect(said).toContain(pixel.slice(0, 40))
  expect(said).not.toContain('a secret of the editor')
  expect(it.files).toEqual([`read ${join(root, 'src/total.js')}`, `read ${join(root, 'package.json')}`])
})

test('after a restart, conversations are listed, loaded with what was said, resumed and closed', async () => {
  const { root, editor, sent } = await openWithUpstream()
  const first = await editor()
  const id = await newSession(first, root)
  await say(first, id, 'The word is heron.')
  await newSession(first, root)
  await leave(first)

  const second = await editor()
  // Its working folder is that of the tests.
  expect(await second.agent.request(session.list, {})).toEqual({ sessions: [] })
  const { sessions } = await second.agent.request(session.list, { cwd: root })
  expect(sessions).toEqual([{ sessionId: id, cwd: root, title: 'The word is heron.', updatedAt: expect.any(String) }])
  await second.agent.request(session.load, { sessionId: id, cwd: root, mcpServers: [] })
  const said = second.updates(id).filter(({ sessionUpdate }) => sessionUpdate.endsWith('message_chunk'))
  expect(said.map(({ sessionUpdate }) => sessionUpdate)).toEqual(['user_message_chunk', 'agent_message_chunk'])
  expect(said[0]).toMatchObject({ content: { text: 'The word is heron.' } })
  expect(second.text(id)).toBe(first.text(id))
  await say(second, id, 'Go on')
  expect(sent()).toContain('heron')
  expect(await second.agent.request(session.close, { sessionId: id })).toEqual({})
  await expect(say(second, id, 'Go on')).rejects.toMatchObject({ code: -32002 })
  await leave(second)

  const third = await editor()
  await third.agent.request(session.resume, { sessionId: id, cwd: root })
  expect(third.text(id)).toBe('')
  expect(await say(third, id, 'Go on')).toEqual({ stopReason: 'end_turn' })
  expect(sent()).toContain('heron')
})

test('a session goes on after a restart of the daemon, and after its end in a daemon of this process', async () => {
  const { root, env, editor, sent } = await openWithUpstream()
  const daemon = await serve(root, env)
  const it = await editor({ env: { ...env, COPILOT_PROXY_SERVER_PORT: daemon.port } })
  const id = await newSession(it, root)
  await say(it, id, 'The word is heron.')
  await daemon.stop()
  const next = await serve(root, env, { port: daemon.port })
  expect(await say(it, id, 'Go on')).toEqual({ stopReason: 'end_turn' })
  expect(sent()).toContain('heron')
  await next.stop()
  expect(await say(it, id, 'Still there?')).toEqual({ stopReason: 'end_turn' })
  expect(sent()).toContain('heron')
})

test('who loads a conversation is asked what its run waits for, and an answer withdraws the question elsewhere', async () => {
  const { root, env, editor, total } = await openShop()
  const { here } = await serve(root, env, { args: ['--demo'] })
  const withdrawn: string[] = []
  const first = await editor({
    ...here,
    choose: ({ toolCall }, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          withdrawn.push(String(toolCall.title))
          resolve(undefined)
        })
      }),
  })
  const id = await newSession(first, root)
  const turn = say(first, id, quickFix)
  await first.seen(id, ({ sessionUpdate }) => sessionUpdate === 'tool_call')
  const second = await editor({ ...here, choose: () => 'run' })
  await second.agent.request(session.load, { sessionId: id, cwd: root, mcpServers: [] })
  expect(await turn).toEqual({ stopReason: 'end_turn' })
  expect(withdrawn).toEqual(first.asked.map(({ toolCall }) => toolCall.title))
  expect(second.asked.map(({ toolCall }) => toolCall.title)).toEqual(['Run this command?', 'Change src/total.js?'])
  expect(await total()).toContain('item.price * item.quantity')
})

test('uses the running daemon, whose workspaces keep their conversations, and ends what the editor has left', async () => {
  const { root, env, editor, total } = await openShop()
  const { here } = await serve(root, env, { args: ['--demo'] })
  const it = await editor({ ...here, choose: () => new Promise(() => {}) })
  const id = await newSession(it, root)
  const turn = say(it, id, quickFix).catch(() => 'gone')
  await it.seen(id, ({ sessionUpdate }) => sessionUpdate === 'tool_call')
  await leave(it)
  await turn

  const again = await editor({ ...here, choose: () => allow })
  await again.agent.request(session.load, { sessionId: id, cwd: root, mcpServers: [] })
  expect(again.updates(id)).toContainEqual(expect.objectContaining({ sessionUpdate: 'user_message_chunk' }))
  expect(again.updates(id)).toContainEqual(expect.objectContaining({ sessionUpdate: 'tool_call', status: 'failed' }))
  expect(await total()).toBe(quickShopFiles['src/total.js'])
  // Nothing goes on without the editor.
  expect(again.asked).toEqual([])
})
