import { diffArrays } from 'diff'
import { toFileLines, toUnicode, type Edit, type FileLines } from './file-lines.ts'
import { createPace, type Pace } from './pace.ts'
import type { Line } from './file-patch.ts'

const CONTEXT_LINES = 3

/** A diff replaces all lines of a file that has more differences or takes longer to compare. */
const MAX_DIFFERENCES = 1000
const MAX_COMPARE_MS = 25

/** The change of one file. `from` and `to` differ only for a rename or copy. */
export interface FileDiff {
  readonly kind: 'modify' | 'create' | 'delete' | 'rename' | 'copy'
  readonly from: string
  readonly to: string
  /** Permission bits, or undefined if unknown or without a file. */
  readonly oldMode: number | undefined
  readonly newMode: number | undefined
  readonly file: FileLines
  readonly edits: readonly Edit[]
}

/** Returns a change as a unified diff in git's format, or '' without a change. `null` means that there is no file. */
export async function diffOf(
  before: Buffer | null,
  after: Buffer | null,
  path: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<string> {
  const pace = createPace(signal)
  const empty = Buffer.alloc(0)
  const old = before ?? empty
  const changed = after ?? empty
  if (before !== null && after !== null && before.equals(after)) return ''
  if (old.includes(0) || changed.includes(0)) {
    return `Binary files ${before === null ? '/dev/null' : `a/${path}`} and ${after === null ? '/dev/null' : `b/${path}`} differ\n`
  }
  const file = await toFileLines(old, pace)
  const edits = await compareLines(file, await toFileLines(changed, pace), pace)
  const kind = before === null ? 'create' : after === null ? 'delete' : 'modify'
  return renderDiff({ kind, from: path, to: path, oldMode: undefined, newMode: undefined, file, edits }, pace)
}

export async function renderDiff(diff: FileDiff, pace: Pace): Promise<string> {
  const { kind, from, to, oldMode, newMode, file, edits } = diff
  const lines = [`diff --git ${quoted(`a/${from}`)} ${quoted(`b/${to}`)}\n`]
  if (kind === 'create') lines.push(`new file mode ${gitMode(newMode)}\n`)
  else if (kind === 'delete') lines.push(`deleted file mode ${gitMode(oldMode)}\n`)
  else if (newMode !== undefined && gitMode(oldMode) !== gitMode(newMode)) {
    lines.push(`old mode ${gitMode(oldMode)}\n`, `new mode ${gitMode(newMode)}\n`)
  }
  if (kind === 'rename' || kind === 'copy') lines.push(`${kind} from ${quoted(from)}\n`, `${kind} to ${quoted(to)}\n`)
  if (edits.length > 0) {
    lines.push(`--- ${kind === 'create' ? '/dev/null' : headerName(`a/${from}`)}\n`)
    lines.push(`+++ ${kind === 'delete' ? '/dev/null' : headerName(`b/${to}`)}\n`)
  }
  return lines.join('') + (await renderHunks(file, edits, pace))
}

async function renderHunks(file: FileLines, edits: readonly Edit[], pace: Pace): Promise<string> {
  const out: string[] = []
  // Join many lines into one text, because collecting a million small ones takes long.
  const put = async (prefix: string, count: number, linesAt: (from: number, to: number) => readonly Line[]) => {
    for (let at = 0; at < count; at += linesAtOnce) {
      if (pace.isDue()) await pace.rest()
      const text = prefix + linesAt(at, Math.min(at + linesAtOnce, count)).join(prefix)
      out.push(text.endsWith('\n') ? text : `${text}\n\\ No newline at end of file\n`)
    }
  }
  const putOld = (prefix: string, start: number, end: number) =>
    put(prefix, end - start, (from, to) => file.slice(start + from, start + to))
  let shift = 0
  for (const group of groupsOf(edits)) {
    const start = Math.max(0, (group[0]?.start ?? 0) - CONTEXT_LINES)
    const end = Math.min(file.count, (group.at(-1)?.end ?? 0) + CONTEXT_LINES)
    const growth = group.reduce((sum, edit) => sum + edit.lines.length - (edit.end - edit.start), 0)
    out.push(`@@ -${range(start, end - start)} +${range(start + shift, end - start + growth)} @@\n`)
    shift += growth
    let at = start
    for (const edit of group) {
      await putOld(' ', at, edit.start)
      await putOld('-', edit.start, edit.end)
      await put('+', edit.lines.length, (from, to) => edit.lines.slice(from, to))
      at = edit.end
    }
    await putOld(' ', at, end)
  }
  return toUnicode(out, pace)
}

/** Number of lines of a hunk that are joined without a pause. */
const linesAtOnce = 4096

/** Groups edits whose hunks would overlap into one hunk. */
function groupsOf(edits: readonly Edit[]): readonly (readonly Edit[])[] {
  const groups: Edit[][] = []
  for (const edit of edits) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    if (group !== undefined && last !== undefined && edit.start - last.end <= 2 * CONTEXT_LINES) group.push(edit)
    else groups.push([edit])
  }
  return groups
}

