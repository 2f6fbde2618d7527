import { readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { methods } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { messageList, sessionList } from '../../src/api/sessions.ts'
import { quickShopFiles } from '../agent/shop.ts'
import { scriptOf } from '../agent/support.ts'
import { isThorough } from '../thorough.ts'
import { newSession, openShop, say, serve } from './acp-shop.ts'

const { session } = methods.agent

const readsFiles = { fs: { readTextFile: true } }
const takesFiles = { fs: { readTextFile: true, writeTextFile: true } }
const readTotal = { tool: 'fs_read', args: { path: 'src/total.js' } }
const fixTotal = {
  tool: 'edit_replace',
  args: { path: 'src/total.js', oldText: 'item.price, 0', newText: 'item.price * item.quantity, 0' },
}
const onDisk = quickShopFiles['src/total.js'] ?? ''
/** What the person has typed and not saved. */
const typed = `// typed\n${onDisk}`
const fixed = (text: string): string => text.replace('item.price, 0', 'item.price * item.quantity, 0')
const repair = scriptOf({ calls: [readTotal] }, { calls: [fixTotal] }, { calls: [readTotal] }, { text: 'Done.' })

/** A shop whose file is open in an editor, with a text that is not saved. */
async function openTyped() {
  const shop = await openShop()
  const path = join(shop.root, 'src/total.js')
  return { ...shop, path, buffers: new Map<string, string | (() => Promise<string>)>([[path, typed]]) }
}

test('a change of a file with unsaved text keeps what was typed, in the editor and on disk, and undo gives it back', async () => {
  const { root, home, env, path, buffers, total, editor } = await openTyped()
  const daemon = await serve(root, env, { args: ['--demo'] })
  const it = await editor({ ...daemon.here, capabilities: takesFiles, buffers, choose: () => 'once' })
  const id = await newSession(it, root)
  const search = { tool: 'search_code', args: { query: '// typed' } }
  const goal = scriptOf(
    { calls: [readTotal, search] },
    { calls: [fixTotal] },
    { calls: [readTotal] },
    { text: 'Done.' },
  )
  expect(await say(it, id, goal)).toEqual({ stopReason: 'end_turn' })
  expect({ disk: await total(), editor: buffers.get(path) }).toEqual({ disk: fixed(typed), editor: fixed(typed) })
  const results = JSON.stringify(it.updates(id))
  expect(results).toContain('Searches and commands find the older file on disk.')
  expect(results).toContain('Nothing was found.')
  expect(it.asked).toHaveLength(1)
  const shown = JSON.stringify(it.asked[0]?.toolCall.content)
  expect(shown).toContain('src/total.js has changes in the editor that are not saved. This change saves them.')
  const diff = it.asked[0]?.toolCall.content?.find(({ type }) => type === 'diff')
  expect(diff).toMatchObject({
    oldText: expect.stringContaining('// typed'),
    newText: expect.stringContaining('// typed'),
  })

  const token = (await readFile(join(home, 'proxy', 'owner-token'), 'utf8')).trim()
  const ask = async (route: string, options: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return (await fetch(daemon.url + route, { ...options, headers })).text()
  }
  const { sessions } = sessionList.parse(JSON.parse(await ask('/sessions')))
  const [message] = messageList.parse(JSON.parse(await ask(`/sessions/${sessions[0]?.id}/messages`))).messages
  // What the person has typed is no change of the run.
  expect(message?.files).toEqual([{ path: 'src/total.js', change: 'modified', added: 1, removed: 1 }])
  expect(await ask(`/runs/${message?.id}`)).not.toContain('+// typed')
  await ask(`/runs/${message?.id}/undo`, { method: 'POST', body: '{}' })
  expect(await total()).toBe(typed)
})

test.each([
  ['on top of unsaved text', typed],
  ['into a file without unsaved text', onDisk],
])('what is typed %s while the question is open refuses the change, and nothing is lost', async (_name, before) => {
  const { root, path, buffers, total, editor } = await openTyped()
  buffers.set(path, before)
  const it = await editor({
    capabilities: takesFiles,
    buffers,
    choose() {
      buffers.set(path, `${before}// later\n`)
      return 'once'
    },
  })
  const id = await newSession(it, root)
  await say(it, id, repair)
  expect(it.asked).toHaveLength(1)
  expect(JSON.stringify(it.updates(id))).toContain('src/total.js has changed. Read it again')
  expect({ disk: await total(), editor: buffers.get(path) }).toEqual({ disk: onDisk, editor: `${before}// later\n` })
})

test('a secret is asked of the editor only after the person has agreed', async () => {
  const { root, editor } = await openShop()
  const path = join(root, '.env')
  await writeFile(path, 'KEY=1\n')
  const buffers = new Map([[path, 'KEY=2\n']])
  const seen: string[][] = []
  const answers = ['refuse', 'once']
  const it = await editor({
    capabilities: readsFiles,
    buffers,
    choose() {
      seen.push([...it.files])
      return answers.shift()
    },
  })
  const id = await newSession(it, root)
  const read = { calls: [{ tool: 'fs_read', args: { path: '.env' } }] }
  await say(it, id, scriptOf(read, read, { text: 'Done.' }))
  expect(seen).toEqual([[], []])
  expect(it.files).toEqual([`read ${path}`])
  expect(JSON.stringify(it.updates(id))).toContain('KEY=2')
})

test.each([
  ['the folder itself', ''],
  ['a folder of the workspace', 'src'],
])('an editor that has opened %s through a link is asked for its own names', async (_name, below) => {
  const { root, home, env, total, editor } = await openShop()
  const named = join(home, 'link')
  await symlink(root, named)
  const path = join(named, 'src/total.js')
  const buffers = new Map([[path, typed]])
  const daemon = await serve(root, env, { args: ['--demo'] })
  const it = await editor({ ...daemon.here, capabilities: takesFiles, buffers, choose: () => 'once' })
  const id = await newSession(it, join(named, below))
  const link = { type: 'resource_link', name: 'total.js', uri: pathToFileURL(path).href } as const
  expect(await say(it, id, scriptOf({ calls: [fixTotal] }, { text: 'Done.' }), link)).toEqual({
    stopReason: 'end_turn',
  })
  expect({ disk: await total(), editor: buffers.get(path) }).toEqual({ disk: fixed(typed), editor: fixed(typed) })
  const told = JSON.stringify(it.updates(id))
  expect(told).toContain(path)
  expect(told + JSON.stringify(it.asked)).not.toContain(join(root, 'src'))
  // The link became a mention, which the agent has read.
  expect(told).toContain('"title":"Read src/total.js"')
  const { sessions } = await it.agent.request(session.list, { cwd: named })
  expect(sessions).toMatchObject([{ sessionId: id, cwd: named }])
})

test('without the capability, the agent reads and changes the file on disk', async () => {
  const { root, path, buffers, total, editor } = await openTyped()
  const it = await editor({ buffers, choose: () => 'once' })
  const id = await newSession(it, root)
  await say(it, id, repair)
  expect(await total()).toBe(fixed(onDisk))
  expect(it.files).toEqual([])
  expect(buffers.get(path)).toBe(typed)
})

test('an editor that answers with an error is asked once for the file, and the file on disk counts', async () => {
  const { root, path, buffers, total, editor } = await openTyped()
  buffers.set(path, () => Promise.reject(new Error('broken')))
  const it = await editor({ capabilities: takesFiles, buffers, choose: () => 'once' })
  const id = await newSession(it, root)
  const readOther = { tool: 'fs_read', args: { path: 'package.json' } }
  await say(it, id, scriptOf({ calls: [readTotal, readOther] }, { calls: [fixTotal] }, { text: 'Done.' }))
  expect(await total()).toBe(fixed(onDisk))
  expect(it.files).toEqual([`read ${path}`, `read ${join(root, 'package.json')}`])
})

test('an editor that hangs is waited for once', async () => {
  const { root, path, buffers, total, editor } = await openTyped()
  buffers.set(path, () => new Promise(() => {}))
  const it = await editor({ capabilities: takesFiles, buffers, choose: () => 'once' })
  const id = await newSession(it, root)
  await say(it, id, repair)
  expect(await total()).toBe(fixed(onDisk))
  expect(it.files).toEqual([`read ${path}`])
  expect(JSON.stringify(it.updates(id)).split('The editor does not answer')).toHaveLength(2)
})

test('an editor that does not take the text has its person told, and the change counts', async () => {
  const { root, path, buffers, total, editor } = await openTyped()
  const it = await editor({
    capabilities: takesFiles,
    buffers,
    async choose() {
      // The editor tells its text once more, for the comparison before the change.
      let reads = 0
      buffers.set(path, () => ((reads += 1) === 1 ? Promise.resolve(typed) : Promise.reject(new Error('read-only'))))
      return 'once'
    },
  })
  const id = await newSession(it, root)
  await say(it, id, repair)
  expect(await total()).toBe(fixed(typed))
  expect(it.files.filter((each) => each.startsWith('write'))).toHaveLength(1)
  const told = JSON.stringify(it.updates(id))
  expect(told).toContain('The editor did not take the new text of src/total.js.')
  // The model reads what is on disk, and not the text that the editor still has.
  expect(told.slice(told.indexOf('did not take'))).toContain('item.price * item.quantity')
})

test('what a command has written is not taken for the text that an editor still shows', async () => {
  const { root, path, buffers, total, editor } = await openTyped()
  let reads = 0
  buffers.set(path, async () => ((reads += 1) === 1 ? onDisk : readFile(path, 'utf8')))
  const it = await editor({ capabilities: takesFiles, buffers, choose: () => 'once' })
  const id = await newSession(it, root)
  const write = 'require("node:fs").writeFileSync("src/total.js", "// generated\\n")'
  const goal = scriptOf(
    { calls: [{ tool: 'shell_run', args: { argv: ['node', '-e', write] } }] },
    { calls: [readTotal] },
    { calls: [{ tool: 'edit_replace', args: { path: 'src/total.js', oldText: 'generated', newText: 'changed' } }] },
    { text: 'Done.' },
  )
  expect(await say(it, id, goal)).toEqual({ stopReason: 'end_turn' })
  expect(await total()).toBe('// changed\n')
  expect(JSON.stringify(it.updates(id)) + JSON.stringify(it.asked)).not.toContain('not saved')
})

test('an editor that leaves while it is asked ends the run, and changes nothing', async () => {
  const { root, env, path, buffers, total, editor } = await openTyped()
  const daemon = await serve(root, env, { args: ['--demo'] })
  const isAsked = Promise.withResolvers<void>()
  buffers.set(path, () => {
    isAsked.resolve()
    return new Promise(() => {})
  })
  const it = await editor({ ...daemon.here, capabilities: takesFiles, buffers, choose: () => 'once' })
  const id = await newSession(it, root)
  const turn = say(it, id, repair).catch(() => 'gone')
  await isAsked.promise
  it.cli.child.stdin?.end()
  await it.cli.ended
  await turn
  expect(await total()).toBe(onDisk)
})

test.runIf(isThorough)(
  'another editor, which has loaded the conversation, is not asked for the runs of the first',
  async () => {
    const { root, env, path, buffers, editor } = await openTyped()
    const { here } = await serve(root, env, { args: ['--demo'] })
    const others = new Map([[path, '// of the other editor\n']])
    const other = await editor({ ...here, capabilities: takesFiles, buffers: others })
    const first = await editor({ ...here, capabilities: takesFiles, buffers, choose: () => 'once' })
    const id = await newSession(first, root)
    await say(first, id, 'Hello')
    await other.agent.request(session.load, { sessionId: id, cwd: root, mcpServers: [] })
    await say(first, id, repair)
    expect(other.files).toEqual([])
    const said = JSON.stringify(first.updates(id))
    expect(said).toContain('// typed')
    expect(said).not.toContain('of the other editor')
    // Its own runs see its own text, and nothing of the first editor.
    await say(other, id, scriptOf({ calls: [readTotal] }, { text: 'Done.' }))
    expect(other.files).toEqual([`read ${path}`])
  },
)

test.runIf(isThorough)('a file that only the editor has is none', async () => {
  const { root, path, buffers, editor } = await openTyped()
  await rm(path)
  const it = await editor({ capabilities: readsFiles, buffers })
  const id = await newSession(it, root)
  await say(it, id, scriptOf({ calls: [readTotal] }, { text: 'Done.' }))
  expect(it.files).toEqual([])
  expect(JSON.stringify(it.updates(id))).toContain('does not exist')
})
