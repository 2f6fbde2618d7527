import type { FileStart, Folder } from './folder.ts'
import type { LineRange } from './read-lines.ts'
import { failed, ToolError } from './tool-error.ts'

export interface ReadTextArguments {
  readonly path: string
  /** Lines, 1-based, including `end`. */
  readonly range?: LineRange | undefined
}

export interface Text {
  /** Includes the byte order mark and the line ends of the file. */
  readonly content: string
  /** SHA-256 of the whole file in lower-case hex. Absent if the file is larger than the limit. */
  readonly sha256?: string
  /** Size of the whole file. Bytes. */
  readonly size: number
  /** Whether the limit has shortened the content. A requested range does not count. */
  readonly truncated: boolean
  /** The text is that of an editor, and newer than the file on disk. */
  readonly unsaved?: true
}

interface ReadTextLimits {
  /** Returns at most this much of a file. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
  /** Called before a large file is read, with the size of what will be read. */
  readonly reserve?: (bytes: number) => Promise<void>
}

/** Files up to this size are read without a reservation, and so once, as nearly all source files are. Bytes. */
const smallFileBytes = 64 * 1024

/** Buffers of this size have memory of their own, which can be freed. Bytes. */
const largeBufferBytes = 64 * 1024

const lineFeed = 0x0a

/**
 * Returns a file's text or some of its lines. If that is larger than the limit, returns the whole lines within the limit. The range
 * may be anywhere in a large file.
 * @throws ToolError of `Folder.readFile`; `failed` for a file that is not UTF-8 text; `invalid_arguments` for a range
 * outside the file
 */
export async function readText(
  folder: Folder,
  { path, range }: ReadTextArguments,
  limits: ReadTextLimits,
): Promise<Text> {
  if (range !== undefined && range.start < 1) throw invalidRange('range.start', 'Lines are counted from 1.')
  if (range !== undefined && range.end < range.start) throw invalidRange('range.end', 'It comes before range.start.')
  const start = await readReserved(folder, path, range, limits)
  const { bytes, sha256, size, unsaved } = start
  refuseOther(bytes, path)
  const { lines, isCut } = range === undefined ? partOf(start) : linesOf(start, range)
  const content = decode(lines, path)
  freeMemory(bytes)
  const isUnsaved = unsaved !== undefined && { unsaved: true as const }
  return { content, ...(sha256 !== undefined && { sha256 }), size, truncated: isCut, ...isUnsaved }
}

async function readReserved(
  folder: Folder,
  path: string,
  range: LineRange | undefined,
  { reserve, ...limits }: ReadTextLimits,
): Promise<FileStart> {
  const { maxBytes } = limits
  const check = (part: Buffer): void => refuseOther(part, path)
  const wanted = { ...limits, lines: range && { ...range, check } }
  if (reserve === undefined || maxBytes <= smallFileBytes) return folder.readStart(path, wanted)
  const start = await folder.readStart(path, { ...limits, maxBytes: smallFileBytes })
  if (start.sha256 !== undefined) return start
  await reserve(Math.min(start.size, maxBytes))
  return folder.readStart(path, wanted)
}

/** Frees the memory of a large file at once. Until the next collection, it would count as in use. */
function freeMemory({ buffer, length }: Buffer): void {
  if (length > largeBufferBytes && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** Decodes a whole file. @throws ToolError `failed` for a file that is not UTF-8 text */
export function toText(bytes: Buffer, path: string): string {
  refuseOther(bytes, path)
  return decode(bytes, path)
}

function refuseOther(bytes: Buffer, path: string): void {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw failed(`${JSON.stringify(path)} is UTF-16 text. Convert it to UTF-8 to read it.`)
  }
  if (bytes.includes(0)) throw failed(`${JSON.stringify(path)} is a binary file.`)
}

/** Cuts after the last line end, or after the last whole character of a very long line. */
function cutAtLine(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(lineFeed) + 1
  if (end > 0) return bytes.subarray(0, end)
  // In UTF-8, up to three bytes of the form 10xxxxxx follow the first byte of a character.
  let cut = bytes.length
  while (cut > bytes.length - 4 && cut > 0 && ((bytes[cut - 1] ?? 0) & 0xc0) === 0x80) cut -= 1
  return bytes.subarray(0, Math.max(cut - 1, 0))
}

/** `isCut`: the limit left out lines. */
interface TextPart {
  readonly lines: Buffer
  readonly isCut: boolean
}

function partOf({ bytes, sha256 }: FileStart): TextPart {
  const isCut = sha256 === undefined
  return { lines: isCut ? cutAtLine(bytes) : bytes, isCut }
}

function linesOf(start: FileStart, range: LineRange): TextPart {
  const { found } = start
  if (found === undefined) return linesWithin(partOf(start), range)
  if (found.total !== undefined) throw invalidRange('range.start', `The file has only ${found.total} lines.`)
  return { lines: found.isCut ? cutAtLine(found.bytes) : found.bytes, isCut: found.isCut }
}

function linesWithin({ lines: bytes, isCut }: TextPart, { start, end }: LineRange): TextPart {
  let from = 0
  let line = 1
  for (; line < start; line += 1) {
    const next = bytes.indexOf(lineFeed, from) + 1
    if (next === 0 || next === bytes.length) break
    from = next
  }
  if (line < start) throw invalidRange('range.start', `The file has only ${line} lines.`)
  let to = from
  for (; line <= end && to < bytes.length; line += 1) {
    const next = bytes.indexOf(lineFeed, to) + 1
    to = next === 0 ? bytes.length : next
  }
  return { lines: bytes.subarray(from, to), isCut: isCut && line <= end }
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw failed(`${JSON.stringify(path)} is not UTF-8 text.`, cause)
  }
}

function invalidRange(path: string, detail: string): ToolError {
  return new ToolError({ kind: 'invalid_arguments', path, detail })
}
