import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { cpuUsage } from 'node:process'
import type { Language as TreeSitterLanguage, Node, QueryCapture } from '@vscode/tree-sitter-wasm'
import { processorTime, reportMs } from '../code-time.ts'
import { symbolKinds, type Language, type SymbolKind } from './languages.ts'

/** Lines and columns are 1-based; columns count UTF-16 code units. */
interface Position {
  readonly line: number
  readonly column: number
}

interface CodeSymbol {
  readonly name: string
  /** A `SymbolKind` of LSP, or `type`. */
  readonly kind: SymbolKind
  /** The positions of the first and the last character. */
  readonly range: { readonly start: Position; readonly end: Position }
  /** Names of the enclosing symbols, separated by dots. */
  readonly container?: string
}

export interface SymbolList {
  readonly symbols: readonly CodeSymbol[]
  /** Whether there are more symbols than the limit, or the file is larger than the size limit. */
  readonly truncated: boolean
  /** States in a sentence why symbols are missing, unless a limit of their number or of the file's size is the reason. */
  readonly reason?: string
}

/** Maximum length of a name, which may be an expression such as a computed property. Characters. */
const maxName = 200

/** Processor time after which a text is not parsed further. Ms. */
function timeLimit(text: string): number {
  return processorTime(text) - reportMs
}

/** Limits the memory for malicious texts: 100,000 pipes of a shell took 2 GB. */
const maxMemoryMb = 512

/** A query takes a minute for 100,000 open brackets, and freeing the tree of 2,000,000 takes 140 ms. */
const maxOpenBrackets = 10_000

/** Maximum number of unfinished matches, the largest value that tree-sitter allows. */
const matchLimit = 0xff_ff

/** Maximum length of a container, because nesting is unlimited. Characters. */
const maxContainer = 1000

/** The syntax tree of a text. A text with syntax errors has a tree too. */
interface ParsedCode {
  readonly root: Node
  /** Returns the captures of each match, in the order of the patterns. */
  readonly query: (source: string) => readonly (readonly QueryCapture[])[]
  /** Whether the time limit was exceeded, so that queries may miss matches. */
  readonly isLate: () => boolean
}

/**
 * Calls `use` with the tree of a text and then frees the tree. Passes no tree if the time limit was exceeded.
 * @throws Error if the tree takes too much memory; this thread cannot parse another text then
 */
export async function withCode<Result>(
  text: string,
  grammar: string,
  use: (code: ParsedCode | undefined) => Result,
): Promise<Result> {
  const { default: treeSitter } = await import('@vscode/tree-sitter-wasm')
  const language = await loadLanguage(grammar)
  const before = cpuUsage()
  const isLate = (): boolean => {
    const { user, system } = cpuUsage(before)
    return (user + system) / 1000 > timeLimit(text)
  }
  // The types of queries lack `progressCallback`.
  const options = { matchLimit, progressCallback: isLate }
  const used: ({ readonly delete: () => void } | null)[] = []
  const keep = <Used extends { readonly delete: () => void } | null>(each: Used): Used => {
    used.push(each)
    return each
  }
  try {
    const tree = keep(keep(new treeSitter.Parser()).setLanguage(language).parse(text, null, options))
    const result = use(
      tree === null
        ? undefined
        : {
            root: tree.rootNode,
            query: (source) =>
              keep(new treeSitter.Query(language, source))
                .matches(tree.rootNode, options)
                .toSorted((one, other) => one.patternIndex - other.patternIndex)
                .map(({ captures }) => captures),
            isLate,
          },
    )
    for (const each of used.toReversed()) each?.delete()
    return result
  } catch (cause) {
    if (!(cause instanceof WebAssembly.RuntimeError)) throw cause
    throw new Error(`The file is too complex: its syntax tree takes more than ${maxMemoryMb} MB.`, { cause })
  }
}

/** TypeScript declares it only for browsers. */
declare const WebAssembly: {
  readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => object
  readonly RuntimeError: ErrorConstructor
}

const pageBytes = 64 * 1024

/** Options of Emscripten. The types declare only one of them. */
const moduleOptions = {
  locateFile: (file: string, folder: string): string => folder + file,
  wasmMemory: new WebAssembly.Memory({ initial: 512, maximum: (maxMemoryMb * 1024 * 1024) / pageBytes }),
  // By default, it would write to the console of the daemon.
  printErr: (): void => {},
}

