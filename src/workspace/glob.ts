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
 * Compiles a glob that means what it means in `.gitignore` and to picomatch. A glob without `/` matches file names in all folders,
 * others match from the root. `*` `?` `[a-z]` `[!a-z]` `[^a-z]` `[[:digit:]]` match within a name, `**` matches folders, `{a,b}` has
 * alternatives. A name with brackets or braces, such as `[slug].ts`, also matches literally. Names that start with a dot match like
 * others. Unicode forms of a name are equal. '' matches all files. Refuses what the two read in another way: `@(a|b)` and its kind, and `{1..3}`.
 * @throws ToolError `denied` for a glob that leads outside; `invalid_arguments`
 */
export function parseGlob(glob: string, folder: Pick<Folder, 'relativePath'>): Glob {
  if (glob.length > maxLength) throw invalid(`It is longer than ${maxLength} characters.`)
  if (glob.startsWith('!')) throw invalid('A glob that starts with ! excludes files. Name the files to include.')
  if (extendedGlob.test(glob)) {
    throw invalid('It has a pattern of a shell such as @(a|b). List the alternatives in braces: {a,b}.')
  }
  const wildcard = glob.search(/[*?[{]/)
  if (wildcard === -1 && glob !== '') folder.relativePath(glob)
  const slash = glob.lastIndexOf('/', wildcard === -1 ? glob.length : wildcard)
  const base = slash === -1 ? '' : folder.relativePath(glob.slice(0, slash + 1))
  const remainder = glob.slice(slash + 1).normalize('NFC')
  const normalBase = base.normalize('NFC')
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  if (/[\0-\x1f\x7f\\]/.test(remainder)) throw invalid('It contains a backslash or a control character.')

  const toSegments = (text: string): string[] => {
    // A glob with a slash matches from the root. `./` and the root's own path have been removed above.
    const isAnchored = slash !== -1 || text.includes('/')
    const segments = text.split('/').filter((segment) => segment !== '' && segment !== '.')
    if (segments.includes('..')) throw invalid('It contains "..".')
    if (segments.length === 0 || text.endsWith('/') || segments.at(-1) === anyNumber) segments.push(anyNumber, '*')
    if (!isAnchored) segments.unshift(anyNumber)
    return segments
  }
  const alternatives = expandBraces(remainder).map(toSegments)
  const names = alternatives.map((segments) => segments.at(-1) ?? '*')
  const from = base === '' ? 0 : normalBase.length + 1
  const isAll = alternatives.some((segments) => /^(?:\*\*\/)+\*$/.test(segments.join('/')))
  // The last one is for files whose names have these braces.
  const matchers = [...alternatives, ...(remainder.includes('{') ? [toSegments(remainder)] : [])].map((segments) =>
    segments.map(compileSegment),
  )
  return {
    base,
    names: names.every(isNarrow) ? names : undefined,
    matches: (given, budget = { steps: maxSteps }) => {
      const path = given.normalize('NFC')
      if (from > 0 && !path.startsWith(`${normalBase}/`)) return false
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
  // ripgrep compares bytes, and `é` has several forms.
  return name !== '*' && !/[[\]{}]|^include:|[^\x20-\x7e]/.test(name)
}

/** Shells read `@(a|b)`, `!(a)` and `(a|b)` as patterns, and `.gitignore` as names. */
const extendedGlob = /[@!+?*]\(|\([^()]*\|/

/** The characters of a bracket expression. `]` is one of them if it comes first. */
const bracket = /\[[!^]?\]?(?:\[:[^:\]]*:\]|[^\]])*\]/y

function expandBraces(glob: string): readonly string[] {
  const alternatives = expandFrom(glob)
  if (alternatives === undefined) throw invalid('It has an unmatched brace.')
  return alternatives
}

/** Returns undefined for an unmatched brace. Braces without a comma are characters of a name, e.g. `{{name}}`. */
function expandFrom(text: string): readonly string[] | undefined {
  const open = findBrace(text, 0)
  if (open === -1) return [text]
  if (text[open] === '}') return undefined
  const parts: string[] = []
  let from = open + 1
  let depth = 1
  let at = open
  while (depth > 0) {
    at = findBrace(text, at + 1, ',')
    if (at === -1) return undefined
    const character = text[at]
    if (character === '{') depth += 1
    else if (character === '}') depth -= 1
    if ((character === ',' && depth === 1) || depth === 0) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  const [only = ''] = parts
  const isLiteral = parts.length === 1
  if (isLiteral && only.includes('..')) throw invalid('It has a range in braces. List the alternatives: {1,2,3}.')
  const inner = parts.map(expandFrom)
  const after = expandFrom(text.slice(from))
  if (after === undefined || inner.includes(undefined)) return undefined
  const middles = inner.flatMap((each) => each ?? []).map((each) => (isLiteral ? `{${each}}` : each))
  if (middles.length * after.length > maxAlternatives)
    throw invalid(`Its braces have more than ${maxAlternatives} alternatives.`)
  return middles.flatMap((middle) => after.map((end) => text.slice(0, open) + middle + end))
}

/** Returns the place of the next brace, or of `other`, outside bracket expressions; -1 if there is none. */
function findBrace(text: string, from: number, other = ''): number {
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] ?? ''
    if (character === '[') {
      bracket.lastIndex = at
      if (bracket.test(text)) at = bracket.lastIndex - 1
    } else if (character === '{' || character === '}' || character === other) return at
  }
  return -1
}

type SegmentMatcher = (name: string, budget: MatchBudget) => boolean
type CharacterMatcher = (character: string) => boolean

function compileSegment(segment: string): SegmentMatcher | typeof anyNumber {
  if (segment === anyNumber) return anyNumber
  if (!/[*?[]/.test(segment)) return (name) => name === segment
  const suffix = /^\*+([^*?[]*)$/.exec(segment)?.[1]
  if (suffix !== undefined) return (name) => name.endsWith(suffix)
  const characters = compileCharacters(segment)
  return (name, budget) => name === segment || matchSequence(characters, Array.from(name), matchCharacter, budget)
}

function matchCharacter(matcher: CharacterMatcher, character: string): boolean {
  return matcher(character)
}

const token = /\*+|\[[!^]?\]?(?:\[:[^:\]]*:\]|[^\]])*\]|[\s\S]/gu

function compileCharacters(segment: string): readonly (CharacterMatcher | typeof anyNumber)[] {
  return (segment.match(token) ?? []).map((text): CharacterMatcher | typeof anyNumber => {
    if (text.startsWith('*')) return anyNumber
    if (text === '?') return () => true
    if (text === '[') throw invalid('It has an unmatched bracket.')
    return text.startsWith('[') ? compileBracket(text) : (character) => character === text
  })
}

/** The classes of characters in a bracket expression. ASCII, as in git. Source: POSIX.1-2024, 9.3.5. */
const classes: Readonly<Record<string, RegExp>> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  // oxlint-disable-next-line no-control-regex -- that is the class
  cntrl: /[\0-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /\s/,
  upper: /[A-Z]/,
  xdigit: /[A-Fa-f0-9]/,
}

function compileBracket(text: string): CharacterMatcher {
  const isNegated = /^\[[!^]/.test(text)
  const content = text.slice(isNegated ? 2 : 1, -1)
  if (/\[[.=]/.test(content)) throw invalid('It has a collating symbol in brackets. List the characters.')
  const items = content.match(/\[:[^:\]]*:\]|[\s\S]-[\s\S]|[\s\S]/gu) ?? []
  const matchers = items.map((item): CharacterMatcher => {
    if (!item.startsWith('[:')) return compileRange(Array.from(item))
    const name = item.slice(2, -2)
    const found = Object.hasOwn(classes, name) ? classes[name] : undefined
    if (found === undefined) throw invalid(`There is no class ${JSON.stringify(item)}.`)
    return (character) => found.test(character)
  })
  return (character) => matchers.some((matches) => matches(character)) !== isNegated
}

function compileRange(range: readonly string[]): CharacterMatcher {
  const first = range[0]?.codePointAt(0) ?? 0
  const last = range.at(-1)?.codePointAt(0) ?? 0
  if (first > last) throw invalid(`Its range "${range.join('')}" ends before it begins.`)
  return (character) => {
    const code = character.codePointAt(0) ?? 0
    return first <= code && code <= last
  }
}

/**
 * Returns whether the matchers match all items in order. After a mismatch, only the last `**` (or `*`) takes one more item.
 * Backtracking to an earlier one cannot help, so no pattern takes exponential time. picomatch 4.0 compares `*a` twelve times and `b`
 * with 40 letters `a` for 50 s, and globs come from models and from repositories.
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
