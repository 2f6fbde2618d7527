import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fileActions } from '../../../src/agent/file-actions.ts'
import { fc } from '../../fast-check.ts'
import { openWorkspace } from './support.ts'
import { failureOf } from '../tree.ts'

/** Twenty lines with CR LF, but for line 7. */
const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}${index === 6 ? '\n' : '\r\n'}`)
const mixed = lines.join('')
const withLines = (changes: Readonly<Record<number, string>>): string =>
  lines.map((line, index) => changes[index + 1] ?? line).join('')

const patchOf = (hunk: string): string => `--- a/x.txt\n+++ b/x.txt\n${hunk}`

const withoutCr = (text: string): string => text.replaceAll('\r\n', '\n')

/** Replaces the whole text, as the agent does. */
async function edit(before: string, content: string): Promise<{ readonly text: string; readonly diff: string }> {
  const workspace = await openWorkspace({ 'x.txt': before })
  const { folder, maxFileBytes } = workspace.deps
  const { sha256 } = await folder.readFile('x.txt', { maxBytes: maxFileBytes })
  const action = fileActions.find(({ name }) => name === 'editFile') ?? expect.fail()
  const context = { folder, hashes: new Map([['x.txt', sha256]]), maxFileBytes }
  const [call] = await action.toCalls({ path: 'x.txt', content }, context)
  const { unifiedDiff } = z.object({ unifiedDiff: z.string() }).parse(call?.args)
  await workspace.apply(unifiedDiff)
  return { text: await workspace.text('x.txt'), diff: unifiedDiff }
}

describe('a whole-file edit of a file with mixed line ends', () => {
  test('changes one line only', async () => {
    const { text, diff } = await edit(mixed, withoutCr(mixed).replace('line 11', 'LINE 11'))
    expect(text).toBe(withLines({ 11: 'LINE 11\r\n' }))
    expect(diff.split('\n').filter((line) => /^[-+](?![-+])/.test(line))).toEqual(['-line 11\r', '+LINE 11\r'])
  })

  test.each([
    ['a changed line keeps its LF', withoutCr(mixed).replace('line 7', 'LINE 7'), withLines({ 7: 'LINE 7\n' })],
    [
      'several lines take the end of the one that they replace',
      withoutCr(mixed).replace('line 7\n', 'a\nb\n'),
      withLines({ 7: 'a\nb\n' }),
    ],
    [
      'new lines take the end that most lines have',
      withoutCr(mixed).replace('line 7\n', 'line 7\nnew\n'),
      withLines({ 7: 'line 7\nnew\r\n' }),
    ],
    ['removed lines change no other', withoutCr(mixed).replace('line 6\n', ''), withLines({ 6: '' })],
    ['a text with CR is taken as it is', mixed.replace('line 7\n', 'line 7\r\n'), withLines({ 7: 'line 7\r\n' })],
    ['the last newline may go', withoutCr(mixed).replace(/\n$/, ''), withLines({ 20: 'line 20' })],
  ])('%s', async (_name, content, after) => {
    expect((await edit(mixed, content)).text).toBe(after)
  })

  test.each([
    ['CR LF', 'a\r\nb\r\n', 'a\nB\nc\n', 'a\r\nB\r\nc\r\n'],
    ['LF', 'a\nb\n', 'a\nB\nc\n', 'a\nB\nc\n'],
    ['a byte order mark', '\uFEFFa\r\nb\n', 'a\nB\n', '\uFEFFa\r\nB\n'],
  ])('is right for a file with %s too', async (_name, before, content, after) => {
    expect((await edit(before, content)).text).toBe(after)
  })
})

describe('a patch of a file with mixed line ends', () => {
  const hunk = '@@ -5,5 +5,6 @@\n line 5\n line 6\n line 7\n-line 8\n+LINE 8\n+new\n line 9\n'

  test.each([
    ['where the hunk states', hunk],
    ['at another place', hunk.replace('-5,5 +5,6', '-2,5 +2,6')],
    ['without line numbers', hunk.replace('@@ -5,5 +5,6 @@', '@@')],
    ['with CR LF in the patch', hunk.replaceAll('\n', '\r\n')],
  ])('matches without regard to CR: %s', async (_name, text) => {
    const workspace = await openWorkspace({ 'x.txt': mixed })
    await workspace.apply(text.includes('\r') ? patchOf(text).replaceAll(/(?<!\r)\n/g, '\r\n') : patchOf(text))
    expect(await workspace.text('x.txt')).toBe(withLines({ 8: 'LINE 8\r\nnew\r\n' }))
    await workspace.undo()
    expect(await workspace.text('x.txt')).toBe(mixed)
  })

  test('gives new lines the end that most lines have, and changed ones their own', async () => {
    const workspace = await openWorkspace({ 'x.txt': mixed })
    await workspace.apply(patchOf('@@ -6,3 +6,4 @@\n line 6\n-line 7\n+LINE 7\n line 8\n+new\n'))
    expect(await workspace.text('x.txt')).toBe(withLines({ 7: 'LINE 7\n', 8: 'line 8\r\nnew\r\n' }))
  })

  test('may change the ends themselves', async () => {
    const workspace = await openWorkspace({ 'x.txt': mixed })
    await workspace.apply(patchOf('@@ -6,2 +6,2 @@\n line 6\r\n-line 7\n+line 7\r\n'))
    expect(await workspace.text('x.txt')).toBe(withLines({ 7: 'line 7\r\n' }))
  })

  test('is a conflict where two places are equal but for their CR', async () => {
    const workspace = await openWorkspace({ 'x.txt': 'a\r\nb\r\nc\r\na\nb\n' })
    expect(await failureOf(workspace.apply(patchOf('@@\n a\n-b\n+B\n')))).toMatchObject({
      kind: 'conflict',
      detail: expect.stringContaining('at lines 1 and 4'),
    })
  })

  test('leaves all other bytes alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 3, maxLength: 12 }), fc.nat(11), async (ends, at) => {
        const before = ends.map((isCrlf, index) => `line ${index}${isCrlf ? '\r\n' : '\n'}`)
        const index = at % ends.length
        const workspace = await openWorkspace({ 'x.txt': before.join('') })
        const context = before.map((line, each) => {
          const text = line.trimEnd()
          return each === index ? `-${text}\n+changed\n` : ` ${text}\n`
        })
        await workspace.apply(patchOf(`@@ -1,${ends.length} +1,${ends.length} @@\n${context.join('')}`))
        const after = before.map((line, each) => (each === index ? line.replace(/line \d+/, 'changed') : line))
        expect(await workspace.text('x.txt')).toBe(after.join(''))
      }),
      { numRuns: 30 },
    )
  })
})
