import type { IntendedFile } from '../../api/run.ts'
import type { Change } from './journal.ts'
import { countLines } from './count-lines.ts'
import type { FileDiff } from './render-diff.ts'

/** The diff of one file of a change. */
export interface DiffSection extends Pick<FileDiff, 'kind' | 'from' | 'to'> {
  readonly text: string
}

const executableBits = 0o111

/**
 * Lists the files of a change. Each path of `changes` is in the list: as a row of its own, or as `from` of a renamed file. Reads
 * the changes that will be committed, because a diff shows neither every mode nor every empty file.
 */
export function intendedFiles(changes: readonly Change[], sections: readonly DiffSection[]): readonly IntendedFile[] {
  const byPath = new Map(changes.map((change) => [change.path, change]))
  const moves = new Map(
    sections.filter(({ kind }) => kind === 'rename' || kind === 'copy').map((section) => [section.to, section]),
  )
  const renamed = new Set(sections.filter(({ kind }) => kind === 'rename').map(({ from }) => from))
  const texts = Map.groupBy(sections, ({ to, from, kind }) => (kind === 'delete' ? from : to))

  function rowOf({ path, before, after }: Change): IntendedFile {
    const move = after === null ? undefined : moves.get(path)
    const counts = countLines((texts.get(path) ?? []).map(({ text }) => text).join(''))
    const source = move === undefined ? before : (byPath.get(move.from)?.before ?? before)
    const executable = executableAfter(source?.mode, after)
    const mode = executable === undefined ? {} : { executable }
    if (move !== undefined) {
      return { path, change: move.kind === 'rename' ? 'renamed' : 'copied', from: move.from, ...mode, ...counts }
    }
    return { path, change: before === null ? 'created' : after === null ? 'deleted' : 'modified', ...mode, ...counts }
  }
  return changes.filter(({ path, after }) => after !== null || !renamed.has(path)).map(rowOf)
}

function executableAfter(before: number | undefined, after: Change['after']): boolean | undefined {
  if (after?.mode === undefined) return undefined
  const was = before !== undefined && (before & executableBits) !== 0
  const is = (after.mode & executableBits) !== 0
  return was === is ? undefined : is
}
