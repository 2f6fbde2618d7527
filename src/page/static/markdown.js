/**
 * @typedef {{ readonly type: 'text', readonly text: string }
 *   | { readonly type: 'code', readonly text: string }
 *   | { readonly type: 'break' }
 *   | { readonly type: 'strong' | 'em' | 'del', readonly children: readonly Inline[] }
 *   | { readonly type: 'link', readonly href: string, readonly children: readonly Inline[] }} Inline
 *
 * @typedef {{ readonly type: 'heading', readonly level: number, readonly children: readonly Inline[] }
 *   | { readonly type: 'paragraph', readonly children: readonly Inline[] }
 *   | { readonly type: 'code', readonly language: string, readonly text: string }
 *   | { readonly type: 'quote', readonly blocks: readonly Block[] }
 *   | { readonly type: 'list', readonly start: number | undefined, readonly items: readonly (readonly Block[])[] }
 *   | { readonly type: 'table', readonly header: readonly Inline[][], readonly rows: readonly Inline[][][] }
 *   | { readonly type: 'rule' }} Block
 */

/** Maximum nesting of quotes and lists. Deeper ones become paragraphs. */
const maxDepth = 6

/** Longer table rules and addresses are plain text, because some patterns take quadratic time. */
const maxSearched = 2000

/** Empty cells that complete the rows of a table. Without a limit, many rows under a wide head take quadratic time. */
const maxPadding = 20_000

const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/
const heading = /^ {0,3}(#{1,6})(?=\s|$)/
const rule = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/
const quote = /^ {0,3}> ?/
const listItem = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( +)(.*)|)$/
const tableRule = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/

/**
 * Parses the Markdown that models write: headings, lists, quotes, tables, code, emphasis, links. HTML stays text, and images
 * become links. The end of the text ends an unclosed code block, because the text may still grow.
 * @param {string} source
 * @returns {Block[]}
 */
export function parseMarkdown(source) {
  return parseLines(source.replaceAll('\r\n', '\n').split('\n'), 0)
}

/**
 * @param {readonly string[]} lines
 * @param {number} depth
 * @returns {Block[]}
 */
function parseLines(lines, depth) {
  /** @type {Block[]} */
  const blocks = []
  /** @type {string[]} */
  let paragraph = []
  const endParagraph = () => {
    if (paragraph.length > 0) blocks.push({ type: 'paragraph', children: parseInline(paragraph.join('\n')) })
    paragraph = []
  }

  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const fenced = fence.exec(line)
    const titled = heading.exec(line)
    const item = depth < maxDepth ? listItem.exec(line) : null
    if (line.trim() === '') {
      endParagraph()
      at += 1
    } else if (fenced !== null) {
      endParagraph()
      const [, mark = '', language = ''] = fenced
      const end = findIndexFrom(lines, at + 1, (each) => isClosingFence(each, mark))
      blocks.push({ type: 'code', language: language.trim(), text: lines.slice(at + 1, end).join('\n') })
      at = end + 1
    } else if (titled !== null) {
      endParagraph()
      blocks.push({ type: 'heading', level: titled[1]?.length ?? 1, children: parseInline(titleOf(line)) })
      at += 1
    } else if (rule.test(line)) {
      endParagraph()
      blocks.push({ type: 'rule' })
      at += 1
    } else if (depth < maxDepth && quote.test(line)) {
      endParagraph()
      const end = findIndexFrom(lines, at, (each) => !quote.test(each))
      const inner = lines.slice(at, end).map((each) => each.replace(quote, ''))
      blocks.push({ type: 'quote', blocks: parseLines(inner, depth + 1) })
      at = end
    } else if (item !== null && (paragraph.length === 0 || canInterrupt(item))) {
      endParagraph()
      at = parseList(lines, at, depth, blocks)
    } else if (line.includes('|') && isTableRule(lines[at + 1] ?? '')) {
      endParagraph()
      const end = findIndexFrom(lines, at + 2, (each) => !each.includes('|'))
      const header = cellsOf(line)
      let padding = maxPadding
      const rows = lines.slice(at + 2, end).map((row) => {
        const cells = cellsOf(row)
        const missing = header.slice(cells.length, cells.length + padding)
        padding -= missing.length
        return cells.concat(missing.map(() => []))
      })
      blocks.push({ type: 'table', header, rows })
      at = end
    } else {
      paragraph.push(line.trimStart())
      at += 1
    }
  }
  endParagraph()
  return blocks
}

