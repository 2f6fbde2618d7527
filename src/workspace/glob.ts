import type { Folder } from './folder.ts'
import { ToolError } from './tool-error.ts'

/** The number of comparisons that are left. A glob of 1000 characters may need millions of them for one long path. */
export interface MatchBudget {
  steps: number
}

/** More than honest globs and paths need by far. Takes some milliseconds. */
const maxSteps = 200_000

/** What a budget for many paths gains with each path. */
const stepsPerPath = 3000

/** A compiled glob. */
export interface Glob {
  /** The folder that the glob names before its first wildcard, relative to the root; '' for the root. */
  readonly base: string
  /** Globs in ripgrep's syntax, one of which matches the file name of each match. Undefined if any name may match. */
  readonly names: readonly string[] | undefined
  /**
   * @param budget limits several calls together. Default: a budget for one path
   * @throws ToolError `invalid_arguments` if the budget is used up
   */
  readonly matches: (path: string, budget?: MatchBudget) => boolean
}

const maxLength = 1000

/** Maximum number of alternatives from braces, e.g. `{a,b}{c,d}` has 4. */
const maxAlternatives = 100

/** Matches any number of items: folders of a path, or characters of a name. */
const anyNumber = '**'

/**
 * Compiles a glob of the syntax of `.gitignore` and `rg -g`. A glob without `/` matches file names in all folders, others match
 * from the root. `*` `?` `[a-z]` `[!a-z]` match within a name, `**` matches folders, `{a,b}` has alternatives. Names that start
 * with a dot match like others. '' matches all files.
 * @throws ToolError `denied` for a glob that leads outside; `invalid_arguments`
 */
