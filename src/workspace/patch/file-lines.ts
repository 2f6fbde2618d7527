import type { Pace } from './pace.ts'
import type { Line } from './file-patch.ts'

/** The lines of a file. */
export interface FileLines {
  /** The bytes of the file as Latin-1: one character for each byte. */
  readonly text: string
  readonly count: number
  /** Whether any line ends with CR LF. */
  readonly hasCrlf: boolean
  /** Returns the offset in `text` of the line at `index`, or the length of `text` for `count`. */
  readonly offset: (index: number) => number
  /** Returns the lines from `start` up to, but not including, `end`. */
  readonly slice: (start: number, end: number) => readonly Line[]
}

export async function toFileLines(bytes: Buffer, pace: Pace): Promise<FileLines> {
  await pace.step()
  const text = bytes.toString('latin1')
  const offsets = [0]
  for (let at = text.indexOf('\n') + 1; at > 0 && at < text.length; at = text.indexOf('\n', at) + 1) {
    offsets.push(at)
    if (pace.isDue()) await pace.rest()
  }
  const count = text === '' ? 0 : offsets.length
  const offset = (index: number): number => (index < count ? (offsets[index] ?? 0) : text.length)
  return {
    text,
    count,
    hasCrlf: text.includes('\r\n'),
    offset,
    slice: (start, end) => {
      const lines: Line[] = []
      for (let index = start; index < Math.min(end, count); index += 1) {
        lines.push(text.slice(offset(index), offset(index + 1)))
      }
      return lines
    },
  }
}

/** Returns lines as a file. */
export async function linesToFile(lines: readonly Line[], pace: Pace): Promise<FileLines> {
  return toFileLines(await toBytes(lines, pace), pace)
}

/** Size of the lines that are converted to bytes at once. Characters. */
const joinedLength = 256 * 1024

async function toBytes(lines: readonly Line[], pace: Pace): Promise<Buffer> {
  const parts: Buffer[] = []
  for (const text of joined(lines)) {
    parts.push(Buffer.from(text, 'latin1'))
    await pace.step()
  }
  return Buffer.concat(parts)
}

/** Decodes the bytes of whole lines as UTF-8. */
export async function toUnicode(lines: readonly Line[], pace: Pace): Promise<string> {
  let unicode = ''
  for (const text of joined(lines)) {
    unicode += Buffer.from(text, 'latin1').toString()
    await pace.step()
  }
  return unicode
}

function* joined(lines: readonly Line[]): Generator<string> {
  let from = 0
  while (from < lines.length) {
    let to = from
    for (let length = 0; to < lines.length && length < joinedLength; to += 1) length += lines[to]?.length ?? 0
    yield lines.slice(from, to).join('')
    from = to
  }
}

/** Finds the positions of a block of lines in a file. */
interface LineSearch {
  /**
   * Returns the first indexes at which `lines` occur, or undefined if the search exceeds its budget. Only a malicious patch does
   * that.
   * @param max default: 2
   */
  readonly find: (lines: readonly Line[], max?: number) => Promise<readonly number[] | undefined>
}

/** Number of line comparisons for all searches in one file. They take a fraction of a second. */
const SEARCH_BUDGET = 50_000_000

async function createLineSearch(file: FileLines, pace: Pace): Promise<LineSearch> {
  const idOf = new Map<Line, number>()
  const ids = new Int32Array(file.count)
  /** `first` and `counts`: first index and number of the lines with an id. `next`: the next index with the same line. */
  const first: number[] = []
  const counts: number[] = []
  const next = new Int32Array(file.count).fill(-1)
  for (let index = file.count - 1; index >= 0; index -= 1) {
    if (pace.isDue()) await pace.rest()
    const line = file.text.slice(file.offset(index), file.offset(index + 1))
    let id = idOf.get(line)
    if (id === undefined) {
      id = idOf.size
      idOf.set(line, id)
    }
    ids[index] = id
    next[index] = first[id] ?? -1
    first[id] = index
    counts[id] = (counts[id] ?? 0) + 1
  }

  let budget = SEARCH_BUDGET
  return {
    find: async (lines, max = 2) => {
      const wanted: number[] = []
      let rarest = 0
      for (const line of lines) {
        if (pace.isDue()) await pace.rest()
        const id = idOf.get(line)
        if (id === undefined) return []
        wanted.push(id)
        if ((counts[id] ?? 0) < (counts[wanted[rarest] ?? id] ?? 0)) rarest = wanted.length - 1
      }
      const found: number[] = []
      const rarestId = wanted[rarest]
      let at = rarestId === undefined ? -1 : (first[rarestId] ?? -1)
      for (; at !== -1 && found.length < max; at = next[at] ?? -1) {
        if (pace.isDue()) await pace.rest()
        const start = at - rarest
        if (start < 0 || start + wanted.length > file.count) continue
        let matched = 0
        while (matched < wanted.length && ids[start + matched] === wanted[matched]) matched += 1
        budget -= matched + 1
        if (budget < 0) return undefined
        if (matched === wanted.length) found.push(start)
      }
      return found
    },
  }
}

/** Replaces the lines of a file from `start` up to, but not including, `end`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly lines: readonly Line[]
}

/** Returns the bytes of the file after the edits, which must be sorted and must not overlap. */
export async function applyEdits(file: FileLines, edits: readonly Edit[], pace: Pace): Promise<Buffer> {
  const parts: Buffer[] = []
  let at = 0
  for (const { start, end, lines } of edits) {
    if (pace.isDue()) await pace.rest()
    parts.push(Buffer.from(file.text.slice(at, file.offset(start)), 'latin1'), await toBytes(lines, pace))
    at = file.offset(end)
  }
  parts.push(Buffer.from(file.text.slice(at), 'latin1'))
  await pace.step()
  return Buffer.concat(parts)
}

/** A file in which blocks of lines are sought. */
export interface Searchable extends LineSearch {
  readonly file: FileLines
}

export function searchable(file: FileLines, pace: Pace): Searchable {
  let search: Promise<LineSearch> | undefined
  return {
    file,
    find: async (...wanted) => {
      search ??= createLineSearch(file, pace)
      return (await search).find(...wanted)
    },
  }
}
