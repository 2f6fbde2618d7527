/** A header or an assignment in a TOML text, by its place. */
export interface TomlStatement {
  readonly kind: 'table' | 'list-entry' | 'pair'
  /** Of a pair: within its table. */
  readonly path: readonly string[]
  readonly start: number
  /** Of a header: empty. */
  readonly value: string
  readonly valueStart: number
  /** Without a comment behind it. */
  readonly end: number
}

/** The statements in their order; undefined where the text is not understood (toml.io/en/v1.1.0). */
export function tomlStatements(text: string): readonly TomlStatement[] | undefined {
  const statements: TomlStatement[] = []
  let at = skipBlank(text, text.startsWith('\uFEFF') ? 1 : 0)
  while (at < text.length) {
    const statement = readHeader(text, at) ?? readPair(text, at)
    if (statement === undefined) return undefined
    statements.push(statement)
    const lineEnd = match(/[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y, text, statement.end)
    if (lineEnd === undefined) return undefined
    at = skipBlank(text, statement.end + lineEnd.length)
  }
  return statements
}

/** Past white space, line ends and comments. */
function skipBlank(text: string, at: number): number {
  return at + (match(/(?:\s|#[^\n]*)*/y, text, at)?.length ?? 0)
}

const keyPart = String.raw`(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')`
const dottedKey = String.raw`${keyPart}(?:[ \t]*\.[ \t]*${keyPart})*`

function readHeader(text: string, start: number): TomlStatement | undefined {
  const header = match(new RegExp(String.raw`\[\[?[ \t]*${dottedKey}[ \t]*\]\]?`, 'y'), text, start)
  if (header === undefined) return undefined
  const isEntry = header.startsWith('[[')
  if (isEntry !== header.endsWith(']]')) return undefined
  const end = start + header.length
  const kind = isEntry ? 'list-entry' : 'table'
  return { kind, path: partsOf(header.replaceAll(/^\[+|\]+$/g, '')), start, value: '', valueStart: end, end }
}

function readPair(text: string, start: number): TomlStatement | undefined {
  const key = match(new RegExp(dottedKey, 'y'), text, start)
  if (key === undefined) return undefined
  const sign = match(/[ \t]*=[ \t]*/y, text, start + key.length)
  if (sign === undefined) return undefined
  const valueStart = start + key.length + sign.length
  const end = endOfValue(text, valueStart)
  if (end === undefined || end === valueStart) return undefined
  return { kind: 'pair', path: partsOf(key), start, value: text.slice(valueStart, end), valueStart, end }
}

const strings = /"""(?:[^\\]|\\[^])*?"{3,5}|'''[^]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y

/** Undefined where a bracket is left open. */
function endOfValue(text: string, start: number): number | undefined {
  let depth = 0
  let at = start
  while (at < text.length) {
    const token = match(strings, text, at)
    if (token !== undefined) at += token.length
    else if (depth > 0 && /[\s#]/.test(text[at] ?? '')) at = skipBlank(text, at)
    else if (/["'\n#]/.test(text[at] ?? '')) break
    else {
      if (/[[{]/.test(text[at] ?? '')) depth += 1
      if (/[\]}]/.test(text[at] ?? '')) depth -= 1
      at += 1
    }
  }
  return depth === 0 ? start + text.slice(start, at).trimEnd().length : undefined
}

function partsOf(key: string): readonly string[] {
  return [...key.matchAll(new RegExp(keyPart, 'g'))].map(([part]) =>
    part.startsWith('"') ? unescaped(part) : part.replaceAll(/^'|'$/g, ''),
  )
}

function unescaped(part: string): string {
  try {
    return String(JSON.parse(part))
  } catch {
    return part
  }
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}
