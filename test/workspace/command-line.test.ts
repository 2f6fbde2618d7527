import { describe, expect, it, test } from 'vitest'
import { splitCommand } from '../../src/workspace/command-line.ts'
import { ToolError } from '../../src/workspace/tool-error.ts'

test.each([
  ['npm test', ['npm', 'test']],
  ['  npm \t run  build ', ['npm', 'run', 'build']],
  [`git commit -m 'a; b && $(c) "d"'`, ['git', 'commit', '-m', 'a; b && $(c) "d"']],
  [`echo "a b" 'c'd"e"`, ['echo', 'a b', 'cde']],
  [`echo ""  ''`, ['echo', '', '']],
  [String.raw`echo "a\"b\\c\$d\e"`, ['echo', String.raw`a"b\c$d\e`]],
  [String.raw`echo a\ b \; \'`, ['echo', 'a b', ';', "'"]],
  [String.raw`echo 'a\b'`, ['echo', String.raw`a\b`]],
  ['git diff HEAD~1 a#b c!', ['git', 'diff', 'HEAD~1', 'a#b', 'c!']],
  ['npm test -- --reporter=dot', ['npm', 'test', '--', '--reporter=dot']],
  ['./gradlew test --tests a.b.C', ['./gradlew', 'test', '--tests', 'a.b.C']],
  ['echo "*.ts" "~" "{a,b}" "(c)"', ['echo', '*.ts', '~', '{a,b}', '(c)']],
  ['echo grüße 日本', ['echo', 'grüße', '日本']],
])('splits %s', (text, words) => {
  expect(splitCommand(text)).toEqual(words)
})

describe('G24: syntax of a shell is refused', () => {
  it.each([
    'npm test && rm -rf x',
    'npm test; rm -rf x',
    'npm test;rm',
    'npm test | sh',
    'npm test & rm x',
    'npm test\nrm x',
    'npm test\rrm x',
    'npm test $(rm x)',
    'npm test `rm x`',
    'npm test "$(rm x)"',
    'npm test "`rm x`"',
    'diff <(ls) x',
    'npm test > x',
    'npm test 2>&1',
    'npm test < x',
    'npm${IFS}test',
    'npm test $HOME',
    'npm test "$HOME"',
    'echo {a,b}',
    'ls ~',
    'ls ~root',
    'make PREFIX=~/x',
    'ls *.ts',
    'ls a?c',
    'ls [ab]',
    'npm test # comment',
    '! npm test',
    'npm test\0',
    'npm\u00a0test',
    "npm '\u00a0' test",
    'npm\u2028test',
    'npm\u200btest',
    'npm test \u202etxt',
    'npm test \ud800',
    'PATH=. npm test',
    'NODE_OPTIONS+=x npm test',
    "npm 'test",
    'npm "test',
    'npm test \\',
    '',
    '   ',
    "'' test",
  ])('%j', (text) => {
    expect(() => splitCommand(text)).toThrow(ToolError)
    expect(() => splitCommand(text)).toThrow(/^The command .*\.$/)
  })
})

describe('G28: a command that is too long is refused', () => {
  it('51 chained commands', () => {
    expect(() => splitCommand(Array.from({ length: 51 }, () => 'npm test').join(' && '))).toThrow('contains "&"')
  })

  it('1 MB of words', () => {
    expect(() => splitCommand('npm test '.repeat(120_000))).toThrow('is longer than 10000 characters')
  })
})

test('names the refused character and how to pass it as text', () => {
  expect(() => splitCommand('npm test | tee x')).toThrow(
    'The command contains "|", which only a shell understands, and there is no shell. ' +
      'Run one program at a time; to pass the character as text, put it in single quotes.',
  )
})
