import { structuredPatch } from 'diff'

/** The changes as `diff -u` prints them; '' where there are none. An empty text stands for a missing file. */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return ''
  const { hunks } = structuredPatch(path, path, before, after, '', '', { context: 3 })
  const header = `--- ${before === '' ? '/dev/null' : path}\n+++ ${after === '' ? '/dev/null' : path}\n`
  return hunks.reduce(
    (text, { oldStart, oldLines, newStart, newLines, lines }) =>
      `${text}@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@\n${lines.join('\n')}\n`,
    header,
  )
}

/** As GNU diff: an empty range is named by the line before it, and a count of 1 is omitted. */
function rangeOf(start: number, count: number): string {
  if (count === 0) return `${start - 1},0`
  return count === 1 ? `${start}` : `${start},${count}`
}