const languages = new Map<string, Promise<TreeSitterLanguage>>()

/** Loads each grammar once, because grammars cannot be unloaded. */
function loadLanguage(grammar: string): Promise<TreeSitterLanguage> {
  const known = languages.get(grammar)
  if (known !== undefined) return known
  const loading = (async () => {
    const { default: treeSitter } = await import('@vscode/tree-sitter-wasm')
    await treeSitter.Parser.init(moduleOptions)
    const file = createRequire(import.meta.url).resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${grammar}.wasm`)
    return treeSitter.Language.load(await readFile(file))
  })()
  languages.set(grammar, loading)
  return loading
}

/** A symbol or scope that the query has found. */
interface Found {
  readonly node: Node
  readonly name: Node
  readonly kind: SymbolKind | 'scope'
  readonly container: string | undefined
  /** Whether it only counts if no other symbol has its name. */
  readonly isAgain: boolean
}

/**
 * A text with syntax errors is parsed again this often, each time without the lines of the first error: a parser may take all that
 * follows an error for a part of it.
 */
const maxRepeats = 4

/** Returns the symbols of a text, sorted by position. */
export async function findSymbols(text: string, language: Language, limit: number): Promise<SymbolList> {
  if (openBracketsIn(text) > maxOpenBrackets) {
    const reason = `The file has more than ${maxOpenBrackets} brackets that are open at one place.`
    return { symbols: [], truncated: true, reason }
  }
  const before = cpuUsage()
  const read = async (part: string) =>
    withCode(part, language.grammar, (code) => ({
      list:
        code === undefined
          ? { symbols: [], truncated: true, reason: tooSlow(text) }
          : symbolsIn(code, part, language, limit),
      remainder: code === undefined ? undefined : withoutError(code, part),
    }))
  let { list, remainder } = await read(text)
  for (let repeats = 0; repeats < maxRepeats && remainder !== undefined && !list.truncated; repeats += 1) {
    const { user, system } = cpuUsage(before)
    if ((user + system) / 1000 > timeLimit(text) / 2) break
    const next = await read(remainder)
    list = joined(list, next.list, limit)
    remainder = next.remainder
  }
  return list
}

/** Returns the text with spaces in place of the first error, up to the next line that may start a declaration. */
function withoutError({ root, query }: ParsedCode, text: string): string | undefined {
  if (!root.hasError) return undefined
  const starts = query('(ERROR) @error').flatMap((captures) => captures.map(({ node }) => node.startIndex))
  if (starts.length === 0) return undefined
  const first = starts.reduce((one, other) => Math.min(one, other))
  const from = text.lastIndexOf('\n', first - 1) + 1
  const declaration = /\n(?=[^\s)\]};,])/g
  declaration.lastIndex = first
  const end = declaration.exec(text)
  if (end === null) return undefined
  return text.slice(0, from) + text.slice(from, end.index).replaceAll(/[^\n]/g, ' ') + text.slice(end.index)
}

function keyOf({ name, range: { start } }: CodeSymbol): string {
  return `${start.line}:${start.column}:${name}`
}

function joined(list: SymbolList, other: SymbolList, limit: number): SymbolList {
  const byKey = new Map(other.symbols.map((symbol) => [keyOf(symbol), symbol]))
  // In an error, a symbol may have lost what is around it.
  for (const symbol of list.symbols) {
    if (symbol.container !== undefined || !byKey.has(keyOf(symbol))) byKey.set(keyOf(symbol), symbol)
  }
  const symbols = [...byKey.values()].toSorted(
    ({ range: one }, { range: two }) =>
      one.start.line - two.start.line ||
      one.start.column - two.start.column ||
      two.end.line - one.end.line ||
      two.end.column - one.end.column,
  )
  return { ...list, symbols: symbols.slice(0, limit), truncated: symbols.length > limit }
}

function symbolsIn(code: ParsedCode, text: string, language: Language, limit: number): SymbolList {
  const found = new Map<number, Found>()
  for (const symbol of code.query(language.query).flatMap(toFound)) {
    if (!found.has(symbol.name.startIndex)) found.set(symbol.name.startIndex, symbol)
  }
  const ordered = withoutRepeated([...found.values()]).toSorted(
    (one, other) => one.node.startIndex - other.node.startIndex || other.node.endIndex - one.node.endIndex,
  )
  const symbols: CodeSymbol[] = []
  const around: { readonly id: number; readonly end: number; readonly path: string }[] = []
  for (const { node, name, kind, container } of ordered) {
    // One declaration may declare several names.
    while (around.at(-1)?.id === node.id || (around.at(-1)?.end ?? Infinity) <= node.startIndex) around.pop()
    const outer = [around.at(-1)?.path, container].filter((part) => part !== undefined && part !== '').join('.')
    const ownName = shown(name)
    around.push({
      id: node.id,
      end: node.endIndex,
      path: (outer === '' ? ownName : `${outer}.${ownName}`).slice(-maxContainer),
    })
    if (kind === 'scope') continue
    if (symbols.length === limit) return { symbols, truncated: true }
    const range = { start: startOf(node), end: endOf(node, text) }
    symbols.push({ name: ownName, kind, range, ...(outer === '' ? {} : { container: outer }) })
  }
  return code.isLate() ? { symbols, truncated: true, reason: tooSlow(text) } : { symbols, truncated: false }
}

const tooSlow = (text: string): string =>
  `The file is so complex that its symbols were not found within ${Math.ceil(timeLimit(text) / 1000)} s of processor time.`

/** Returns the largest number of open brackets at one place, including those in strings and comments. */
function openBracketsIn(text: string): number {
  let open = 0
  let most = 0
  for (const [bracket] of text.matchAll(/[()[\]{}]/g)) {
    if (bracket === '(' || bracket === '[' || bracket === '{') open += 1
    else if (open > 0) open -= 1
    if (open > most) most = open
  }
  return most
}

function toFound(captures: readonly QueryCapture[]): readonly Found[] {
  const nodeOf = (wanted: string): Node | undefined => captures.find(({ name }) => name === wanted)?.node
  const container = nodeOf('container')
  const pattern = nodeOf('names')
  const name = nodeOf('name')
  const names = pattern === undefined ? (name === undefined ? [] : [name]) : namesIn(pattern)
  for (const { name: captured, node } of captures) {
    const kind = symbolKinds.find((known) => known === captured) ?? (captured === 'scope' ? captured : undefined)
    if (kind === undefined) continue
    const within = container === undefined ? undefined : shown(container).replaceAll('::', '.')
    return names.map((each) => ({ node, name: each, kind, container: within, isAgain: nodeOf('again') !== undefined }))
  }
  return []
}

/** Returns the names that a destructuring pattern of JavaScript declares. */
function namesIn(pattern: Node): readonly Node[] {
  if (/^(?:identifier|shorthand_property_identifier_pattern)$/.test(pattern.type)) return [pattern]
  const named = pattern.childForFieldName('left') ?? pattern.childForFieldName('value')
  if (named !== null) return namesIn(named)
  return pattern.namedChildren.flatMap((child) => (child === null ? [] : namesIn(child)))
}

/** Leaves out names that are only exported here, if something else has the name. */
function withoutRepeated(found: readonly Found[]): readonly Found[] {
  const first = new Map<string, Found>()
  for (const symbol of found.toSorted((one, other) => Number(one.isAgain) - Number(other.isAgain))) {
    const name = shown(symbol.name)
    const known = first.get(name)
    // `exports.load = void 0` may come before the function.
    if (known === undefined || (known.isAgain && known.kind === 'variable' && symbol.kind !== 'variable'))
      first.set(name, symbol)
  }
  return found.filter((symbol) => !symbol.isAgain || first.get(shown(symbol.name)) === symbol)
}

function shown(node: Node): string {
  return node.text.slice(0, maxName).replaceAll(/\s+/g, ' ').toWellFormed()
}

function startOf({ startPosition: { row, column } }: Node): Position {
  return { line: row + 1, column: column + 1 }
}

/** Returns the position of the last character. The end in the tree is after it, possibly at the start of the next line. */
function endOf(node: Node, text: string): Position {
  const { row, column } = node.endPosition
  if (column > 0 || row === 0) return { line: row + 1, column: Math.max(column, 1) }
  const lineEnd = node.endIndex - 1
  return { line: row, column: Math.max(lineEnd - (text.lastIndexOf('\n', lineEnd - 1) + 1), 1) }
}
