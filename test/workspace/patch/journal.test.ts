import { isThorough } from '../../thorough.ts'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../../src/workspace/patch/journal.ts'
import { ToolError } from '../../../src/workspace/tool-error.ts'
import { killWriters } from './kill-writers.ts'
import { allow, openWorkspace } from './support.ts'
import { failureOf } from '../tree.ts'

const patchOf = (path: string, old: string, added: string): string =>
  `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${old}\n+${added}\n`

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

// `npm run test:soak` kills 200 writers.
it('G20: leaves every file whole, and all old or all new, when killed again and again', { timeout: 120_000 }, () =>
  killWriters(isThorough ? 12 : 4),
)

it('waits for a change that another process is still writing, and does not roll it back', async () => {
  const [began, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const workspace = await openWorkspace(
    { x: 'a\n' },
    {
      folder: (plain) => ({
        ...plain,
        async writeFile(...args) {
          began.resolve()
          await gate.promise
          return plain.writeFile(...args)
        },
      }),
    },
  )
  // Two open journals of a folder know nothing of each other, as in two processes.
  const other = await workspace.openAgain()
  const applied = workspace.apply(patchOf('x', 'a', 'b'))
  await began.promise
  const ends: string[] = []
  const settled = other.settle(allow.signal).finally(() => ends.push('settled'))
  await new Promise(setImmediate)
  expect(ends).toEqual([])
  gate.resolve()
  await Promise.all([applied, settled])
  expect(await workspace.text('x')).toBe('b\n')
  expect([workspace.recoveries, await other.rolledBack()]).toEqual([[], undefined])
  await workspace.undo()
  expect(await workspace.text('x')).toBe('a\n')
})

it('says which folder cannot be written', async () => {
  const workspace = await openWorkspace({ x: 'a\n' })
  const dir = join(workspace.root, 'x', 'journal')
  const opened = openJournal({ folder: workspace.deps.folder, dir, now: Date.now })
  expect(await failureOf(opened)).toEqual({
    kind: 'failed',
    detail: `Changes cannot be stored for undo, because copilot-proxy cannot write to ${dir} (ENOTDIR).`,
  })
})

describe('undo', () => {
  it('reverts one change at a time, and restores it by id', async () => {
    const workspace = await openWorkspace({ x: 'a\n' })
    await workspace.apply(patchOf('x', 'a', 'b'))
    await workspace.apply(patchOf('x', 'b', 'c'))
    const first = await workspace.undo()
    expect(await workspace.text('x')).toBe('b\n')
    await workspace.undo()
    expect(await workspace.text('x')).toBe('a\n')
    expect(await failureOf(workspace.undo())).toEqual({ kind: 'failed', detail: 'There is no change to undo.' })
    expect(await failureOf(workspace.undo({ id: first.id }))).toMatchObject({ kind: 'conflict' })
    const entries = await workspace.deps.journal.entries()
    await workspace.undo({ id: entries.at(-1)?.id })
    expect(await workspace.text('x')).toBe('b\n')
    // After the undo of an undo, the change can be undone again.
    await workspace.undo()
    expect(await workspace.text('x')).toBe('a\n')
    expect(await failureOf(workspace.undo({ id: 'nothing' }))).toMatchObject({ kind: 'failed' })
  })

  it('is a conflict for a file that has changed since', async () => {
    const workspace = await openWorkspace({ x: 'a\n', y: 'a\n' })
    const { id } = await workspace.apply(patchOf('x', 'a', 'b') + patchOf('y', 'a', 'b'))
    await workspace.write('y', 'mine\n')
    expect(await failureOf(workspace.undo({ id }))).toEqual({
      kind: 'conflict',
      detail: `y has changed since the change ${id}. Nothing was undone.`,
      conflicts: [{ path: 'y', line: 1, expected: ['b', ''], found: ['mine', ''] }],
    })
    expect(await workspace.text('x')).toBe('b\n')
    await workspace.write('y', 'b\n')
    await workspace.undo({ id })
    expect(await failureOf(workspace.undo({ id }))).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining('undone already'),
    })
  })

  it('removes the folders that the change created, if they are empty', async () => {
    const workspace = await openWorkspace({ 'a/x': 'a\n' })
    const create = '--- /dev/null\n+++ b/a/b/c/y\n@@ -0,0 +1 @@\n+y\n'
    await workspace.apply(create)
    await workspace.undo()
    expect(await readdir(join(workspace.root, 'a'))).toEqual(['x'])
    await workspace.apply(create)
    await workspace.write('a/b/mine', '')
    await workspace.undo()
    expect(await readdir(join(workspace.root, 'a/b'))).toEqual(['mine'])
  })

  it('requests approval with a reverse diff, and restores the mode of a removed file', async () => {
    const workspace = await openWorkspace({ x: 'a\n' })
    await workspace.chmod('x', 0o755)
    await workspace.apply('diff --git a/x b/x\ndeleted file mode 100755\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n')
    let seen: unknown
    const authorize = async (intent: unknown): Promise<void> => {
      seen = intent
    }
    await workspace.undo({}, { ...allow, authorize })
    expect(seen).toEqual({
      writes: ['x'],
      files: [{ path: 'x', change: 'created', executable: true, added: 1, removed: 0 }],
      diff: 'diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n',
    })
    expect(await workspace.mode('x')).toBe(0o755)
  })

  it('refuses damaged old bytes', async () => {
    const workspace = await openWorkspace({ x: 'a\n' })
    const { id } = await workspace.apply(patchOf('x', 'a', 'b'))
    await writeFile(join(workspace.journalDir, `${id}.bytes`), 'z\n')
    expect(await failureOf(workspace.undo())).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining('damaged'),
    })
  })
})

