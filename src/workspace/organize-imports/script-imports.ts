import type { Node } from '@vscode/tree-sitter-wasm'
import { withCode } from '../symbols/find-symbols.ts'

/** An import declaration that may move. Others (with side effects, comments or attributes) separate groups. */
interface Import {
  readonly node: Node
  readonly isTypeOnly: boolean
  readonly defaultName: string | undefined
  readonly namespace: string | undefined
  /** Named imports, e.g. `a`, `a as b`, `type a`. */
  readonly named: readonly { readonly text: string; readonly local: string }[]
  /** The module name with its quotes. */
  readonly source: string
}

/** Compiled JSX refers to these names, although the source does not contain them. */
const jsxNames = new Set(['React', 'h', 'Fragment'])

const maxLine = 100

/**
 * Sorts and merges the imports of JavaScript or TypeScript within each group of adjacent lines. Removes names that occur nowhere
 * else in the text, not even in comments. Returns undefined for a text with syntax errors, or one that takes long to parse.
 */
export async function organizeScriptImports(text: string, grammar: string): Promise<string | undefined> {
  return withCode(text, grammar, (code) => {
    if (code === undefined || code.root.hasError) return undefined
    const imports = code.query('(program (import_statement) @import)')
    return organize(
      text,
      imports.flatMap((captures) => captures.map(({ node }) => node)),
    )
  })
}

function organize(text: string, nodes: readonly Node[]): string {
  const used = usedWords(text, nodes)
  const groups = groupsOf(nodes.toSorted((one, other) => one.startIndex - other.startIndex))
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  let organized = text
  for (const group of groups.toReversed()) {
    const [start, end] = [group[0]?.node.startIndex ?? 0, group.at(-1)?.node.endIndex ?? 0]
    const lines = organizeGroup(group, used, lineEnd)
    const after = lines.length === 0 ? (/^(?:\r?\n)+/.exec(organized.slice(end))?.[0].length ?? 0) : 0
    organized = organized.slice(0, start) + lines.join(lineEnd) + organized.slice(end + after)
  }
  return organized
}

function usedWords(text: string, imports: readonly Node[]): ReadonlySet<string> {
  let code = text
  for (const { startIndex, endIndex } of imports.toSorted((one, other) => other.startIndex - one.startIndex)) {
    code = `${code.slice(0, startIndex)} ${code.slice(endIndex)}`
  }
  // An identifier may contain escapes.
  const plain = code.replaceAll(/\\u\{?([0-9a-f]+)\}?/gi, (escape, hex: string) => {
    const point = Number.parseInt(hex, 16)
    return point <= 0x10_ff_ff ? String.fromCodePoint(point) : escape
  })
  return new Set(
    [...code.matchAll(/[\p{ID_Continue}$]+/gu), ...plain.matchAll(/[\p{ID_Continue}$]+/gu)].map(([word]) => word),
  )
}

function groupsOf(nodes: readonly Node[]): readonly (readonly Import[])[] {
  const groups: Import[][] = []
  let previous: Node | undefined
  for (const node of nodes) {
    const movable = toImport(node)
    const isNext =
      previous !== undefined &&
      node.previousSibling?.id === previous.id &&
      node.startPosition.row === previous.endPosition.row + 1
    if (!isNext || movable === undefined) groups.push([])
    if (movable !== undefined) groups.at(-1)?.push(movable)
    previous = movable === undefined ? undefined : node
  }
  return groups.filter((group) => group.length > 0)
}

function toImport(node: Node): Import | undefined {
  const children = node.children.filter((child) => child !== null)
  const clause = children.find(({ type }) => type === 'import_clause')
  const source = node.childForFieldName('source')
  const known = new Set(['import', 'type', 'import_clause', 'from', 'string', ';'])
  if (clause === undefined || source === null || children.some(({ type }) => !known.has(type))) return undefined
  if (node.descendantsOfType('comment').length > 0 || isBesideComment(node)) return undefined
  const parts = clause.namedChildren.filter((part) => part !== null)
  const specifiers = node.descendantsOfType('import_specifier').filter((part) => part !== null)
  return {
    node,
    isTypeOnly: children.some(({ type }) => type === 'type'),
    defaultName: parts.find(({ type }) => type === 'identifier')?.text,
    namespace: parts.find(({ type }) => type === 'namespace_import')?.namedChild(0)?.text,
    named: specifiers.map((specifier) => ({
      text: specifier.text.replaceAll(/\s+/g, ' '),
      local: (specifier.childForFieldName('alias') ?? specifier.childForFieldName('name'))?.text ?? '',
    })),
    source: source.text,
  }
}

