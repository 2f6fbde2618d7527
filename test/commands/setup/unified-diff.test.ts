import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { unifiedDiff } from '../../../src/commands/setup/client-file.ts'

test('shows what changes with three lines around it', () => {
  const before = Array.from({ length: 12 }, (_, at) => `line ${at + 1}\n`)
  const after = before.with(5, 'changed\n').toSpliced(11, 0, 'new\n')
  expect(unifiedDiff('file', before.join(''), after.join(''))).toBe(
    '--- file\n+++ file\n@@ -3,10 +3,11 @@\n line 3\n line 4\n line 5\n-line 6\n+changed\n line 7\n line 8\n line 9\n' +
      ' line 10\n line 11\n+new\n line 12\n',
  )
})

test('shows a new file, a file that goes, and a last line without its end', () => {
  expect(unifiedDiff('f', '', 'a\n')).toBe('--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n')
  expect(unifiedDiff('f', 'a\n', '')).toBe('--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n')
  expect(unifiedDiff('f', 'a', 'a\n')).toBe('--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n')
  expect(unifiedDiff('f', 'a', 'a')).toBe('')
})

/** As `patch` does it. */
function patched(before: string, diff: string): string {
  const old = before.split('\n').slice(0, -1)
  const result: string[] = []
  let at = 0
  for (const line of diff.split('\n').slice(2, -1)) {
    const start = /^@@ -(\d+)(,0)?/.exec(line)
    if (start !== null) {
      const next = Number(start[1]) - (start[2] === undefined ? 1 : 0)
      result.push(...old.slice(at, next))
      at = next
    } else {
      if (line.startsWith('+')) result.push(line.slice(1))
      else {
        expect(old[at]).toBe(line.slice(1))
        if (line.startsWith(' ')) result.push(line.slice(1))
        at += 1
      }
    }
  }
  return [...result, ...old.slice(at)].map((line) => `${line}\n`).join('')
}

test('a diff that is applied gives the new text', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '')).map((lines) => lines.map((line) => `${line}\n`).join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      fc.pre(before !== after)
      expect(patched(before, unifiedDiff('f', before, after))).toBe(after)
    }),
  )
})