/**
 * Without a blank line, only an item with text can end a paragraph, and a numbered one only with 1 (CommonMark §5.2).
 * @param {RegExpExecArray} item
 */
function canInterrupt([, , mark = '', , text = '']) {
  return text !== '' && (!/\d/.test(mark) || Number.parseInt(mark, 10) === 1)
}

/**
 * @param {readonly string[]} lines
 * @param {number} start
 * @param {number} depth
 * @param {Block[]} blocks gets the list
 * @returns {number} the index of the line after the list
 */
function parseList(lines, start, depth, blocks) {
  const first = listItem.exec(lines[start] ?? '')?.[2] ?? '-'
  const kind = first.slice(-1)
  /** @type {Block[][]} */
  const items = []
  let at = start
  while (at < lines.length) {
    const found = listItem.exec(lines[at] ?? '')
    if (found === null || (found[2] ?? '').slice(-1) !== kind || rule.test(lines[at] ?? '')) break
    const [, indent = '', mark = '', space = ' ', text = ''] = found
    const width = indent.length + mark.length + (space.length > 4 ? 1 : space.length)
    const inner = [text]
    at += 1
    while (at < lines.length) {
      const line = lines[at] ?? ''
      const isBlank = line.trim() === ''
      if (isBlank && !isIndented(lines[at + 1] ?? '', width)) break
      if (!isBlank && !isIndented(line, width)) {
        // A line without indent may continue the item's paragraph.
        const isContinuation = (inner.at(-1) ?? '').trim() !== '' && !startsBlock(line)
        if (!isContinuation) break
      }
      inner.push(isIndented(line, width) ? line.slice(width) : line.trimStart())
      at += 1
    }
    items.push(parseLines(inner, depth + 1))
    // Blank lines between items do not end the list.
    const next = findIndexFrom(lines, at, (each) => each.trim() !== '')
    if (next > at && (listItem.exec(lines[next] ?? '')?.[2] ?? '').slice(-1) === kind) at = next
  }
  blocks.push({ type: 'list', start: /\d/.test(first) ? Number.parseInt(first, 10) : undefined, items })
  return at
}

/**
 * @param {string} line
 * @param {number} width
 */
function isIndented(line, width) {
  return line.trim() !== '' && line.slice(0, width).trim() === ''
}

/** @param {string} line a heading, which may have marks at its end too: `## Title ##` */
function titleOf(line) {
  const text = line.trim().replace(/^#+/, '').trim()
  let end = text.length
  while (text[end - 1] === '#') end -= 1
  return end === 0 || /\s/.test(text[end - 1] ?? '') ? text.slice(0, end).trimEnd() : text
}

/** @param {string} line */
function startsBlock(line) {
  return [fence, heading, rule, quote, listItem].some((pattern) => pattern.test(line))
}

/**
 * @param {string} line
 * @param {string} mark
 */
function isClosingFence(line, mark) {
  const text = line.trim()
  return text.length >= mark.length && text === (mark[0] ?? '').repeat(text.length)
}

/** @param {string} line */
function isTableRule(line) {
  return line.length <= maxSearched && tableRule.test(line)
}

/**
 * @param {string} row
 * @returns {Inline[][]}
 */
function cellsOf(row) {
  const inner = row
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => parseInline(cell.trim().replaceAll(String.raw`\|`, '|')))
}

/**
 * @param {readonly string[]} lines
 * @param {number} from
 * @param {(line: string) => boolean} test
 * @returns {number} the number of lines if none matches
 */
function findIndexFrom(lines, from, test) {
  for (let at = from; at < lines.length; at += 1) if (test(lines[at] ?? '')) return at
  return lines.length
}

