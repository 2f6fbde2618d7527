import { ToolError } from '../tool-error.ts'
import {
  checkName,
  MAX_HEADER_BYTES,
  parseFileHeader,
  parseGitHeader,
  parseWholeName,
  withoutFirstFolder,
  type FileHeader,
} from './file-name.ts'
import type { FilePatch, Hunk, Line } from './file-patch.ts'
import type { Pace } from './pace.ts'
import { isV4aPatch, parseV4aPatch } from './parse-v4a-patch.ts'

/** Enough to change all lines of a file of the default `workspace.max-file-mb`. Bytes of UTF-8. */
const MAX_PATCH_BYTES = 10 * 1024 * 1024
const LARGE_BYTES = 256 * 1024
const MAX_PATCH_LINES = 500_000
const MAX_HUNKS = 50_000
/** A patch opens each of its files several times. */
const MAX_FILES = 5000

/** The part of a patch about one file, during parsing. */
interface Section {
  readonly git: { readonly names: readonly [string, string] | undefined } | undefined
  header: { readonly old: FileHeader; readonly new: FileHeader } | undefined
  renamed: { kind: 'rename' | 'copy'; from: string | undefined; to: string | undefined } | undefined
  created: boolean
  deleted: boolean
  isExecutable: boolean | undefined
  readonly hunks: Hunk[]
}

interface Reader {
  readonly text: string
  readonly pace: Pace
  /** Whether the patch itself has CRLF line ends. A patch of CRLF files has CR only in hunks. */
  isCrlf: boolean | undefined
  at: number
}

/**
 * Parses a unified diff of git, `diff -u` or a model, or a V4A patch. Accepts text around it, wrong counts, and missing `a/` and
 * `b/`. Refuses ambiguous patches.
 * @throws ToolError `invalid_arguments`, `too_large`, `cancelled`; `denied` for a name or a mode that no patch may have
 */
export async function parsePatch(unifiedDiff: string, pace: Pace): Promise<readonly FilePatch[]> {
  const bytes = unifiedDiff.length > MAX_PATCH_BYTES ? Infinity : Buffer.byteLength(unifiedDiff)
  if (bytes > MAX_PATCH_BYTES) throw tooLarge(`is larger than ${MAX_PATCH_BYTES / 1024 / 1024} MB`)
  // Receiving a large message has already blocked the event loop for long.
  if (bytes > LARGE_BYTES) await pace.rest()
  const isAscii = bytes === unifiedDiff.length
  const text = isAscii ? unifiedDiff : Buffer.from(unifiedDiff.replace(/^\uFEFF/, '')).toString('latin1')
  await pace.step()
  const reader: Reader = { text: text.endsWith('\n') ? text : `${text}\n`, pace, isCrlf: undefined, at: 0 }
  if (hasMoreLines(reader.text, MAX_PATCH_LINES)) throw tooLarge(`has more than ${MAX_PATCH_LINES} lines`)
  await pace.step()
  if (isV4aPatch(reader.text)) {
    const patches = await parseV4aPatch(reader.text, pace)
    if (patches.length > MAX_FILES) throw tooLarge(`has more than ${MAX_FILES} files`)
    if (patches.reduce((sum, { hunks }) => sum + hunks.length, 0) > MAX_HUNKS) {
      throw tooLarge(`has more than ${MAX_HUNKS} hunks`)
    }
    return patches
  }
  const sections: Section[] = []
  let hunks = 0
  while (reader.at < reader.text.length) {
    if (pace.isDue()) await pace.rest()
    if (startsWith(reader, '@@')) hunks += 1
    if (hunks > MAX_HUNKS) throw tooLarge(`has more than ${MAX_HUNKS} hunks`)
    await readLine(reader, sections)
    if (sections.length > MAX_FILES) throw tooLarge(`has more than ${MAX_FILES} files`)
  }
  if (sections.length === 0) {
    throw invalid(
      'The patch names no file. Start each file with "--- a/FILE" and "+++ b/FILE", or send a patch that starts with "*** Begin Patch".',
    )
  }
  return sections.map(toFilePatch)
}

