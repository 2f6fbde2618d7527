import { ToolError } from '../tool-error.ts'

/** Longer than any path that a file system allows, even with all bytes escaped as `"\303\244…"`. Bytes. */
export const MAX_HEADER_BYTES = 16_384

const SIMPLE_ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A name in a header line, and the text after it. */
interface ReadName {
  readonly name: string
  readonly remainder: string
}

/** `isAbsent`: the line names `/dev/null` (then `name` is undefined) or has the time stamp of 1970 that GNU diff writes. */
export interface FileHeader {
  readonly name: string | undefined
  readonly isAbsent: boolean
  /** The name and the time after it, if spaces separate them. A file may have this name. */
  readonly withTime?: string | undefined
}

/** The times of `diff -u`, as `git apply` reads them, and those of `diff -c`. */
const time =
  /(?<! ) +(?:(?:\d\d)?\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d*)?(?: ?[+-]\d\d:?\d\d|Z)?|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}(?: [+-]\d{4})?) *$/

const beginningOfTime = /^\s+(?:1970-01-01|1969-12-31) .*:00(?:\.0+)? [+-]\d{4}$/

/**
 * Reads a `---` or `+++` line.
 * @param text the text after `--- `, one character per byte
 */
export function parseFileHeader(text: string): FileHeader {
  const { name: whole, remainder } = readName(text)
  // Copying turns the tab before a time into spaces.
  const stamp = remainder === '' && !text.startsWith('"') ? time.exec(whole)?.[0] : undefined
  const name = stamp === undefined ? whole : whole.slice(0, -stamp.length)
  if (name === '/dev/null') return { name: undefined, isAbsent: true }
  return {
    name: plainName(name),
    isAbsent: beginningOfTime.test(stamp ?? remainder),
    ...(stamp !== undefined && { withTime: plainName(whole) }),
  }
}

/** Removes `./`, like `git apply`. */
function plainName(name: string): string {
  return name.replaceAll(/(?<=^|\/)(?:\.\/)+/g, '')
}

/** Reads the name in a line such as `rename from NAME`. */
export function parseWholeName(text: string): string {
  return readName(text).name
}

/**
 * Reads the two names of a `diff --git` line. Returns undefined for unquoted names that differ, because such a line is
 * ambiguous. Other lines state the names then.
 */
export function parseGitHeader(text: string): readonly [string, string] | undefined {
  if (text.startsWith('"')) {
    const first = readName(text)
    return first.remainder.startsWith(' ') ? [first.name, readName(first.remainder.slice(1)).name] : undefined
  }
  const quoted = text.indexOf(' "')
  if (quoted !== -1) return [readName(text.slice(0, quoted)).name, readName(text.slice(quoted + 1)).name]
  const middle = (text.length - 1) / 2
  const first = text.slice(0, middle)
  const second = text.slice(middle + 1)
  if (text[middle] !== ' ' || withoutFirstFolder(first) !== withoutFirstFolder(second)) return undefined
  return [readName(first).name, readName(second).name]
}

/** `a/src/x.ts` → `src/x.ts`; a name without a folder is unchanged. */
export function withoutFirstFolder(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}

/**
 * Refuses names outside the root and names that programs interpret differently. `Folder` checks again, including links.
 * @throws ToolError `denied`
 */
export function checkName(name: string): string {
  const shown = JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)
  if (name === '') throw refused('The patch has an empty file name.')
  // oxlint-disable-next-line no-control-regex -- control characters are what this refuses
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name)) {
    throw refused(`The patch has a file name with a control character: ${shown}.`)
  }
  if (/^(?:\/|[A-Za-z]:)/.test(name) || name.includes('\\')) {
    throw refused(`The patch names ${shown}. Use paths relative to the workspace, with "/".`)
  }
  if (name.split('/').some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw refused(`The patch names ${shown}, which is not a plain path below the workspace.`)
  }
  return name
}

/** Reads a name. Git quotes names with special characters and escapes bytes like C. A tab ends an unquoted name. */
function readName(text: string): ReadName {
  if (!text.startsWith('"')) {
    const tab = text.indexOf('\t')
    return tab === -1
      ? { name: decodeUtf8(text), remainder: '' }
      : { name: decodeUtf8(text.slice(0, tab)), remainder: text.slice(tab) }
  }
  let bytes = ''
  for (let index = 1; index < text.length; index += 1) {
    const char = text.charAt(index)
    if (char === '"') return { name: decodeUtf8(bytes), remainder: text.slice(index + 1) }
    if (char !== '\\') {
      bytes += char
      continue
    }
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(index + 1, index + 4))?.[0]
    const code = octal === undefined ? SIMPLE_ESCAPES[text.charAt(index + 1)] : Number.parseInt(octal, 8)
    if (code === undefined) break
    bytes += String.fromCharCode(code)
    index += octal?.length ?? 1
  }
  throw refused('The patch has a file name whose quotes or escapes are broken.')
}

function decodeUtf8(bytes: string): string {
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'))
  } catch (error) {
    throw refused('The patch has a file name that is not UTF-8.', error)
  }
}

function refused(detail: string, cause?: unknown): ToolError {
  return new ToolError({ kind: 'denied', detail }, { cause })
}
