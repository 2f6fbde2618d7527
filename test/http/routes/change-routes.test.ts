import { hash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ChangeList, UndoReport } from '../../../src/api/changes.ts'
import { makeFolder } from '../../tools/session.ts'
import { openProxy } from '../harness.ts'
import { eventsUntil, listen, postMessage } from '../session-client.ts'

const keys = { alice: 'key-of-alice-0123456789', bob: 'key-of-bob-0123456789' }
const keyLines = Object.entries(keys).map(([name, key]) => `${name}:sha256:${hash('sha256', key)}`)
const policy = 'writes: { allow: ["**"] }\n'

const patchOf = (name: string, before: string, after: string): string =>
  `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-${before}\n+${after}\n`
const fileOf = (name: string, text: string): string => `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+${text}\n`

const as = (token: string | undefined) => (token === undefined ? {} : { authorization: `Bearer ${token}` })

interface Options {
  readonly apiKeys?: readonly string[]
  readonly readOnly?: boolean | 'locked'
}

async function openChanges({ apiKeys = keyLines, readOnly = false }: Options = {}) {
  const root = await makeFolder({ 'a.txt': 'one\n', 'b.txt': 'one\n', '.agent-policy.yaml': policy })
  const config = (mode: boolean | 'locked') =>
    JSON.stringify({
      server: { 'api-keys': apiKeys },
      workspaces: [{ path: root, name: 'app' }],
      workspace: { 'read-only': mode },
      agent: { 'require-approval': false },
    })
  const proxy = await openProxy({ file: config(readOnly) })
  const { ownerToken } = proxy.daemon

  async function send<Body>(token: string | undefined, path: string, body?: object): Promise<[number, Body]> {
    const reply = await proxy.send(path, { headers: as(token), ...(body && { body: JSON.stringify(body) }) })
    return [reply.status, reply.json() as Body]
  }

  return {
    proxy,
    root,
    ownerToken,
    send,
    undo: (token: string | undefined, path: string, body = {}) => send<UndoReport>(token, path, body),
    list: async (token = ownerToken, query = '') => (await send<ChangeList>(token, `/sessions/app/changes${query}`))[1],
    textOf: (name: string) => readFile(join(root, name), 'utf8').catch(() => undefined),
    reconfigure: (mode: boolean | 'locked') => proxy.daemon.reconfigure(proxy.configure(config(mode))),
    /** Lets the agent of a caller apply these patches in one run. Returns its id. */
    async run(token: string | undefined, ...patches: readonly string[]): Promise<string> {
      const listener = await listen(proxy, '/events', as(token))
      const script = [
        ...patches.map((unifiedDiff) => ({ calls: [{ tool: 'edit_applyPatch', args: { unifiedDiff } }] })),
        { text: 'Done.' },
      ]
      const text = `Change it. [demo:script ${JSON.stringify(script)}]`
      const sent = await postMessage(proxy, { text, mode: 'agent', model: 'gpt-5-mini' }, as(token))
      const { id } = sent.json() as { id: string }
      await eventsUntil(listener, 'done', ({ data }) => data['id'] === id)
      return id
    },
  }
}

describe('POST /runs/{id}/undo', () => {
  test('shows what would come back, then takes all changes of the run back, and nothing else', async () => {
    const app = await openChanges()
    const other = await app.run(app.ownerToken, patchOf('b.txt', 'one', 'other'))
    const run = await app.run(app.ownerToken, patchOf('a.txt', 'one', 'two'), fileOf('new/c.txt', 'new'))
    const changes = (await app.list()).changes.filter(({ runId }) => runId === run).map(({ id }) => id)
    expect((await app.send(app.ownerToken, `/runs/${run}`))[1]).toMatchObject({ changes })

    const [status, planned] = await app.undo(app.ownerToken, `/runs/${run}/undo`, { dryRun: true })
    expect([status, planned]).toMatchObject([
      200,
      {
        undoes: changes.toReversed(),
        files: [
          { path: 'new/c.txt', change: 'deleted' },
          { path: 'a.txt', change: 'modified' },
        ],
        diff: expect.stringContaining('-two\n+one\n'),
      },
    ])
    expect(planned.id).toBeUndefined()
    expect(await app.textOf('a.txt')).toBe('two\n')

    const [, done] = await app.undo(app.ownerToken, `/runs/${run}/undo`)
    expect([await app.textOf('a.txt'), await app.textOf('new/c.txt')]).toEqual(['one\n', undefined])
    const listed = (await app.list()).changes
    expect(listed.filter(({ undoneBy }) => undoneBy === done.id).map(({ id }) => id)).toEqual(changes)
    expect(listed.find(({ runId }) => runId === other)).not.toHaveProperty('undoneBy')
    expect(await app.undo(app.ownerToken, `/runs/${run}/undo`)).toMatchObject([
      409,
      { error: { code: 'undo_failed', message: 'The changes of the run were undone already.' } },
    ])
  })

  test('with later edits of a file, it names them and changes nothing', async () => {
    const app = await openChanges()
    const run = await app.run(app.ownerToken, patchOf('a.txt', 'one', 'two'), patchOf('b.txt', 'one', 'two'))
    await writeFile(join(app.root, 'a.txt'), 'mine\n')
    for (const body of [{ dryRun: true }, {}])
      expect(await app.undo(app.ownerToken, `/runs/${run}/undo`, body)).toMatchObject([
        409,
        {
          error: {
            code: 'undo_conflict',
            message: expect.stringContaining('a.txt has changed'),
            conflicts: [{ path: 'a.txt', line: 1, expected: ['two', ''], found: ['mine', ''] }],
          },
        },
      ])
    expect([await app.textOf('a.txt'), await app.textOf('b.txt')]).toEqual(['mine\n', 'two\n'])
  })

  test('a run without changes, an unknown run and an unknown change are told apart', async () => {
    const app = await openChanges()
    const run = await app.run(app.ownerToken)
    expect(await app.undo(app.ownerToken, `/runs/${run}/undo`)).toMatchObject([409, { error: { code: 'undo_failed' } }])
    expect(await app.undo(app.ownerToken, '/runs/x/undo')).toMatchObject([404, { error: { code: 'run_not_found' } }])
    expect(await app.undo(app.ownerToken, '/changes/x/undo')).toMatchObject([
      404,
      { error: { code: 'change_not_found' } },
    ])
    expect((await app.undo(app.ownerToken, '/changes/x/undo', { dry: true }))[0]).toBe(400)
  })
})

