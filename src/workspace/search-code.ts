import { hasParts, includesParts, type FilePart } from './confirm-files.ts'
import type { Folder } from './folder.ts'
import { matcherOf } from './glob.ts'
import { isObject } from '../json/json.ts'
import { createLanes } from './lanes.ts'
import { pathOf, readGlob, runRipgrep } from './ripgrep.ts'
import { ToolError } from './tool-error.ts'

export interface SearchArguments {
  /** A text, or with `regex` a regular expression in ripgrep's syntax. */
  readonly query: string
  /** A pattern of `readGlob`. Default: all files. */
  readonly glob?: string | undefined
  readonly maxResults?: number | undefined
  readonly regex?: boolean | undefined
  readonly caseSensitive?: boolean | undefined
}

/** A line with a match. */
interface SearchHit {
  /** Relative to the root, with `/`. */
  readonly file: string
  /** 1-based. */
  readonly line: number
  /** Column of the first match in the line. 1-based, in UTF-16 code units. */
  readonly column: number
  /** The line and up to three lines before and after it. Long lines are shortened. */
  readonly snippet: string
}

export interface SearchResult {
  readonly hits: readonly SearchHit[]
  /** Whether there may be more hits. */
  readonly truncated: boolean
}

const contextLines = 3

/** Maximum length of a query. Characters. */
const maxQuery = 4096

/** Maximum length of a line in a snippet. Characters. */
const maxSnippetLine = 300

/** Number of characters that a snippet shows before the match in a long line. */
const leadLength = 80

export const defaultMaxResults = 200

/** Shorter than the time limit of a tool, so that the hits so far are not lost. Ms. */
const defaultDeadlineMs = 20_000

/** Maximum size of a JSON record of ripgrep that is parsed. `createLongRecord` reads longer ones. Bytes. */
const maxRecordBytes = 512 * 1024

/** Bytes that are kept from the start of a longer record. */
const keptBytes = 8 * 1024

/** Longer than the numbers at the end of a record. Bytes. */
const endLength = 100

/** Limits memory, because ripgrep keeps all matching lines of a file until it has read the file. */
const maxFileMb = 32

/** A line of a snippet contains no bytes that are farther from its match. */
const shownBytes = 1300

/** Number of files that are open at the same time to confirm hits. */
const filesAtOnce = 16

/** Confirming a hit in UTF-16 takes three times the size of the file. */
const readWhole = createLanes({ perKey: 1, total: 2 })

/**
 * Returns lines that match. Omits files that `listFiles` omits, binary files, and files over 32 MB. Takes time proportional to
 * the size of the files and of the compiled query, which is limited.
 * @throws ToolError `denied` for a glob that leads outside; `invalid_arguments`; the errors of `runRipgrep`
 */
