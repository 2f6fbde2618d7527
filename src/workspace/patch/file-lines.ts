import type { Pace } from './pace.ts'
import type { Line } from './parse-patch.ts'

/** A file as lines. */
export interface FileLines {
  /** One character per byte. */
  readonly text: string
  readonly count: number
  /** Whether any line ends with CR LF. */
  readonly hasCrlf: boolean
  /** Where the line at `index` begins in `text`; the text's length for `count`. */
  readonly offset: (index: number) => number
  /** The lines from `start` up to but without `end`. */
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

/** Of lines that are joined and turned into bytes at once. Characters. */
const joinedLength = 256 * 1024

/** The bytes of lines. */
export async function toBytes(lines: readonly Line[], pace: Pace): Promise<Buffer> {
  const parts: Buffer[] = []
  for (const text of joined(lines)) {
    parts.push(Buffer.from(text, 'latin1'))
    await pace.step()
  }
  return Buffer.concat(parts)
}

/** The text of whole lines: what their bytes are in UTF-8. */
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

/** Finds lines in a file wherever they are. */
export interface LineSearch {
  /**
   * Up to two indexes at which all of `lines` are; undefined after too much work, which only a patch gets that was made
   * to cause it.
   */
  readonly find: (lines: readonly Line[]) => Promise<readonly number[] | undefined>
}

/** Comparisons of lines for all searches in one file: a fraction of a second. */
const SEARCH_BUDGET = 50_000_000

export async function createLineSearch(file: FileLines, pace: Pace): Promise<LineSearch> {
  const idOf = new Map<Line, number>()
  const ids = new Int32Array(file.count)
  /** For each id: the first index with that line, and how many there are. For each index: the next with the same line. */
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
    find: async (lines) => {
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
      for (; at !== -1 && found.length < 2; at = next[at] ?? -1) {
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
