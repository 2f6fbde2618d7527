/** Lines around a change. */
const around = 3

interface Line {
  readonly mark: ' ' | '-' | '+'
  readonly text: string
}

/** What changes, as `diff -u` shows it; '' where nothing does. */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return ''
  const lines = compare(toLines(before), toLines(after))
  const hunks = hunksOf(lines)
  return `--- ${before === '' ? '/dev/null' : path}\n+++ ${after === '' ? '/dev/null' : path}\n${hunks.join('')}`
}

function toLines(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') return lines.slice(0, -1)
  return [...lines.slice(0, -1), `${lines.at(-1)}\n\\ No newline at end of file`]
}

/** By the longest common subsequence of what is between the same start and the same end. */
function compare(from: readonly string[], to: readonly string[]): readonly Line[] {
  const shorter = Math.min(from.length, to.length)
  let head = 0
  while (head < shorter && from[head] === to[head]) head += 1
  let tail = 0
  while (tail < shorter - head && from.at(-1 - tail) === to.at(-1 - tail)) tail += 1
  const a = from.slice(head, from.length - tail)
  const b = to.slice(head, to.length - tail)
  // lengths[i][j]: of the longest common subsequence of a from i and b from j.
  const lengths = Array.from({ length: a.length + 1 }, () => Array.from({ length: b.length + 1 }, () => 0))
  const lengthAt = (i: number, j: number): number => lengths[i]?.[j] ?? 0
  for (let i = a.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] ?? []
    for (let j = b.length - 1; j >= 0; j -= 1) {
      row[j] = a[i] === b[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1))
    }
  }
  const middle: Line[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]]
    if (left !== undefined && left === right) {
      middle.push({ mark: ' ', text: left })
      i += 1
      j += 1
    } else if (left !== undefined && (right === undefined || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      middle.push({ mark: '-', text: left })
      i += 1
    } else {
      middle.push({ mark: '+', text: right ?? '' })
      j += 1
    }
  }
  return [...from.slice(0, head).map(same), ...middle, ...from.slice(from.length - tail).map(same)]
}

function same(text: string): Line {
  return { mark: ' ', text }
}

function hunksOf(lines: readonly Line[]): readonly string[] {
  const isShown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ mark }) => mark !== ' '),
  )
  const hunks: string[] = []
  let [oldLine, newLine] = [1, 1]
  let at = 0
  while (at < lines.length) {
    const end = isShown.indexOf(!isShown[at], at)
    const part = lines.slice(at, end === -1 ? lines.length : end)
    const olds = part.filter(({ mark }) => mark !== '+').length
    const news = part.filter(({ mark }) => mark !== '-').length
    if (isShown[at]) {
      const body = part.map(({ mark, text }) => `${mark}${text}\n`).join('')
      hunks.push(`@@ -${rangeOf(oldLine, olds)} +${rangeOf(newLine, news)} @@\n${body}`)
    }
    oldLine += olds
    newLine += news
    at += part.length
  }
  return hunks
}

/** A range without lines is named by the line before it. */
function rangeOf(start: number, count: number): string {
  if (count === 0) return `${start - 1},0`
  return count === 1 ? `${start}` : `${start},${count}`
}