/** A comment above a declaration or at its end may refer to it, e.g. for a linter, so the declaration must not move. */
function isBesideComment({ previousSibling, nextSibling, startPosition, endPosition }: Node): boolean {
  const isAbove = previousSibling?.type === 'comment' && previousSibling.endPosition.row >= startPosition.row - 1
  const isBehind = nextSibling !== null && nextSibling.startPosition.row === endPosition.row
  return isAbove || isBehind || (previousSibling !== null && previousSibling.endPosition.row === startPosition.row)
}

function organizeGroup(group: readonly Import[], used: ReadonlySet<string>, lineEnd: string): readonly string[] {
  const isUsed = (name: string | undefined): boolean => name !== undefined && (used.has(name) || jsxNames.has(name))
  const kept: Import[] = []
  for (const entry of group) {
    const { defaultName, namespace, named } = entry
    const left = {
      ...entry,
      defaultName: isUsed(defaultName) ? defaultName : undefined,
      namespace: isUsed(namespace) ? namespace : undefined,
      named: named.filter(({ local }) => isUsed(local)),
    }
    const hadNames = defaultName !== undefined || namespace !== undefined || named.length > 0
    if (hadNames && left.defaultName === undefined && left.namespace === undefined && left.named.length === 0) continue
    const at = kept.findIndex((other) => canMerge(other, left))
    const other = kept[at]
    if (other === undefined) kept.push(left)
    else kept[at] = merge(other, left)
  }
  return kept.toSorted(bySource).map((entry) => render(entry, group, lineEnd))
}

function canMerge(one: Import, other: Import): boolean {
  return (
    one.source.slice(1, -1) === other.source.slice(1, -1) &&
    one.isTypeOnly === other.isTypeOnly &&
    one.namespace === undefined &&
    other.namespace === undefined &&
    // `import type A, { B }` is a syntax error.
    (one.isTypeOnly
      ? one.defaultName === undefined && other.defaultName === undefined
      : one.defaultName === undefined || other.defaultName === undefined || one.defaultName === other.defaultName)
  )
}

function merge(one: Import, other: Import): Import {
  const named = [...one.named, ...other.named]
  return {
    ...one,
    defaultName: one.defaultName ?? other.defaultName,
    named: named.filter(({ text }, index) => named.findIndex((same) => same.text === text) === index),
  }
}

/** Sorts packages before files of the project, like TypeScript's own organiser. */
function bySource(one: Import, other: Import): number {
  const [first, second] = [one.source.slice(1, -1), other.source.slice(1, -1)]
  return Number(first.startsWith('.')) - Number(second.startsWith('.')) || compare(first, second)
}

function compare(one: string, other: string): number {
  const [first, second] = [one.toLowerCase(), other.toLowerCase()]
  if (first !== second) return first < second ? -1 : 1
  return 0
}

/** Keeps the text of an unchanged declaration. */
function render(entry: Import, group: readonly Import[], lineEnd: string): string {
  const { isTypeOnly, defaultName, namespace, source, node } = entry
  const named = entry.named.toSorted((one, other) => compare(withoutType(one.text), withoutType(other.text)))
  const before = group.find((same) => same.node.id === node.id)
  const isSame =
    before !== undefined &&
    before.defaultName === defaultName &&
    before.namespace === namespace &&
    before.named.length === named.length &&
    before.named.every(({ text }, index) => text === named[index]?.text)
  if (isSame) return node.text
  const start = `import ${isTypeOnly ? 'type ' : ''}`
  const end = ` from ${source}${node.text.endsWith(';') ? ';' : ''}`
  const names = [defaultName, namespace === undefined ? undefined : `* as ${namespace}`]
  const list = named.map(({ text }) => text)
  const braces = list.length === 0 ? undefined : `{ ${list.join(', ')} }`
  const join = (last: string | undefined): string => [...names, last].filter((part) => part !== undefined).join(', ')
  const line = `${start}${join(braces)}${end}`
  if (line.length <= maxLine || list.length === 0) return line
  return `${start}${join(`{${lineEnd}${list.map((name) => `  ${name},${lineEnd}`).join('')}}`)}${end}`
}

function withoutType(specifier: string): string {
  return specifier.replace(/^type /, '')
}
