import type { Output } from './output.ts'

export interface TableColumn<Row> {
  readonly title: string
  /** Plain text; '' for an empty cell. */
  readonly cell: (row: Row) => string
  readonly align?: 'left' | 'right'
}

/** Spaces between columns; wide where the line fits. */
const gaps = { narrow: 1, wide: 2 }

export function fitsTable<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  screen: Pick<Output, 'columns'>,
): boolean {
  return lineLength(widthsOf(columns, cellsOf(columns, rows)), gaps.narrow) <= screen.columns
}

/**
 * Rows as an aligned table with a head line. On a screen that is too narrow, each row becomes a block: the first
 * column as its title, every non-empty cell on a line of its own.
 * @param isDim rows of less importance
 */
export function formatTable<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  output: Pick<Output, 'columns' | 'style'>,
  isDim: (row: Row) => boolean = () => false,
): string {
  const cells = cellsOf(columns, rows)
  const widths = widthsOf(columns, cells)
  if (lineLength(widths, gaps.narrow) > output.columns) return formatBlocks(columns, cells, output)

  const gap = ' '.repeat(lineLength(widths, gaps.wide) <= output.columns ? gaps.wide : gaps.narrow)
  const toLine = (texts: readonly string[]): string =>
    texts
      .map((text, at) => padText(text, widths[at] ?? 0, columns[at]?.align))
      .join(gap)
      .trimEnd()
  const head = output.style.bold(toLine(columns.map((column) => column.title)))
  const lines = rows.map((row, at) => {
    const line = toLine(cells[at] ?? [])
    return isDim(row) ? output.style.dim(line) : line
  })
  return [head, ...lines].map((line) => `${line}\n`).join('')
}

function cellsOf<Row>(columns: readonly TableColumn<Row>[], rows: readonly Row[]): readonly (readonly string[])[] {
  return rows.map((row) => columns.map((column) => column.cell(row)))
}

function widthsOf<Row>(columns: readonly TableColumn<Row>[], cells: readonly (readonly string[])[]): readonly number[] {
  return columns.map((column, at) =>
    cells.reduce((widest, row) => Math.max(widest, textWidth(row[at] ?? '')), column.title.length),
  )
}

function lineLength(widths: readonly number[], gap: number): number {
  return widths.reduce((sum, width) => sum + width, gap * (widths.length - 1))
}

function formatBlocks<Row>(
  columns: readonly TableColumn<Row>[],
  cells: readonly (readonly string[])[],
  output: Pick<Output, 'style'>,
): string {
  const labels = columns.slice(1).map((column) => column.title)
  const labelWidth = labels.reduce((widest, label) => Math.max(widest, label.length), 0)
  return cells
    .map(([title = '', ...values]) => {
      const lines = values.flatMap((value, at) =>
        value === '' ? [] : [`  ${output.style.dim((labels[at] ?? '').padEnd(labelWidth))}  ${value}\n`],
      )
      return `${output.style.bold(title)}\n${lines.join('')}`
    })
    .join('')
}

/** Lines `label   value` with aligned values, which are wrapped; empty values are left out. */
export function formatPairs(
  pairs: readonly (readonly [label: string, value: string])[],
  style: Output['style'],
  columns = Infinity,
): string {
  const shown = pairs.filter(([, value]) => value !== '')
  const width = shown.reduce((widest, [label]) => Math.max(widest, textWidth(label)), 0)
  const indent = ' '.repeat(width + 2)
  return shown
    .map(
      ([label, value]) =>
        `${style.dim(padText(label, width))}  ${wrapText(indent + value, columns, indent).trimStart()}`,
    )
    .join('')
}

/**
 * Wraps a line at spaces; a longer word stays whole. Each line ends with a line break.
 * @param indent of all lines but the first
 */
export function wrapText(text: string, columns: number, indent = ''): string {
  const start = /^ */.exec(text)?.[0] ?? ''
  const lines: string[] = []
  let line = start
  for (const word of text.slice(start.length).split(' ')) {
    const isEmpty = line.trim() === ''
    if (!isEmpty && textWidth(line) + 1 + textWidth(word) > columns) {
      lines.push(line)
      line = indent + word
    } else line = isEmpty ? line + word : `${line} ${word}`
  }
  return [...lines, line].map((each) => `${each}\n`).join('')
}

/**
 * Characters that terminals draw two columns wide: East Asian wide and fullwidth characters, and emoji.
 * Source: Unicode Standard Annex #11, "East Asian Width" (2026-11), with coarser ranges.
 */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\uFE0F|\p{Emoji_Presentation}/u

/** The columns of a text without control characters. */
export function textWidth(text: string): number {
  if (/^[\u0020-\u007E]*$/.test(text)) return text.length
  // A grapheme cluster is drawn as one character.
  const drawn = new Intl.Segmenter('en').segment(text)
  return [...drawn].reduce((width, { segment }) => width + (wide.test(segment) ? 2 : 1), 0)
}

export function padText(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - textWidth(text)))
  return align === 'right' ? space + text : text + space
}