/** Reads one line outside of hunks, or a whole hunk. */
async function readLine(reader: Reader, sections: Section[]): Promise<void> {
  const section = sections.at(-1)
  if (startsWith(reader, 'diff --git ')) {
    const names = parseGitHeader(headerText(reader, 'diff --git '))
    sections.push(newSection({ names }))
  } else if (isHeaderPair(reader, reader.at)) {
    const old = parseFileHeader(headerText(reader, '--- '))
    const header = { old, new: parseFileHeader(headerText(reader, '+++ ')) }
    if (section?.git !== undefined && section.header === undefined && section.hunks.length === 0) {
      section.header = header
    } else {
      const plain = newSection(undefined)
      plain.header = header
      sections.push(plain)
    }
  } else if (startsWith(reader, '@@@ ')) {
    throw invalid('The patch is a combined diff of a merge. Make it against one parent.')
  } else if (startsWith(reader, '@@')) {
    if (section?.header === undefined)
      throw invalid(`${lineName(reader, reader.at)} starts a hunk before any "--- a/FILE" line.`)
    section.hunks.push(await readHunk(reader))
  } else if (startsWith(reader, 'GIT binary patch') || startsWith(reader, 'Binary files ')) {
    throw invalid('The patch has a binary file. Only text can be patched.')
  } else if (section?.git !== undefined && section.header === undefined) readExtendedHeader(reader, section)
  else skipLine(reader)
}

function newSection(git: Section['git']): Section {
  return {
    git,
    header: undefined,
    renamed: undefined,
    created: false,
    deleted: false,
    isExecutable: undefined,
    hunks: [],
  }
}

/** A line between `diff --git` and `---`. Source: git-diff(1), "Generating patch text with -p". */
function readExtendedHeader(reader: Reader, section: Section): void {
  const word = ['rename from ', 'rename to ', 'copy from ', 'copy to '].find((each) => startsWith(reader, each))
  if (word !== undefined) {
    const name = parseWholeName(headerText(reader, word))
    section.renamed ??= { kind: word.startsWith('rename') ? 'rename' : 'copy', from: undefined, to: undefined }
    section.renamed[word.endsWith('from ') ? 'from' : 'to'] = name
    return
  }
  const modeWord = ['new file mode ', 'deleted file mode ', 'old mode ', 'new mode '].find((each) =>
    startsWith(reader, each),
  )
  if (modeWord !== undefined) {
    const isExecutable = parseMode(headerText(reader, modeWord))
    if (modeWord.startsWith('new ')) section.isExecutable = isExecutable
    if (modeWord === 'new file mode ') section.created = true
    if (modeWord === 'deleted file mode ') section.deleted = true
    return
  }
  if (!startsWith(reader, 'index ')) return skipLine(reader)
  const mode = / (\d+)$/.exec(headerText(reader, 'index '))?.[1]
  if (mode !== undefined) parseMode(mode)
}

/** @throws ToolError `denied` for links (120000), submodules (160000) and anything but the two modes of git's files */
function parseMode(mode: string): boolean {
  if (mode === '100644' || mode === '100755') return mode === '100755'
  throw new ToolError({
    kind: 'denied',
    detail: `The patch has the file mode ${JSON.stringify(mode.slice(0, 20))}. Only plain files (100644, 100755) can be patched.`,
  })
}

/**
 * Reads a hunk. Its counts decide whether a line such as `--- x` removes `-- x` or is the header of the next file. If the counts
 * are wrong, the hunk ends before a line that looks like a header.
 */
