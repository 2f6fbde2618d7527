import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { formatBar, formatBox } from '../../src/terminal/format.ts'
import { createStyle, wantsColors } from '../../src/terminal/output.ts'
import { formatPairs, formatTable } from '../../src/terminal/table.ts'
import { visible, visibleLines } from '../../src/terminal/visible.ts'
import { toVisibleJson } from '../../src/page/static/visible-text.js'

const style = createStyle(false)
const columns = [
  { title: 'MODEL', cell: (row: { id: string; context: string; note: string }) => row.id },
  { title: 'CONTEXT', cell: (row: { context: string }) => row.context, align: 'right' as const },
  { title: 'NOTE', cell: (row: { note: string }) => row.note },
]
const rows = [
  { id: 'gpt-5-mini', context: '264k', note: '' },
  { id: 'gpt-4', context: '8k', note: 'old' },
]

describe('table', () => {
  test('aligns its columns and leaves no space at line ends', () => {
    expect(formatTable(columns, rows, { columns: 80, style })).toBe(
      'MODEL       CONTEXT  NOTE\ngpt-5-mini     264k\ngpt-4            8k  old\n',
    )
  })

  test('becomes blocks where the screen is too narrow, and leaves out what is empty', () => {
    expect(formatTable(columns, rows, { columns: 20, style })).toBe(
      'gpt-5-mini\n  CONTEXT  264k\ngpt-4\n  CONTEXT  8k\n  NOTE     old\n',
    )
  })

  test('has no escape code but those of its style', () => {
    const colored = formatTable(columns, rows, { columns: Infinity, style: createStyle(true) })
    expect(stripVTControlCharacters(colored)).toBe(formatTable(columns, rows, { columns: Infinity, style }))
    expect(colored).toContain('\u001B[1m')
  })
})

test('pairs line up and leave out what is empty', () => {
  expect(
    formatPairs(
      [
        ['Account', 'octo'],
        ['Plan', ''],
        ['URL', 'x'],
      ],
      style,
    ),
  ).toBe('Account  octo\nURL      x\n')
})

test('the box frames its text', () => {
  expect(formatBox('AB-12').split('\n')).toEqual([
    '  +-------------+',
    '  |             |',
    '  |    AB-12    |',
    '  |             |',
    '  +-------------+',
    '',
  ])
})

test.each([
  [0, '[----------]'],
  [0.62, '[######----]'],
  [1, '[##########]'],
  [-0.1, '[----------]'],
  [1.7, '[##########]'],
])('the bar of %d is %s', (share, bar) => {
  expect(formatBar(share, 10)).toBe(bar)
})

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
])('colours with terminal %s and %o: %s', (isTty, env, expected) => {
  expect(wantsColors({ isTty, env })).toBe(expected)
})

test('text of others cannot steer the terminal', () => {
  expect(visible('a\u001B]0;title\u0007b\r\nc\u202E')).toBe(String.raw`a\u001b]0;title\u0007b\u000d\u000ac\u202e`)
  expect(visible('Zürich 東京 🙂')).toBe('Zürich 東京 🙂')
})

test('JSON shows hidden characters as escapes and stays the same JSON', () => {
  const controls = Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)).join('')
  const value = { [controls]: [`a\u202E\u{E0041}\u3164\uD800b`, 'Zürich 🙂 👩\u200D💻', { empty: '' }] }
  for (const space of [0, 2]) {
    const shown = toVisibleJson(JSON.stringify(value, null, space))
    expect(JSON.parse(shown)).toEqual(value)
    // oxlint-disable-next-line no-control-regex -- controls are what it looks for
    expect(shown).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E\u3164\u{E0041}]/u)
    expect(shown).toContain('Zürich 🙂 👩\u200D💻')
  }
})

test('a message keeps its lines, shows control characters in them, and cuts the middle out of an endless one', () => {
  expect(visibleLines('a\u001B[2J\nb\n')).toBe('a\\u001b[2J\nb\n')
  const cut = visibleLines(`start${'x'.repeat(100_000)}end`)
  expect(cut.length).toBeLessThan(700)
  expect(cut).toMatch(/^startx+…x+end$/)
})
