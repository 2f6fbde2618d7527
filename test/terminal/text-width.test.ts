import { expect, test } from 'vitest'
import { createStyle } from '../../src/terminal/output.ts'
import { formatTable, padText, textWidth } from '../../src/terminal/table.ts'

test.each([
  ['gpt-5-mini', 10],
  ['', 0],
  ['模型', 4],
  ['한국어', 6],
  ['é', 1],
  ['e\u0301', 1],
  ['🚀', 2],
  ['👩‍👩‍👧', 2],
  ['✈️', 2],
  ['→…', 2],
  ['𠮷', 2],
])('%s is %d columns wide', (text, width) => {
  expect(textWidth(text)).toBe(width)
  expect(padText(text, 12).length - text.length).toBe(12 - width)
})

test('columns stay in line beside wide characters', () => {
  const columns = [
    { title: 'MODEL', cell: ([id]: readonly [string, string]) => id },
    { title: 'SIZE', cell: ([, size]: readonly [string, string]) => size, align: 'right' as const },
  ]
  const rows = [
    ['模型-1', '1k'],
    ['gpt', '大'],
  ] as const
  const text = formatTable(columns, rows, { columns: 80, style: createStyle(false) })
  expect(text).toBe('MODEL   SIZE\n模型-1    1k\ngpt       大\n')
})
