import { isDeepStrictEqual } from 'node:util'

/*
 * Edits keep the user's file to the byte, so they need the position of every key and value, which smol-toml does not
 * return. toml-eslint-parser returns positions, but edits nothing: it would add 39 KB to the program and replace some 90
 * of these lines.
 */

/** The keys of a table and their values, as TOML text. */
export type TomlPairs = Readonly<Record<string, string>>

/** The values before any table; undefined if the text cannot be parsed. */
export function tomlRoot(text: string): TomlPairs | undefined {
  const statements = tomlStatements(text)
  return statements && pairsOf(rootOf(statements))
}

/** The values of one table; undefined unless it is written as `[table]`. */
export function tomlTable(text: string, table: readonly string[]): TomlPairs | undefined {
  const body = bodyOf(tomlStatements(text) ?? [], table)
  return body && pairsOf(body.pairs)
}

/** The strings of a file by dotted key, such as `model_providers.own.base_url`; undefined if it cannot be parsed. */
export function tomlStrings(text: string): ReadonlyMap<string, string> | undefined {
  const statements = tomlStatements(text)
  if (statements === undefined) return undefined
  const strings = new Map<string, string>()
  let inside: readonly string[] = []
  for (const { kind, path, value } of statements) {
    if (kind !== 'pair') inside = path
    else if (/^["']/.test(value)) strings.set([...inside, ...path].join('.'), unquoted(value))
  }
  return strings
}

/** Whether anything but one plain `[table]` defines or touches this table. */
export function isOddlyWritten(text: string, table: readonly string[]): boolean {
  let inside: readonly string[] = []
  let headers = 0
  for (const { kind, path } of tomlStatements(text) ?? []) {
    const full = kind === 'pair' ? [...inside, ...path] : path
    if (kind !== 'pair') inside = path
    const isTable = isDeepStrictEqual(full, table)
    if (kind === 'table' && isTable) headers += 1
    else if (kind === 'pair' && isDeepStrictEqual(inside, table)) continue
    else if (isPrefix(table, full)) return true
    // An inline table or a list would contain this table.
    else if (kind !== 'table' && isPrefix(full, table)) return true
  }
  return headers > 1
}

function isPrefix(prefix: readonly string[], path: readonly string[]): boolean {
  return isDeepStrictEqual(prefix, path.slice(0, prefix.length))
}

/**
 * Sets values before any table, or removes undefined ones, and keeps everything else, to the byte. Undefined if the text
 * cannot be parsed.
 */
export function setTomlRoot(text: string, pairs: Readonly<Record<string, string | undefined>>): string | undefined {
  return Object.entries(pairs).reduce<string | undefined>((before, [key, value]) => {
    const statements = tomlStatements(before ?? '')
    if (before === undefined || statements === undefined) return undefined
    const root = rootOf(statements)
    const present = root.find(({ path }) => path.length === 1 && path[0] === key)
    if (value === undefined) return present === undefined ? before : withoutLines(before, present.start, present.end)
    if (present !== undefined) return before.slice(0, present.valueStart) + value + before.slice(present.end)
    const end = lineEnd(before)
    const last = root.at(-1)
    if (last === undefined) {
      const start = before.startsWith('\uFEFF') ? 1 : 0
      const rest = before.slice(start)
      return `${before.slice(0, start)}${key} = ${value}${end}${/^[ \t]*\[/.test(rest) ? end : ''}${rest}`
    }
    const at = afterLine(before, last.end)
    const gap = before.slice(0, at).endsWith('\n') ? '' : end
    return `${before.slice(0, at)}${gap}${key} = ${value}${end}${before.slice(at)}`
  }, text)
}

/** Replaces or appends this table. Undefined if the text cannot be parsed. */
export function setTomlTable(text: string, table: readonly string[], pairs: TomlPairs): string | undefined {
  const statements = tomlStatements(text)
  if (statements === undefined || isOddlyWritten(text, table)) return undefined
  const end = lineEnd(text)
  const lines = Object.entries(pairs).map(([key, value]) => `${key} = ${value}`)
  const written = [`[${table.join('.')}]`, ...lines].join(end)
  const body = bodyOf(statements, table)
  if (body !== undefined) {
    if (isDeepStrictEqual(pairsOf(body.pairs), pairs)) return text
    return text.slice(0, body.header.start) + written + text.slice(body.pairs.at(-1)?.end ?? body.header.end)
  }
  const gap = text === '' ? '' : text.endsWith('\n') ? end : end + end
  return `${text}${gap}${written}${end}`
}

export function removeTomlTable(text: string, table: readonly string[]): string | undefined {
  const statements = tomlStatements(text)
  if (statements === undefined) return undefined
  const body = bodyOf(statements, table)
  if (body === undefined) return text
  const end = body.pairs.at(-1)?.end ?? body.header.end
  const before = text.slice(0, body.header.start)
  // With the empty line before it.
  const isSetOff = /\n\r?\n$/.test(before)
  return withoutLines(text, isSetOff ? before.replace(/\r?\n$/, '').length : body.header.start, end)
}

function rootOf(statements: readonly TomlStatement[]): readonly TomlStatement[] {
  const header = statements.findIndex(({ kind }) => kind !== 'pair')
  return header === -1 ? statements : statements.slice(0, header)
}

function bodyOf(
  statements: readonly TomlStatement[],
  table: readonly string[],
): { readonly header: TomlStatement; readonly pairs: readonly TomlStatement[] } | undefined {
  const at = statements.findIndex(({ kind, path }) => kind === 'table' && isDeepStrictEqual(path, table))
  const header = statements[at]
  return header && { header, pairs: rootOf(statements.slice(at + 1)) }
}

function pairsOf(statements: readonly TomlStatement[]): TomlPairs {
  return Object.fromEntries(statements.map(({ path, value }) => [path.join('.'), value]))
}

function lineEnd(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

function afterLine(text: string, at: number): number {
  const next = text.indexOf('\n', at)
  return next === -1 ? text.length : next + 1
}

function withoutLines(text: string, start: number, end: number): string {
  const from = text.lastIndexOf('\n', start - 1) + 1
  return text.slice(0, from) + text.slice(afterLine(text, end))
}

/** A header or an assignment, with its position. */
export interface TomlStatement {
  readonly kind: 'table' | 'list-entry' | 'pair'
  /** For a pair, relative to its table. */
  readonly path: readonly string[]
  readonly start: number
  /** '' for a header. */
  readonly value: string
  readonly valueStart: number
  /** Before any comment. */
  readonly end: number
}

/** Undefined if the text cannot be parsed (toml.io/en/v1.1.0). */
export function tomlStatements(text: string): readonly TomlStatement[] | undefined {
  const statements: TomlStatement[] = []
  let at = skipBlank(text, text.startsWith('\uFEFF') ? 1 : 0)
  while (at < text.length) {
    const statement = readHeader(text, at) ?? readPair(text, at)
    if (statement === undefined) return undefined
    statements.push(statement)
    const remainder = match(/[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y, text, statement.end)
    if (remainder === undefined) return undefined
    at = skipBlank(text, statement.end + remainder.length)
  }
  return statements
}

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

/** Undefined if a bracket is left open. */
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
  return [...key.matchAll(new RegExp(keyPart, 'g'))].map(([part]) => unquoted(part))
}

/** A bare key, or a string on one line. */
function unquoted(part: string): string {
  if (!part.startsWith('"')) return part.replaceAll(/^'|'$/g, '')
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
