import { applyEdits, toFileLines, type Edit, type FileLines } from './file-lines.ts'
import { createPace, type Pace } from './pace.ts'
import type { Line } from './file-patch.ts'
import { compareLines } from './render-diff.ts'

/** Whether some lines of a file end with CR LF and others with LF. */
export function hasMixedEnds({ text, hasCrlf }: FileLines): boolean {
  return hasCrlf && /(?<!\r)\n/.test(text)
}

/** Returns the lines with LF in place of CR LF, at the same indexes. */
export async function withoutCr({ text }: FileLines, pace: Pace): Promise<FileLines> {
  return toFileLines(Buffer.from(text.replaceAll('\r\n', '\n'), 'latin1'), pace)
}

/** Returns the end that most lines have. */
export function usualEnd({ text, count }: FileLines): '\n' | '\r\n' {
  return text.split('\r\n').length - 1 > count / 2 ? '\r\n' : '\n'
}

/**
 * Returns the edits that give a file with mixed ends a text whose lines end with LF. Unchanged lines keep their bytes. Changed lines
 * take the end of what they replace, and new ones `end`.
 */
export async function editsKeepingEnds(
  file: FileLines,
  changed: FileLines,
  end: '\n' | '\r\n',
  pace: Pace,
): Promise<readonly Edit[]> {
  const edits = await compareLines(await withoutCr(file, pace), changed, pace)
  return edits.map(({ start, end: last, lines }) => {
    const replaced = file.slice(start, last)
    const endAt = (index: number): string => endOf(replaced[Math.min(index, replaced.length - 1)] ?? '') || end
    return { start, end: last, lines: lines.map((line, index) => line.replace(/\n$/, () => endAt(index))) }
  })
}

/** Gives a text whose lines end with LF the line ends of the file that it replaces. */
export async function withEndsOf(before: Buffer, changed: Buffer): Promise<Buffer> {
  const pace = createPace(new AbortController().signal)
  const file = await toFileLines(before, pace)
  if (!file.hasCrlf) return changed
  const edits = await editsKeepingEnds(file, await toFileLines(changed, pace), usualEnd(file), pace)
  return applyEdits(file, edits, pace)
}

/** Restores line ends and the byte order mark of a file in a text of somebody who sees neither: a model, or an editor. */
export async function likeFile(file: Buffer, text: string): Promise<Buffer> {
  const mark = '\uFEFF'
  const hasMark = file.toString('utf8', 0, 3) === mark && !text.startsWith(mark)
  const bytes = Buffer.from(hasMark ? `${mark}${text}` : text)
  return text.includes('\r') ? bytes : withEndsOf(file, bytes)
}

function endOf(line: Line): '' | '\n' | '\r\n' {
  if (!line.endsWith('\n')) return ''
  return line.endsWith('\r\n') ? '\r\n' : '\n'
}
