import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fileOf, keys, openChanges, patchOf, policy } from './changed-workspace.ts'

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
