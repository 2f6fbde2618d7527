/** The fewest insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1]
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
        ),
      )
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}

/** `apiKeys`, `api_keys` and `API-KEYS` all mean `api-keys`. */
function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, '')
}

/** Longer names are not compared: the cost grows with the product of the lengths. */
const maxLength = 100

/** The nearest candidate, at most one edit in three letters away. */
export function nearMatch(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > maxLength) return undefined
  const wanted = folded(name)
  const nearest = candidates
    .map((candidate) => ({ candidate, distance: editDistance(wanted, folded(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
  return nearest[0]?.candidate
}
