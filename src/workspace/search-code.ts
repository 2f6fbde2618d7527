import { hasParts, includesParts, type FilePart } from './confirm-files.ts'
import type { Folder } from './folder.ts'
import { isObject } from '../json/json.ts'
import { pathOf, readGlob, runRipgrep } from './ripgrep.ts'
import { ToolError } from './tool-error.ts'

export interface SearchArguments {
  /** A text; a regular expression in ripgrep's syntax with `regex`. */
  readonly query: string
  /** As `readGlob` has it. Default: every file. */
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
  /** Of the first match in the line. 1-based, in UTF-16 code units. */
  readonly column: number
  /** The line and up to three lines before and after it, each cut if it is long. */
  readonly snippet: string
}

export interface SearchResult {
  readonly hits: readonly SearchHit[]
  /** Whether there are more, or the time was up. */
  readonly truncated: boolean
}

const contextLines = 3

/** Of a query. Characters. */
const maxQuery = 4096

/** Of a line in a snippet. Characters. */
const maxSnippetLine = 300

/** Of what a long line has before its match in a snippet. Characters. */
const leadLength = 80

const defaultMaxResults = 200

/** Less than a tool's own time, so that what was found is not lost. Ms. */
const defaultDeadlineMs = 20_000

/** What ripgrep says of one line of a file, as JSON; longer ones are looked at without parsing. Bytes. */
const maxRecordBytes = 512 * 1024

/** The part of a longer line that is kept, from its beginning. Bytes. */
const keptBytes = 8 * 1024

/** More than the numbers at its end have. Bytes. */
const endLength = 100

/** ripgrep holds the matching lines of a file in memory until it has read the file. */
const maxFileMb = 32

/** A line of a snippet shows no bytes that are farther from its match. */
const shownBytes = 1300

/** Files that are held open at once to confirm hits. */
const filesAtOnce = 16

/**
 * Lines that match. Leaves out what `listFiles` leaves out, binary files, and files over 32 MB. Time is linear in the size of
 * the files, times the size of the compiled query, which has a limit.
 * @throws ToolError `denied` for a glob that leads outside; `invalid_arguments`; `failed` without ripgrep; `cancelled`
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
  const glob = await readGlob(folder, pattern)
  const confirmer = createConfirmer(folder)
  let count = 0
  const reader = createFileReader((found) => {
    if (!glob.matches(found.file)) return true
    count += found.hits.length
    confirmer.add(found)
    return count <= maxResults
  })
  const { isStopped, complaint } = await runRipgrep({
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
      // A match takes the remainder of its line: ripgrep needs 1 GB to report the 10 million positions of an `a` in a line of 10 MB.
      `--regexp=(?:${regex ? query : escapeExpression(query)})(?-u:.)*`,
    ],
    signal,
    deadlineMs,
    take: createRecordSplitter(reader),
  })
  if (complaint !== '') throw invalidQuery(reasonOf(complaint))
  const files = await confirmer.confirmed()
  const hits = files.flatMap((found) => found.hits)
  const isComplete = !isStopped && count === hits.length && count <= maxResults
  return { hits: hits.slice(0, maxResults).toSorted(byPlace), truncated: !isComplete }
}

/** What ripgrep found in a file. */
interface FoundFile {
  readonly file: string
  readonly hits: readonly SearchHit[]
  /** The bytes that the snippets show. */
  readonly parts: readonly FilePart[]
}