export function parseGlob(glob: string, folder: Pick<Folder, 'relativePath'>): Glob {
  if (glob.length > maxLength) throw invalid(`It is longer than ${maxLength} characters.`)
  if (glob.startsWith('!')) throw invalid('A glob that starts with ! excludes files. Name the files to include.')
  const wildcard = glob.search(/[*?[{]/)
  if (wildcard === -1 && glob !== '') folder.relativePath(glob)
  const slash = glob.lastIndexOf('/', wildcard === -1 ? glob.length : wildcard)
  const base = slash === -1 ? '' : folder.relativePath(glob.slice(0, slash + 1))
  const remainder = glob.slice(slash + 1)
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  if (/[\0-\x1f\x7f\\]/.test(remainder)) throw invalid('It contains a backslash or a control character.')

  const alternatives = expandBraces(remainder).map((text) => {
    // A glob with a slash matches from the root. `./` and the root's own path have been removed above.
    const isAnchored = slash !== -1 || text.includes('/')
    const segments = text.split('/').filter((segment) => segment !== '' && segment !== '.')
    if (segments.includes('..')) throw invalid('It contains "..".')
    if (segments.length === 0 || text.endsWith('/') || segments.at(-1) === anyNumber) segments.push(anyNumber, '*')
    if (!isAnchored) segments.unshift(anyNumber)
    return segments
  })
  const names = alternatives.map((segments) => segments.at(-1) ?? '*')
  const from = base === '' ? 0 : base.length + 1
  const isAll = alternatives.some((segments) => /^(?:\*\*\/)+\*$/.test(segments.join('/')))
  const matchers = alternatives.map((segments) => segments.map(compileSegment))
  return {
    base,
    names: names.every(isNarrow) ? names : undefined,
    matches: (path, budget = { steps: maxSteps }) => {
      if (from > 0 && !path.startsWith(`${base}/`)) return false
      if (isAll) return true
      const segments = path.slice(from).split('/')
      const compare = (matcher: SegmentMatcher, name: string): boolean => matcher(name, budget)
      return matchers.some((matcher) => matchSequence(matcher, segments, compare, budget))
    },
  }
}

/**
 * Returns a function that compares many paths with a glob. A budget for all of them keeps thousands of slow comparisons from
 * blocking the event loop.
 * @throws ToolError `invalid_arguments` if the budget is used up
 */
export function matcherOf({ matches }: Glob): (path: string) => boolean {
  const budget = { steps: maxSteps }
  return (path) => {
    budget.steps = Math.min(budget.steps + stepsPerPath, maxSteps)
    return matches(path, budget)
  }
}

/** Returns whether a file type of ripgrep can use this glob. `include:` has a special meaning there. */
function isNarrow(name: string): boolean {
  return name !== '*' && !/[[\]{}]|^include:/.test(name)
}

function expandBraces(glob: string): readonly string[] {
  let alternatives = [glob]
  for (;;) {
    // Each round expands one innermost pair of braces in each alternative.
    const next = alternatives.flatMap((text) => {
      const found = /\{([^{}]*)\}/.exec(text)
      if (found === null) return [text]
      const [whole, list = ''] = found
      return list.split(',').map((part) => text.slice(0, found.index) + part + text.slice(found.index + whole.length))
    })
    if (next.length > maxAlternatives) throw invalid(`Its braces have more than ${maxAlternatives} alternatives.`)
    if (next.every((text, index) => text === alternatives[index])) break
    alternatives = next
  }
  if (alternatives.some((text) => /[{}]/.test(text))) throw invalid('It has an unmatched brace.')
  return alternatives
}

type SegmentMatcher = (name: string, budget: MatchBudget) => boolean
type CharacterMatcher = (character: string) => boolean

function compileSegment(segment: string): SegmentMatcher | typeof anyNumber {
  if (segment === anyNumber) return anyNumber
  if (!/[*?[]/.test(segment)) return (name) => name === segment
  const suffix = /^\*+([^*?[]*)$/.exec(segment)?.[1]
  if (suffix !== undefined) return (name) => name.endsWith(suffix)
  const characters = compileCharacters(segment)
  return (name, budget) => matchSequence(characters, Array.from(name), matchCharacter, budget)
}

function matchCharacter(matcher: CharacterMatcher, character: string): boolean {
  return matcher(character)
}

function compileCharacters(segment: string): readonly (CharacterMatcher | typeof anyNumber)[] {
  const tokens = segment.match(/\*+|\[!?\]?[^\]]*\]|[\s\S]/gu) ?? []
  return tokens.map((token): CharacterMatcher | typeof anyNumber => {
    if (token.startsWith('*')) return anyNumber
    if (token === '?') return () => true
    if (token === '[') throw invalid('It has an unmatched bracket.')
    if (!token.startsWith('[')) return (character) => character === token
    const isNegated = token.startsWith('[!')
    const ranges = token.slice(isNegated ? 2 : 1, -1).match(/[\s\S]-[\s\S]|[\s\S]/gu) ?? []
    return (character) => ranges.some((range) => isWithin(character, Array.from(range))) !== isNegated
  })
}

function isWithin(character: string, range: readonly string[]): boolean {
  const code = character.codePointAt(0) ?? 0
  const first = range[0]?.codePointAt(0) ?? 0
  const last = range.at(-1)?.codePointAt(0) ?? 0
  return first <= code && code <= last
}

/**
 * Returns whether the matchers match all items in order. After a mismatch, only the last `**` (or `*`) takes one more item.
 * Backtracking to an earlier one cannot help, so no pattern takes exponential time.
 * @throws ToolError `invalid_arguments` if the budget is used up
 */
function matchSequence<Item, Matcher>(
  matchers: readonly (Matcher | typeof anyNumber)[],
  items: readonly Item[],
  compare: (matcher: Matcher, item: Item) => boolean,
  budget: MatchBudget,
): boolean {
  let at = 0
  let item = 0
  let star = -1
  let starItem = 0
  while (item < items.length) {
    const matcher = matchers[at]
    const current = items[item]
    budget.steps -= 1
    if (budget.steps < 0) throw invalid('It takes too long to compare with a path.')
    if (matcher === anyNumber) {
      star = at
      starItem = item
      at += 1
    } else if (matcher !== undefined && current !== undefined && compare(matcher, current)) {
      at += 1
      item += 1
    } else if (star !== -1) {
      starItem += 1
      item = starItem
      at = star + 1
    } else return false
  }
  while (matchers[at] === anyNumber) at += 1
  return at === matchers.length
}

function invalid(detail: string): ToolError {
  return new ToolError({ kind: 'invalid_arguments', path: 'glob', detail })
}
