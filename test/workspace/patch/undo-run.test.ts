import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { applyPatch } from '../../../src/workspace/patch/apply-patch.ts'
import { ownedJournal } from '../../../src/workspace/patch/owned-journal.ts'
import { undoChanges } from '../../../src/workspace/patch/undo-changes.ts'
import { allow, openWorkspace, type Tree } from './support.ts'
import { failureOf } from '../tree.ts'

const patchOf = (path: string, before: string, after: string) =>
  `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${before}\n+${after}\n`
const create = (path: string, text: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+${text}\n`
const remove = (path: string, text: string) => `--- a/${path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-${text}\n`

/** Opens a workspace whose changes can be made by runs. */
async function openRuns(tree: Tree = {}) {
  const workspace = await openWorkspace(tree)
  const depsOf = (runId: string) => ({
    ...workspace.deps,
    journal: ownedJournal(workspace.deps.journal, { ownerId: undefined, runId }),
  })
  return {
    ...workspace,
    applyIn: (runId: string, unifiedDiff: string) => applyPatch(depsOf(runId), { unifiedDiff }, allow),
    undoIn: (runId: string, args: Parameters<typeof undoChanges>[1]) => undoChanges(depsOf(runId), args, allow),
  }
}

describe('the undo of a run', () => {
  it('takes all of its changes back as one change, which can be undone too', async () => {
    const workspace = await openRuns({ x: 'a\n', gone: 'g\n', other: '1\n' })
    const before = await workspace.tree()
    const first = await workspace.applyIn('r', patchOf('x', 'a', 'b'))
    await workspace.apply(patchOf('other', '1', '2'))
    const second = await workspace.applyIn('r', patchOf('x', 'b', 'c') + create('deep/er/new', 'n'))
    const third = await workspace.applyIn('r', remove('gone', 'g'))
    const after = await workspace.tree()

    const planned = await workspace.undo({ run: 'r', dryRun: true })
    expect(planned).toMatchObject({ undoes: [third.id, second.id, first.id] })
    expect(planned.diff).toContain('-c\n+a\n')
    expect(await workspace.tree()).toEqual(after)

    const { id } = await workspace.undo({ run: 'r' })
    await workspace.undo({})
    expect(await workspace.tree()).toEqual(before)
    expect(await failureOf(workspace.undo({ run: 'r' }))).toMatchObject({
      detail: 'The changes of the run were undone already.',
    })
    for (const each of [first, second, third])
      expect(await failureOf(workspace.undo({ id: each.id }))).toMatchObject({
        detail: `The change ${each.id} was undone already.`,
      })
    // An empty folder that the run has not made stays.
    await mkdir(join(workspace.root, 'kept'))
    await workspace.undo({ id })
    expect(await workspace.text('x')).toBe('c\n')
    await workspace.undo({ run: 'r' })
    expect(await workspace.tree()).toMatchObject({ x: before['x'] })
  })

  it.each([
    ['after the run', { x: 'mine\n' }, [], /^x has changed since the change 00000001-/],
    ['between two changes of the run', {}, [patchOf('y', 'b', 'mine')], /^y has changed since the change 00000001-/],
  ])('changes nothing if somebody else has changed a file %s', async (_when, written, patches, detail) => {
    const workspace = await openRuns({ x: 'a\n', y: 'a\n' })
    await workspace.applyIn('r', patchOf('x', 'a', 'b') + patchOf('y', 'a', 'b'))
    for (const patch of patches) await workspace.apply(patch)
    const last = patches.length === 0 ? 'b' : 'mine'
    await workspace.applyIn('r', patchOf('y', last, 'c'))
    for (const [path, text] of Object.entries(written)) await workspace.write(path, text)
    const before = await workspace.tree()
    const failure = await failureOf(workspace.undo({ run: 'r' }))
    expect(failure).toMatchObject({ kind: 'conflict', detail: expect.stringMatching(detail) })
    expect(await workspace.tree()).toEqual(before)
  })

  it('leaves out what was undone alone, and brings back nothing that the run has undone itself', async () => {
    const workspace = await openRuns({ x: 'a\n', y: 'a\n', z: 'a\n' })
    const { id } = await workspace.applyIn('r', patchOf('x', 'a', 'b'))
    await workspace.applyIn('r', patchOf('y', 'a', 'b'))
    const tried = await workspace.applyIn('r', patchOf('z', 'a', 'b'))
    await workspace.undoIn('r', { id: tried.id })
    await workspace.undo({ id })
    const before = await workspace.text('z')
    await workspace.undo({ run: 'r' })
    expect([await workspace.text('x'), await workspace.text('y'), before]).toEqual(['a\n', 'a\n', 'a\n'])
  })

  it('refuses a run without changes, and one whose changes cancel each other out', async () => {
    const workspace = await openRuns({ x: 'a\n' })
    const { id } = await workspace.applyIn('r', patchOf('x', 'a', 'b'))
    expect(await failureOf(workspace.undo({ run: 'another' }))).toEqual({
      kind: 'failed',
      detail: 'The run has made no change that can be undone.',
    })
    await workspace.undoIn('r', { id })
    expect(await failureOf(workspace.undo({ run: 'r' }))).toMatchObject({
      detail: expect.stringContaining('nothing to undo'),
    })
  })
})