/** Looks at the files again while ripgrep goes on. What is not in the file any more, or never was, is left out. */
function createConfirmer(folder: Folder) {
  const queues = Array.from({ length: filesAtOnce }, () => Promise.resolve())
  const confirmed: FoundFile[] = []
  let added = 0
  const confirm = async (found: FoundFile, earlier: Promise<void> | undefined): Promise<void> => {
    await earlier
    if (await isConfirmed(folder, found).catch(() => false)) confirmed.push(found)
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

async function isConfirmed(folder: Folder, { file, parts }: FoundFile): Promise<boolean> {
  if (await hasParts(folder, file, parts)) return true
  // ripgrep counts bytes of the text as UTF-8 without a byte order mark.
  const { bytes } = await folder.readStart(file, { maxBytes: maxFileMb * 1024 * 1024 })
  const text = withoutMark(bytes)
  return text !== undefined && includesParts(text, 0, parts)
}

/** The text in UTF-8; undefined for a file without a byte order mark. */
function withoutMark(bytes: Buffer): Buffer | undefined {
  const [first, second, third] = bytes
  if (first === 0xef && second === 0xbb && third === 0xbf) return bytes.subarray(3)
  const isBigEndian = first === 0xfe && second === 0xff
  if (!isBigEndian && !(first === 0xff && second === 0xfe)) return undefined
  return Buffer.from(new TextDecoder(isBigEndian ? 'utf-16be' : 'utf-16le').decode(bytes))
}

/** The characters that Rust's `regex::escape` escapes. Others get a meaning by a backslash, e.g. `\<`. */
function escapeExpression(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$#&~-]/g, String.raw`\$&`)
}

/** A line of a file in ripgrep's output. */
interface LineRecord {
  readonly isMatch: boolean
  readonly line: number
  /** Cut around the match. */
  readonly text: string
  readonly column: number
  /** What of the line a snippet can show. */
  readonly part: FilePart
}

type FileRecord =
  | { readonly type: 'begin'; readonly file: string }
  | { readonly type: 'line'; readonly value: LineRecord }
  | { readonly type: 'end' }

/** Makes hits of the records of one file after the other: ripgrep does not mix files. `onFile` returns whether to continue. */
function createFileReader(onFile: (found: FoundFile) => boolean): (record: FileRecord) => boolean {
  let file = ''
  let lines: LineRecord[] = []
  return (record) => {
    if (record.type === 'line') {
      lines.push(record.value)
      return true
    }
    if (record.type === 'begin') {
      file = record.file
      lines = []
      return true
    }
    return onFile({ file, hits: hitsOf(file, lines), parts: lines.map(({ part }) => part) })
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

/** Splits ripgrep's output into records. A record over the limit costs no more memory than the limit. */
function createRecordSplitter(take: (record: FileRecord) => boolean): (chunk: Buffer) => boolean {
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
      if (end === -1) return true
      const record = long === undefined ? parseRecord(Buffer.concat(parts).toString()) : long.end()
      parts = []
      size = 0
      long = undefined
      if (record !== undefined && !take(record)) return false
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

/** A copy, so that the whole line can be freed. */
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
 * A record of a line so long that parsing it would hold the event loop. It has the form
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
      // The key may begin at the end of one piece and end in the next.
      else tail = (tail + bytes.toString('latin1', Math.max(bytes.length - key.length, 0))).slice(-key.length)
    },
    end: () => {
      const line = Number(/^"line_number":(\d+)/.exec(tail)?.[1] ?? 1)
      const offset = Number(/"absolute_offset":(\d+)/.exec(tail)?.[1] ?? 0)
      const start = Number(/"start":(\d+),"end":\d+\}\]\}\}$/.exec(last)?.[1] ?? 0)
      const [, kind, content = ''] = /"lines":\{"(text|bytes)":"((?:[^"\\]|\\[^u]|\\u[0-9a-f]{4})*)/s.exec(head) ?? []
      const text = kind === 'bytes' ? Buffer.from(content, 'base64') : Buffer.from(unescapeJson(content), 'latin1')
      // Beyond the kept beginning, bytes are counted as characters.
      const before = text.toString('utf8', 0, Math.min(start, text.length))
      const record = lineRecord(head.startsWith('{"type":"match"'), line, text.toString(), before)
      const column = record.column + Math.max(start - text.length, 0)
      const shown = `${record.text.replace(/…$/, '')}…`
      return { type: 'line', value: { ...record, text: shown, column, part: partOf(text, offset, 0) } }
    },
  }
}

/** JSON's escapes in a text whose characters are the bytes of UTF-8. ripgrep escapes nothing beyond ASCII. */
function unescapeJson(text: string): string {
  const parsed: unknown = JSON.parse(`"${text}"`)
  return typeof parsed === 'string' ? parsed : ''
}

/** ripgrep explains over several lines: the expression, the reason, and sometimes advice about its own options. */
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
