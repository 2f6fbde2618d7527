// Wildcards of permission rules. The rules come with a request and the texts from a model, and no pair of them may hold up the
// daemon: a regular expression with several wildcards takes minutes for some texts.

/** The comparisons that are left for the rules of one answer. */
export interface MatchBudget {
  steps: number
}

/** Many times what honest rules and calls need. Takes less than a second. */
export const maxSteps = 5_000_000

/** Thrown when the budget is used up: nobody knows whether the rule covers the call. */
export class TooManySteps extends Error {}

/** @throws TooManySteps */
export function spend(budget: MatchBudget, steps: number): void {
  budget.steps -= steps
  if (budget.steps < 0) throw new TooManySteps('the rules take too long to compare')
}

/** Characters that one step searches for a text. */
const searchedPerStep = 32

/** Whether a text has the form of the pattern, in which `*` stands for any characters. @throws TooManySteps */
export function matchesWildcards(pattern: string, text: string, budget: MatchBudget): boolean {
  spend(budget, 1)
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return pattern === text
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of others) {
    // The first place is the best one: it leaves the most text for the parts that follow.
    const found = text.indexOf(part, at)
    spend(budget, 1 + Math.ceil(((found === -1 ? text.length : found) - at) / searchedPerStep))
    if (found === -1) return false
    at = found + part.length
  }
  return text.length - at >= last.length && text.endsWith(last)
}

/**
 * Whether a path, or a folder that it is in, has the form of the glob: `*` and `?` stand for characters of a name, `**` for any
 * characters, and a leading `**` and slash also for nothing.
 * @throws TooManySteps
 */
export function matchesGlob(glob: string, path: string, budget: MatchBudget): boolean {
  const tokens = glob.match(/\*\*\/|\*\*|[^]/gu) ?? []
  let places = new Set<number>()
  reach(0, places)
  for (const character of path) {
    // The glob names a folder above.
    if (places.has(tokens.length) && character === '/') return true
    const next = new Set<number>()
    spend(budget, 1 + places.size)
    for (const at of places) {
      const token = tokens[at]
      if (token === '**/') {
        next.add(at)
        if (character === '/') reach(at + 1, next)
      } else if (token === '**' || (token === '*' && character !== '/')) reach(at, next)
      else if (token === character || (token === '?' && character !== '/')) reach(at + 1, next)
    }
    if (next.size === 0) return false
    places = next
  }
  return places.has(tokens.length)

  /** Adds a place in the glob, and those after wildcards that may stand for nothing. */
  function reach(at: number, into: Set<number>): void {
    for (let place = at; !into.has(place); place += 1) {
      into.add(place)
      if (tokens[place]?.startsWith('*') !== true) return
    }
  }
}
