import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Document,
  type ErrorCode,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml'

interface Position {
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

interface YamlFault {
  readonly position: Position
  /** '' for none. */
  readonly key: string
  readonly detail: string
}

interface YamlDocument {
  /** Undefined if the text holds only comments. */
  readonly value: unknown
  /** Position of the value at a path, or of its key; of the nearest table around a missing path. */
  readonly locate: (path: readonly PropertyKey[], part: 'key' | 'value') => Position
}

export type YamlResult =
  | { readonly ok: true; readonly value: YamlDocument }
  | { readonly ok: false; readonly fault: YamlFault }

/** Bounds the work: resolving an alias searches the whole document, and aliases of aliases multiply. */
const maxAliases = 100

/** The parser's own messages can repeat text of the file, which can be a secret. */
const syntaxDetails: Record<ErrorCode, string> = {
  ALIAS_PROPS: 'an alias (*name) cannot have an anchor or a tag',
  BAD_ALIAS: 'an anchor (&name) or alias (*name) needs a name',
  BAD_COLLECTION_TYPE: 'this tag (!name) does not fit the value',
  BAD_DIRECTIVE: 'unknown % directive; remove this line',
  BAD_DQ_ESCAPE: 'unknown escape after \\ in a double-quoted text; use single quotes to write \\ as it is',
  BAD_INDENT: 'wrong indentation, or an unclosed bracket before this line',
  BAD_PROP_ORDER: 'an anchor or tag is in the wrong place',
  BAD_SCALAR_START: 'text that starts with @ or ` needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'two keys on one line, or wrong indentation before it; text with a colon needs quotes',
  BLOCK_IN_FLOW: 'unclosed bracket before this line',
  DUPLICATE_KEY: 'duplicate key',
  IMPOSSIBLE: 'this is not YAML',
  KEY_OVER_1024_CHARS: 'this key is too long; is a colon missing?',
  MISSING_CHAR: 'missing character: a closing quote or bracket, a comma, or a colon with a space after it',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line; is a colon missing?',
  MULTIPLE_ANCHORS: 'a value can have only one anchor (&name)',
  MULTIPLE_DOCS: 'a second document starts here (---); only one is allowed',
  MULTIPLE_TAGS: 'a value can have only one tag (!name)',
  NON_STRING_KEY: 'a key must be plain text',
  RESOURCE_EXHAUSTION: 'too deeply nested',
  TAB_AS_INDENT: 'indented with a tab; use spaces',
  TAG_RESOLVE_FAILED: 'tags (!name) are not supported; text that starts with ! needs quotes',
  UNEXPECTED_TOKEN: 'unexpected text; check the indentation, quotes and brackets around it',
}

type At = (offset: number) => Position

function offsetOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined
}

function keyOf(pair: YAMLMap['items'][number]): string {
  return String(isScalar(pair.key) ? pair.key.value : pair.key)
}

/** Falls back to a key in other case: `withLowerCaseKeys` may have changed it. */
function pairAt({ items }: YAMLMap, key: PropertyKey): YAMLMap['items'][number] | undefined {
  return items.find((pair) => keyOf(pair) === key) ?? items.find((pair) => keyOf(pair).toLowerCase() === key)
}

/** Faults that the parser accepts. Finds repeated keys too, because the parser's own search is quadratic. */
function findFault(document: Document.Parsed, at: At): YamlFault | undefined {
  let fault: YamlFault | undefined
  let aliases = 0
  const stop = (node: unknown, key: string, detail: string) => {
    fault = { position: at(offsetOf(node) ?? 0), key, detail }
    return visit.BREAK
  }
  visit(document, {
    Alias: (_, alias) => {
      aliases += 1
      if (aliases > maxAliases) return stop(alias, '', `more than ${maxAliases} aliases (*name)`)
      if (alias.resolve(document) === undefined) return stop(alias, '', 'this alias (*name) has no anchor before it')
      return undefined
    },
    Map: (_, map) => {
      const seen = new Set<string>()
      for (const pair of map.items) {
        const key = keyOf(pair)
        if (seen.has(key)) return stop(pair.key, key, syntaxDetails.DUPLICATE_KEY)
        // Assigning it would set a prototype, and zod's records drop it silently.
        if (key === '__proto__') return stop(pair.key, key, 'this key is not allowed')
        seen.add(key)
      }
      return undefined
    },
  })
  return fault
}

function locator(document: Document.Parsed, at: At): YamlDocument['locate'] {
  const followed = (node: unknown) => (isAlias(node) ? node.resolve(document) : node)
  return (path, part) => {
    let node: unknown = document.contents
    let found = offsetOf(node) ?? 0
    for (const [index, step] of path.entries()) {
      const parent = followed(node)
      const pair = isMap(parent) ? pairAt(parent, step) : undefined
      const child: unknown = isSeq(parent) && typeof step === 'number' ? parent.items[step] : pair?.value
      if (pair === undefined && child === undefined) break
      const keyOffset = offsetOf(pair?.key)
      const wantsKey = part === 'key' && index === path.length - 1
      // An empty value (`port:`) is located by its key.
      const isNothing = isScalar(child) && child.type === 'PLAIN' && child.source === ''
      found = (wantsKey || isNothing ? keyOffset : undefined) ?? offsetOf(child) ?? keyOffset ?? found
      node = child
    }
    return at(found)
  }
}

function readDocument(text: string, at: At, lines: LineCounter): YamlResult {
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    schema: 'core',
    resolveKnownTags: false,
    logLevel: 'error',
  })
  const syntax = document.errors[0] ?? document.warnings[0]
  const fault =
    syntax === undefined
      ? findFault(document, at)
      : { position: at(syntax.pos[0]), key: '', detail: syntaxDetails[syntax.code] }
  if (fault !== undefined) return { ok: false, fault }
  const value: unknown = document.toJS({ maxAliasCount: maxAliases })
  return { ok: true, value: { value: value ?? undefined, locate: locator(document, at) } }
}

/** Reads one YAML 1.2 document. Returns the first fault only, because later ones usually follow from it. Never throws. */
export function readYaml(text: string): YamlResult {
  const lines = new LineCounter()
  const at: At = (offset) => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  try {
    return readDocument(text, at, lines)
  } catch {
    // The library throws if aliases unfold into too much or nesting exhausts the stack.
    return { ok: false, fault: { position: at(0), key: '', detail: 'too many aliases or nested values' } }
  }
}

function readFlowDocument(text: string): unknown {
  const document = parseDocument(text, {
    prettyErrors: false,
    stringKeys: true,
    schema: 'failsafe',
    customTags: ['null'],
    logLevel: 'error',
  })
  if (document.errors.length > 0 || document.warnings.length > 0) return undefined
  if (findFault(document, () => ({ line: 1, column: 1 })) !== undefined) return undefined
  const value: unknown = document.toJS({ maxAliasCount: 0 })
  return value
}

/** Reads a list or table on one line (YAML or JSON), with values as text or null. Undefined if it cannot be read. */
export function readFlow(text: string): unknown {
  try {
    return readFlowDocument(text)
  } catch {
    return undefined
  }
}
