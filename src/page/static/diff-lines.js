/**
 * @typedef {'added' | 'removed' | 'context' | 'note'} LineKind
 * @typedef {{ readonly kind: LineKind, readonly oldLine?: number, readonly newLine?: number, readonly text: string }} DiffLine
 * @typedef {object} DiffFile
 * @property {string} path
 * @property {'created' | 'deleted' | 'modified'} change
 * @property {number} added
 * @property {number} removed
 * @property {{ readonly header: string, readonly lines: readonly DiffLine[] }[]} hunks
 */

const hunkHeader = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/
/** Lines of git and other tools before the first hunk of a file. The rows of an approval show what they mean. */
const preamble =
  /^(?:diff |index |Index: |(?:old|new|new file|deleted file) mode |(?:rename|copy) (?:from|to) |similarity index |={3,}$|$)/

/**
 * Parses a unified diff. The counts in the header of a hunk state its end, so a removed line `-- a` is not a file header.
 * @param {string} text
 * @returns {DiffFile[]}
 */
export function parseDiff(text) {
  /** @type {DiffFile[]} */
  const files = []
  /** @type {DiffFile | undefined} */
  let file
  let from = ''
  let oldLine = 0
  let newLine = 0
  let oldLeft = 0
  let newLeft = 0
  /** @type {DiffLine[] | undefined} */
  let lines

  for (const line of text.replace(/\n$/, '').split('\n')) {
    if (lines !== undefined && (oldLeft > 0 || newLeft > 0)) {
      const rest = line.slice(1)
      if (line.startsWith('+')) {
        lines.push({ kind: 'added', newLine, text: rest })
        newLine += 1
        newLeft -= 1
        if (file !== undefined) file.added += 1
      } else if (line.startsWith('-')) {
        lines.push({ kind: 'removed', oldLine, text: rest })
        oldLine += 1
        oldLeft -= 1
        if (file !== undefined) file.removed += 1
      } else if (line.startsWith('\\')) {
        lines.push({ kind: 'note', text: rest.trim() })
      } else {
        lines.push({ kind: 'context', oldLine, newLine, text: rest })
        oldLine += 1
        newLine += 1
        oldLeft -= 1
        newLeft -= 1
      }
      continue
    }
    const hunk = hunkHeader.exec(line)
    if (hunk !== null) {
      const [, oldStart = '0', oldCount = '1', newStart = '0', newCount = '1'] = hunk
      oldLine = Number(oldStart)
      newLine = Number(newStart)
      oldLeft = Number(oldCount)
      newLeft = Number(newCount)
      lines = []
      if (file === undefined) files.push((file = newFile('', '')))
      file.hunks.push({ header: line, lines })
    } else if (line.startsWith('diff --git ')) {
      // A file without lines has no `---`. What follows does not belong to the file before it.
      file = undefined
      lines = undefined
    } else if (line.startsWith('--- ')) {
      from = pathOf(line)
    } else if (line.startsWith('+++ ')) {
      files.push((file = newFile(from, pathOf(line))))
      lines = undefined
    } else if (line.startsWith('\\')) {
      lines?.push({ kind: 'note', text: line.slice(1).trim() })
    } else if (!preamble.test(line)) {
      // Show unknown lines too, because a person must see everything before an approval.
      if (file === undefined) files.push((file = newFile('', '')))
      if (lines === undefined) file.hunks.push({ header: '', lines: (lines = []) })
      lines.push({ kind: 'note', text: line })
    }
  }
  return files
}

const v4aBeginning = /^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )/m
const unifiedBeginning = /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m
const v4aFile = /^\*\*\* (?:(Add|Update|Delete) File|Move to): (.*?)\s*$/

/**
 * Parses a patch as a model sends it: a unified diff, or a V4A patch, whose lines have no numbers. A text that names no file has none.
 * @param {string} text
 * @returns {DiffFile[]}
 */
export function parsePatch(text) {
  const at = text.search(v4aBeginning)
  const unified = text.search(unifiedBeginning)
  const files = at !== -1 && (unified === -1 || at < unified) ? parseV4a(text.slice(at)) : parseDiff(text)
  return files.filter(({ path }) => path !== '')
}

/**
 * @param {string} text
 * @returns {DiffFile[]}
 */
function parseV4a(text) {
  /** @type {DiffFile[]} */
  const files = []
  /** @type {DiffLine[] | undefined} */
  let lines
  for (const line of text.split('\n')) {
    const [isHeader, kind, name = ''] = v4aFile.exec(line) ?? []
    const file = files.at(-1)
    if (kind !== undefined) {
      files.push(newFile(kind === 'Add' ? '/dev/null' : name, kind === 'Delete' ? '/dev/null' : name))
      lines = undefined
    } else if (file !== undefined && isHeader !== undefined) {
      file.path = name
    } else if (file !== undefined && /^(?:@@|[ +-])/.test(line)) {
      if (lines === undefined || line.startsWith('@@')) file.hunks.push({ header: line, lines: (lines = []) })
      if (line.startsWith('@@')) continue
      const kindOfLine = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'context'
      lines.push({ kind: kindOfLine, text: line.slice(1) })
      if (kindOfLine !== 'context') file[kindOfLine] += 1
    }
  }
  return files
}

/**
 * @param {string} from
 * @param {string} to
 * @returns {DiffFile}
 */
function newFile(from, to) {
  const change = from === '/dev/null' ? 'created' : to === '/dev/null' ? 'deleted' : 'modified'
  return { path: to === '/dev/null' ? from : to, change, added: 0, removed: 0, hunks: [] }
}

/** @param {string} header */
function pathOf(header) {
  const path = header.slice(4).replace(/\t.*$/, '')
  return path === '/dev/null' ? path : path.replace(/^[ab]\//, '')
}
