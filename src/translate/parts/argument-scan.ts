/**
 * Reads the arguments of one tool call as they arrive, without parsing them: where strings begin and end, whether the
 * object is closed, and how long the current run of whitespace is. Updated in place.
 */
export interface ArgumentScan {
  inString: boolean
  escaped: boolean
  depth: number
  /** Tabs and line ends since the last character that was not whitespace, outside strings. */
  blanks: number
  /** The outermost object or array has been closed. */
  closed: boolean
}

/**
 * Some models fall into writing line ends and tabs until the token limit (docs/copilot-wire.md, quirk 17). Indented
 * JSON never comes near this: spaces do not count, and a tab for every level is allowed on top.
 */
const maxBlanks = 20

const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const QUOTE = 34
const BACKSLASH = 92
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

export function startArgumentScan(): ArgumentScan {
  return { inString: false, escaped: false, depth: 0, blanks: 0, closed: false }
}

/** Reads the next piece. Returns how much of it is worth keeping: less than its length where a whitespace run gets out of hand. */
export function scanArguments(scan: ArgumentScan, piece: string): number {
  for (let i = 0; i < piece.length; i += 1) {
    const code = piece.charCodeAt(i)
    if (scan.inString) {
      if (scan.escaped) scan.escaped = false
      else if (code === BACKSLASH) scan.escaped = true
      else if (code === QUOTE) scan.inString = false
      continue
    }
    switch (code) {
      case TAB:
      case LF:
      case CR:
        scan.blanks += 1
        if (scan.blanks > maxBlanks + scan.depth) return i
        continue
      case SPACE:
        continue
      case QUOTE:
        scan.inString = true
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        scan.depth += 1
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        // Never below zero: a stray bracket must not shrink what is allowed.
        scan.depth = Math.max(0, scan.depth - 1)
        if (scan.depth === 0) scan.closed = true
        break
    }
    scan.blanks = 0
  }
  return piece.length
}
