import type { Output } from './output.ts'
import { padText, textWidth } from './text-width.ts'

export interface TableColumn<Row> {
  readonly title: string
  /** Plain text of a cell; '' for nothing to say. */
  readonly cell: (row: Row) => string
  readonly align?: 'left' | 'right'
}

/** Spaces between columns: the wider, where there is room. */
const gaps = { narrow: 1, wide: 2 }

/** Whether such a table is no wider than the screen. */
export function fitsTable<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  screen: Pick<Output, 'columns'>,
): boolean {
  return lineLength(widthsOf(columns, cellsOf(columns, rows)), gaps.narrow) <= screen.columns
}

/**
 * Rows as an aligned table with a head line. Where the screen is too narrow for it, each row becomes a short block:
 * the first column as its title, every other cell that has something to say on a line of its own.
 * @param isDim rows that matter less
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

/** Lines `label   value`, labels in one column. Values may be empty: their line is left out. */
export function formatPairs(
  pairs: readonly (readonly [label: string, value: string])[],
  style: Output['style'],
): string {
  const shown = pairs.filter(([, value]) => value !== '')
  const width = shown.reduce((widest, [label]) => Math.max(widest, textWidth(label)), 0)
  return shown.map(([label, value]) => `${style.dim(padText(label, width))}  ${value}\n`).join('')
}