export async function searchCode(
  folder: Folder,
  { query, glob: pattern = '', maxResults = defaultMaxResults, regex = false, caseSensitive = true }: SearchArguments,
  signal: AbortSignal,
  deadlineMs = defaultDeadlineMs,
): Promise<SearchResult> {
  if (query === '') throw invalidQuery('It is empty.')
  if (query.length > maxQuery) throw invalidQuery(`It is longer than ${maxQuery} characters.`)
  if (/[\0\r\n]/.test(query)) throw invalidQuery('It has a line break or a NUL character. A match cannot span lines.')
  const [glob, reading] = await Promise.all([readGlob(folder, pattern), folder.reading()])
  const matches = matcherOf(glob)
  const confirmer = createConfirmer(folder, signal)
  let count = 0
  /** The files of the last chunk that wait for their permission. */
  const waiting: Promise<void>[] = []
  // Hits of a file that may not be read are neither counted nor built: `truncated` would reveal what the file contains.
  const addIfAllowed = async (file: string, lines: readonly LineRecord[]): Promise<void> => {
    if (!(await reading.maySearch(file))) return
    const found = { file, hits: hitsOf(file, lines), parts: lines.map(({ part }) => part) }
    count += found.hits.length
    confirmer.add(found)
  }
  const split = createRecordSplitter(
    createFileReader((file, lines) => {
      if (matches(file)) waiting.push(addIfAllowed(file, lines))
    }),
  )
  const take = async (chunk: Buffer): Promise<boolean> => {
    split(chunk)
    await Promise.all(waiting.splice(0))
    return count <= maxResults
  }
  const { isPartial, complaint } = await runRipgrep({
    folder,
    glob,
    args: [
      '--json',
      `--context=${contextLines}`,
      `--max-count=${maxResults + 1}`,
      `--max-filesize=${maxFileMb}M`,
      '--no-search-zip',
      '--no-pre',
      '--engine=default',
      // With ripgrep's own limit of 100 MB, `(a{1000}){1000}` takes 20 s for a line of 3 MB.
      '--regex-size-limit=10M',
      caseSensitive ? '--case-sensitive' : '--ignore-case',
      // Let a match extend to the end of its line: ripgrep needs 1 GB to report all 10 million matches of `a` in a line of 10 MB.
      `--regexp=(?:${regex ? query : escapeExpression(query)})(?-u:.)*`,
    ],
    excludes: reading.excludes,
    signal,
    deadlineMs,
    take,
  })
  if (complaint !== '') throw invalidQuery(reasonOf(complaint))
  const files = await confirmer.confirmed()
  const hits = files.flatMap((found) => found.hits)
  const isComplete = !isPartial && count === hits.length && count <= maxResults
  return { hits: hits.slice(0, maxResults).toSorted(byPlace), truncated: !isComplete }
}

/** The results of ripgrep in one file. */
interface FoundFile {
  readonly file: string
  readonly hits: readonly SearchHit[]
  /** The bytes that the snippets show. */
  readonly parts: readonly FilePart[]
}

/** Confirms hits while ripgrep continues. Omits hits whose bytes the file does not contain. */
function createConfirmer(folder: Folder, signal: AbortSignal) {
  const queues = Array.from({ length: filesAtOnce }, () => Promise.resolve())
  const confirmed: FoundFile[] = []
  let added = 0
  const confirm = async (found: FoundFile, earlier: Promise<void> | undefined): Promise<void> => {
    await earlier
    if (await isConfirmed(folder, found, signal).catch(() => false)) confirmed.push(found)
  }
  return {
    add(found: FoundFile): void {
      const queue = added % queues.length
      added += 1
      queues[queue] = confirm(found, queues[queue])
    },
    async confirmed(): Promise<readonly FoundFile[]> {
      await Promise.all(queues)
      return confirmed
    },
  }
}

async function isConfirmed(folder: Folder, { file, parts }: FoundFile, signal: AbortSignal): Promise<boolean> {
  if (await hasParts(folder, file, parts)) return true
  // The offsets of ripgrep count bytes of the text in UTF-8 without a byte order mark.
  return readWhole(folder.root, signal, async () => {
    const { bytes } = await folder.readStart(file, { maxBytes: maxFileMb * 1024 * 1024, signal })
    const text = withoutMark(bytes)
    return text !== undefined && includesParts(text, 0, parts)
  })
}

/** Returns the text in UTF-8 without its byte order mark, or undefined if it has none. */
function withoutMark(bytes: Buffer): Buffer | undefined {
  const [first, second, third] = bytes
  if (first === 0xef && second === 0xbb && third === 0xbf) return bytes.subarray(3)
  const isBigEndian = first === 0xfe && second === 0xff
  if (!isBigEndian && !(first === 0xff && second === 0xfe)) return undefined
  return Buffer.from(new TextDecoder(isBigEndian ? 'utf-16be' : 'utf-16le').decode(bytes))
}

/** Escapes the same characters as Rust's `regex::escape`. A backslash before others may be special, e.g. `\<`. */
function escapeExpression(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$#&~-]/g, String.raw`\$&`)
}

