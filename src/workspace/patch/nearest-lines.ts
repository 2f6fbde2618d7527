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

/** Each line of the file that is equal to a wanted line votes for the place at which the wanted lines would begin. */
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
  let best = { likeness: 0, index: 0 }
  if (words.size === 0) return undefined
  for (let index = 0; index < plain.count; index += 1) {
    if (pace.isDue()) await pace.rest()
    const others = wordsOf(lineAt(plain, index))
    if (others.size === 0) continue
    // Of two lines with the same wanted words, the one with fewer others is nearer.
    const likeness = words.intersection(others).size / words.size - others.size / 100_000
    if (likeness > best.likeness) best = { likeness, index }
  }
  return best.likeness < leastLikeness - 0.01 ? undefined : Math.max(0, best.index - longest)
}

function wordsOf(line: string): Set<string> {
  // Longer lines are no source text.
  return new Set(line.slice(0, 1000).match(/[\w\u0080-\u00ff]+/g))
}

function lineAt(file: FileLines, index: number): string {
  return file.text.slice(file.offset(index), file.offset(index + 1)).trim()
}
