import { describe, expect, test } from 'vitest'
import { failureOf } from '../tree.ts'
import { openWorkspace } from './support.ts'

const before = 'one\ntwo\n'
const after = 'one\nTWO\n'
const hunk = '@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n'
const time = '2026-01-02 10:00:00.000000000 +0000'
const patchOf = (old: string, changed = old): string => `--- ${old}\n+++ ${changed}\n${hunk}`

describe('a header line', () => {
  test.each([
    ['a.txt', patchOf(`a.txt ${time}`)],
    ['a.txt', patchOf(`a.txt    ${time}`)],
    ['a.txt', patchOf(`a.txt ${time}`, 'a.txt 2026-01-03 10:00:00.5 +0100')],
    ['a.txt', patchOf(`a/a.txt ${time}`, `b/a.txt ${time}`)],
    ['a.txt', patchOf('a.txt 2026-01-02 10:00:00')],
    ['a.txt', patchOf('a.txt 2026-01-02T10:00:00Z')],
    ['a.txt', patchOf('a.txt 2026-01-02 10:00:00 +01:00')],
    ['a.txt', patchOf('a.txt Fri Jan  2 10:00:00 2026')],
    ['a.txt', patchOf('./a.txt')],
    ['a.txt', patchOf('././a.txt')],
    ['a.txt', patchOf('./a/a.txt', './b/a.txt')],
    ['a.txt', patchOf('"./a.txt"')],
    ['src/b.txt', patchOf(`./src/b.txt\t${time}`)],
    ['src/b.txt', patchOf(`./src/b.txt ${time}`)],
    ['src/b.txt', patchOf('a/./src/b.txt', 'b/./src/b.txt')],
    ['with a name.txt', patchOf(`./with a name.txt ${time}`)],
    ['gr\u00fcn.txt', patchOf('"a/gr\\303\\274n.txt"', '"b/gr\\303\\274n.txt"')],
    ['a.txt', `diff --git a/a.txt b/a.txt\n${patchOf(`a/a.txt ${time}`, `b/a.txt ${time}`)}`],
  ])('names %j: %j', async (path, patch) => {
    const workspace = await openWorkspace({ [path]: before })
    await workspace.apply(patch)
    expect(await workspace.text(path)).toBe(after)
  })

  test('names a file whose own name ends with a time, if it exists', async () => {
    const own = `a.txt ${time}`
    const workspace = await openWorkspace({ 'a.txt': before, [own]: before })
    await workspace.apply(patchOf(own))
    expect(await workspace.text(own)).toBe(after)
    expect(await workspace.text('a.txt')).toBe(before)
    await workspace.undo()
    await workspace.apply(`diff --git a/${own} b/${own}\n${patchOf(`a/${own}`, `b/${own}`)}`)
    expect(await workspace.text(own)).toBe(after)
  })

  test('with the beginning of time after spaces creates and deletes a file', async () => {
    const workspace = await openWorkspace({})
    const none = '1970-01-01 00:00:00.000000000 +0000'
    await workspace.apply(`--- n.txt ${none}\n+++ n.txt ${time}\n@@ -0,0 +1 @@\n+new\n`)
    expect(await workspace.text('n.txt')).toBe('new\n')
    await workspace.apply(`--- n.txt ${time}\n+++ n.txt ${none}\n@@ -1 +0,0 @@\n-new\n`)
    expect(await workspace.tree()).toEqual({})
  })

  test.each(['../a.txt', './../a.txt', 'src/../../a.txt', './/a.txt', `../a.txt ${time}`])(
    'may not lead to %j',
    async (name) => {
      const workspace = await openWorkspace({ 'a.txt': before })
      expect(await failureOf(workspace.apply(patchOf(name)))).toMatchObject({ kind: 'denied' })
    },
  )

  test.each(['notes 2026-01-02.txt', 'a.txt 10:00', 'a 2026-01-02'])('keeps the name %j', async (name) => {
    const workspace = await openWorkspace({ [name]: before })
    await workspace.apply(patchOf(name))
    expect(await workspace.text(name)).toBe(after)
  })
})
