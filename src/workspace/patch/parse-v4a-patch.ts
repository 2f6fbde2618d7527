import { ToolError } from '../tool-error.ts'
import { checkName, parseFileHeader } from './file-name.ts'
import type { Pace } from './pace.ts'
import type { FilePatch, Hunk, Line } from './file-patch.ts'

const fileLine = /^\*\*\* (Add|Update|Delete) File: (.*)$/
const beginning = /^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )/m
const unifiedBeginning = /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m

/** A line `@@` with the numbers of a unified diff, which some models write in a V4A patch too. */
const numbered = /^@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@(.*)$/

/** Whether a text is a patch in the format of GPT models. A unified diff may add such lines to a file. */
export function isV4aPatch(text: string): boolean {
  const at = text.search(beginning)
  if (at === -1) return false
  const unified = text.search(unifiedBeginning)
  return unified === -1 || at < unified
}

/** The part about one file, during parsing. */
interface Section {
  readonly kind: 'Add' | 'Update' | 'Delete'
  readonly path: string
  movedTo: string | undefined
  readonly hunks: OpenHunk[]
}

interface OpenHunk {
  statedIndex: number | undefined
  readonly anchors: string[]
  readonly old: Line[]
  readonly new: Line[]
  isAtEnd: boolean
  /** Number of lines without any character at the end. They may only separate the hunk from what follows. */
  blankLines: number
}

/**
 * Parses a V4A patch: `*** Begin Patch`, then files with hunks whose place is given by lines instead of numbers, then
 * `*** End Patch`. Accepts text around it. Source: `codex-rs/apply-patch` of github.com/openai/codex, 2026-11.
 * @param text one character per byte, with a newline at the end
 * @throws ToolError `invalid_arguments`, `cancelled`; `denied` for a name that no patch may have
 */
export async function parseV4aPatch(text: string, pace: Pace): Promise<readonly FilePatch[]> {
  const isCrlf = !/(?<!\r)\n/.test(text)
  const sections: Section[] = []
  const start = text.search(beginning)
  let number = text.slice(0, start).split('\n').length
  for (let at = start; at < text.length; number += 1) {
    if (pace.isDue()) await pace.rest()
    const end = text.indexOf('\n', at) + 1
    const line = text.slice(at, isCrlf ? end - 2 : end - 1)
    if (line.trimEnd() === '*** End Patch') {
      if (sections.length === 0) throw invalid('The patch names no file. Start each file with "*** Update File: FILE".')
      return sections.map(toFilePatch)
    }
    readLine(line, sections, (wanted) => {
      throw invalid(`Line ${number} of the patch needs ${wanted}. It is ${JSON.stringify(line.slice(0, 80))}.`)
    })
    at = end
  }
  throw invalid('The patch has no line "*** End Patch", so a part of it may be missing. Send all of it.')
}

type Refuse = (wanted: string) => never

/** Reads a line without its newline. */
function readLine(line: string, sections: Section[], refuse: Refuse): void {
  const section = sections.at(-1)
  const [, kind, name = ''] = fileLine.exec(withoutEnd(line)) ?? []
  if (kind === 'Add' || kind === 'Update' || kind === 'Delete') {
    sections.push({ kind, path: pathIn(name), movedTo: undefined, hunks: [] })
  } else if (section === undefined) {
    if (line.trim() !== '' && line.trimEnd() !== '*** Begin Patch') refuse('"*** Update File: FILE" before it')
  } else if (section.kind === 'Delete') {
    if (line.trim() !== '') refuse('"*** " and a file, because a deleted file has no lines')
  } else if (section.kind === 'Add') readNewLine(line, section, refuse)
  else readHunkLine(line, section, refuse)
}

function readNewLine(line: string, { hunks }: Section, refuse: Refuse): void {
  if (line.trim() === '') return
  if (!line.startsWith('+')) refuse('"+" at its start, because the file is new')
  hunkIn(hunks).new.push(`${line.slice(1)}\n`)
}

function readHunkLine(line: string, section: Section, refuse: Refuse): void {
  const { hunks } = section
  const last = hunks.at(-1)
  const sign = line.charAt(0)
  if (line.startsWith('*** Move to: ')) {
    if (last !== undefined || section.movedTo !== undefined) refuse('to come directly after "*** Update File: FILE"')
    section.movedTo = pathIn(withoutEnd(line.slice('*** Move to: '.length)))
  } else if (line.startsWith('@@')) {
    // Several lines `@@` lead to one hunk: a class, then its method.
    const isNew = last === undefined || last.old.length + last.new.length > 0
    const [, index, remainder] = numbered.exec(line) ?? []
    const anchor = (remainder ?? line.slice(2)).trim()
    const hunk = isNew ? addHunk(hunks) : last
    if (index !== undefined) hunk.statedIndex = Math.max(0, Number(index) - 1)
    else if (anchor !== '' && anchor !== '@@') hunk.anchors.push(anchor.replace(/ @@$/, ''))
  } else if (line.trimEnd() === '*** End of File') {
    if (last === undefined) refuse('a hunk before it')
    else last.isAtEnd = true
  } else if (line === '' || ' +-'.includes(sign)) {
    if (line !== '' && last?.isAtEnd === true) refuse('"@@" before it')
    const hunk = hunkIn(hunks)
    hunk.blankLines = line === '' ? hunk.blankLines + 1 : 0
    const text = `${line.slice(1)}\n`
    if (sign !== '+') hunk.old.push(text)
    if (sign !== '-') hunk.new.push(text)
  } else refuse('" ", "+" or "-" at its start')
}

function hunkIn(hunks: OpenHunk[]): OpenHunk {
  return hunks.at(-1) ?? addHunk(hunks)
}

function addHunk(hunks: OpenHunk[]): OpenHunk {
  const hunk: OpenHunk = { statedIndex: undefined, anchors: [], old: [], new: [], isAtEnd: false, blankLines: 0 }
  hunks.push(hunk)
  return hunk
}

function toFilePatch({ kind, path, movedTo = path, hunks }: Section): FilePatch {
  if (kind === 'Add') return { kind: 'create', from: path, to: path, isExecutable: undefined, hunks }
  if (kind === 'Delete') return { kind: 'delete', from: path, to: path, isExecutable: undefined, hunks, isWhole: true }
  const complete = hunks.map(toHunk).filter((hunk) => hunk.old.length + hunk.new.length > 0)
  if (complete.length === 0 && movedTo === path) throw invalid(`The patch changes nothing in ${path}.`)
  return {
    kind: movedTo === path ? 'modify' : 'rename',
    from: path,
    to: movedTo,
    isExecutable: undefined,
    hunks: complete,
  }
}

function toHunk({ statedIndex, anchors, old, new: added, isAtEnd, blankLines }: OpenHunk): Hunk {
  return {
    statedIndex,
    old: old.slice(0, old.length - blankLines),
    new: added.slice(0, added.length - blankLines),
    anchors,
    isAtEnd,
  }
}

/** A name may end with a byte that `trimEnd` takes for a space. */
function withoutEnd(line: string): string {
  return line.replace(/[ \t\r]+$/, '')
}

function pathIn(text: string): string {
  const { name } = parseFileHeader(text)
  if (name === undefined)
    throw invalid('The patch names /dev/null. Use "*** Add File: FILE" or "*** Delete File: FILE".')
  return checkName(name)
}

function invalid(detail: string): ToolError {
  return new ToolError({ kind: 'invalid_arguments', path: 'unifiedDiff', detail })
}
