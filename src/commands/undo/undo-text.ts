import type { ChangeEntry, ChangeList, UndoReport } from '../../api/changes.ts'
import type { FileConflict } from '../../errors.ts'
import type { Output } from '../../terminal/output.ts'
import { formatTable, type TableColumn } from '../../terminal/table.ts'
import { visible } from '../../terminal/visible.ts'
import { plural } from '../../terminal/format.ts'

/** A change, or all changes of a run. */
export type Subject = { readonly change: string } | { readonly run: string }

/** The newest changes that a list shows. */
const shownChanges = 20

const columns: readonly TableColumn<ChangeEntry>[] = [
  { title: 'TIME', cell: ({ time }) => localTime(time), rank: 2 },
  { title: 'ID', cell: ({ id }) => id },
  { title: 'RUN', cell: ({ runId }) => runId?.slice(0, 8) ?? '', rank: 3 },
  { title: 'STATE', cell: ({ undoneBy, undoes }) => (undoneBy ? 'undone' : undoes ? 'an undo' : ''), rank: 4 },
  { title: 'FILES', cell: ({ files }) => visible(files.map(({ path }) => path).join(', ')), width: 20, rank: 5 },
]

/** The last changes, the newest first. */
export function changesTable(changes: readonly ChangeEntry[], screen: Pick<Output, 'columns' | 'style'>): string {
  if (changes.length === 0) return 'No tool has changed a file of this folder yet.\n'
  const rows = changes.slice(-shownChanges).toReversed()
  const left = changes.length - rows.length
  const more = left > 0 ? `... ${left} older ones\n` : ''
  return `${formatTable(columns, rows, screen, ({ undoneBy }) => undoneBy !== undefined)}${more}\nTo undo a change or a run: copilot-proxy undo ID\n`
}

function two(part: number): string {
  return String(part).padStart(2, '0')
}

function localTime(iso: string): string {
  const time = new Date(iso)
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`
}

/** What all changes have done together. */
export function netText({ files = [], truncated }: ChangeList): string {
  if (files.length === 0) return 'All files are as they were before the first change.\n'
  const lines = files.map(
    ({ path, change, added, removed }) => `  ${change} ${visible(path)} (+${added} −${removed})\n`,
  )
  const note = truncated === true ? 'Some differences are too long to show, or no longer stored.\n' : ''
  return `Changed ${plural(files.length, 'file')}:\n${lines.join('')}${note}`
}

/** Names what is undone. */
export function subjectOf(subject: Subject, { undoes, files }: UndoReport): string {
  const what =
    'run' in subject ? `${plural(undoes.length, 'change')} of run ${subject.run}` : `change ${subject.change}`
  return `${what} (${plural(files.length, 'file')})`
}

export function conflictText({ path, line, expected, found }: FileConflict): string {
  const place = line === undefined ? '' : `, line ${line}`
  const [wanted = ''] = expected
  const [there = ''] = found
  return `${visible(path)}${place}\n  expected: ${visible(wanted)}\n  found: ${visible(there)}\n`
}
