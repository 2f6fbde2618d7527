import { describe, expect, test } from 'vitest'
import { failureOf } from '../tree.ts'
import { openWorkspace } from './support.ts'

const patchOf = (line: string, at = '-1,3 +1,3'): string =>
  `--- a/x.txt\n+++ b/x.txt\n@@ ${at} @@\n first\n-${line}\n+changed\n last\n`
const fileOf = (line: string): string => `first\n${line}\nlast\n`

describe('a patch whose lines look like those of the file', () => {
  test.each([
    ['gr\u00fcn', 'gru\u0308n', 'the Unicode form of its letters', 'U+0075', 'U+00FC'],
    ["say 'hi'", 'say \u2018hi\u2019', 'quotes', 'U+2018', 'U+0027'],
    ['say "hi"', 'say \u201chi\u201d', 'quotes', 'U+201C', 'U+0022'],
    ['a b', 'a\u00a0b', 'spaces', 'U+00A0', 'U+0020'],
    ['  a', '\ta', 'spaces', 'U+0009', 'U+0020'],
    ['a', 'a  ', 'spaces', 'U+0020', 'its end'],
    ['a - b', 'a \u2013 b', 'dashes', 'U+2013', 'U+002D'],
    ['ab', 'a\u200bb', 'invisible characters', 'U+200B', 'U+0062'],
    ["it's a", 'it\u2019s\u00a0a', 'quotes and spaces', 'U+2019', 'U+0027'],
  ])('%j and %j: says what differs', async (patched, there, what, found, wanted) => {
    for (const at of ['-1,3 +1,3', '-7,3 +7,3']) {
      const workspace = await openWorkspace({ 'x.txt': fileOf(there) })
      expect(await failureOf(workspace.apply(patchOf(patched, at)))).toMatchObject({
        kind: 'conflict',
        detail: `The patch differs only in ${what} from x.txt: line 2 has ${found} where the patch has ${wanted}. No file was changed.`,
        conflicts: [{ path: 'x.txt', line: 1, expected: ['first', patched, 'last'], found: ['first', there, 'last'] }],
      })
      expect(await workspace.text('x.txt')).toBe(fileOf(there))
    }
  })

  test.each([
    ['a', 'b'],
    ['gr\u00fcn', 'grun'],
    ['a b', 'ab'],
  ])('%j and %j differ for every reader', async (patched, there) => {
    const workspace = await openWorkspace({ 'x.txt': fileOf(there) })
    expect(await failureOf(workspace.apply(patchOf(patched)))).toMatchObject({
      kind: 'conflict',
      detail: expect.stringContaining('does not match x.txt at line 1 or anywhere else'),
    })
  })

  test('at several places says that there is no match', async () => {
    const workspace = await openWorkspace({ 'x.txt': fileOf('a\u00a0b') + fileOf('a\u00a0b') })
    expect(await failureOf(workspace.apply(patchOf('a b', '-9,3 +9,3')))).toMatchObject({
      detail: expect.stringContaining('does not match'),
    })
  })
})