/** A line of a file, from a record of ripgrep. */
interface LineRecord {
  readonly isMatch: boolean
  readonly line: number
  /** The line, shortened around the match. */
  readonly text: string
  readonly column: number
  /** The bytes of the line that a snippet may show. */
  readonly part: FilePart
}

type FileRecord =
  | { readonly type: 'begin'; readonly file: string }
  | { readonly type: 'line'; readonly value: LineRecord }
  | { readonly type: 'end' }

/** Collects the records of each file. ripgrep prints one file after the other. */
function createFileReader(onFile: (file: string, lines: readonly LineRecord[]) => void): (record: FileRecord) => void {
  let file = ''
  let lines: LineRecord[] = []
  return (record) => {
    if (record.type === 'line') lines.push(record.value)
    else if (record.type === 'begin') {
      file = record.file
      lines = []
    } else onFile(file, lines)
  }
}

function hitsOf(file: string, lines: readonly LineRecord[]): readonly SearchHit[] {
  return lines.flatMap(({ isMatch, line, column }, index) => {
    if (!isMatch) return []
    const snippet = lines
      .slice(Math.max(index - contextLines, 0), index + contextLines + 1)
      .filter((other) => Math.abs(other.line - line) <= contextLines)
      .map(({ text }) => text)
      .join('\n')
    return [{ file, line, column, snippet }]
  })
}

/** Splits ripgrep's output into records. Keeps no more of a record than the limit. */
function createRecordSplitter(take: (record: FileRecord) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let size = 0
  let long: LongRecord | undefined
  const add = (bytes: Buffer): void => {
    size += bytes.length
    if (long === undefined && size > maxRecordBytes) {
      long = createLongRecord()
      for (const part of parts) long.add(part)
      parts = []
    }
    if (long === undefined) parts.push(bytes)
    else long.add(bytes)
  }
  return (chunk) => {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(0x0a, from)
      add(chunk.subarray(from, end === -1 ? chunk.length : end))
      if (end === -1) return
      const record = long === undefined ? parseRecord(Buffer.concat(parts).toString()) : long.end()
      parts = []
      size = 0
      long = undefined
      if (record !== undefined) take(record)
      from = end + 1
    }
  }
}

function parseRecord(text: string): FileRecord | undefined {
  const record: unknown = JSON.parse(text)
  if (!isObject(record) || !isObject(record['data'])) return undefined
  const { type, data } = record
  if (type === 'begin') return { type, file: pathOf(textOf(data['path']).toString()) }
  if (type === 'end') return { type }
  if (type !== 'match' && type !== 'context') return undefined
  const line = typeof data['line_number'] === 'number' ? data['line_number'] : 1
  const bytes = textOf(data['lines'])
  const [first]: unknown[] = Array.isArray(data['submatches']) ? data['submatches'] : []
  const start = isObject(first) && typeof first['start'] === 'number' ? first['start'] : 0
  const offset = typeof data['absolute_offset'] === 'number' ? data['absolute_offset'] : 0
  const value = lineRecord(type === 'match', line, bytes.toString(), bytes.toString('utf8', 0, start))
  return { type: 'line', value: { ...value, part: partOf(bytes, offset, start) } }
}

/** Copies the bytes, so that the memory of the whole line can be freed. */
function partOf(bytes: Buffer, offset: number, start: number): FilePart {
  const from = Math.max(start - shownBytes, 0)
  return { offset: offset + from, bytes: Buffer.from(bytes.subarray(from, start + shownBytes)) }
}

/** ripgrep writes text that is not UTF-8 as `bytes`, in base64. */
function textOf(value: unknown): Buffer {
  if (!isObject(value)) return Buffer.alloc(0)
  if (typeof value['text'] === 'string') return Buffer.from(value['text'])
  return Buffer.from(typeof value['bytes'] === 'string' ? value['bytes'] : '', 'base64')
}

function lineRecord(isMatch: boolean, line: number, text: string, before: string): Omit<LineRecord, 'part'> {
  return { isMatch, line, text: cutAround(text.replace(/\r?\n$/, ''), before.length), column: before.length + 1 }
}