describe('who may undo', () => {
  test('a key undoes what it made, and for all else hears of no such thing; the owner undoes all', async () => {
    const app = await openChanges()
    const run = await app.run(keys.alice, patchOf('a.txt', 'one', 'of alice'))
    const [change] = (await app.list(keys.alice)).changes
    const path = `/changes/${change?.id}/undo`
    expect((await app.list(keys.bob)).changes).toEqual([])
    expect(await app.undo(keys.bob, path, { dryRun: true })).toMatchObject([
      404,
      { error: { code: 'change_not_found' } },
    ])
    expect(await app.undo(keys.bob, `/runs/${run}/undo`)).toMatchObject([404, { error: { code: 'run_not_found' } }])
    expect((await app.undo(keys.alice, path))[0]).toBe(200)
    expect(await app.textOf('a.txt')).toBe('one\n')
    const again = await app.run(keys.alice, patchOf('a.txt', 'one', 'two'))
    expect((await app.undo(app.ownerToken, `/runs/${again}/undo`))[0]).toBe(200)
    expect((await app.list(keys.alice)).changes).toHaveLength(4)
    expect(await app.textOf('a.txt')).toBe('one\n')
  })

  test('without keys, a program sees what would come back, and only the owner undoes', async () => {
    const app = await openChanges({ apiKeys: [] })
    const run = await app.run(undefined, patchOf('a.txt', 'one', 'two'))
    expect((await app.undo(undefined, `/runs/${run}/undo`, { dryRun: true }))[0]).toBe(200)
    for (const path of [`/runs/${run}/undo`, `/changes/${(await app.list()).changes[0]?.id}/undo`])
      expect(await app.undo(undefined, path)).toMatchObject([403, { error: { code: 'owner_required' } }])
    expect(await app.textOf('a.txt')).toBe('two\n')
    expect((await app.undo(app.ownerToken, `/runs/${run}/undo`))[0]).toBe(200)
  })

  test('a person, also in a workspace that is read-only by now', async () => {
    const app = await openChanges()
    const run = await app.run(app.ownerToken, patchOf('a.txt', 'one', 'two'))
    app.reconfigure(true)
    expect((await app.undo(app.ownerToken, `/runs/${run}/undo`))[0]).toBe(200)
    expect(await app.textOf('a.txt')).toBe('one\n')
  })

  test('nobody, in a locked workspace and for what the policy denies', async () => {
    const app = await openChanges()
    const run = await app.run(app.ownerToken, patchOf('a.txt', 'one', 'two'))
    const denied = [403, { error: { code: 'undo_denied', type: 'permission_error' } }]
    await writeFile(join(app.root, '.agent-policy.yaml'), 'writes: { allow: ["**"], deny: ["a.txt"] }\n')
    for (const body of [{}, { dryRun: true }])
      expect(await app.undo(app.ownerToken, `/runs/${run}/undo`, body)).toMatchObject(denied)
    await writeFile(join(app.root, '.agent-policy.yaml'), policy)
    app.reconfigure('locked')
    expect(await app.undo(app.ownerToken, `/runs/${run}/undo`)).toMatchObject(denied)
    expect(await app.textOf('a.txt')).toBe('two\n')
  })
})

describe('GET /sessions/{id}/changes', () => {
  test('has the net change of each file, since the beginning and since a run', async () => {
    const app = await openChanges()
    await app.run(app.ownerToken, patchOf('a.txt', 'one', 'two'), fileOf('c.txt', 'x'))
    const second = await app.run(app.ownerToken, patchOf('a.txt', 'two', 'three'), patchOf('b.txt', 'one', 'two'))
    const all = await app.list()
    expect(all.files).toMatchObject([
      { path: 'a.txt', change: 'modified', added: 1, removed: 1, diff: expect.stringContaining('-one\n+three\n') },
      { path: 'c.txt', change: 'created', added: 1, removed: 0 },
      { path: 'b.txt', change: 'modified' },
    ])
    const since = await app.list(undefined, `?since=${second}`)
    expect(since.files).toMatchObject([{ path: 'a.txt', diff: expect.stringContaining('-two\n+three\n') }, {}])
    expect(since.changes).toHaveLength(2)
    await app.undo(app.ownerToken, `/runs/${second}/undo`)
    // What was undone is no change of the file any more.
    expect((await app.list(undefined, `?since=${second}`)).files).toEqual([])
    const plain = await app.list(undefined, '?diff=false')
    expect(plain).not.toHaveProperty('files')
    expect(plain.changes).toHaveLength(5)
    expect((await app.send(app.ownerToken, '/sessions/app/changes?since=x'))[0]).toBe(404)
  })

  test('shows no file that the policy hides by now', async () => {
    const app = await openChanges()
    await app.run(app.ownerToken, patchOf('a.txt', 'one', 'hidden'))
    await writeFile(join(app.root, '.agent-policy.yaml'), `${policy}reads: { deny: ["a.txt"] }\n`)
    expect((await app.list()).files).toMatchObject([{ path: 'a.txt', diff: '' }])
  })
})