async function readHunk(reader: Reader): Promise<Hunk> {
  const hunkAt = reader.at
  const numbers = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))?(?=\s)/.exec(
    reader.text.slice(reader.at, reader.at + 100),
  )
  skipLine(reader)
  const oldCount = Number(numbers?.[2] ?? 1)
  const newCount = Number(numbers?.[3] ?? 1)
  const old: Line[] = []
  const added: Line[] = []
  let header: { readonly at: number; readonly old: number; readonly new: number } | undefined
  let blankLines = 0
  let isExact = false
  let previous = ''
  for (; reader.at < reader.text.length; skipLine(reader)) {
    if (reader.pace.isDue()) await reader.pace.rest()
    const kind = reader.text.charAt(reader.at)
    if (kind === '\\') {
      if (previous !== '+') chopNewline(old)
      if (previous !== '-') chopNewline(added)
      continue
    }
    const isComplete = numbers !== null && old.length === oldCount && added.length === newCount
    isExact = isComplete && endsHunk(reader, reader.at)
    if (isExact || !isHunkLine(reader, reader.at)) break
    if (kind === '-' && header === undefined && endsHunk(reader, reader.at)) {
      header = { at: reader.at, old: old.length, new: added.length }
    }
    const isBlank = kind === '\n' || kind === '\r'
    blankLines = isBlank ? blankLines + 1 : 0
    previous = isBlank ? ' ' : kind
    const line = isBlank ? bodyLine(reader, 0) : bodyLine(reader, 1)
    if (previous !== '+') push(old, line, reader)
    if (previous !== '-') push(added, line, reader)
  }
  isExact ||= numbers !== null && old.length === oldCount && added.length === newCount
  if (!isExact) {
    if (header !== undefined) {
      reader.at = header.at
      blankLines = 0
      old.length = header.old
      added.length = header.new
    } else if (!/^(?:@@|diff |Index: |```|$)/.test(reader.text.slice(reader.at, reader.at + 7))) {
      throw invalid(`${lineName(reader, reader.at)} is in a hunk, but does not start with " ", "+" or "-".`)
    }
    // These blank lines separate the hunk from the next one or end the text.
    if (blankLines > 0 && old.length >= blankLines && added.length >= blankLines) {
      old.length -= blankLines
      added.length -= blankLines
    }
  }
  if (old.length + added.length === 0) throw invalid(`${lineName(reader, hunkAt)} starts a hunk without lines.`)
  const start = numbers === null ? undefined : Number(numbers[1])
  // "-5,0" means after line 5.
  const isInsertion = old.length === 0 && oldCount === 0
  return {
    statedIndex: start === undefined ? undefined : isInsertion ? start : Math.max(0, start - 1),
    old,
    new: added,
  }
}

function push(lines: Line[], line: Line, reader: Reader): void {
  if (lines.at(-1)?.endsWith('\n') === false) {
    throw invalid(`${lineName(reader, reader.at)} comes after "\\ No newline at end of file".`)
  }
  lines.push(line)
}

function chopNewline(lines: Line[]): void {
  const last = lines.at(-1)
  if (last?.endsWith('\n') === true) lines[lines.length - 1] = last.slice(0, -1)
}

function isHunkLine(reader: Reader, at: number): boolean {
  return [' ', '+', '-', '\n'].includes(reader.text.charAt(at)) || reader.text.startsWith('\r\n', at)
}

/** Returns whether a complete hunk may end before the line: it is a header, or no line of a hunk can look like it. */
function endsHunk(reader: Reader, at: number): boolean {
  if (reader.text.charAt(at) === '-') return isFileHeader(reader, at) || isMailSignature(reader, at)
  if (!isHunkLine(reader, at)) return true
  // Blank lines end a hunk unless more lines of it follow. Then the counts are wrong, and no line may be lost.
  let next = at
  while (reader.text.startsWith('\n', next) || reader.text.startsWith('\r\n', next)) next = nextLine(reader, next)
  if (next === at) return false
  return reader.text.charAt(next) === '-' ? endsHunk(reader, next) : !isHunkLine(reader, next)
}

function isHeaderPair(reader: Reader, at: number): boolean {
  return reader.text.startsWith('--- ', at) && reader.text.startsWith('+++ ', nextLine(reader, at))
}

/** Returns whether a line after a hunk is a file header. Removed and added lines may look like one. */
function isFileHeader(reader: Reader, at: number): boolean {
  if (!isHeaderPair(reader, at)) return false
  const third = nextLine(reader, nextLine(reader, at))
  return reader.text.startsWith('@@', third) || !isHunkLine(reader, third)
}

/** `git format-patch` ends a mail with `-- ` and git's version. */
function isMailSignature(reader: Reader, at: number): boolean {
  return /^-- \r?\n\d+\.\d/.test(reader.text.slice(at, at + 10))
}

function startsWith(reader: Reader, word: string): boolean {
  return reader.text.startsWith(word, reader.at)
}

function nextLine(reader: Reader, at: number): number {
  const end = reader.text.indexOf('\n', at)
  return end === -1 ? reader.text.length : end + 1
}

function skipLine(reader: Reader): void {
  reader.at = nextLine(reader, reader.at)
}

function bodyLine(reader: Reader, prefixLength: number): Line {
  const end = nextLine(reader, reader.at)
  const line = reader.text.slice(reader.at + prefixLength, end)
  return reader.isCrlf === true && line.endsWith('\r\n') ? `${line.slice(0, -2)}\n` : line
}

/** Returns the text after `word` and moves to the next line. */
function headerText(reader: Reader, word: string): string {
  const from = reader.at + word.length
  skipLine(reader)
  const end = reader.at - 1
  if (end - from > MAX_HEADER_BYTES) throw invalid(`The patch has a "${word.trim()}" line that is too long.`)
  const line = reader.text.slice(from, end)
  reader.isCrlf ??= line.endsWith('\r')
  if (line.endsWith('\r') !== reader.isCrlf) {
    throw invalid('The patch ends some of its header lines with CR LF and others with LF.')
  }
  return reader.isCrlf ? line.slice(0, -1) : line
}

function lineName(reader: Reader, at: number): string {
  return `Line ${reader.text.slice(0, at).split('\n').length} of the patch`
}

function toFilePatch(section: Section): FilePatch {
  const { header, git } = section
  const isTimed = header?.old.withTime !== undefined || header?.new.withTime !== undefined
  if (header === undefined || !isTimed) return filePatchOf(section)
  const timed = { ...section, header: { old: withTime(header.old), new: withTime(header.new) } }
  // `diff --git` states the name again.
  if (git?.names?.some((name) => name === timed.header.old.name || name === timed.header.new.name))
    return filePatchOf(timed)
  return git === undefined ? { ...filePatchOf(section), withTimes: filePatchOf(timed) } : filePatchOf(section)
}

function withTime(header: FileHeader): FileHeader {
  return { ...header, name: header.withTime ?? header.name }
}

function filePatchOf(section: Section): FilePatch {
  const { header, renamed } = section
  const gitNames = section.git?.names && withoutPrefixes(section.git.names)
  const names = header === undefined ? gitNames : headerNames(header, section.git?.names)
  if (renamed !== undefined) {
    const { from, to } = renamed
    if (from === undefined || to === undefined) throw invalid(`The patch has a "${renamed.kind}" without from or to.`)
    // `rename` and `copy` lines have names without prefixes. The names in the other lines must match them with or without one.
    for (const [name, ...others] of [
      [from, header?.old.name, section.git?.names?.[0]],
      [to, header?.new.name, section.git?.names?.[1]],
    ]) {
      if (others.some((other) => other !== undefined && other !== name && withoutFirstFolder(other) !== name)) {
        throw differentNames()
      }
    }
    return filePatch(section, renamed.kind, from, to)
  }
  if (names === undefined) throw invalid('The patch has a "diff --git" line without readable names.')
  agree(names, gitNames)
  const created = section.created || header?.old.isAbsent === true
  const deleted = section.deleted || header?.new.isAbsent === true
  if (created && deleted) throw invalid('The patch both creates and deletes a file: it names /dev/null twice.')
  const [from, to] = names
  if (header !== undefined && section.hunks.length === 0) {
    throw invalid(`The patch has no "@@" line for ${to ?? from ?? 'a file'}.`)
  }
  if (created) return filePatch(section, 'create', to, to)
  if (deleted) return filePatch(section, 'delete', from, from)
  if (section.hunks.length === 0 && section.isExecutable === undefined) {
    throw invalid(`The patch changes nothing in ${to ?? from ?? 'a file'}: it has no "@@" line there.`)
  }
  return filePatch(section, 'modify', from, to)
}

type Names = readonly [string | undefined, string | undefined]

function filePatch(
  section: Section,
  kind: FilePatch['kind'],
  from: string | undefined,
  to: string | undefined,
): FilePatch {
  const { isExecutable, hunks } = section
  if (from === undefined || to === undefined)
    throw invalid('The patch uses /dev/null for a file that is not new or deleted.')
  return { kind, from: checkName(from), to: checkName(to), isExecutable, hunks }
}

function headerNames(header: NonNullable<Section['header']>, git: readonly [string, string] | undefined): Names {
  const { name: old } = header.old
  const { name: added } = header.new
  if (old !== undefined && added !== undefined) return withoutPrefixes([old, added])
  // `diff --git x x` comes from --no-prefix, so a folder named `b` is not a prefix.
  if (git !== undefined && git[0] === git[1]) return [old, added]
  const isPrefixed = git !== undefined || /^[ab]\//.test(old ?? added ?? '')
  return isPrefixed ? [old && withoutFirstFolder(old), added && withoutFirstFolder(added)] : [old, added]
}

/** Removes the prefixes `a/` and `b/`, also `i/` and `w/` (diff.mnemonicPrefix), `old/` and `new/` (diff -r). */
function withoutPrefixes(names: readonly [string, string]): readonly [string, string] {
  const [old, added] = names
  const stripped: readonly [string, string] = [withoutFirstFolder(old), withoutFirstFolder(added)]
  const isPrefixed =
    old !== added &&
    (stripped[0] === stripped[1] ? old.includes('/') && added.includes('/') : /^a\/.*\nb\//.test(`${old}\n${added}`))
  return isPrefixed ? stripped : names
}

/** Refuses headers of one file that name different files, because a person may read either one before an approval. */
function agree(names: Names, others: Names | undefined): void {
  const isSame = (index: 0 | 1): boolean => {
    const other = others?.[index]
    return other === undefined || names[index] === undefined || other === names[index]
  }
  if (!isSame(0) || !isSame(1)) throw differentNames()
}

function differentNames(): ToolError {
  return invalid('The patch names different files in the headers of one file.')
}

function hasMoreLines(text: string, limit: number): boolean {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1 && count <= limit; at = text.indexOf('\n', at + 1)) count += 1
  return count > limit
}

function tooLarge(reason: string): ToolError {
  return new ToolError({ kind: 'too_large', detail: `The patch ${reason}. Send it in parts.` })
}

function invalid(detail: string): ToolError {
  return new ToolError({ kind: 'invalid_arguments', path: 'unifiedDiff', detail })
}
