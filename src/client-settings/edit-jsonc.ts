import { formatJson } from './format-json.ts'
import { parseJsonc } from './jsonc.ts'
import type { JsoncMember, JsoncValue } from './jsonc.ts'

type Path = readonly [string, ...string[]]

/** The text of a value, as the file writes it; undefined where there is none. */
export function getJsonc(text: string, path: Path): string | undefined {
  const value = find(parseJsonc(text), path)
  return value && text.slice(value.start, value.end)
}

/**
 * The text with a value put at this path; everything else stays as it is, to the byte. Undefined where that cannot be
 * done: the text is no JSON, or something on the way is no object.
 * @param json the value, as JSON text
 */
export function setJsonc(text: string, path: Path, json: string): string | undefined {
  if (text.trim() === '') return `${container(path, json, '')}\n`
  const root = parseJsonc(text)
  if (root === undefined) return undefined
  let parent = root
  for (const [depth, key] of path.entries()) {
    if (parent.members === undefined) return undefined
    const member = lastOf(parent.members, key)
    const rest = path.slice(depth + 1)
    if (member === undefined) return insert(text, parent, [key, ...rest], json)
    if (rest.length === 0) {
      const wanted = pretty(json, indentOf(text, member.start))
      return text.slice(0, member.value.start) + toLineEnds(wanted, text) + text.slice(member.value.end)
    }
    parent = member.value
  }
  return undefined
}

/** The text without the value at this path, and without the objects around it that hold nothing else. */
export function removeJsonc(text: string, path: Path): string | undefined {
  const parentPath = path.slice(0, -1)
  const root = parseJsonc(text)
  if (root === undefined) return undefined
  const parent = isPath(parentPath) ? find(root, parentPath) : root
  const members = parent?.members ?? []
  const key = path.at(-1)
  const at = members.findLastIndex((member) => member.key === key)
  const member = members[at]
  if (member === undefined) return text
  if (members.length === 1 && isPath(parentPath)) return removeJsonc(text, parentPath)
  const before = members[at - 1]
  if (member.afterComma !== undefined) {
    // With the comma that follows, from where the one before it ends.
    const start = before === undefined ? (parent?.start ?? 0) + 1 : endOfLine(text, before.afterComma ?? 0)
    return text.slice(0, Math.min(start, member.start)) + text.slice(member.afterComma)
  }
  if (before === undefined) return text.slice(0, (parent?.start ?? 0) + 1) + text.slice((parent?.end ?? 0) - 1)
  // The last one: the comma before it goes as well, what is written behind that comma stays.
  const behind = text.slice(before.afterComma, endOfLine(text, before.afterComma ?? 0))
  return text.slice(0, before.value.end) + behind.trimEnd() + text.slice(member.value.end)
}

function isPath(path: readonly string[]): path is Path {
  return path.length > 0
}

function find(root: JsoncValue | undefined, path: readonly string[]): JsoncValue | undefined {
  return path.reduce<JsoncValue | undefined>((value, key) => lastOf(value?.members ?? [], key)?.value, root)
}

/** Of two members of the same name, JSON readers take the last. */
function lastOf(members: readonly JsoncMember[], key: string): JsoncMember | undefined {
  return members.findLast((member) => member.key === key)
}

/** `{"a": {"b": json}}` for the path a, b. */
function nested(path: readonly string[], json: string): string {
  return path.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, json)
}

/** The same, a line for each step: more is about to be put beside the value. */
function container([key, ...rest]: readonly string[], json: string, indent: string): string {
  if (key === undefined) return pretty(json, indent)
  const inner = indent + unit
  return `{\n${inner}${JSON.stringify(key)}: ${container(rest, json, inner)}\n${indent}}`
}

function insert(text: string, parent: JsoncValue, [key, ...rest]: Path, json: string): string {
  const last = parent.members?.at(-1)
  const entry = (indent: string) => `${JSON.stringify(key)}: ${container(rest, json, indent)}`
  if (last === undefined) {
    const outer = indentOf(text, parent.start)
    const inner = outer + unit
    // What else stands between the braces is a comment.
    const comment = text.slice(parent.start + 1, parent.end - 1).trimEnd()
    const body = toLineEnds(`${comment}\n${inner}${entry(inner)}\n${outer}`, text)
    return `${text.slice(0, parent.start + 1)}${body}${text.slice(parent.end - 1)}`
  }
  const indent = indentOf(text, last.start)
  const isOneLine = !/[\r\n]/.test(text.slice(parent.start, last.start))
  const comma = last.afterComma === undefined ? ',' : ''
  const end = last.afterComma ?? last.value.end
  if (isOneLine) return `${text.slice(0, end)}${comma} ${JSON.stringify(key)}: ${nested(rest, json)}${text.slice(end)}`
  // A remark behind the last member stays with it.
  const at = Math.min(endOfLine(text, end), parent.end - 1)
  return (
    text.slice(0, end) + comma + text.slice(end, at) + toLineEnds(`\n${indent}${entry(indent)}`, text) + text.slice(at)
  )
}

const unit = '  '

/** What is no strict JSON, comments in it say, stays as it is. */
function pretty(json: string, indent: string): string {
  try {
    return formatJson(JSON.parse(json), indent)
  } catch {
    return json
  }
}

/** The white space at the start of the line. */
function indentOf(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  return /^\uFEFF?([ \t]*)/.exec(line)?.[1] ?? ''
}

/** Where the line ends, if a comment is all that is left of it; else the place itself. */
function endOfLine(text: string, at: number): number {
  const rest = /[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*)?(?=\r?\n)/y
  rest.lastIndex = at
  return rest.test(text) ? rest.lastIndex : at
}

function toLineEnds(added: string, text: string): string {
  return text.includes('\r\n') ? added.replaceAll('\n', '\r\n') : added
}
