/** Longer names are compared by their beginning: a caller chooses the name, and comparing costs its length squared. */
const comparedLength = 80

const mostSuggestions = 5

/**
 * The ids a caller probably meant, closest first, at most five. Upper and lower case, dates, punctuation, provider
 * prefixes and `[…]` suffixes make no difference; small typing errors, beginnings and the same family do.
 */
export function nearMisses(name: string, ids: readonly string[]): readonly string[] {
  const wanted = comparable(name)
  return ids
    .map((id) => ({ id, distance: closeness(wanted, comparable(id)) }))
    .filter((candidate) => candidate.distance < Infinity)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, mostSuggestions)
    .map((candidate) => candidate.id)
}

function comparable(name: string): string {
  return name
    .slice(0, comparedLength)
    .toLowerCase()
    .replace(/^.*\//, '')
    .replace(/\[[^\]]*\]$/, '')
    .replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
}

/** Added to the distance of names that share no more than their first word, so that they come last. */
const onlyFamily = 2 * comparedLength

/** 0 for the same name, more for less alike, Infinity for no likeness. */
function closeness(wanted: string, known: string): number {
  const distance = editDistance(wanted, known)
  if (distance <= Math.max(1, Math.floor(wanted.length / 5))) return distance
  if (wanted.length >= 3 && (known.startsWith(wanted) || wanted.startsWith(known))) return distance
  return firstWord(wanted) === firstWord(known) ? distance + onlyFamily : Infinity
}

function firstWord(name: string): string {
  return name.split('-', 1).join('')
}

/** Levenshtein's: the fewest single-character insertions, deletions and replacements between two strings. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 0; row < from.length; row++) {
    const current = [row + 1]
    for (let column = 0; column < to.length; column++) {
      const replaced = (previous[column] ?? 0) + (from[row] === to[column] ? 0 : 1)
      const inserted = (current[column] ?? 0) + 1
      const deleted = (previous[column + 1] ?? 0) + 1
      current.push(Math.min(replaced, inserted, deleted))
    }
    previous = current
  }
  return previous[to.length] ?? 0
}