function cutAround(text: string, at: number): string {
  if (text.length <= maxSnippetLine) return text
  const from = Math.max(0, Math.min(at - leadLength, text.length - maxSnippetLine))
  const cut = text.slice(from, from + maxSnippetLine).toWellFormed()
  return `${from > 0 ? '…' : ''}${cut}${from + maxSnippetLine < text.length ? '…' : ''}`
}

interface LongRecord {
  readonly add: (bytes: Buffer) => void
  readonly end: () => FileRecord
}

/**
 * Reads a record that is so long that parsing it would block the event loop. It has the form
 * `{"type":"match","data":{"path":…,"lines":{"text":"…"},"line_number":7,…,"submatches":[{…,"start":3,"end":9}]}}`:
 * the beginning of the line and the numbers after it suffice. A quote within a text is escaped, so no text looks like a key.
 */
function createLongRecord(): LongRecord {
  const key = '"line_number":'
  let head = ''
  let tail = ''
  let isTail = false
  let last = ''
  return {
    add: (bytes) => {
      last = (last + bytes.toString('latin1', Math.max(bytes.length - endLength, 0))).slice(-endLength)
      if (head.length < keptBytes) head += bytes.toString('latin1', 0, keptBytes - head.length)
      if (isTail) {
        if (tail.length < keptBytes) tail += bytes.toString('latin1', 0, keptBytes)
        return
      }
      const before = tail + bytes.toString('latin1', 0, key.length)
      const inBefore = before.indexOf(key)
      const at = inBefore === -1 ? bytes.indexOf(key) : -1
      isTail = inBefore !== -1 || at !== -1
      if (inBefore !== -1) tail = before.slice(inBefore) + bytes.toString('latin1', key.length, keptBytes)
      else if (at !== -1) tail = bytes.toString('latin1', at, at + keptBytes)
      // The key may begin in one chunk and end in the next.
      else tail = (tail + bytes.toString('latin1', Math.max(bytes.length - key.length, 0))).slice(-key.length)
    },
    end: () => {
      const line = Number(/^"line_number":(\d+)/.exec(tail)?.[1] ?? 1)
      const offset = Number(/"absolute_offset":(\d+)/.exec(tail)?.[1] ?? 0)
      const start = Number(/"start":(\d+),"end":\d+\}\]\}\}$/.exec(last)?.[1] ?? 0)
      const [, kind, content = ''] = /"lines":\{"(text|bytes)":"((?:[^"\\]|\\[^u]|\\u[0-9a-f]{4})*)/s.exec(head) ?? []
      const text = kind === 'bytes' ? Buffer.from(content, 'base64') : Buffer.from(unescapeJson(content), 'latin1')
      // After the kept part, the column counts bytes instead of characters.
      const before = text.toString('utf8', 0, Math.min(start, text.length))
      const record = lineRecord(head.startsWith('{"type":"match"'), line, text.toString(), before)
      const column = record.column + Math.max(start - text.length, 0)
      const shown = `${record.text.replace(/…$/, '')}…`
      return { type: 'line', value: { ...record, text: shown, column, part: partOf(text, offset, 0) } }
    },
  }
}

/** Resolves JSON escapes in a text that has one character per UTF-8 byte. ripgrep escapes only ASCII characters. */
function unescapeJson(text: string): string {
  const parsed: unknown = JSON.parse(`"${text}"`)
  return typeof parsed === 'string' ? parsed : ''
}

/** Returns the reason from a message of ripgrep, which also has the expression and may advise options of ripgrep. */
function reasonOf(complaint: string): string {
  const lines = complaint.trim().split('\n')
  const reason = lines.find((line) => line.startsWith('error:')) ?? lines.at(-1) ?? ''
  return `ripgrep does not accept it: ${reason.replace(/^(?:rg|error): */, '')}`
}

function byPlace(one: SearchHit, other: SearchHit): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1
  return one.line - other.line
}

function invalidQuery(detail: string): ToolError {
  return new ToolError({ kind: 'invalid_arguments', path: 'query', detail })
}
