import type { Output, Style } from './output.ts'

export interface TableColumn<Row> {
  readonly title: string
  /** Plain text; '' for an empty cell. */
  readonly cell: (row: Row) => string
  readonly align?: 'left' | 'right'
  /** Columns of a low rank are left out first if the screen is narrow, equal ranks together. Default: never. */
  readonly rank?: number
  /** The least width, for rows that come later. The column grows to its longest cell while the line fits, and cuts longer cells. */
  readonly width?: number
  readonly paint?: (row: Row, style: Style) => (text: string) => string
}

export interface TableLayout<Row> {
  readonly columns: readonly TableColumn<Row>[]
  readonly widths: readonly number[]
  readonly gap: string
}

type Screen = Pick<Output, 'columns' | 'style'>

/** Spaces between columns; wide where the line fits. */
const gaps = { narrow: 1, wide: 2 }

/** The columns that fit the screen; all those without a rank stay. */
export function fittingColumns<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  screen: Pick<Output, 'columns'>,
): readonly TableColumn<Row>[] {
  const ranks = [...new Set(columns.flatMap(({ rank }) => rank ?? []))].toSorted((a, b) => a - b)
  return ranks.reduce((shown, least) => {
    const widths = shown.map((column) => column.width ?? longest(column, rows))
    return lineLength(widths, gaps.narrow) <= screen.columns ? shown : shown.filter(({ rank }) => rank !== least)
  }, columns)
}

/** The columns that fit the screen with their widths, for rows that are written one after the other. */
export function layoutTable<Row>(
  given: readonly TableColumn<Row>[],
  rows: readonly Row[],
  screen: Pick<Output, 'columns'>,
): TableLayout<Row> {
  const columns = fittingColumns(given, rows, screen)
  const wanted = columns.map((column) => Math.max(column.width ?? 0, longest(column, rows)))
  const widths = columns.map((column, at) => column.width ?? wanted[at] ?? 0)
  const byRank = [...columns.keys()].toSorted((a, b) => rankOf(columns[b]) - rankOf(columns[a]))
  for (const at of byRank) {
    const spare = screen.columns - lineLength(widths, gaps.narrow)
    const width = widths[at] ?? 0
    widths[at] = Math.min(wanted[at] ?? 0, width + Math.max(0, spare))
  }
  const gap = lineLength(widths, gaps.wide) <= screen.columns ? gaps.wide : gaps.narrow
  return { columns, widths, gap: ' '.repeat(gap) }
}

function rankOf<Row>(column: TableColumn<Row> | undefined): number {
  return column?.rank ?? Number.MAX_VALUE
}

export function formatHead<Row>({ columns, widths, gap }: TableLayout<Row>, { style }: Pick<Output, 'style'>): string {
  const titles = columns.map(({ title, align }, at) => padText(title, widths[at] ?? 0, align))
  return `${style.bold(titles.join(gap).trimEnd())}\n`
}

export function formatRow<Row>(
  { columns, widths, gap }: TableLayout<Row>,
  row: Row,
  { style }: Pick<Output, 'style'>,
): string {
  const cells = columns.map(({ cell, align, paint = () => (text: string) => text }, at) => {
    const width = widths[at] ?? 0
    return paint(row, style)(padText(clipText(cell(row), width), width, align))
  })
  return cells.join(gap).trimEnd()
}

/**
 * Rows as an aligned table with a head line. On a screen that is too narrow, each row becomes a block: the first
 * column as its title, every non-empty cell on a line of its own.
 * @param isDim rows of less importance
 */
export function formatTable<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  output: Screen,
  isDim: (row: Row) => boolean = () => false,
): string {
  const layout = layoutTable(columns, rows, output)
  if (lineLength(layout.widths, gaps.narrow) > output.columns) {
    const cells = rows.map((row) => columns.map((column) => column.cell(row)))
    return formatBlocks(columns, cells, output)
  }
  const lines = rows.map((row) => {
    const line = formatRow(layout, row, output)
    return `${isDim(row) ? output.style.dim(line) : line}\n`
  })
  return `${formatHead(layout, output)}${lines.join('')}`
}

function longest<Row>({ title, cell }: TableColumn<Row>, rows: readonly Row[]): number {
  return rows.reduce((widest, row) => Math.max(widest, textWidth(cell(row))), title.length)
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

/** Cuts a text to a width. */
export function clipText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let kept = text.slice(0, Math.max(0, width - 1))
  while (textWidth(kept) > width - 1 && kept !== '') kept = kept.slice(0, -1)
  return `${kept}…`
}

export function padText(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - textWidth(text)))
  return align === 'right' ? space + text : text + space
}