const escapable = /[!-/:-@[-`{-~]/
const url = /https?:\/\/[^\s<>"'`]{1,2000}/y
const emphasis = /** @type {const} */ ([
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
])

/**
 * @param {string} text
 * @param {number} [depth]
 * @returns {Inline[]}
 */
function parseInline(text, depth = 0) {
  /** @type {Inline[]} */
  const found = []
  /** The next index of each closing mark. Caching it keeps the time linear, because not every opening mark searches again. */
  /** @type {Map<string, number>} */
  const ahead = new Map()
  /** Plain text of earlier lines, and of the current one. Only the current one is trimmed, so that the time stays linear. */
  let lines = ''
  let plain = ''
  let at = 0

  /**
   * @param {string} mark
   * @param {number} from
   */
  function next(mark, from) {
    const known = ahead.get(mark)
    if (known !== undefined && (known === -1 || known >= from)) return known
    const position = text.indexOf(mark, from)
    ahead.set(mark, position)
    return position
  }

  function addPlain() {
    if (lines !== '' || plain !== '') found.push({ type: 'text', text: lines + plain })
    lines = ''
    plain = ''
  }

  /** @param {Inline} inline */
  function add(inline) {
    addPlain()
    found.push(inline)
  }

  while (at < text.length) {
    const character = text[at] ?? ''
    if (character === '\\' && escapable.test(text[at + 1] ?? '')) {
      plain += text[at + 1]
      at += 2
    } else if (character === '\n') {
      const isHard = plain.endsWith('  ')
      plain = plain.trimEnd()
      if (isHard) add({ type: 'break' })
      else {
        lines += `${plain}\n`
        plain = ''
      }
      at += 1
    } else if (character === '`') {
      const mark = /^`+/.exec(text.slice(at, at + 20))?.[0] ?? '`'
      const end = next(mark, at + mark.length)
      if (end === -1) {
        plain += mark
        at += mark.length
      } else {
        const code = text.slice(at + mark.length, end).replaceAll('\n', ' ')
        const isPadded = code.startsWith(' ') && code.endsWith(' ') && code.trim() !== ''
        add({ type: 'code', text: isPadded ? code.slice(1, -1) : code })
        at = end + mark.length
      }
    } else if (character === '[' || (character === '!' && text[at + 1] === '[')) {
      const open = character === '!' ? at + 1 : at
      const middle = next(']', open + 1)
      const end = middle !== -1 && text[middle + 1] === '(' ? next(')', middle + 2) : -1
      const href = end === -1 ? undefined : toWebAddress(text.slice(middle + 2, end))
      if (href === undefined || depth > 2) {
        plain += character
        at += 1
      } else {
        add({ type: 'link', href, children: parseInline(text.slice(open + 1, middle), 3) })
        at = end + 1
      }
    } else if (character === 'h' && depth < 3 && !/\w/.test(text[at - 1] ?? '') && matchUrl(text, at) !== undefined) {
      const href = matchUrl(text, at) ?? ''
      add({ type: 'link', href, children: [{ type: 'text', text: href }] })
      at += href.length
    } else {
      const opened = depth < 4 ? emphasis.find(([mark]) => text.startsWith(mark, at)) : undefined
      const end = opened === undefined ? -1 : closingOf(text, at, opened[0], next)
      if (opened === undefined || end === -1) {
        plain += character
        at += 1
      } else {
        const [mark, type] = opened
        add({ type, children: parseInline(text.slice(at + mark.length, end), depth + 1) })
        at = end + mark.length
      }
    }
  }
  addPlain()
  return found
}

/**
 * @param {string} text
 * @param {number} at the index of the opening mark
 * @param {string} mark
 * @param {(mark: string, from: number) => number} next
 * @returns {number} the index of the closing mark, or -1 if the opening one is plain text
 */
function closingOf(text, at, mark, next) {
  const from = at + mark.length
  // `2 * 3` and `snake_case` contain no emphasis.
  if (/^\s?$/.test(text[from] ?? '')) return -1
  const isWordMark = mark.startsWith('_')
  if (isWordMark && /\w/.test(text[at - 1] ?? '')) return -1
  let end = next(mark, from + 1)
  // In `*a **b** c*`, the double marks do not end the single one.
  for (let skipped = 0; skipped < 8 && mark.length === 1 && end !== -1 && text[end + 1] === mark; skipped += 1) {
    end = text.indexOf(mark, end + 2)
  }
  if (end === -1 || /\s/.test(text[end - 1] ?? '')) return -1
  return isWordMark && /\w/.test(text[end + mark.length] ?? '') ? -1 : end
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {string | undefined} the web address that begins at `at`, without punctuation that ends a sentence
 */
function matchUrl(text, at) {
  url.lastIndex = at
  const href = url.exec(text)?.[0].replace(/[.,;:!?)\]}*_~]+$/, '')
  return href === undefined ? undefined : toWebAddress(href) === undefined ? undefined : href
}

/**
 * @param {string} target
 * @returns {string | undefined} the address, or undefined unless it is an absolute one of http or https
 */
function toWebAddress(target) {
  if (target.length > maxSearched) return undefined
  // A target may also be `<address>` or `address "title"`.
  const href = target
    .trim()
    .replace(/^<(.*)>$/, '$1')
    .replace(/\s["'(].*$/, '')
  if (!/^https?:\/\//i.test(href) || !URL.canParse(href)) return undefined
  return href
}
