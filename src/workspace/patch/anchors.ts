import type { FileLines } from './file-lines.ts'
import type { Pace } from './pace.ts'

/**
 * Returns the indexes of the lines that the anchors of a hunk lead to. Each later anchor is the first such line after the one before
 * it, so that `class Cart` and `def total` mean the method of that class. There are several if the first anchor is there several
 * times.
 * @param anchors lines of the file without the spaces around them, or their beginnings
 */
export async function findAnchors(file: FileLines, anchors: readonly string[], pace: Pace): Promise<readonly number[]> {
  const lines: string[] = []
  for (let index = 0; index < file.count; index += 1) {
    if (pace.isDue()) await pace.rest()
    lines.push(file.text.slice(file.offset(index), file.offset(index + 1)).trim())
  }
  let found: readonly number[] | undefined
  for (const anchor of anchors) {
    const isSame = lines.includes(anchor)
    const matches = (line: string): boolean => (isSame ? line === anchor : line.startsWith(anchor))
    const here = lines.flatMap((line, index) => (matches(line) ? [index] : []))
    if (found === undefined) found = here
    else found = firstAfter(found, here)
    await pace.step()
  }
  return found ?? []
}

/** Returns for each start the first of the places at it or after it. Both are sorted, and so is the result. */
export function firstAfter(starts: readonly number[], places: readonly number[]): readonly number[] {
  const found = new Set<number>()
  let at = 0
  for (const start of starts) {
    while ((places[at] ?? Infinity) < start) at += 1
    const place = places[at]
    if (place !== undefined) found.add(place)
  }
  return [...found]
}
