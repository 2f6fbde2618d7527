import { describe, expect, test } from 'vitest'
import { failureOf } from '../tree.ts'
import { openWorkspace } from './support.ts'

const shop = [
  'class Cart {',
  '  total() {',
  '    return 0',
  '  }',
  '}',
  'class Order {',
  '  total() {',
  '    return 0',
  '  }',
  '}',
  '',
].join('\n')

const patch = (...lines: readonly string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')
const update = (...lines: readonly string[]): string => patch('*** Update File: shop.js', ...lines)

describe('a V4A patch', () => {
  test('adds, changes, moves and removes files together, and is undone together', async () => {
    const before = { 'shop.js': shop, 'old.txt': 'a\nb\n', 'gone.txt': 'x\n' }
    const workspace = await openWorkspace(before)
    const { id, files } = await workspace.apply(
      patch(
        '*** Add File: src/new.js',
        '+export const one = 1',
        '+',
        '+export const two = 2',
        '*** Update File: old.txt',
        '*** Move to: docs/new.txt',
        '@@',
        ' a',
        '-b',
        '+c',
        '*** Delete File: gone.txt',
        '*** Update File: shop.js',
        '@@ class Order {',
        '   total() {',
        '-    return 0',
        '+    return 1',
        '   }',
      ),
    )
    expect(
      Object.fromEntries(Object.entries(await workspace.tree()).map(([path, text]) => [path, text.slice(7)])),
    ).toEqual({
      'src/new.js': 'export const one = 1\n\nexport const two = 2\n',
      'docs/new.txt': 'a\nc\n',
      'shop.js': shop.replace(/return 0(?=[^]*$)(?![^]*return 0)/, 'return 1'),
    })
    expect(files).toHaveLength(5)
    await workspace.undo({ id })
    expect(await workspace.text('gone.txt')).toBe('x\n')
    expect(await workspace.text('old.txt')).toBe('a\nb\n')
    expect(await workspace.text('shop.js')).toBe(shop)
  })

  test.each([
    ['of two equal places, the first one after a line', ['@@ class Order {', '-    return 0', '+    return 1'], 8],
    ['after a class and its method', ['@@ class Order {', '@@   total() {', '-    return 0', '+    return 1'], 8],
    ['after the beginning of a line', ['@@ class Order', '-    return 0', '+    return 1'], 8],
    [
      'from the line itself on',
      ['@@ class Cart {', ' class Cart {', '   total() {', '-    return 0', '+    return 1'],
      3,
    ],
    ['at the end of the file', ['@@', '-    return 0', '+    return 1', '   }', ' }', '*** End of File'], 8],
    ['at the line that the numbers of a unified diff state', ['@@ -8,1 +8,1 @@', '-    return 0', '+    return 1'], 8],
    ['before blank lines that only separate', ['@@ class Order {', '-    return 0', '+    return 1', '', ''], 8],
  ])('finds a place: %s', async (_title, lines, changed) => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    await workspace.apply(update(...lines))
    expect((await workspace.text('shop.js')).split('\n')[changed - 1]).toBe('    return 1')
    expect((await workspace.text('shop.js')).split('\n')).toHaveLength(shop.split('\n').length)
  })

  test.each([
    ['after a line', ['@@ class Order {', '+  id = 1'], shop.replace('class Order {\n', 'class Order {\n  id = 1\n')],
    ['at the end', ['@@', '+// end', '*** End of File'], `${shop}// end\n`],
  ])('adds lines without context %s', async (_title, lines, after) => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    await workspace.apply(update(...lines))
    expect(await workspace.text('shop.js')).toBe(after)
  })

  test('needs no line @@ before the first lines, and keeps the line ends of a file', async () => {
    const workspace = await openWorkspace({ 'shop.js': 'a\r\nb\r\nc\r\n' })
    await workspace.apply(update(' a', '-b', '+x', '+y'))
    expect(await workspace.text('shop.js')).toBe('a\r\nx\r\ny\r\nc\r\n')
  })

  test.each([
    ['text and a fence around it', (text: string) => `Here it is:\n\`\`\`\n${text}\n\`\`\`\nDone.`],
    ['a heredoc around it', (text: string) => `apply_patch <<'EOF'\n${text}\nEOF\n`],
    ['CR LF', (text: string) => text.replaceAll('\n', '\r\n') + '\r\n'],
    ['no line *** Begin Patch', (text: string) => text.replace('*** Begin Patch\n', '')],
  ])('may have %s', async (_title, wrap) => {
    const workspace = await openWorkspace({ 'voilà.txt': 'grün\n' })
    await workspace.apply(wrap(patch('*** Update File: voilà.txt', '@@', '-grün', '+grau')))
    expect(await workspace.text('voilà.txt')).toBe('grau\n')
  })

  test('removes a file whatever it has, and makes an empty one', async () => {
    const workspace = await openWorkspace({ 'empty.txt': '', 'full.txt': 'a\n' })
    await workspace.apply(patch('*** Delete File: empty.txt', '*** Delete File: full.txt', '*** Add File: new.txt'))
    expect(Object.keys(await workspace.tree())).toEqual(['new.txt'])
  })

  test.each([
    ['two places', ['@@', '-    return 0', '+    return 1'], 'A hunk matches shop.js at lines 3 and 8.'],
    [
      'two places after two equal lines',
      ['@@ total() {', '-    return 0', '+    return 1'],
      'A hunk matches shop.js at lines 3 and 8.',
    ],
    ['no place', ['@@', '   total() {', '-    return 7', '+    return 1'], 'The nearest lines are 2 to 3.'],
    ['new lines without context', ['@@', '+x'], 'without context'],
  ])('does not match: %s', async (_title, lines, detail) => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    const failure = await failureOf(workspace.apply(update(...lines)))
    expect(failure).toMatchObject({ kind: 'conflict', detail: expect.stringContaining(detail) })
    expect(await workspace.text('shop.js')).toBe(shop)
  })

  test.each([
    [
      'its end is missing',
      '*** Begin Patch\n*** Update File: shop.js\n@@\n-class Cart {\n',
      'a part of it may be missing',
    ],
    ['it has no file', patch(), 'names no file'],
    ['a file has no change', update('@@'), 'changes nothing in shop.js'],
    ['a line has no sign', update('@@', '-class Cart {', 'class Box {'), 'Line 5 of the patch needs " ", "+" or "-"'],
    ['a new file has context', patch('*** Add File: b.js', ' x'), 'needs "+" at its start'],
    ['a removed file has lines', patch('*** Delete File: shop.js', '-x'), 'a deleted file has no lines'],
    ['a move comes late', update('@@', '-class Cart {', '*** Move to: b.js'), 'directly after'],
  ])('is refused if %s', async (_title, text, detail) => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    const failure = await failureOf(workspace.apply(text))
    expect(failure).toMatchObject({ kind: 'invalid_arguments', detail: expect.stringContaining(detail) })
  })

  test.each(['../out.txt', '/etc/passwd', 'a/../../b', 'C:\\b'])('does not name %s', async (name) => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    for (const text of [
      patch(`*** Add File: ${name}`, '+x'),
      update(`*** Move to: ${name}`),
      patch(`*** Delete File: ${name}`),
    ]) {
      expect(await failureOf(workspace.apply(text))).toMatchObject({ kind: 'denied' })
    }
  })

  test('does not overwrite a file that exists', async () => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    const failure = await failureOf(workspace.apply(patch('*** Add File: shop.js', '+x')))
    expect(failure).toMatchObject({ kind: 'conflict', detail: expect.stringContaining('exists already') })
  })
})

test('a unified diff may add the lines of a V4A patch to a file', async () => {
  const workspace = await openWorkspace({ 'a.txt': 'a\n' })
  await workspace.apply('--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n a\n+*** Begin Patch\n')
  expect(await workspace.text('a.txt')).toBe('a\n*** Begin Patch\n')
})