describe('the journal', () => {
  it('returns the changes since a time, with hashes', async () => {
    const workspace = await openWorkspace({ x: 'a\n' })
    await workspace.apply(patchOf('x', 'a', 'b'))
    const { id, files } = await workspace.apply(patchOf('x', 'b', 'c'))
    const [, second] = await workspace.deps.journal.entries()
    expect(second).toMatchObject({
      id,
      undoes: null,
      files: [{ path: 'x', before: { sha256: files[0]?.before }, after: { sha256: files[0]?.after } }],
    })
    expect(await workspace.deps.journal.entries((second?.atMs ?? 0) + 1)).toEqual([])
  })

  it('keeps entries and bytes within the limits, and always the last entry', async () => {
    const workspace = await openWorkspace({ x: '0\n' }, { limits: { maxEntries: 3, maxBytes: 1000 } })
    for (let step = 0; step < 6; step += 1) await workspace.apply(patchOf('x', String(step), String(step + 1)))
    expect(await workspace.deps.journal.entries()).toHaveLength(3)
    const small = await openWorkspace({ x: '0\n' }, { limits: { maxEntries: 3, maxBytes: 1 } })
    for (let step = 0; step < 3; step += 1) await small.apply(patchOf('x', String(step), String(step + 1)))
    expect(await small.deps.journal.entries()).toHaveLength(1)
    expect(await readdir(small.journalDir)).toHaveLength(2)
    await small.undo()
    expect(await small.text('x')).toBe('2\n')
  })

  it('can be read by its owner only', async () => {
    const workspace = await openWorkspace({ x: 'a\n' })
    await workspace.apply(patchOf('x', 'a', 'b'))
    expect(await modeOf(workspace.journalDir)).toBe(0o700)
    for (const name of await readdir(workspace.journalDir)) {
      expect(await modeOf(join(workspace.journalDir, name))).toBe(0o600)
    }
  })

  it('stops and rolls back when the call is cancelled between two files', async () => {
    const controller = new AbortController()
    const workspace = await openWorkspace(
      { x: 'a\n', y: 'a\n' },
      {
        folder: (plain) => ({
          ...plain,
          writeFile: async (...args) => {
            await plain.writeFile(...args)
            controller.abort()
          },
        }),
      },
    )
    const start = await workspace.tree()
    const both = patchOf('x', 'a', 'b') + patchOf('y', 'a', 'b')
    const context = { authorize: async () => {}, permit: async () => {}, signal: controller.signal }
    expect(await failureOf(workspace.apply(both, {}, context))).toEqual({ kind: 'cancelled' })
    expect(await workspace.tree()).toEqual(start)
  })

  it('leaves a file that somebody changed during a commit, and names it', async () => {
    const workspace = await openWorkspace(
      { x: 'a\n', y: 'a\n' },
      {
        folder: (plain) => ({
          ...plain,
          writeFile: async (path, ...rest) => {
            if (path === 'y') {
              await plain.writeFile('x', Buffer.from('mine\n'))
              throw new ToolError({ kind: 'failed', detail: 'The disk is full.' })
            }
            await plain.writeFile(path, ...rest)
          },
        }),
      },
    )
    const failure = await failureOf(workspace.apply(patchOf('x', 'a', 'b') + patchOf('y', 'a', 'b')))
    expect(failure).toEqual({
      kind: 'failed',
      detail: 'The disk is full. x changed in the meantime and was not restored.',
    })
    expect(await workspace.text('x')).toBe('mine\n')
  })

  it('can be opened by two processes at once', async () => {
    const workspace = await openWorkspace({ x: 'a\n', y: 'a\n' })
    const other = { ...workspace.deps, journal: await workspace.openAgain() }
    const { applyPatch } = await import('../../../src/workspace/patch/apply-patch.ts')
    await Promise.all([
      workspace.apply(patchOf('x', 'a', 'b')),
      applyPatch(other, { unifiedDiff: patchOf('y', 'a', 'b') }, allow),
    ])
    expect(await workspace.deps.journal.entries()).toHaveLength(2)
  })
})