/** Returns `START,COUNT` of a hunk header. An empty range starts at the line before it. */
function range(index: number, count: number): string {
  return `${count === 0 ? index : index + 1},${count}`
}

/** Returns the edits that turn `old` into `changed`. */
export async function compareLines(old: FileLines, changed: FileLines, pace: Pace): Promise<readonly Edit[]> {
  if (changed.count === 0) return old.count === 0 ? [] : [{ start: 0, end: old.count, lines: [] }]
  const idOf = new Map<Line, number>()
  const toIds = async (file: FileLines): Promise<number[]> => {
    const ids: number[] = []
    for (let index = 0; index < file.count; index += 1) {
      if (pace.isDue()) await pace.rest()
      const line = file.text.slice(file.offset(index), file.offset(index + 1))
      const id = idOf.get(line) ?? idOf.size
      idOf.set(line, id)
      ids.push(id)
    }
    return ids
  }
  const oldIds = await toIds(old)
  const newIds = await toIds(changed)
  const shorter = Math.min(oldIds.length, newIds.length)
  let head = 0
  while (head < shorter && oldIds[head] === newIds[head]) head += 1
  let tail = 0
  while (tail < shorter - head && oldIds.at(-1 - tail) === newIds.at(-1 - tail)) tail += 1
  const oldMiddle = oldIds.slice(head, oldIds.length - tail)
  const newMiddle = newIds.slice(head, newIds.length - tail)
  const parts = diffArrays(oldMiddle, newMiddle, { maxEditLength: MAX_DIFFERENCES, timeout: MAX_COMPARE_MS })
  if (parts === undefined) {
    const end = changed.count - tail
    return [{ start: head, end: old.count - tail, lines: changed.slice(head, end) }]
  }
  const edits: { start: number; end: number; lines: readonly Line[] }[] = []
  let oldAt = head
  let newAt = head
  for (const { added, removed, count } of parts) {
    const last = edits.at(-1)
    if (!added && !removed) {
      oldAt += count
      newAt += count
      continue
    }
    const lines = added ? changed.slice(newAt, newAt + count) : []
    const end = removed ? oldAt + count : oldAt
    if (last !== undefined && last.end === oldAt) {
      last.end = end
      last.lines = [...last.lines, ...lines]
    } else edits.push({ start: oldAt, end, lines })
    oldAt = end
    newAt += lines.length
  }
  return edits
}

function gitMode(mode: number | undefined): string {
  return mode !== undefined && (mode & 0o100) !== 0 ? '100755' : '100644'
}

/** Quotes a name like git if it contains quotes, backslashes or control characters. */
function quoted(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this escapes
  const escaped = name.replaceAll(/["\\\u0000-\u001f\u007f]/g, (char) =>
    char === '"' || char === '\\' ? `\\${char}` : `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  )
  return escaped === name ? name : `"${escaped}"`
}

/** Adds a tab after a name with spaces, because GNU patch and git read such a name up to a tab. */
function headerName(name: string): string {
  return name.includes(' ') && quoted(name) === name ? `${name}\t` : quoted(name)
}
