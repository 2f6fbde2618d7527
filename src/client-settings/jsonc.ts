import type { Node } from 'jsonc-parser'
import { parseJsonc } from '../json/jsonc.ts'

/*
 * jsonc-parser reads, and this file edits. jsonc-parser's `modify` reindents the lines it touches, moves comments after
 * the member that it inserts, and leaves empty objects, so that an undo would not restore the user's file.
 */

type Path = readonly [string, ...string[]]

/** The JSON text of a value, as the file writes it; undefined if there is none. */
export function getJsonc(text: string, path: Path): string | undefined {
  const value = find(parseJsonc(text), path)
  return value && text.slice(value.offset, endOf(value))
}

/**
 * Sets the value at this path and keeps everything else, to the byte. Undefined if the text is no JSON or something on the
 * path is no object.
 * @param json the value, as JSON text
 */
export function setJsonc(text: string, path: Path, json: string): string | undefined {
  if (text.trim() === '') return `${container(path, json, '')}\n`
  const root = parseJsonc(text)
  if (root === undefined) return undefined
  let parent = root
  for (const [depth, key] of path.entries()) {
    if (parent.type !== 'object') return undefined
    const member = lastOf(parent, key)
    const rest = path.slice(depth + 1)
    if (member === undefined) return insert(text, parent, [key, ...rest], json)
    if (rest.length === 0) {
      const wanted = pretty(json, indentOf(text, member.start))
      return text.slice(0, member.value.offset) + toLineEnds(wanted, text) + text.slice(member.end)
    }
    parent = member.value
  }
  return undefined
}

/** Removes the value at this path, and the objects around it that hold nothing else. */
export function removeJsonc(text: string, path: Path): string | undefined {
  const parentPath = path.slice(0, -1)
  const root = parseJsonc(text)
  if (root === undefined) return undefined
  const parent = find(root, parentPath)
  if (parent === undefined) return text
  const members = membersOf(parent)
  const at = members.findLastIndex((member) => member.key === path.at(-1))
  const member = members[at]
  if (member === undefined) return text
  if (members.length === 1 && isPath(parentPath)) return removeJsonc(text, parentPath)
  const before = members[at - 1]
  const afterBrace = parent.offset + 1
  const ownComma = afterComma(text, member)
  if (ownComma !== undefined) {
    // With its comma, from where the member before it ends.
    const start = before === undefined ? afterBrace : endOfLine(text, afterComma(text, before) ?? before.end)
    return text.slice(0, Math.min(start, member.start)) + text.slice(ownComma)
  }
  if (before === undefined) return text.slice(0, afterBrace) + text.slice(endOf(parent) - 1)
  // The last member: the comma before it goes too, and a comment after that comma stays.
  const commaBefore = afterComma(text, before) ?? before.end
  const comment = text.slice(commaBefore, endOfLine(text, commaBefore))
  return text.slice(0, before.end) + comment.trimEnd() + text.slice(member.end)
}

interface Member {
  readonly key: string
  readonly start: number
  readonly end: number
  readonly value: Node
}

function membersOf(value: Node): readonly Member[] {
  return (value.type === 'object' ? (value.children ?? []) : []).flatMap((property) => {
    const [key, inner] = property.children ?? []
    if (key === undefined || inner === undefined) return []
    return [{ key: String(key.value), start: property.offset, end: endOf(property), value: inner }]
  })
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

/** Returns the index after the comma that follows the member, or undefined without one. */
function afterComma(text: string, { end }: Member): number | undefined {
  // The pattern skips whole comments, so a comma inside a comment does not match.
  const comma = /(?:\s|\/\/[^\r\n]*[\r\n]|\/\*(?:[^*]|\*(?!\/))*\*\/)*,/y
  comma.lastIndex = end
  return comma.test(text) ? comma.lastIndex : undefined
}

function isPath(path: readonly string[]): path is Path {
  return path.length > 0
}

function find(root: Node | undefined, path: readonly string[]): Node | undefined {
  return path.reduce<Node | undefined>((value, key) => value && lastOf(value, key)?.value, root)
}

/** Of two members of the same name, JSON readers take the last. */
function lastOf(value: Node, key: string): Member | undefined {
  return membersOf(value).findLast((member) => member.key === key)
}

/** `{"a": {"b": json}}` for the path a, b. */
function nested(path: readonly string[], json: string): string {
  return path.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, json)
}

/** The same with a line for each step. */
function container([key, ...rest]: readonly string[], json: string, indent: string): string {
  if (key === undefined) return pretty(json, indent)
  const inner = indent + unit
  return `{\n${inner}${JSON.stringify(key)}: ${container(rest, json, inner)}\n${indent}}`
}

function insert(text: string, parent: Node, [key, ...rest]: Path, json: string): string {
  const last = membersOf(parent).at(-1)
  const entry = (indent: string) => `${JSON.stringify(key)}: ${container(rest, json, indent)}`
  if (last === undefined) {
    const [start, end] = [parent.offset + 1, endOf(parent) - 1]
    const outer = indentOf(text, parent.offset)
    const inner = outer + unit
    const comment = text.slice(start, end).trimEnd()
    return text.slice(0, start) + toLineEnds(`${comment}\n${inner}${entry(inner)}\n${outer}`, text) + text.slice(end)
  }
  const indent = indentOf(text, last.start)
  const isOneLine = !/[\r\n]/.test(text.slice(parent.offset, last.start))
  const present = afterComma(text, last)
  const comma = present === undefined ? ',' : ''
  const end = present ?? last.end
  if (isOneLine) return `${text.slice(0, end)}${comma} ${JSON.stringify(key)}: ${nested(rest, json)}${text.slice(end)}`
  // A comment after the last member stays with it.
  const at = Math.min(endOfLine(text, end), endOf(parent) - 1)
  return (
    text.slice(0, end) + comma + text.slice(end, at) + toLineEnds(`\n${indent}${entry(indent)}`, text) + text.slice(at)
  )
}

/** Text that is no strict JSON, such as a value with comments, stays as it is. */
function pretty(json: string, indent: string): string {
  try {
    return formatJson(JSON.parse(json), indent)
  } catch {
    return json
  }
}

/** White space at the start of the line. */
function indentOf(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  return /^\uFEFF?([ \t]*)/.exec(line)?.[1] ?? ''
}

/** The end of the line if only a comment remains on it; else `at`. */
function endOfLine(text: string, at: number): number {
  const comment = /[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*)?(?=\r?\n)/y
  comment.lastIndex = at
  return comment.test(text) ? comment.lastIndex : at
}

function toLineEnds(added: string, text: string): string {
  return text.includes('\r\n') ? added.replaceAll('\n', '\r\n') : added
}

const unit = '  '

/** Columns. */
const widestLine = 110

/** JSON as a person writes it: values that fit on one line stand on one, except the outermost. */
export function formatJson(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inLine = oneLine(value)
  if (indent !== '' && inLine.length + indent.length <= widestLine) return inLine
  const inner = indent + unit
  if (Array.isArray(value))
    return block(
      '[',
      value.map((entry) => inner + formatJson(entry, inner)),
      `${indent}]`,
    )
  const members = Object.entries(value).map(
    ([key, entry]) => `${inner}${JSON.stringify(key)}: ${formatJson(entry, inner)}`,
  )
  return block('{', members, `${indent}}`)
}

function block(open: string, lines: readonly string[], close: string): string {
  return lines.length === 0 ? open + close.trimStart() : `${open}\n${lines.join(',\n')}\n${close}`
}

function oneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  const members = Object.entries(value).map(([key, entry]) => `${JSON.stringify(key)}: ${oneLine(entry)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
