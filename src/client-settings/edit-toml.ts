import { isDeepStrictEqual } from 'node:util'
import { tomlStatements } from './toml-statements.ts'
import type { TomlStatement } from './toml-statements.ts'

/** The keys of a table and their values, as TOML text. */
export type TomlPairs = Readonly<Record<string, string>>

/** The values of the file's own, before any table; undefined where the text is not understood. */
export function tomlRoot(text: string): TomlPairs | undefined {
  const statements = tomlStatements(text)
  return statements && pairsOf(rootOf(statements))
}

/** The values of one table; undefined where there is none, or it is not written as `[table]`. */
export function tomlTable(text: string, table: readonly string[]): TomlPairs | undefined {
  const body = bodyOf(tomlStatements(text) ?? [], table)
  return body && pairsOf(body.pairs)
}

/** Whether anything but a plain `[table]` says something of this table. */
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
    // An inline table, or a list, that would have to hold ours.
    else if (kind !== 'table' && isPrefix(full, table)) return true
  }
  return headers > 1
}

function isPrefix(prefix: readonly string[], path: readonly string[]): boolean {
  return isDeepStrictEqual(prefix, path.slice(0, prefix.length))
}

/**
 * The text with these values before any table; everything else stays, to the byte. Undefined removes one.
 * Undefined where the text is not understood.
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

/** The text with this table, in the place of one of this name or at its end. Undefined where the text is not understood. */
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

/** The text without this table. */
export function removeTomlTable(text: string, table: readonly string[]): string | undefined {
  const statements = tomlStatements(text)
  if (statements === undefined) return undefined
  const body = bodyOf(statements, table)
  if (body === undefined) return text
  const end = body.pairs.at(-1)?.end ?? body.header.end
  const before = text.slice(0, body.header.start)
  // With the empty line that set it off.
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

/** Where the next line starts. */
function afterLine(text: string, at: number): number {
  const next = text.indexOf('\n', at)
  return next === -1 ? text.length : next + 1
}

function withoutLines(text: string, start: number, end: number): string {
  const from = text.lastIndexOf('\n', start - 1) + 1
  return text.slice(0, from) + text.slice(afterLine(text, end))
}
