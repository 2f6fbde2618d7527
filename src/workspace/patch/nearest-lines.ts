import type { FileLines } from './file-lines.ts'
import type { Pace } from './pace.ts'
import type { Line } from './file-patch.ts'

/** A line that occurs more often in the wanted lines is compared at its first occurrences only. */
const maxOccurrences = 20

/** A line is near if it has at least this part of the wanted words. */
const leastLikeness = 0.5

/**
 * Returns the index at which a file looks most like the wanted lines, or undefined if nothing looks like them. Both are without
 * what a reader does not see.
 */
export async function nearestLines(plain: FileLines, wanted: readonly Line[], pace: Pace): Promise<number | undefined> {
  return (await indexOfMostEqualLines(plain, wanted, pace)) ?? indexOfLikeLine(plain, wanted, pace)
}

/**
 * Finds the start at which most wanted lines would stand where the file has equal lines. Each line of the file that equals a wanted
 * line counts for the start that it implies: its own index, less that of the wanted line.
 */
async function indexOfMostEqualLines(
  plain: FileLines,
  wanted: readonly Line[],
  pace: Pace,
): Promise<number | undefined> {
  const places = new Map<string, number[]>()
  for (const [at, line] of wanted.entries()) {
    const text = line.trim()
    // Brackets and blank lines are everywhere.
    if (!/[\p{L}\p{N}\u0080-\u00ff]/u.test(text)) continue
    const known = places.get(text) ?? []
    if (known.length < maxOccurrences) places.set(text, [...known, at])
  }
  const votes = new Int32Array(plain.count + wanted.length)
  let best: number | undefined
  for (let index = 0; index < plain.count; index += 1) {
    if (pace.isDue()) await pace.rest()
    for (const at of places.get(lineAt(plain, index)) ?? []) {
      const start = index - at + wanted.length
      votes[start] = (votes[start] ?? 0) + 1
      if (best === undefined || (votes[start] ?? 0) > (votes[best] ?? 0)) best = start
    }
  }
  return best === undefined ? undefined : Math.max(0, best - wanted.length)
}

/** Looks for the line that shares most words with the longest wanted line. */
async function indexOfLikeLine(plain: FileLines, wanted: readonly Line[], pace: Pace): Promise<number | undefined> {
  let longest = 0
  for (const [at, line] of wanted.entries()) if (line.length > (wanted[longest]?.length ?? 0)) longest = at
  const words = wordsOf(wanted[longest] ?? '')
  let best = { shared: 0, others: 0, index: 0 }
  if (words.size === 0) return undefined
  for (let index = 0; index < plain.count; index += 1) {
    if (pace.isDue()) await pace.rest()
    const others = wordsOf(lineAt(plain, index))
    const shared = words.intersection(others).size
    // Of two lines with as many wanted words, the one with fewer words is nearer.
    const isNearer = shared > best.shared || (shared === best.shared && others.size < best.others)
    if (isNearer) best = { shared, others: others.size, index }
  }
  return best.shared < words.size * leastLikeness ? undefined : Math.max(0, best.index - longest)
}

function wordsOf(line: string): Set<string> {
  // Longer lines are no source text.
  return new Set(line.slice(0, 1000).match(/[\w\u0080-\u00ff]+/g))
}

function lineAt(file: FileLines, index: number): string {
  return file.text.slice(file.offset(index), file.offset(index + 1)).trim()
}
